// Q's rope columns as A of sm90_small_rank, straight from memory: all rows of the fragment that the request has.
//@ -- q: gen/ops/mla_decode/q.lua. Returns what of `a` load_q_rope() takes.
//@ needs("H", "N_OF", "Q_ROPE_K", "R", "ROPE", "ROWS", "ROW_OF")
//@ local at = q.parts and "from[k & 1] + 2 * (16 * i" or "from + 2 * (8 * (k & 1) * (R + ROPE) + 16 * i"
MLAF_DEV void load_q_rope(const math& c, ${q.parts and "const mlaf_decode_args& a" or "const char* q"}, q_rope& to) {
  const int row = 64 * c.wg + 16 * c.warp + (c.lane >> 2), live = known(c.shared, N_OF) * H - ROWS * (int)blockIdx.x;
//@ if q.parts then
  const i64 first = known_row(c.shared, ROW_OF) + row;
  const char* const from[2] = {q_rope_row(a, first) + 4 * (c.lane & 3), q_rope_row(a, first + 8) + 4 * (c.lane & 3)};
//@ else
  const char* from = q + 2 * ((known_row(c.shared, ROW_OF) + row) * (R + ROPE) + R + 2 * (c.lane & 3));
//@ end
#pragma unroll
  for (int i = 0; i < Q_ROPE_K; i++)
#pragma unroll
    for (int k = 0; k < 4; k++)
      to[i][k] = row + 8 * (k & 1) < live ? *(const u32*)(${at} + 8 * (k >> 1))) : 0;
}
//@ return q.parts and "a" or "a.q"
