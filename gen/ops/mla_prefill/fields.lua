-- The fields of a mla_prefill problem, for C and Lua alike, in the order of the problem string. What each key means:
-- gen/ops/mla_decode/fields.lua. No template may require it.
return {
  example = "h16,n128,p64,v128,bf16,causal,b4,t1024,s1024",
  { key = "h", field = "heads", word = "heads", least = 1, most = 128, multiple = 1, about = "query heads on this rank" },
  { key = "n", field = "nope", word = "nope dim", default = 128, least = 16, most = 192, multiple = 16,
    about = "columns of Q and K that each head has of its own" },
  { key = "p", field = "rope", word = "rope dim", default = 64, least = 0, most = 64, multiple = 16,
    about = "columns of Q and K with positions; K's may be shared by all heads" },
  { key = "v", field = "vdim", word = "value dim", default = 128, least = 16, most = 256, multiple = 16,
    about = "columns of V and of O" },
  { field = "dtype", word = "dtype", words = { "bf16", "f16" }, about = "type of O, and of Q, K and V of 16 bits" },
  { field = "inputs", word = "inputs", words = { "", "e4m3fn", "e4m3fnuz" },
    about = "Q, K and V of 8 bits, each tensor with a scale in fp32" },
  { field = "causal", word = "causal", words = { "", "causal" },
    about = "new token i of t sees the first s - (t-1-i) keys of its request; else all s" },
  { key = "b", field = "batch", word = "batch", default = 1, least = 1, most = 65536, multiple = 1, size = true, steps = 2,
    about = "requests of a launch" },
  { key = "t", field = "tokens", word = "tokens", default = 1024, least = 1, most = 1048576, multiple = 1, size = true, steps = 2,
    first = 16, about = "new tokens of a request, as tuned for" },
  { key = "s", field = "ctx", word = "ctx", default = 1024, least = 1, most = 16777216, multiple = 1, size = true, steps = 2,
    first = 64, about = "keys of a request, the new tokens' included, as tuned for" },
}
