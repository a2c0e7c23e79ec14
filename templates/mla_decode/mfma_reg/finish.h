// The end of a register-only decode kernel: its waves merge their rows and write. O^T block (j,c), lane l, register r is column
// 16*chunk*j + chunk*(4(l/16)+r) + c of query row l%16. The includer has o_blocks, row_state, piece and its strips' sizes. Handed
// over: `chunk`; `weight`, an expression for what a wave's O of a row is multiplied by in the end, of `weight` and more
// parameters of finish(); `columns`, an expression for what columns from 16*chunk*j + d on are multiplied by besides, or "":
// sums are, since of O itself the compiler keeps all products, and spills.
//@ local passed = more ~= "" and ", times" or ""
//@ needs("BLOCKS", "LN_2", "NJ", "R", "ROWS", "STRIP", "STRIP_COLS", "STRIP_STRIDE", "WAVES")
// ---- The end ----------------------------------------------------------------------------------------------------------
MLAF_DEV void write_lse(const mlaf_decode_args& a, const piece& to, int row, float lse2) {
  if (row >= to.rows) return;
  if (!to.final) *(MLAF_GLOBAL float*)(global(a.part_lse) + 4 * (to.part + to.row + row)) = lse2;
  else if (a.lse) *(MLAF_GLOBAL float*)(global(a.lse) + 4 * (to.row + row)) = lse2 * LN_2;
}

// Merge one block's rows and write: to O if FINAL, else as a partial result. LDS: O strips [wave][16 rows][STRIP_STRIDE],
// row_state [wave][ROWS], and [wave][ROWS] what O is multiplied by. Whoever adds up multiplies: a wave's own sums go to LDS as
// they are.
template <bool FINAL>
MLAF_DEV void write_rows(const mlaf_decode_args& a, const piece& to, float* strips, const float* weights, int b, int lane,
                         int wave, o_blocks& o${more}) {
  constexpr u32 UNITS = 4 * STRIP_COLS, EACH = UNITS > 64 * WAVES ? UNITS / (64 * WAVES) : 1; // 4 columns of a row; of a lane
  constexpr int BYTES = FINAL ? 2 : 4;
  const u32 column = lane & 15, group = (u32)lane >> 4, first = wave * 64 + lane;
  float* const to_lds = strips + (wave * 16 + column) * STRIP_STRIDE + group * STRIP * ${chunk};
  const u32 at = first % (STRIP_COLS / 4) * 4; // of a strip
  // Strip column: group, then STRIP of its 4 registers, then `chunk` columns.
  const u32 d = at / (${chunk} * STRIP) * ${4 * chunk} + at % (${chunk} * STRIP);
  const float *from[EACH], *weight[EACH];
  gptr out[EACH];
  bool here[EACH];
  f32x2 of_row[EACH][WAVES];
#pragma unroll
  for (u32 i = 0; i < EACH; i++) {
    const u32 row = first / (STRIP_COLS / 4) + WAVES * 256 / STRIP_COLS * i;
    weight[i] = weights + 16 * b + (row & 15);
    from[i] = strips + (row & 15) * STRIP_STRIDE + at;
    here[i] = (EACH > 1 || row < 16) && (int)(16 * b + row) < to.rows;
    out[i] = global(FINAL ? (const void*)a.o : (const void*)a.part_o) +
             BYTES * (((FINAL ? 0 : to.part) + to.row + 16 * b + row) * R + d);
  }
#pragma unroll
  for (int j = 0; j < NJ; j++)
#pragma unroll
    for (int half = 0; half < 4 / STRIP; half++) {
#pragma unroll
      for (int r = 0; r < STRIP; r++)
#pragma unroll
        for (int c = 0; c < ${chunk}; c += 4) {
          f32x4 x;
#pragma unroll
          for (int i = 0; i < 4; i++) x[i] = o[j][c + i][half * STRIP + r];
          *(f32x4*)(to_lds + r * ${chunk} + c) = x;
        }
      __syncthreads();
      f32x4 x[EACH][WAVES];
#pragma unroll
      for (u32 i = 0; i < EACH; i++)
#pragma unroll
        for (int w = 0; w < WAVES; w++) {
          if (j == 0 && half == 0) {
            of_row[i][w] = {weight[i][w * ROWS], weight[i][w * ROWS]};
            asm volatile("" : "+v"(of_row[i][w])); // a pair, which is not made anew for each strip
          }
          x[i][w] = *(const f32x4*)(from[i] + w * (16 * STRIP_STRIDE));
        }
      const int base = ${16 * chunk} * j + half * STRIP * ${chunk};
#pragma unroll
      for (u32 i = 0; i < EACH; i++) {
        f32x2 low = {0.0f, 0.0f}, high = {0.0f, 0.0f};
#pragma unroll
        for (int w = 0; w < WAVES; w++) low += x[i][w].xy * of_row[i][w], high += x[i][w].zw * of_row[i][w];
//@ if columns ~= "" then
        low *= ${columns}, high *= ${columns};
//@ end
        if (!here[i] || (${16 * chunk} * (j + 1) > R && base + (int)d >= R)) continue;
        if (FINAL) *(MLAF_GLOBAL u32x2*)(out[i] + BYTES * base) = u32x2{pack2(low.x, low.y), pack2(high.x, high.y)};
        else *(MLAF_GLOBAL f32x4*)(out[i] + BYTES * base) = f32x4{low.x, low.y, high.x, high.y};
      }
      __syncthreads();
    }
}

MLAF_DEV void finish(const mlaf_decode_args& a, const piece& to, char* lds, int lane, int wave, row_state (&mine)[BLOCKS],
                     o_blocks (&o)[BLOCKS]${more}) {
  float* const strips = (float*)lds;
  row_state* const rows = (row_state*)(strips + WAVES * 16 * STRIP_STRIDE);
  float* const weights = (float*)(rows + WAVES * ROWS);
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
    if (group == 0) weights[wave * ROWS + 16 * b + column] = ${weight};
    if (to.final) write_rows<true>(a, to, strips, weights, b, lane, wave, o[b]${passed});
    else write_rows<false>(a, to, strips, weights, b, lane, wave, o[b]${passed});
  }
}
