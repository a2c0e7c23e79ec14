// Load i of Q's block b, in the order of MFMA's operands: 64 bytes of each row at a time (mfma_reg), or with `bytes` (a cache of
// 8 bits: mfma_reg_cache) eight columns of this lane's row, those of operands 2i and 2i+1. Rows that do not exist repeat the
// last one that does; nobody stores what they compute.
//@ -- q: gen/ops/mla_decode/q.lua; type: what a load brings; fp8_q: columns of 8 bits. Returns begin(fitted), behind which
//@ -- `args` is what load_q() takes.
MLAF_DEV ${type} load_q(const mlaf_decode_args& a, const piece& to, int b, int i, int lane) {
//@ needs("R", "ROPE")
//@ if not bytes then
//@   needs("NK_C")
  const int row = smaller(16 * b + (lane & 15), to.rows - 1);
//@   if q.parts then
  const char* const from = i < NK_C ? q_latent_row(a, to.row + row) + 64 * i : q_rope_row(a, to.row + row) + 64 * (i - NK_C);
  return *(const MLAF_GLOBAL ${type}*)(global(from) + k_column(lane));
//@   else
  return *(const MLAF_GLOBAL ${type}*)(global(a.q) + (to.row + row) * (2 * (R + ROPE)) + 64 * i + k_column(lane));
//@   end
//@ else
//@   needs("N64")
  const int row = smaller(16 * b + (lane & 15), to.rows - 1), group = lane >> 4;
  const int column = i < 2 * N64 ? 64 * (i / 2) + 8 * (i % 2) + 16 * group : 32 * i + 8 * group;
//@   if q.parts then
  const char* const from =
      column < R ? q_latent_row(a, to.row + row) + 2 * column : q_rope_row(a, to.row + row) + 2 * (column - R);
  return *(const MLAF_GLOBAL ${type}*)global(from);
//@   else
  return *(const MLAF_GLOBAL ${type}*)(global(a.q) + ((to.row + row) * (R + ROPE) + column)${fp8_q and "" or " * 2"});
//@   end
//@ end
}
//@ local function begin(fitted)
//@   if q.words == 1 then
  const mlaf_decode_args q_args = ${fitted and "arguments_again()" or "a"}; // the walk leaves no scalar registers for them
//@   end
//@ end
//@ return { args = q.words == 1 and "q_args" or "a", begin = begin }
