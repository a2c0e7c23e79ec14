-- The arguments of mla_prefill. What each key means: tools/args_model.lua.
local function rows(axes, t)
  t[2], t.axes, t.strides, t.align = t[2] or "UNIT", axes, "rows", 16
  return t
end
local function scale(name) return { name, "f32", axes = "", has = "INPUTS", optional = true } end

return {
  count = { "total_q", also = "batch" },
  -- UNIT: bytes of an element of Q, K and V. KCOLUMNS: of a row of k, N+P where k_pe is NULL.
  sizes = {
    { "TQ", "total_q", each = "token" }, { "TK", "total_k", each = "token" }, { "ENDS", "batch + 1" },
    { "H", "heads", each = "head" }, { "N", "nope" }, { "P", "rope" }, { "QK", "N + P" }, { "V", "vdim" },
    { "INPUTS", "inputs" }, { "UNIT" }, { "KCOLUMNS" },
  },
  args = {
    rows("TQ H | QK", { "q" }), rows("TK H | KCOLUMNS", { "k", needed = "TK" }),
    rows("TK | P", { "k_pe", has = "P", optional = true }), rows("TK H | V", { "v", needed = "TK" }),
    { "cu_seqlens_q", "i32", axes = "ENDS" }, { "cu_seqlens_k", "i32", axes = "ENDS" },
    rows("TQ H | V", { "o", "16", multiple = 8, out = true }),
    { "lse", "f32", axes = "TQ H", strides = "any", out = true, optional = true },
    scale("q_scale"), scale("k_scale"), scale("v_scale"),
    { "batch", "int32_t" }, { "total_k", "int64_t" }, { "scale", "float" },
  },
  block = [[q k k_pe v cu_seqlens_q cu_seqlens_k o lse q.token q.head k.token k.head k_pe_token=k_pe.token k_pe_head!i64
    v.token v.head o.token o.head lse:token lse:head total_q=TQ total_k=TK batch scale_log2e!float q_scale k_scale v_scale]],
  scales_from = "q_scale",
  rows = "TQ", relations = true,
  relative = true, error_about = "relative Frobenius error against fp64",
  walk = "TQ H", more = "TK",
  -- two: k [Tk, H, N] within rows of N+V, and k_pe [Tk, P] of all heads; shared: v within the same rows. zero_k: of inputs of 8
  -- bits K's scale is 0, as quantising a tensor of zeros gives it. score: standard deviation of scores. The first words say which
  -- requests: prefill.c.
  cases = {
    { "ragged", ragged = true, two = true, score = 1.7 },
    { "deep", deep = true, gaps = true, straight = { "lse" }, score = 1.7, without = { "k_pe" } },
    { "sharp", sharp = true, two = true, gaps = true, spare = true, score = 14 },
    { "crowd", crowd = true, zero_k = true, score = 1.7, without = { "k_pe" } },
  },
  calls = { args_first = "offsetof(mlaf_prefill_args, q_scale)", n_mapped = "PREFILL_MAP_V",
    check_stages = "prefill_check_stages", bound = "prefill_bound" },
  -- One set: prefill is bound by arithmetic, and what it reads is mostly larger than any cache. K and V lie side by side, as kv_b
  -- leaves them.
  timing = { lengths = true, two = true, shared = true, score = 1.7320508 },
  header = "ops/mla_prefill/reference.h",
  embed = { inside = { "ops/mla_prefill/prefill.h" },
    about = "batch, tokens and ctx select the kernel of the nearest sizes; a plan serves any requests of any lengths." },
}
