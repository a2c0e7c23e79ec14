-- Matrix instructions of CDNA on bytes.
return require("ops/mla_prefill/mfma")(1)
