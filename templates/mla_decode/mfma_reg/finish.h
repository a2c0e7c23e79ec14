// The end of a register-only decode kernel: its waves merge their rows and write. O^T block (j,c), lane l, register r is column
// 16*chunk*j + chunk*(4(l/16)+r) + c of query row l%16. The includer has o_blocks, row_state, piece and its strips' sizes. Handed
// over: `chunk`; `weight`, an expression for what O is multiplied by in the end, of `weight` and more parameters of finish().
//@ needs("BLOCKS", "LN_2", "NJ", "R", "ROWS", "STRIP", "STRIP_COLS", "STRIP_STRIDE", "WAVES")
// ---- The end ----------------------------------------------------------------------------------------------------------
MLAF_DEV void write_lse(const mlaf_decode_args& a, const piece& to, int row, float lse2) {
  if (row >= to.rows) return;
  if (!to.final) *(MLAF_GLOBAL float*)(global(a.part_lse) + 4 * (to.part + to.row + row)) = lse2;
  else if (a.lse) *(MLAF_GLOBAL float*)(global(a.lse) + 4 * (to.row + row)) = lse2 * LN_2;
}

MLAF_DEV void write_o(const mlaf_decode_args& a, const piece& to, int row, int column, f32x4 x) {
  if (row >= to.rows || (R % ${16 * chunk} != 0 && column >= R)) return;
  const i64 at = (to.row + row) * R + column;
  if (to.final) *(MLAF_GLOBAL u32x2*)(global(a.o) + 2 * at) = u32x2{pack2(x[0], x[1]), pack2(x[2], x[3])};
  else *(MLAF_GLOBAL f32x4*)(global(a.part_o) + 4 * (to.part * R + at)) = x;
}

// Merge the waves' rows and write. LDS: O strips [wave][16 rows][STRIP_STRIDE], then row_state [wave][ROWS].
MLAF_DEV void finish(const mlaf_decode_args& a, const piece& to, char* lds, int lane, int wave, row_state (&mine)[BLOCKS],
                     o_blocks (&o)[BLOCKS]${more}) {
  float* const strips = (float*)lds;
  row_state* const rows = (row_state*)(strips + WAVES * 16 * STRIP_STRIDE);
  const int column = lane & 15, group = lane >> 4;
#pragma unroll
  for (int b = 0; b < BLOCKS; b++) {
    mine[b].sum = sum_over_groups(mine[b].sum, lane);
    mine[b].weight = sum_over_groups(mine[b].weight, lane);
    if (group == 0) rows[wave * ROWS + 16 * b + column] = mine[b];
  }
  __syncthreads();
#pragma unroll
  for (int b = 0; b < BLOCKS; b++) {
    row_state all = {rows[16 * b + column].m, 0.0f, 0.0f};
    for (int w = 1; w < WAVES; w++) all.m = __builtin_fmaxf(all.m, rows[w * ROWS + 16 * b + column].m);
    for (int w = 0; w < WAVES; w++) {
      const row_state one = rows[w * ROWS + 16 * b + column];
      const float factor = exp2_fast(one.m - all.m);
      all.sum += one.sum * factor;
      all.weight += one.weight * factor;
    }
    if (wave == 0 && group == 0) write_lse(a, to, 16 * b + column, all.m + log2_fast(all.sum));
    const float weight = all.sum == 0.0f ? 0.0f : exp2_fast(mine[b].m - all.m) / all.weight; // no token seen: O = 0
#pragma unroll
    for (int j = 0; j < NJ; j++)
#pragma unroll
      for (int half = 0; half < 4 / STRIP; half++) {
        float* const to_lds = strips + (wave * 16 + column) * STRIP_STRIDE + group * STRIP * ${chunk};
#pragma unroll
        for (int r = 0; r < STRIP; r++)
#pragma unroll
          for (int c = 0; c < ${chunk}; c += 4) {
            f32x4 x;
#pragma unroll
            for (int i = 0; i < 4; i++) x[i] = o[b][j][c + i][half * STRIP + r] * ${weight};
            *(f32x4*)(to_lds + r * ${chunk} + c) = x;
          }
        __syncthreads();
        for (u32 unit = wave * 64 + lane; unit < 16 * STRIP_COLS / 4; unit += 64 * WAVES) {
          const u32 row = unit / (STRIP_COLS / 4), at = 4 * (unit % (STRIP_COLS / 4));
          f32x4 x = *(const f32x4*)(strips + row * STRIP_STRIDE + at);
          for (int w = 1; w < WAVES; w++) x += *(const f32x4*)(strips + (w * 16 + row) * STRIP_STRIDE + at);
          // Strip column: group, then STRIP of its 4 registers, then `chunk` columns.
          const u32 d = at / (${chunk} * STRIP) * ${4 * chunk} + half * STRIP * ${chunk} + at % (${chunk} * STRIP);
          write_o(a, to, 16 * b + row, ${16 * chunk} * j + d, x);
        }
        __syncthreads();
      }
  }
}
