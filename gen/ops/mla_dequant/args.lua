-- The arguments of mla_dequant. What each key means: tools/args_model.lua.
return {
  head = [[
mla_dequant: dequantises weights of 8 bits, with a scale for each 128 x 128 of them, to 16 bits, for operations that read
those: a layer's prefill expands what is cached by a kv_b_proj of 16 bits.

  y[r, c] = w[r, c] scale[(first_row + r) / 128, (first_column + c) / 128]     in fp32, rounded once; a NaN stays one

A plan of a problem such as "mla_dequant:c512,bf16,e4m3fn,t4096" (mlaf_plan_for) serves any number of rows.]],
  about = [[
Device pointers of the plan's device, w and y 16-byte aligned. Strides in elements; 0: dense. y must not overlap the others.]],
  call_about = [[
w and w_scale are constants: a kernel may read them while the launch before still runs, which must not write them. No launch
behind it begins before y is there, so y is a constant for those.]],
  count = { "rows", "0 and up", field = "w_rows" },
  sizes = {
    { "R", "rows", each = "row" }, { "C", "columns" },
    { "SR", "up(w_scale_row + R, 128)", each = "row" }, { "SC", "up(w_scale_column + C, 128)" },
  },
  args = {
    { "w", "8", kind = "weights", axes = "R | C", strides = "rows", multiple = 16, align = 16, about = "[rows, columns] bytes",
      stride_about = "a multiple of 16" },
    { "w_scale", "f32", axes = "SR | SC", strides = "rows", multiple = 1,
      wanted = "a scale in fp32 for each 128 x 128 is wanted",
      about = "the upper left scale of the tensor that w lies in, one for each 128 x 128 of it",
      stride_about = "0: as many as the columns from the tensor's first to w's last have" },
    { "w_scale_row", "int64_t", least = 0, most = 1 << 40, about = "w's place in that tensor" },
    { "w_scale_column", "int64_t", least = 0, most = 1 << 40, multiple = 8, about = "a multiple of 8" },
    { "y", "16", axes = "R | C", strides = "rows", multiple = 8, align = 16, out = true,
      unlike = { "w", "what has more bytes needs a place of its own" }, about = "[rows, columns] of the problem's dtype",
      stride_about = "a multiple of 8" },
  },
  block = "w w_scale y w.row scale_row=w_scale.row y.row scale_first_row=w_scale_row scale_first_column=w_scale_column rows=R",
  rows = "R",
  work = { bytes = "3 * R * C + 4 * SR * SC", flops = "R * C" },
  ulps = 0,
  error_about = "0: every number is the host's",
  -- Rows fill no block of scales. A part of a tensor begins within one, as a column's rows of kv_b_proj may.
  cases = {
    { "dense", rows = 257 },
    { "part", gaps = true, rows = 195, w_scale_row = 96, w_scale_column = 64 },
    { "odd part", gaps = true, rows = 131, w_scale_row = 1021, w_scale_column = 8 },
    -- wild: scales of any size, some of them no numbers
    { "wild scales", gaps = true, wild = true, rows = 389, w_scale_row = 32, w_scale_column = 192 },
  },
  -- Weights that each launch finds cold: a layer's others were read since.
  timing = { cold = true },
  python = {
    about = "Weights of 8 bits as numbers of 16, as a layer's prefill wants them of kv_b_proj.",
    call = "w w_scale out", names = { y = "out" }, shape = "w", returns = "out",
    doc = [[
w [R, C], float8_e4m3fn or float8_e4m3fnuz, times w_scale, float32 [R / 128, C / 128] rounded up, a checkpoint's
weight_scale_inv: into out [R, C], bfloat16 or float16. Returns it.]],
  },
}
