//@ -- Inside of the kernels of stream.h and stream_fp8.h: who asks for which weights, and a pass after the other. bytes: weights
//@ -- of 8 bits, whose scales lie in shared memory; lands: weights go through shared memory.
//@ needs("AHEAD", "CHUNKS", "DEPTH", "NT", "RUN", "STEPS", "TILE", "TOKENS")
//@ local chunk = bytes and "CHUNK" or layout == "outputs" and "64" or "32"
//@ local x_at = bytes and "(16 * PARTS) * t + rank * (2 * CHUNKS * CHUNK)" or "16 * t + rank * (CHUNKS * 64)"
  extern __shared__ __align__(128) char memory[];
  if (!FIRST_OF_LAYER) let_next_launch_start();
//@ if require("projection/side").of(template) then
  if (appended(a, TILES * SPLIT)) return;
//@ end
  const int thread = (int)my_thread(), lane = thread & 31, warp = thread >> 5, g = lane >> 2, t = lane & 3;
  const int rank = (int)(my_block() % SPLIT);
  const place p = place_of(a, my_block() / SPLIT);
  float* const sums = (float*)memory;
//@ if bytes then
  float* const scales = (float*)(memory + SCALES_AT);
//@ end
  lane_place l;
  l.first = warp * RUN;
//@ if layout == "outputs" then
  l.w_step = 8 * a.w_row;
  l.w = p.w + (p.first + g) * a.w_row + 16 * t + (i64)rank * (CHUNKS * ${chunk});
//@ else
  l.w_step = a.w_row;
  const int output = OUTER % TILE == 0 || p.first + 8 * g < OUTER ? p.first + 8 * g : OUTER - 8; // whose sums nobody writes
  l.w = p.w + (rank * (CHUNKS * ${chunk}) + 8 * t) * a.w_row + ${bytes and "" or "2 * "}output;
//@ end
//@ if norm == 1 then
  l.gain = a.gain + ${x_at};
//@ end

//@ if lands then
  const u32 mine = shared_address(memory) + SLOTS_AT + 16 * thread;
#pragma unroll
  for (int i = 0; i < DEPTH; i++) ask_weights(a, l, i, mine, i, true);
//@ else
  weights w[DEPTH];
#pragma unroll
  for (int i = 0; i < DEPTH; i++) ask_weights(a, l, i, w[i]);
//@ end
//@ if bytes then
  lay_scales(a, p, rank, scales);
//@ end
//@ if norm == 1 then
  const u32 gain_scale_at = shared_address(sums + TILE); // the padding of the first row
  keep_scale_of_gain(a, gain_scale_at, thread);
//@ end
//@ if bytes then
  __syncthreads();
//@ elseif turn > 0 and style ~= "unrotated" then
  if (rank == 0) ask_turn(a, p.first / TILE * THREADS + thread, TILES * THREADS);
//@ end
  wait_for_previous_launch();
  if (FIRST_OF_LAYER) let_next_launch_start();

#pragma unroll 1
  for (i64 t0 = 0; t0 < a.tokens; t0 += TOKENS) {
    if (t0)
#pragma unroll
      for (int i = 0; i < DEPTH; i++) ${lands and "ask_weights(a, l, i, mine, i, true)" or "ask_weights(a, l, i, w[i])"};
#pragma unroll
    for (int n = 0; n < NT; n++) l.x[n] = row_of_x(a, p, t0 + 8 * n + g) + ${x_at};
    sums_of_warp s = {};
    inputs x[AHEAD];
#pragma unroll
    for (int i = 0; i < AHEAD; i++) ask_inputs(l, i, x[i]);
#pragma unroll 1
    for (int base = 0; base < STEPS; base += DEPTH)
#pragma unroll
      for (int i = 0; i < DEPTH; i++) {
        if (STEPS % DEPTH != 0 && base + i >= STEPS) break;
//@ if lands then
        weights w;
        wait_for_copies<DEPTH - 1>();
        take_weights(mine, i, w);
        multiply(w, x[i % AHEAD], s${norm == 1 and ", gain_scale_at" or ""});
        ask_weights(a, l, base + i + DEPTH, mine, i, base + i + DEPTH < STEPS);
//@ else
//@   if bytes then
        const int chunk = chunk_of(l, base + i);
        const float* const scales_here = scales + (is_there(chunk) ? chunk : 0) * SCALES;
//@   end
        multiply(w[i], x[i % AHEAD], ${bytes and "scales_here, " or ""}s${norm == 1 and ", gain_scale_at" or ""});
        if (base + i + DEPTH < STEPS) ask_weights(a, l, base + i + DEPTH, w[i]);
//@ end
        if (base + i + AHEAD < STEPS) ask_inputs(l, base + i + AHEAD, x[i % AHEAD]);
      }
//@ include("lib/projection/end_pass.h", { layout = layout, norm = norm, split = split })
  }
//@ if turn > 0 then
  if (rank == 0) turn_rows(a, p.x, p.y, p.first / TILE * THREADS + thread, TILES * THREADS);
//@ end
