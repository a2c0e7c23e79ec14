-- The arguments of mla_q_scale. What each key means: tools/args_model.lua.
return {
  head = [[
mla_q_scale: the queries of each token times a factor of its position, for models that were trained so (Mistral-Large-3,
Mistral-Small-4; their configs call it llama_4_scaling).

  y[t, h, :] = f x[t, h, :]     f = 1 + beta ln(1 + floor(positions[t] / original))

Columns that are rotated get it like the others, so it may stand before the rotation or behind it. A plan of a problem such as
"mla_q_scale:h16,n192,bf16,t64" (mlaf_plan_for) serves any number of tokens.]],
  about = [[
Device pointers of the plan's device, x and y [T, H, n] 16-byte aligned. Strides in elements, a multiple of 8; 0: dense. y
NULL: x is scaled in place, and tokens before `original` are not touched. Else the two must not overlap. Rows of what is written
must not overlap either.]],
  count = { "tokens", "T, 0 and up" },
  sizes = { { "T", "tokens", each = "token" }, { "H", "heads", each = "head" }, { "N", "qdim" }, { "rows", "T * H" } },
  args = {
    { "x", "16", axes = "T H | N", strides = "rows", multiple = 8, align = 16, about = "in place written to, too" },
    { "y", "16", axes = "T H | N", strides = "rows", multiple = 8, align = 16, out = true, in_place = "x", rows_apart = true,
      unlike = { "x", "in place y is NULL" }, about = "NULL: in place" },
    { "positions", "i64", axes = "T", wanted = "64-bit positions are wanted",
      about = "[T]; below 0 counts as 0, beyond 2^31-1 as that" },
    { "beta", "float", within = 1e6, about = "at most MLAF_Q_SCALE_BETA_MOST either way",
      most_about = "either way: no factor of any position is near what a float holds" },
    { "original", "int32_t", least = 1, about = "positions that share a factor, 1 and up" },
  },
  block = "x y positions x.token x.head y.token y.head rows beta original",
  rows = "rows",
  work = { bytes = "T * (4 * H * N + 8)", flops = "T * H * N" },
  ulps = 0.51, -- rounded once, to nearest
  error_about = "units in the last place, against fp64",
  -- Rows of a case: some 300, and tokens enough for every kind of position.
  case_rows = { 300, least = 11 },
  cases = {
    { "apart", gaps = true, beta = 0.1, original = 8192 },
    { "in place", gaps = true, in_place = true, beta = 0.1, original = 8192 },
    { "wild positions", in_place = true, wild = true, beta = -0.25, original = 7 }, -- some below 0, or beyond 2^31-1
    { "dense", wild = true, beta = 1.5, original = 1 },
  },
  -- One set: queries come from the launch before and lie where it left them.
  timing = { beta = 0.1, original = 8192 },
  python = {
    about = "Queries times a factor of their position (llama_4_scaling in the configs of Mistral-Large-3 and Mistral-Small-4).",
    call = "q positions beta=0.1 original=8192 * out=None",
    names = { x = "q", y = "out" }, shape = "x", returns = "q if out is None else out",
    doc = [[
q [T, H, N] times 1 + beta ln(1 + floor(positions / original)), positions [T] int64: into out, or in place. Returns it.

Before the rotation or behind it: all columns get the factor. In place, tokens at positions before `original` are not
touched.]],
  },
}
