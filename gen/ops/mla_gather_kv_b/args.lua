-- The arguments of mla_gather_kv_b. What each key means: tools/args_model.lua.
local function rows(axes, t)
  t[2], t.axes, t.strides, t.nested, t.align = t[2] or "16", axes, "rows", true, 16
  t.multiple = t[2] == "16" and 8 or nil
  return t
end

return {
  count = { "tokens", also = "batch" },
  -- KCOLUMNS: of a row of k, N+V where v is NULL; KPEROW: elements of a row of cache_kpe; NEEDKPE: not 0 where cache_kpe is
  -- wanted.
  sizes = {
    { "T", "tokens", each = "token" }, { "B", "batch" }, { "ENDS", "batch + 1" }, { "H", "heads", each = "head" },
    { "N", "nope" }, { "V", "vdim" }, { "OUT", "N + V", each = "row" }, { "R", "rank" }, { "P", "rope" }, { "ROTATE", "rotate" },
    { "PAGES", "num_pages", each = "page" }, { "PAGE", "page_tokens", each = "row" }, { "POSITIONS", "rope_rows" },
    { "ONE", "1", each = "row" }, { "NONE", "0" },
    { "UNIT" }, { "ROW" }, { "SPLIT" }, { "SCALED" }, { "KCOLUMNS" }, { "KPEROW" }, { "NEEDKPE" },
  },
  args = {
    rows("PAGES PAGE | ROW", { "cache", "UNIT", needed = "PAGES" }),
    -- As many rows as all pages have; cases count them.
    rows("ONE | KPEROW", { "cache_kpe", "UNIT", has = "SPLIT", needed = "NEEDKPE" }),
    { "scale_at", "f32", axes = "", has = "SCALED", optional = true },
    { "table", "i32", axes = "" }, { "table_indptr", "i32", axes = "ENDS", optional = true },
    { "cu_seqlens", "i32", axes = "ENDS" }, { "seq_starts", "i32", axes = "B", optional = true },
    rows("H OUT | R", { "w" }), rows("T H | KCOLUMNS", { "k", out = true }),
    rows("T H | V", { "v", needed = "NONE", out = true }),
    rows("T | P", { "k_pe", has = "P", optional = true, out = true }),
    { "rope_table", "f32", axes = "POSITIONS | P", align = 16, has = "ROTATE" },
    { "batch", "int32_t" }, { "page_tokens", "int32_t" }, { "num_pages", "int64_t" }, { "scale", "float", usual = 0.37 },
    { "table_width", "int32_t" }, { "table_stride", "int64_t" }, { "rope_rows", "int64_t" },
  },
  block = [[cache scale_at table table_indptr cu_seqlens seq_starts w k v k_pe cache_row=cache.row cache_page=cache.page
    num_pages table_stride w_row=w.row w_head=w.head k_token=k.token k_head=k.head v_token=v.token v_head=v.head
    k_pe_token=k_pe.token k_pe_head!i64 tokens=T batch table_width page_tokens shares!u32 scale kpe_row!u32
    rope_table rope_rows]],
  scales_from = "rope_table",
  rows = "T", relations = true,
  -- Rows of the cache, W once, K and V and the rope columns.
  work = { bytes = "T * (UNIT * ROW + 2 * (H * OUT + P)) + 2 * H * OUT * R", flops = "2 * T * H * OUT * R" },
  ulps = 0.51, -- rounded once, to nearest
  error_about = "units in the last place of what is written, against fp64",
  walk = "T H", more = "PAGES",
  -- list: pages in a list with table_indptr, else a table of rows. copies: of k_pe for each head. small: fp8, the smallest codes.
  -- The first words say which requests: gather.c.
  cases = {
    { "chunks", chunks = true, page_tokens = 16, gaps = true, apart = true, copies = true,
      without = { "scale_at", "table_indptr" } },
    { "longer", longer = true, page_tokens = 64, list = true, scale = 0, without = { "v", "seq_starts" } },
    { "crowd", crowd = true, page_tokens = 1, gaps = true, apart = true, small = true,
      without = { "v", "scale_at", "table_indptr" } },
    { "without k_pe", chunks = true, page_tokens = 5, list = true, spare = true, without = { "scale_at" } },
  },
  -- One set: what it writes is far more than what it reads. K and V lie side by side in rows [T, H, N+V].
  timing = { timed = true, list = true, page_tokens = 64, scale = 0.03125, without = { "v", "scale_at", "seq_starts" } },
  calls = {
    args_first = "offsetof(mlaf_gather_kv_b_args, cache_kpe)", workspace_at = "offsetof(mlaf_gather_kv_b_args, workspace)",
    workspace_size_at = "offsetof(mlaf_gather_kv_b_args, workspace_size)", libraries = "true",
    workspace = "gather_kv_b_workspace", parameter_bytes = "gather_kv_b_bytes_of", check_stages = "gather_kv_b_check_stages",
    prepare = "gather_kv_b_prepare",
  },
  header = "ops/mla_gather_kv_b/gather.h",
  embed = { name = "gather", args = "mlaf_gather_kv_b_args", alias = "mlaf_embed_gather_args" },
}
