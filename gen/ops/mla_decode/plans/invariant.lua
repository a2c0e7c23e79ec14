-- How a batch-invariant launch cuts a request (templates/mla_decode/lib/own_cut.h): constants that a decode kernel and the combine
-- kernel behind it agree on. They decide bits, so they may depend on nothing that a batch changes.
return {
  cut = { least = 4, knee = 16, wide = 8 }, -- in grains of 64 tokens, and parts
  most = 32,                                -- parts of a request: the variant's splits
}
