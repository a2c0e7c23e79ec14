-- Matrix instructions of CDNA on numbers of 16 bits.
return require("ops/mla_prefill/mfma")(2)
