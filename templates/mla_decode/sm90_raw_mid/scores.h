// The scores' warpgroup: S^T and P^T of every tile, the rows' references and sums. Handed over: scales (groups of columns
// that each token has a scale for; 0: none), kind (the problem's type), step_8, scored (values wait for the next tile's scores),
// lists (sinks may come with them: mla_decode/lib/list_sink.h), kpe16 (rope columns of that type behind the codes), pools (scales
// are powers of two: scores_pools.h), scales_apart (they do not lie behind the codes), planar (nor do rope columns).
//@ needs("AHEAD", "BAD_AT", "BUFFERS", "CAUSAL", "COLS", "EMPTY_Q_AT", "END_AT", "FACTORS_AT", "FACTS_AT", "FULL_Q_AT")
//@ needs("GROUPS", "H", "INVERSE_AT", "LIFT", "LN_2", "LOWEST", "MATH", "N", "NV", "PITCH", "PS", "P_AT", "P_EMPTY_AT")
//@ needs("P_FULL_AT", "Q_AT", "Q_READY", "Q_SLAB", "R", "RAISED_AT", "REFS_AT", "RING_AT", "ROPE", "ROWS_AT", "SCALES_AT")
//@ needs("SLACK", "STEP_8", "SUMS_AT", "TILE", "TOKEN")
//@ if scored then needs("SCORED_AT") end
//@ if pools then needs("P_BYTES", "P_SLAB", "RAISED_BLOCKS", "RAISED_ROWS", "MORE_P", "SHIFTS_AT", "TOKEN_ROW") end

//@ if not pools then include("mla_decode/sm90_raw_mid/thread_now.h") end
//@ local own = teams == 2 and "own_barrier()" or "1" -- named barrier of the warpgroup's 128 threads
//@ if teams == 2 then
//@   needs("BOTH", "OWN", "SUM_REFS_AT", "TURN", "TURN_AT", "VALUES")

// ---- Two warpgroups in turns --------------------------------------------------------------------------------------------
// Tile t of a piece is the (t % 2)th warpgroup's. Both make scores at the same time; m, the number of P and whether tiles are
// wide go from tile to tile: who has the turn reads them, sets m, and passes the turn on before it makes P.
struct turn_state {
  u32 i, raises, wide; // P's number; how often m was set anew in this piece
};
MLAF_DEV int team_now() { return thread_now() / 128 - 2; }
MLAF_DEV int own_barrier() { return team_now() ? OWN : 1; }
MLAF_DEV turn_state load_turn(u32 smem) {
  const uint4 x = load_16(smem + TURN_AT);
  return {x.x, x.y, x.z};
}
MLAF_DEV void pass_turn(u32 smem, const turn_state& x, bool last) {
  if (thread_now() % 128 == 0)
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %3};"
                 ::"r"(smem + TURN_AT), "r"(x.i), "r"(x.raises), "r"(x.wide) : "memory");
  if (!last) named_arrive(TURN + (team_now() ^ 1), 256);
}
//@ end

// Two numbers for each group of 8 rows: those of the rows that the thread has in it.
typedef float2 of_rows[N / 8];
MLAF_DEV void load_rows(of_rows& x, u32 at) {
#pragma unroll
  for (int j = 0; j < N / 8; j++) x[j] = load_8(at + 32 * j + threadIdx.x % 4 * 8);
}

// exp2_fast() that stays where it stands: ptxas has no registers for all of them at once.
MLAF_DEV float exp2_here(float x) {
  float y;
  asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

//@ if pools then
// 2^(x - m), of which x - m is made anew: two of each score would be kept else.
MLAF_DEV float exp2_here(float x, float m) {
  float y;
  asm volatile("{\n.reg .f32 d;\nsub.f32 d, %1, %2;\nex2.approx.ftz.f32 %0, d;\n}" : "=f"(y) : "f"(x), "f"(m));
  return y;
}

//@ end
//@ local units = scales > 0 and not pools -- tokens have units, below
//@ if units then
// A token's unit is about 2^-6 of its largest scale: values are its codes times its scales over that, which f16 has whatever the
// scales are, and P is times the unit, by its logarithm in the scores. The sum of P is without units, in fp32, which bears 2^100
// between them. Where that scale is a power of two, so is the unit.
struct token_units {
  float inverse[2], log2[2]; // of the thread's two tokens: 1 over the unit, and the logarithm of that
};
constexpr float UNIT_LEAST = 0x1p-50f; // that a largest scale counts as

//@ end
//@ local relative = pools and "" or " relative to m"
//@ local handed = pools and "const of_rows& m, " or units and "const token_units& units, " or ""
// P^T to shared memory: a row of 128 bytes for each query row, swizzled. x: scores${relative}; sum: of P of this thread's
// tokens; p: of the lane's row of its matrices.
MLAF_DEV void store_p(const float (&x)[N / 2], ${handed}of_rows& sum, u32 p) {
#pragma unroll
  for (int j = 0; j < N / 8; j += 2) {
    u32 packed[4]${pools and ", wide[4]" or ""};
#pragma unroll
    for (int k = 0; k < 4; k++) {
//@ if pools then
      const float2 low = m[j + k / 2];
      const float first = exp2_here(x[4 * j + 2 * k], low.x), second = exp2_here(x[4 * j + 2 * k + 1], low.y);
//@ else
      const float first = exp2_here(x[4 * j + 2 * k]), second = exp2_here(x[4 * j + 2 * k + 1]);
//@ end
//@ if units then
      sum[j + k / 2].x = fmaf(first, units.inverse[k % 2], sum[j + k / 2].x);
      sum[j + k / 2].y = fmaf(second, units.inverse[k % 2], sum[j + k / 2].y);
//@ else
      sum[j + k / 2].x += first;
      sum[j + k / 2].y += second;
//@ end
      packed[k] = pack_f16(first, second);
//@ if pools then
      wide[k] = pack2(first, second);
//@ end
    }
    store_matrices(p + 1024 * j, packed[0], packed[1], packed[2], packed[3]);
//@ if pools then
    store_matrices(p + P_SLAB + 1024 * j, wide[0], wide[1], wide[2], wide[3]);
//@ end
  }
}

//@ if pools then include("mla_decode/sm90_raw_mid/scores_pools.h", { own = own })
//@ else
// S^T of a tile${scales == 0 and ", whose last products are left under way" or ""}. at: of the row that the lane has
// the address for; q: operand() of Q.
//@ if kpe16 then
// The codes' sum is multiplied by their scale, then rope columns are added.
//@ end
//@ if scales > 0 then
// The sums of each group of columns are multiplied by the tokens' scales (scales: address of those of row lane/4; those of the
// row 8 behind it are NEXT bytes on).
constexpr int NEXT = ${scales_apart and "16" or step_8 .. " * PITCH"};

// top: the tokens' largest scales.
MLAF_DEV void find_units(token_units& units, const float (&top)[2]) {
#pragma unroll
  for (int h = 0; h < 2; h++) {
    units.inverse[h] = float_of((254 + 6 << 23) - bits_of(top[h]));
    units.log2[h] = log2_fast(units.inverse[h]);
  }
}

// Scales over their token's unit to f16, for the values: lane 4r + g has group g of row r, at 2 (16 warp + r) from 128 g on.
MLAF_DEV void store_scales(u32 to, u32 scales, const token_units& units) {
  const int lane = threadIdx.x & 31, g = lane % 4;
#pragma unroll
  for (int h = 0; h < 2; h++)
    asm volatile("{\n.reg .b16 y;\ncvt.rn.f16.f32 y, %1;\nst.shared.b16 [%0], y;\n}" ::"r"(to + 128 * g + lane / 4 * 2 + 16 * h),
                 "f"(load_4(scales + NEXT * h + 4 * g) * units.inverse[h]) : "memory");
}

//@ if planar then
// rope: of the lane's row of rope columns.
//@ end
MLAF_DEV void scores(u32 at, u32 q, u32 scales, float (&s)[N / 2], token_units& units${planar and ", u32 rope" or ""}) {
  constexpr int STEPS = R / 16, EACH = STEPS / GROUPS;
  u32 x[AHEAD + 1][4], a[BUFFERS][4];
  float part[N / 2], top[2] = {UNIT_LEAST, UNIT_LEAST};
  const int second = threadIdx.x % 32 / 16 * 16;
#pragma unroll
  for (int k = 0; k < ROPE / 16; k++) {
    if (k >= BUFFERS) mma_wait<BUFFERS - 1>();
    load_matrices(a[k % BUFFERS], ${planar and "rope + second" or "at + second + TOKEN - 2 * ROPE"} + 32 * k);
    mma_begin();
    mma_${kind}(s, a[k % BUFFERS], q + (NV * Q_SLAB + 32 * k) / 16, k > 0);
    mma_commit();
  }
  at += second;
#pragma unroll
  for (int c = 0; c < AHEAD; c++) load_matrices(x[c], at + 32 * c);
#pragma unroll
  for (int c = 0; c < STEPS; c++) {
    u32 (&own)[4] = a[c % BUFFERS];
    const u32 (&from)[4] = x[c / 2 % (AHEAD + 1)];
    if (c % 2 == 0 && c / 2 + AHEAD < STEPS / 2) load_matrices(x[(c / 2 + AHEAD) % (AHEAD + 1)], at + 32 * (c / 2 + AHEAD));
    if (c < BUFFERS || c % EACH >= BUFFERS) mma_wait<BUFFERS - 1>();
    to_f16(from[c % 2 * 2], own[0], own[2]);
    to_f16(from[c % 2 * 2 + 1], own[1], own[3]);
    mma_begin();
    mma_f16(part, own, q + (c / 4 * Q_SLAB + c % 4 * 32) / 16, c % EACH > 0);
    mma_commit();
    if (c % EACH < EACH - 1) continue;
    const float by[2] = {load_4(scales + c / EACH * 4), load_4(scales + NEXT + c / EACH * 4)};
#pragma unroll
    for (int h = 0; h < 2; h++) top[h] = fmaxf(top[h], fabsf(by[h]));
    if (c + 1 == STEPS) find_units(units, top);
    mma_wait<0>();
//@ if rope > 0 then
    if (c < EACH) settle(s);
    settle(part);
#pragma unroll
    for (int i = 0; i < N / 2; i++) s[i] = fmaf(part[i], by[i / 2 % 2], s[i]);
//@ else
    settle(part);
#pragma unroll
    for (int i = 0; i < N / 2; i++) s[i] = c < EACH ? part[i] * by[i / 2 % 2] : fmaf(part[i], by[i / 2 % 2], s[i]);
//@ end
  }
}
//@ else
MLAF_DEV void scores(u32 at, u32 q, float (&s)[N / 2]${kpe16 and ", float latent_scale" or ""}) {
  // A shorter loop is fetched faster. Codes and rope columns apart: ptxas serialises what follows a loop (C7515).
  constexpr int TURNS = ${kpe16 and 1 or 3}, EACH = ${kpe16 and "R" or "TOKEN"} / 16 / TURNS, PAIRS = EACH / 2;
  u32 x[AHEAD + 1][4], a[BUFFERS][4];
  at += threadIdx.x % 32 / 16 * 16;
#pragma unroll
  for (int c = 0; c < AHEAD; c++) load_matrices(x[c], at + 32 * c);
#pragma unroll 1
  for (int turn = 0; turn < TURNS; turn++) {
#pragma unroll
    for (int c = 0; c < EACH; c++) {
      u32 (&own)[4] = a[c % BUFFERS];
      const u32 (&from)[4] = x[c / 2 % (AHEAD + 1)];
      if (c % 2 == 0 && (c / 2 + AHEAD < PAIRS || turn + 1 < TURNS))
        load_matrices(x[(c / 2 + AHEAD) % (AHEAD + 1)], at + 32 * (c / 2 + AHEAD));
      mma_wait<BUFFERS - 1>();
      to_f16(from[c % 2 * 2], own[0], own[2]);
      to_f16(from[c % 2 * 2 + 1], own[1], own[3]);
      mma_begin();
      mma_f16(s, own, q + (c / 4 * Q_SLAB + c % 4 * 32) / 16, turn + c > 0);
      mma_commit();
    }
    at += 32 * PAIRS;
    q += EACH / 4 * Q_SLAB / 16;
  }
//@ if kpe16 then
  mma_wait<0>();
  settle(s);
#pragma unroll
  for (int i = 0; i < N / 2; i++) s[i] *= latent_scale;
  settle(s);
#pragma unroll
  for (int k = 0; k < ROPE / 16; k++) {
    if (k >= BUFFERS) mma_wait<BUFFERS - 1>();
    load_matrices(a[k % BUFFERS], at + 32 * k);
    mma_begin();
    mma_${kind}(s, a[k % BUFFERS], q + 2 * k, true);
    mma_commit();
  }
//@ end
}
//@ end
//@ end

//@ local more = pools and " Their scales are 1." or ""
// Tokens beyond the sequence hold anything: their values must be zero, since 0 * NaN is NaN.${more}
//@ local ones = "i % (TOKEN / 16) * 16 == TOKEN_ROW ? make_uint4(0x7f7f7f7f, 0x7f7f7f7f, 0, 0) : "
//@ local value = (pools and ones or "") .. "make_uint4"
MLAF_DEV void clear_rows(char* tile, int valid) {
//@ if scales_apart then include("mla_decode/sm90_raw/clear_apart.h", { planar = planar })
//@ else
  for (int i = valid * (TOKEN / 16) + (int)threadIdx.x % 128; i < 64 * (TOKEN / 16); i += 128)
    *(uint4*)(tile + place_of(i / (TOKEN / 16)) + i % (TOKEN / 16) * 16) = ${value}(0, 0, 0, 0);
//@ end
  named_sync(${own}, 128);
}

//@ local warps_from = teams == 2 and "team_now() * (4 * N) + " or ""
//@ local own_row = teams == 2 and "(team_now() * (4 * N) + n)" or "n"
// Sets m anew, of all rows that grew, where one score is too far above it: for the values O's factors, with P number i.
MLAF_DEV void raise(u32 smem, const float (&s)[N / 2], of_rows& sum, of_rows& m, u32 i) {
  const int n = thread_now() % 128, lane = n % 32, warp = n / 32;
#pragma unroll
  for (int c = 0; c < COLS; c++) {
    const float top = max_over_lanes<4, 32>(fmaxf(s[c / 2 * 4 + c % 2], s[c / 2 * 4 + c % 2 + 2]));
    if (lane < 4) store_4(smem + SUMS_AT + 4 * (${warps_from}warp * N + 8 * (c / 2) + 2 * lane + c % 2), top);
  }
  named_sync(${own}, 128);
  if (n < N) {
    float top = load_4(smem + SUMS_AT + 4 * ${own_row});
#pragma unroll
    for (int k = 1; k < 4; k++) top = fmaxf(top, load_4(smem + SUMS_AT + 4 * (${warps_from}k * N + n)));
    const float m = load_4(smem + REFS_AT + 4 * n), now = fmaxf(m, top - LIFT);
    store_4(smem + REFS_AT + 4 * n, now);
//@ if teams == 2 then
    store_4(smem + SUM_REFS_AT + 4 * (team_now() * N + n), now);
//@ end
    store_4(smem + FACTORS_AT + 4 * (i % PS * N + n), exp2_fast(m - now));
  }
  named_sync(${own}, 128);
  of_rows by;
  load_rows(by, smem + FACTORS_AT + i % PS * (4 * N));
  load_rows(m, smem + REFS_AT);
#pragma unroll
  for (int j = 0; j < N / 8; j++) sum[j].x *= by[j].x, sum[j].y *= by[j].y;
}

// x = s relative to m. True if one is too high: by four maxima, since 32 comparisons would wait for each other.
MLAF_DEV bool relative(const float (&s)[N / 2], const of_rows& m, float (&x)[N / 2]) {
  float top[4];
#pragma unroll
  for (int i = 0; i < N / 2; i++) {
    x[i] = s[i] - (i % 2 ? m[i / 4].y : m[i / 4].x);
    top[i % 4] = i < 4 ? x[i] : fmaxf(top[i % 4], x[i]);
  }
  return fmaxf(fmaxf(top[0], top[1]), fmaxf(top[2], top[3])) > LIFT + SLACK;
}

//@ if pools then
MLAF_DEV bool too_high(const float (&s)[N / 2], const of_rows& m) {
  float x[N / 2];
  return relative(s, m, x);
}

//@ end
//@ if teams == 2 then
// Sums that are relative to what m was when this warpgroup had its last tile, to m.
MLAF_DEV void refer_sums(u32 smem, const of_rows& m, of_rows& sum) {
  const u32 refs = smem + SUM_REFS_AT + team_now() * (4 * N);
  of_rows was;
  load_rows(was, refs);
#pragma unroll
  for (int j = 0; j < N / 8; j++) sum[j].x *= exp2_fast(was[j].x - m[j].x), sum[j].y *= exp2_fast(was[j].y - m[j].y);
  named_sync(own_barrier(), 128);
  const int n = thread_now() % 128;
  if (n < N) store_4(refs + 4 * n, load_4(smem + REFS_AT + 4 * n));
}

//@ end
// The rows' sums over all threads: their inverse for the values, the LSE for the caller.
//@ local sums = teams == 2 and "of_rows& sum, u32 seen" or "const of_rows& sum"
MLAF_DEV void finish_rows(const mlaf_decode_args& a, u32 smem, const work& w, ${sums}) {
  const int n = thread_now() % 128, lane = n % 32, warp = n / 32;
//@ if teams == 2 then
  named_sync(BOTH, 256); // m is final
  if (load_turn(smem).raises != seen) {
    of_rows m;
    load_rows(m, smem + REFS_AT);
    refer_sums(smem, m, sum);
  }
//@ end
#pragma unroll
  for (int c = 0; c < COLS; c++) {
    const float all = sum_over_lanes<4, 32>(c % 2 ? sum[c / 2].y : sum[c / 2].x);
    if (lane < 4) store_4(smem + SUMS_AT + 4 * (${warps_from}warp * N + 8 * (c / 2) + 2 * lane + c % 2), all);
  }
//@ if teams == 2 then
  named_sync(BOTH, 256);
  if (team_now()) return;
//@ else
  named_sync(${own}, 128);
//@ end
  if (n < N) {
    float all = 0.0f;
#pragma unroll
    for (int i = 0; i < ${4 * teams}; i++) all += load_4(smem + SUMS_AT + 4 * (i * N + n));
    const float scale = ${scales > 0 and "1.0f" or "a.kv_scale ? *a.kv_scale : 1.0f"};
//@ if lists then
    const float lse = all == 0.0f ? minus_inf() : load_4(smem + REFS_AT + 4 * n) + log2_fast(all);
    store_4(smem + INVERSE_AT + 4 * n, all == 0.0f ? 0.0f : scale / all * sink_factor(a, smem, n, lse)); // no token seen: O = 0
    if (n < w.rows) {
//@ else
    store_4(smem + INVERSE_AT + 4 * n, all == 0.0f ? 0.0f : scale / all); // no token seen: O = 0
    if (n < w.rows) {
      const float lse = all == 0.0f ? minus_inf() : load_4(smem + REFS_AT + 4 * n) + log2_fast(all);
//@ end
      if (w.part >= 0) a.part_lse[w.part + w.row0 + n] = lse;
      else if (a.lse) a.lse[w.row + n] = lse * LN_2;
    }
  }
  barrier_arrive(smem + END_AT);
}

//@ if pools then
// Where a lane's row of its matrices of P lies.
MLAF_DEV u32 place_of_p(u32 smem) {
  const int thread = thread_now(), lane = thread % 32, warp = thread / 32 % 4;
  return smem + P_AT + lane / 16 * 1024 + lane % 8 * 128 + ((2 * warp + lane / 8 % 2 ^ lane % 8) << 4);
}

// P of a wide tile, whose scores are x: to the values once for each group, with P numbers from i on. raised: O is to
// be multiplied by the rows' factors. What is left out of the last one is the word that it is there. True if tiles behind it are
// wide, too.
MLAF_DEV bool hand_over_wide(u32 smem, float (&x)[N / 2], const of_rows& m, of_rows& sum, u32 row, u32 p_at,
                             bool first, bool raised, u32& i) {
  const int thread = thread_now() % 128, lane = thread % 32, warp = thread / 32;
#pragma unroll
  for (int k = 0; k < N / 2; k++) {
    x[k] = exp2_here(x[k], k % 2 ? m[k / 4].y : m[k / 4].x);
    if (k % 2) sum[k / 4].y += x[k];
    else sum[k / 4].x += x[k];
  }
  const bool wide = refer(smem, x, row, first, i);
  u32 told = RAISED_BLOCKS | (raised ? RAISED_ROWS : 0);
#pragma unroll 1
  for (int g = 0;; g++) {
    if (thread == 0) store_u32(smem + RAISED_AT + i % PS * 4, told | (g + 1 < GROUPS ? MORE_P : 0));
    told = 0;
    store_wide(smem, x, row, g, p_at + i % PS * P_BYTES, smem + SCALES_AT + i % PS * (128 * GROUPS) + 8 * warp);
    if (g + 1 == GROUPS) return wide;
    fence_async();
    __syncwarp();
    barrier_arrive_if(lane == 0, smem + P_FULL_AT + i % PS * 8);
    i++;
//@   if scored then
    barrier_arrive_if(lane == 0, smem + SCORED_AT + i % PS * 8);
//@   end
    barrier_wait(smem + P_EMPTY_AT + i % PS * 8, i / PS & 1 ^ 1);
  }
}

//@ end
MLAF_DEV void work_on_scores(const mlaf_decode_args& a, char* base, u32 smem) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4;
  const u32 q = operand(smem + Q_AT), k_at = smem + RING_AT + place_of(token_at(16 * warp + lane % 16));
//@ if not pools then
  const u32 p_at = smem + P_AT + lane / 16 * 1024 + lane % 8 * 128 + ((2 * warp + lane / 8 % 2 ^ lane % 8) << 4);
//@ end
  const int own_token = token_at(16 * warp + lane / 4); // and STEP_8 behind it
//@ if kpe16 then
  const float latent_scale = a.kv_scale ? *a.kv_scale : 1.0f;
//@ end
  const work& w = ((const facts*)(base + FACTS_AT))->w;
  place at = {0, 0, 1};
//@ if pools and teams == 1 then
  u32 i = 0; // P's number
//@ end
#pragma unroll 1
  for (u32 k = 0;; k++) {
    barrier_wait(smem + FULL_Q_AT, k & 1);
    if (((const facts*)(base + FACTS_AT))->none) return;
    // Tokens that a row sees: all of them, or by its query token. Rows are in the order of their tokens: row 0 sees least.
    auto sees = [&](int row) { return smaller(w.end, CAUSAL ? w.tokens - (w.n - 1 - (w.row0 + row) / H) : w.end); };
    const int end = w.end, all_see = sees(0);
    bool poisoned = w.bad${pools and teams == 1 and ", wide = false" or ""};
//@ if teams == 2 then
    u32 seen = 0; // how often m was set anew when `sum` was made relative to it
//@ end
    of_rows sum;
#pragma unroll
    for (int j = 0; j < N / 8; j++) sum[j] = make_float2(0.0f, 0.0f);
    if (threadIdx.x % 128 < N) store_4(smem + REFS_AT + 4 * (threadIdx.x % 128), LOWEST);
//@ if teams == 2 then
    if (threadIdx.x % 128 < N) store_4(smem + SUM_REFS_AT + 4 * (team_now() * N + threadIdx.x % 128), LOWEST);
    if (threadIdx.x == VALUES) store_u32(smem + TURN_AT + 4, 0), store_u32(smem + TURN_AT + 8, 0);
//@ end
//@ if pools then
    if (threadIdx.x % 128 < 8) store_4(smem + SHIFTS_AT + 4 * (threadIdx.x % 128), 1.0f);
//@ end
    named_sync(Q_READY, MATH);
#pragma unroll 1
    for (int token0 = w.begin; token0 < end; token0 += 64) {
//@ if teams == 2 then
      if ((token0 - w.begin) / 64 % 2 != team_now()) {
        advance(at, 1);
        at.tile++;
        continue;
      }
//@ end
      float s[N / 2]${pools and "" or ", x[N / 2]"};
      barrier_wait(full_barrier(smem, at.slot), at.lap);
      if (end - token0 < 64) clear_rows(base + RING_AT + TILE * at.slot, end - token0);
//@ if not pools and teams == 1 then
      const u32 i = at.tile - 1; // P's number
//@ end
//@ if pools then
      const u32 row = smem + RING_AT + TILE * at.slot + place_of(own_token);
      const uint2 codes[2] = {load_codes(row + TOKEN_ROW), load_codes(row + 8 * PITCH + TOKEN_ROW)};
      scores(k_at + TILE * at.slot, q, codes, s);
//@ elseif scales > 0 then
//@ local place = scales_apart and "scales_of(own_token)" or "place_of(own_token) + R"
      const u32 scales = smem + RING_AT + TILE * at.slot + ${place};
      token_units units;
//@ if planar then -- made anew for each tile: registers are short
      const u32 rope = rope_of(token_at(thread_now() / 32 % 4 * 16 + thread_now() % 16));
      scores(k_at + TILE * at.slot, q, scales, s, units, smem + RING_AT + TILE * at.slot + rope);
//@ else
      scores(k_at + TILE * at.slot, q, scales, s, units);
//@ end
//@ else
      scores(k_at + TILE * at.slot, q, s${kpe16 and ", latent_scale" or ""});
//@ end
//@ if scored then
      barrier_arrive_if(lane == 0, smem + SCORED_AT + i % PS * 8);
//@ end
      of_rows by, m;
//@ if not pools then
      load_rows(by, smem + ROWS_AT);
//@ end
//@ if teams == 1 then
      load_rows(m, smem + REFS_AT);
//@ end
      const int bad = load_s32(smem + BAD_AT + 4 * at.slot);
//@ if scales == 0 or pools then
      mma_wait<0>();
      settle(s);
//@ end
//@ if pools then
      auto finish_scores = [&] {
        load_rows(by, smem + ROWS_AT);
#pragma unroll
        for (int c = 0; c < N / 2; c++) s[c] *= c % 2 ? by[c / 4].y : by[c / 4].x;
        if (token0 + 64 <= all_see) return;
#pragma unroll
        for (int c = 0; c < N / 2; c++)
          if (token0 + own_token + c / 2 % 2 * STEP_8 >= sees(c / 4 * 8 + 2 * (lane % 4) + c % 2)) s[c] = minus_inf();
      };
      finish_scores();
      poisoned |= bad == at.tile; // a page id that is none
//@ else
#pragma unroll
//@ if units then
      for (int c = 0; c < N / 2; c++) s[c] = fmaf(s[c], c % 2 ? by[c / 4].y : by[c / 4].x, -units.log2[c / 2 % 2]);
//@ else
      for (int c = 0; c < N / 2; c++) s[c] *= c % 2 ? by[c / 4].y : by[c / 4].x;
//@ end
      poisoned |= bad == at.tile; // a page id that is none
      if (token0 + 64 > all_see) {
#pragma unroll
        for (int c = 0; c < N / 2; c++)
          if (token0 + own_token + c / 2 % 2 * STEP_8 >= sees(c / 4 * 8 + 2 * (lane % 4) + c % 2)) s[c] = minus_inf();
      }
//@ end
//@ if teams == 2 then
      if (token0 > w.begin) named_sync(TURN + team_now(), 256);
      turn_state turn = load_turn(smem);
      u32& i = turn.i;
      load_rows(m, smem + REFS_AT);
      if (turn.raises != seen) refer_sums(smem, m, sum);
//@ end
      barrier_wait(smem + P_EMPTY_AT + i % PS * 8, i / PS & 1 ^ 1);
//@ if pools then
//@   if teams == 2 then
      bool wide = turn.wide;
//@   end
      const u32 p_at = place_of_p(smem), p = p_at + i % PS * P_BYTES;
      store_scales(smem + SCALES_AT + i % PS * (128 * GROUPS) + 8 * warp, codes);
      const u32 odd = outside_f16(codes[0].x) | outside_f16(codes[0].y) | outside_f16(codes[1].x) | outside_f16(codes[1].y);
      const bool other = named_any(${own}, 128, too_high(s, m) || odd || wide);
      if (threadIdx.x % 128 == 0) store_u32(smem + RAISED_AT + i % PS * 4, other ? RAISED_ROWS : 0);
      if (other && !wide) wide = named_any(${own}, 128, odd != 0);
      if (wide) {
        wide_scores(k_at + TILE * at.slot, row, q, s);
        finish_scores();
        load_rows(m, smem + REFS_AT);
      }
      const bool higher = wide ? named_any(${own}, 128, too_high(s, m)) : other;
      if (higher) raise(smem, s, sum, m, i);
//@   if teams == 2 then
      seen = turn.raises += higher;
      if (wide) turn.wide = hand_over_wide(smem, s, m, sum, row, p_at, token0 == w.begin, higher, i);
      const u32 own = i++;
      pass_turn(smem, turn, token0 + 64 >= end);
      if (!wide) store_p(s, m, sum, p);
//@   else
      if (wide) wide = hand_over_wide(smem, s, m, sum, row, p_at, token0 == w.begin, higher, i);
      else store_p(s, m, sum, p);
//@   end
//@ else
//@ if scales > 0 then
      store_scales(smem + SCALES_AT + i % PS * (128 * GROUPS) + 32 * warp, scales, units);
//@ end
      const bool higher = named_any(${own}, 128, relative(s, m, x));
      if (threadIdx.x % 128 == 0) store_u32(smem + RAISED_AT + i % PS * 4, higher);
      if (higher) {
        raise(smem, s, sum, m, i);
        relative(s, m, x);
      }
//@   if teams == 2 then
      seen = turn.raises += higher;
      const u32 own = i++;
      pass_turn(smem, turn, token0 + 64 >= end);
//@   end
//@ local number = teams == 2 and "own" or "i" -- P's
      store_p(x, ${units and "units, " or ""}sum, p_at + ${number} % PS * (128 * N));
//@ end
      fence_async();
      __syncwarp();
      barrier_arrive_if(lane == 0, smem + P_FULL_AT + ${teams == 2 and "own" or "i"} % PS * 8);
      advance(at, 1);
      at.tile++;
//@ if pools and teams == 1 then
      i++;
//@ end
    }
    if (poisoned) {
#pragma unroll
      for (int j = 0; j < N / 8; j++) sum[j] = make_float2(not_a_number(), not_a_number());
    }
    finish_rows(a, smem, w, sum${teams == 2 and ", seen" or ""});
    barrier_arrive(smem + EMPTY_Q_AT);
  }
}
