-- The limits, in one place: what the problem grammar takes (in C and in Lua), what help texts and docs/limits.md say, what the
-- space makes. The C code includes a header that the build makes of this table (tools/limits.lua). No template may require it:
-- raising a limit must not change the identity of kernels that exist. tests/lua/test_limits.lua renders every kernel at the edges
-- of this table, so that a limit raised without kernels that honour it fails.
return {
  -- key: letters before the number in a problem string; word: in messages. In print order.
  problem = {
    { key = "h", field = "heads", word = "heads", least = 1, most = 256, multiple = 1,
      about = "query heads on this rank" },
    { key = "r", field = "rank", word = "kv_lora_rank", default = 512, least = 32, most = 512, multiple = 32,
      about = "columns of the latent cache, which are K and V" },
    { key = "p", field = "rope", word = "rope dim", default = 64, least = 0, most = 64, multiple = 32,
      about = "columns with positions, which are K only" },
    { key = "q", field = "q_len", word = "q_len", default = 1, least = 1, most = 8, multiple = 1,
      about = "query tokens of a request: more than 1 with drafts" },
    { key = "page", field = "page_size", word = "page_size", default = 64, least = 1, most = 65536, multiple = 1,
      about = "tokens of a page" },
    { key = "b", field = "batch", word = "batch", default = 1, least = 1, most = 65536, multiple = 1,
      about = "requests of a launch" },
    { key = "s", field = "ctx", word = "ctx", default = 1024, least = 1, most = 16777216, multiple = 1,
      about = "cached tokens of a request, as tuned for" },
  },
  splits = 256, -- pieces of a request
}
