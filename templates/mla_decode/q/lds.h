//@ -- Addresses of Q's rows in mfma_lds: row 16 (wave * BLOCKS + b) + 8i + lane/8 of the piece. q: gen/ops/mla_decode/q.lua; odd:
//@ -- half a unit of 64 columns is left. Returns tail(b, wide): addresses of a block's last columns.
//@ needs("BLOCKS", "R", "ROPE")
//@ if q.parts then
    const mlaf_decode_args q_args = ${fitted and "arguments_again()" or "a"}; // the walk leaves no scalar registers for them
//@ end
    auto q_row = [&](int b, int i) {
      const int at = smaller((wave * BLOCKS + b) * 16 + 8 * i + (lane >> 3), w.rows - 1);
//@ if q.parts then
      return (u64)q_latent_row(q_args, w.row + at);
//@ else
      return (u64)a.q + (u64)(w.row + at) * (2 * (R + ROPE));
//@ end
    };
//@ if q.parts then
    auto q_rope = [&](int b, int i) {
      const int at = smaller((wave * BLOCKS + b) * 16 + 8 * i + (lane >> 3), w.rows - 1);
      return (u64)q_rope_row(q_args, w.row + at);
    };
//@ end
//@ return function(b, tail)
//@   if q.parts then
      const u32 tail = 16 * (lane & (ROPE / 8 - 1));
      const u64 qt[2] = {q_rope(${b}, 0) + ${tail}, q_rope(${b}, 1) + ${tail}};
//@   elseif odd then
      const u32 tail = 2 * (R + ROPE) - 64 + 16 * (lane & 3);
      const u64 qt[2] = {q_row(${b}, 0) + ${tail}, q_row(${b}, 1) + ${tail}};
//@   end
//@ end
