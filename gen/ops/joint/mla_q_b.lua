-- Problems that may follow one of mla_q_b in a launch (gen/joint.lua): mla_append's in a fused epilogue, and chained to it, where
-- rows are appended, mla_q_absorb's.
return {
  { op = "mla_append", name = "append", own = { "layout", "rank", "style", "norm" },
    same = { rope = "rope", dtype = "dtype", tokens = "tokens" }, is = { heads = 0 },
    about = { layout = "blocks beside the product append latent rows to a cache, whose layouts are mla_append's",
      rank = "columns of a latent row that is appended", style = "of a row's rope columns, as mla_append's; else pairs" } },
  { op = "mla_q_absorb", name = "absorb", behind = "append", own = { "style" },
    same = { heads = "heads", nope = "nope", rope = "rope", rank = "rank", dtype = "dtype", tokens = "tokens" },
    is = { weights = 0 },
    about = { style = "query heads go on into the latent space, as by mla_q_absorb; only where rows are appended" } },
}
