-- Problems that may follow one of mla_decode (gen/joint.lua): the kernel that merges its splits multiplies by W_UV, too.
return {
  { op = "mla_v_out", same = { heads = "heads", rank = "rank", dtype = "dtype" }, is = { weights = 0 } },
}
