-- The fields of a mla_dequant problem, for C and Lua alike, in the order of the problem string. What each key means:
-- gen/ops/mla_decode/fields.lua. No template may require it.
return {
  example = "c512,bf16,e4m3fn,t4096",
  { key = "c", field = "columns", word = "columns", default = 512, least = 32, most = 16384, multiple = 32,
    about = "of a matrix: values of a sum. kv_b_proj has kv_lora_rank of them" },
  { field = "dtype", word = "dtype", words = { "bf16", "f16" }, about = "type of what they become" },
  { field = "weights", word = "weights", words = { "e4m3fn", "e4m3fnuz" },
    about = "weights of 8 bits, each 128 x 128 of them with a scale in fp32" },
  { key = "t", field = "w_rows", word = "rows", default = 4096, least = 1, most = 1048576, multiple = 1, size = true, steps = 2,
    about = "of a matrix: outputs. kv_b_proj has heads times N+V of them" },
}
