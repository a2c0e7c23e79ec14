-- The arguments of mla_append. What each key means: tools/args_model.lua.
local function rows(axes, t)
  t[2], t.axes, t.strides, t.align = t[2] or "16", axes, "rows", 16
  t.multiple = t[2] == "16" and 8 or nil
  return t
end
local function token(columns, t) return rows("T:row | " .. columns, t) end
local function query(columns, t) return rows("T H | " .. columns, t) end
local function cache(columns, t)
  t[2], t.nested, t.out = "UNIT", true, true
  return rows("PAGES:page PAGE:row | " .. columns, t)
end

return {
  count = { "tokens", most = "any" },
  flags = { { "ALL_Q" }, { "POWER_OF_TWO" }, { "TABLE_16" } },
  known_flags = true,
  -- SECOND: a token has bytes in another tensor, or behind a page's rows; ROPEROW: so many elements. ROPE: the problem's rope
  -- columns are there; NUMBER: bytes of a cosine; ANGLES: elements of a row of cos; NEED...: not 0 where
  -- a tensor is wanted.
  sizes = {
    { "T", "tokens", each = "token" }, { "H", "heads", each = "head" }, { "R", "rank" }, { "P", "rope" }, { "Q", "R + P" },
    { "HP", "H * P" }, { "NORM", "norm" }, { "TABLE", "table_rows" }, { "SLOTS", "num_slots" },
    { "UNIT" }, { "ROW" }, { "ROPEROW" }, { "TOKEN" }, { "SPLIT" }, { "SCALED" }, { "TURNED" }, { "NUMBER" }, { "ANGLES" },
    { "PAGES" }, { "PAGE" }, { "SECOND" }, { "NEEDKPE" }, { "NEEDNOPE" }, { "NEEDPE" }, { "NEEDOUT" },
  },
  args = {
    token("R", { "ckv" }), token("P", { "kpe", has = "P" }),
    { "norm_weight", "16", axes = "| R", align = 16, has = "NORM" },
    { "slots", "i64", axes = "T" }, { "positions", "i64", axes = "T", has = "TURNED" },
    rows("TABLE:row | ANGLES", { "cos", "NUMBER", stem = "table", has = "TURNED" }),
    { "sin", "NUMBER", axes = "TABLE:row | ANGLES", align = 16, has = "TURNED", optional = true },
    { "scale_at", "f32", axes = "", has = "SCALED", optional = true },
    cache("ROW", { "cache", needed = "SLOTS" }), cache("ROPEROW", { "cache_kpe", has = "SECOND", needed = "NEEDKPE" }),
    token("P", { "kpe_out", has = "P", optional = true, out = true }),
    query("R", { "q_nope", has = "H", needed = "NEEDNOPE" }), query("P", { "q_pe", has = "HP", needed = "NEEDPE" }),
    query("Q", { "q_out", has = "H", needed = "NEEDOUT", least = "R", out = true }),
    query("P", { "q_pe_out", has = "HP", optional = true, out = true }),
    { "eps", "float", usual = 1e-6 }, { "scale", "float", usual = 0.0371 },
    { "table_rows", "int64_t", usual = 19 }, { "num_slots", "int64_t" }, { "page_tokens", "int32_t" },
  },
  block = [[ckv kpe weight=norm_weight slots positions cos sin scale_at latent=cache rope=cache_kpe kpe_out
    q_nope q_pe q_out q_pe_out ckv_stride=ckv.row kpe_stride=kpe.row kpe_out_stride=kpe_out.row table_stride=cos.row
    latent_page=cache.page rope_page=cache_kpe.page latent_row=cache.row rope_row=cache_kpe.row
    q_nope.token q_nope.head q_pe.token q_pe.head q_out.token q_out.head q_pe_out.token q_pe_out.head
    tokens=T table_rows page_inverse!u64 num_slots!u32 page_tokens!u32 token_blocks!u32 flags eps scale]],
  rows = "T", relations = true,
  -- Inputs and outputs once, slots, positions and the table's rows.
  work = { bytes = "T * (2 * Q + TOKEN + 4 * H * Q + 8 + TURNED * (8 + 4 * P))", flops = "T * (6 * R + 3 * P * (1 + H))" },
  ulps = 0.51, -- rounded to nearest, after fp32
  error_about = "units in the last place of what is stored, against fp64",
  walk = "T H", more = "SLOTS", case_rows = { 1184, least = 9 },
  -- Tokens: odd, even, one. bad: some have no slot. apart: pages lie apart. extreme: large, small and zero rows, some with an
  -- infinity; fp8 saturates; scales are powers of two, one scale lies on the device.
  cases = {
    { "scattered", tokens = 37, bad = true, gaps = true, apart = true, without = { "scale_at", "kpe_out", "q_pe_out" } },
    { "turned", tokens = 8, bad = true, flags = { "TABLE_16" }, without = { "sin", "scale_at", "q_nope", "q_out" } },
    { "extreme", tokens = 21, bad = true, extreme = true, scale = 3, flags = { "ALL_Q", "POWER_OF_TWO", "TABLE_16" },
      without = { "kpe_out", "q_pe_out" } },
    { "one", tokens = 1, without = { "sin", "scale_at", "kpe_out", "q_pe_out" } },
  },
  -- As many sets as make a launch find its rows cold. A server's rows are partly where the launch before left them; but on one
  -- H200 a choice made that way was up to 17 % slower on cold rows. The scale: normal numbers neither saturate nor vanish.
  timing = { cold = true, timed = true, scale = 0.03125, table_rows = 4096,
    without = { "sin", "scale_at", "kpe_out", "q_pe_out" } },
}
