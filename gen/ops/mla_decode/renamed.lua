-- Names that families and templates had before, and have in tuning texts, databases and bundles of that time: old -> new. What
-- the generator is asked by an old name it answers by today's. A kernel renamed is another text, so what was measured of it by
-- its hash is void unless tools/rehash.lua carried it over.
return {
  families = {
    reg = "mfma_reg", lds = "mfma_lds",
    hop = "sm90_many", hopg = "sm90_many_gather", hopp = "sm90_mid", hoppg = "sm90_mid_gather", hopt = "sm90_few",
    hopw = "sm90_small_rank",
  },
  templates = {
    mla_combine = "mla_decode/combine_wave", mla_combine_warp = "mla_decode/combine_warp",
    mla_decode_reg = "mla_decode/mfma_reg", mla_decode_lds = "mla_decode/mfma_lds", mla_decode_mma = "mla_decode/mma",
    mla_decode_hop = "mla_decode/sm90_many", mla_decode_hopg = "mla_decode/sm90_many_gather",
    mla_decode_hopp = "mla_decode/sm90_mid", mla_decode_hoppg = "mla_decode/sm90_mid_gather",
    mla_decode_hopt = "mla_decode/sm90_few", mla_decode_hopw = "mla_decode/sm90_small_rank",
  },
}
