// The values' warpgroups: O^T, of half of the columns each. Handed over: scales (groups of columns that each token has a scale
// for; 0: none), scales_apart (tokens of a tile are not in their order: place.h), kpe16 (rope columns have no scale), scored
// (they wait for the next tile's scores), early (Q of index lists is taken ahead of their facts), pools (scales are powers of
// two: values_pools.h).
//@ needs("EMPTY_Q_AT", "END_AT", "FACTORS_AT", "FACTS_AT", "FULL_Q_AT", "GROUPS", "H", "HALF", "INVERSE_AT", "MATH", "N", "PS")
//@ needs("P_AT", "P_EMPTY_AT", "P_FULL_AT", "Q_AT", "Q_READY", "R", "RAISED_AT", "RING_AT", "SCALES_AT", "STEP_16")
//@ needs("TILE", "VALUES", "V_AHEAD", "V_BUFFERS")
//@ if scored then needs("SCORED_AT") end
//@ if pools then needs("MORE_P", "P_BYTES", "RAISED_BLOCKS", "RAISED_ROWS", "SHIFTS_AT", "SHIFT_FACTORS_AT") end

MLAF_DEV void rescale(u32 factors, float (&o)[HALF][N / 2]) {
#pragma unroll
  for (int j = 0; j < N / 8; j++) {
    const float2 f = load_8(factors + 32 * j + 8 * (threadIdx.x % 4));
#pragma unroll
    for (int i = 0; i < HALF; i++)
#pragma unroll
      for (int h = 0; h < 2; h++) o[i][4 * j + 2 * h] *= f.x, o[i][4 * j + 2 * h + 1] *= f.y;
  }
}

//@ if pools then include("mla_decode/sm90_raw_mid/values_pools.h")
//@ else
//@ if scales > 0 then
MLAF_DEV u32 times_f16(u32 x, u32 y) {
  asm("mul.rn.f16x2 %0, %0, %1;" : "+r"(x) : "r"(y));
  return x;
}

//@ end
// O^T += V^T P^T (p: operand() of P): 16 tokens of a block of 64 columns at a time, all blocks in turns. at: of the lane's row of
// its matrices, which hold two blocks.${scales > 0 and " scales: of the lane's two tokens in the first group of columns." or ""}
// may_begin(): waits, behind the first operand, until the products may begin.
template <class MayBegin>
MLAF_DEV void multiply_v(u32 at, u32 p,${scales > 0 and " u32 scales," or ""} float (&o)[HALF][N / 2], MayBegin may_begin) {
  constexpr int PAIRS = HALF / 2, STEPS = 4 * HALF;
  u32 x[V_AHEAD + 1][4], a[V_BUFFERS][4];
  auto place = [&](int n) { return at + n % PAIRS * 128 + n / PAIRS * STEP_16; };
#pragma unroll
  for (int n = 0; n < V_AHEAD; n++) load_transposed(x[n], place(n));
#pragma unroll
  for (int n = 0; n < STEPS; n++) {
    u32 (&own)[4] = a[n % V_BUFFERS];
    const u32 (&from)[4] = x[n / 2 % (V_AHEAD + 1)];
    if (n % 2 == 0 && n / 2 + V_AHEAD < STEPS / 2) load_transposed(x[(n / 2 + V_AHEAD) % (V_AHEAD + 1)], place(n / 2 + V_AHEAD));
    if (n >= V_BUFFERS) mma_wait<V_BUFFERS - 1>();
    to_f16(by_column(from[n % 2 * 2]), own[0], own[1]);
    to_f16(by_column(from[n % 2 * 2 + 1]), own[2], own[3]);
//@ if scales > 0 then
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const u32 by = load_s32(scales + n / 2 % PAIRS * 128 + n / HALF * 32 + 16 * h);
      own[2 * h] = times_f16(own[2 * h], by);
      own[2 * h + 1] = times_f16(own[2 * h + 1], by);
    }
//@ end
    if (n == 0) may_begin();
    mma_begin();
    mma_f16(o[n % HALF], own, p + n / HALF * 2, true);
    mma_commit();
  }
  mma_wait<0>();
#pragma unroll
  for (int b = 0; b < HALF; b++) settle(o[b]);
}
//@ end

// This warpgroup's columns of O as 16 bits, by way of Q's place: whole rows of it leave together. Of a block of 64 columns the
// thread has 16 warp + lane/4*2 and the next. 16-byte units of row n are permuted by n%8.
//@ local thread = pools and "thread_now()" or "threadIdx.x" -- what is made of threadIdx is kept, and spilled
template <int G>
MLAF_DEV void write_o(const mlaf_decode_args& a, const work& w, char* base, u32 smem, const float (&o)[HALF][N / 2]) {
  constexpr int UNITS = HALF * 8; // of 16 bytes, in a row of this half
  const int lane = ${thread} & 31, warp = ${thread} / 32 % 4;
#pragma unroll
  for (int j = 0; j < N / 8; j++) {
    const float2 f = load_8(smem + INVERSE_AT + 32 * j + 8 * (lane % 4));
#pragma unroll
    for (int c = 0; c < 2; c++) {
      const int n = 8 * j + 2 * (lane % 4) + c;
#pragma unroll
      for (int i = 0; i < HALF; i++) {
        const u32 unit = UNITS * G + 8 * i + 2 * warp + lane / 16;
        const float by = c ? f.y : f.x;
//@ if pools then
        float first = o[i][4 * j + c], second = o[i][4 * j + 2 + c];
        if (G == 1 && i == HALF - 1) {
          by_column_pairs(first, second);
          const int at = wide_column();
          store_u32(smem + Q_AT + n * (2 * R) + ((UNITS * G + at / 8 ^ n % 8) << 4) + at % 8 * 2, pack2(first * by, second * by));
          continue;
        }
        store_u32(smem + Q_AT + n * (2 * R) + ((unit ^ n % 8) << 4) + lane / 4 % 4 * 4, pack2(first * by, second * by));
//@ else
        store_u32(smem + Q_AT + n * (2 * R) + ((unit ^ n % 8) << 4) + lane / 4 % 4 * 4,
                  pack2(o[i][4 * j + c] * by, o[i][4 * j + 2 + c] * by));
//@ end
      }
    }
  }
  named_sync(2 + G, 128);
  char* const to = a.o + w.row * (2 * R);
  const int rows = w.rows;
#pragma unroll 4
  for (int i = ${thread} % 128; i < rows * UNITS; i += 128) {
    const int n = i / UNITS, unit = UNITS * G + i % UNITS;
    *(uint4*)(to + n * (2 * R) + 16 * unit) = load_16(smem + Q_AT + n * (2 * R) + ((unit ^ n % 8) << 4));
  }
}

template <int G>
MLAF_DEV void write_partial(const mlaf_decode_args& a, const work& w, u32 smem, const float (&o)[HALF][N / 2]) {
  const int lane = ${thread} & 31, warp = ${thread} / 32 % 4, rows = w.rows;
  float* const to = a.part_o + (w.part + w.row0) * R + 64 * HALF * G + 16 * warp + lane / 4 * 2;
#pragma unroll
  for (int j = 0; j < N / 8; j++) {
    const float2 f = load_8(smem + INVERSE_AT + 32 * j + 8 * (lane % 4));
#pragma unroll
    for (int c = 0; c < 2; c++) {
      const int n = 8 * j + 2 * (lane % 4) + c;
//@ if pools then
      float first = o[HALF - 1][4 * j + c], second = o[HALF - 1][4 * j + 2 + c];
      if (G == 1) by_column_pairs(first, second);
//@ end
      if (n >= rows) continue;
#pragma unroll
      for (int i = 0; i < ${pools and "HALF - 1" or "HALF"}; i++)
        *(float2*)(to + n * R + 64 * i) = make_float2(o[i][4 * j + c] * (c ? f.y : f.x), o[i][4 * j + 2 + c] * (c ? f.y : f.x));
//@ if pools then
      const int at = G == 1 ? wide_column() - (16 * warp + lane / 4 * 2) : 64 * (HALF - 1);
      *(float2*)(to + n * R + at) = make_float2(first * (c ? f.y : f.x), second * (c ? f.y : f.x));
//@ end
    }
  }
}

template <int G>
MLAF_DEV void work_on_values(const mlaf_decode_args& a, char* base, u32 smem) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4;
//@ local held = scales_apart and "u32" or "const u32"
  ${held} v_at = smem + RING_AT + place_of(token_at(lane % 16)) + lane / 16 * 64 + 16 * warp + 64 * HALF * G;
//@ if scales_apart then
  asm volatile("" : "+r"(v_at)); // else what it is made of is kept, too, and 64 rows spill
//@ end
//@ local factors = scales == 0 and not kpe16 and " * (a.kv_scale ? *a.kv_scale : 1.0f)" or ""
//@ if fp8_q then factors = factors .. " * (a.q_scale ? *a.q_scale : 1.0f)" end
  const float scale = a.scale_log2e${factors};
  const work& w = ((const facts*)(base + FACTS_AT))->w;
  place at = {0, 0, 1};
//@ if pools then
  u32 taken = 0; // P's number
//@ end
#pragma unroll 1
  for (u32 k = 0;; k++) {
//@ if early then
    // A list's rows follow from the block: its Q is taken while the list is read.
    const bool early = k == 0 && reads_list(a);
    const int row0 = blockIdx.x * N;
    if (early) ${take("((i64)blockIdx.z * H + row0)")}smaller(H - row0, N), scale);
//@ end
    barrier_wait(smem + FULL_Q_AT, k & 1);
    if (((const facts*)(base + FACTS_AT))->none) return;
    refuse_request(a, w.bad, w.part, threadIdx.x, VALUES);
//@ if early then
    if (!early)
//@ end
    ${take("w.row")}w.rows, scale);
    fence_async();
    named_sync(Q_READY, MATH);
    float o[HALF][N / 2];
#pragma unroll
    for (int i = 0; i < HALF; i++)
#pragma unroll
      for (int j = 0; j < N / 2; j++) o[i][j] = 0.0f;
#pragma unroll 1
//@ if pools then
    for (int left = tiles_of(w); left > 0;) {
      const u32 number = taken % PS;
      barrier_wait(smem + P_FULL_AT + number * 8, taken / PS & 1);
      const int told = load_s32(smem + RAISED_AT + number * 4);
//@   if scored then
      if (left > 1 || told & MORE_P) barrier_wait(smem + SCORED_AT + (taken + 1) % PS * 8, (taken + 1) / PS & 1);
//@   end
      if (told & RAISED_ROWS) rescale(smem + FACTORS_AT + number * (4 * N), o);
      if (told & RAISED_BLOCKS) rescale_blocks<G>(smem + SHIFT_FACTORS_AT + number * 32, o);
      const u32 scales = smem + SCALES_AT + number * (128 * GROUPS) + 128 * HALF * G + lane % 4 * 32;
      multiply_v<G>(v_at + TILE * at.slot, operand(smem + P_AT + number * P_BYTES), scales, o);
      barrier_arrive_if(lane == 0 && !(told & MORE_P), empty_barrier(smem, at.slot));
      barrier_arrive_if(lane == 0, smem + P_EMPTY_AT + number * 8);
      taken++;
      if (told & MORE_P) continue; // of this tile
      left--;
      advance(at, 1);
    }
//@ else
    for (int left = tiles_of(w); left > 0; left--) {
      const u32 i = at.tile - 1; // P's number
      barrier_wait(smem + P_FULL_AT + i % PS * 8, i / PS & 1);
      if (load_s32(smem + RAISED_AT + i % PS * 4)) rescale(smem + FACTORS_AT + i % PS * (4 * N), o);
//@ if scored then
      auto may_begin = [&] {
        if (left > 1) barrier_wait(smem + SCORED_AT + (i + 1) % PS * 8, (i + 1) / PS & 1);
      };
//@ else
      auto may_begin = [] {};
//@ end
//@ if scales > 0 then
      const u32 scales = smem + SCALES_AT + i % PS * (128 * GROUPS) + 256 * G + lane % 4 * 4;
      multiply_v(v_at + TILE * at.slot, operand(smem + P_AT + i % PS * (128 * N)), scales, o, may_begin);
//@ else
      multiply_v(v_at + TILE * at.slot, operand(smem + P_AT + i % PS * (128 * N)), o, may_begin);
//@ end
      barrier_arrive_if(lane == 0, empty_barrier(smem, at.slot));
      barrier_arrive_if(lane == 0, smem + P_EMPTY_AT + i % PS * 8);
      advance(at, 1);
      at.tile++;
    }
//@ end
    barrier_wait(smem + END_AT, k & 1);
//@ if pools then
    end_blocks<G>(smem + SHIFTS_AT, o);
//@ end
    if (w.part < 0) write_o<G>(a, w, base, smem, o);
    else write_partial<G>(a, w, smem, o);
    barrier_arrive(smem + EMPTY_Q_AT);
  }
}
