  // Q's rows to shared memory, in copies of 16 bytes.
//@ -- q: gen/ops/mla_decode/q.lua
//@ needs("CHUNKS", "PITCH", "R", "ROPE", "ROWS", "WARPS")
//@ if not q.parts then
  const char* q = a.q + out_row * (2 * (R + ROPE));
//@ end
  for (int i = thread; i < ROWS * CHUNKS; i += 32 * WARPS) {
    const int r = i / CHUNKS, c = i % CHUNKS;
    const bool real = first_row + r < live;
//@ if q.parts then
    const char* const from = c < R / 8 ? q_latent_row(a, out_row + r) + 16 * c : q_rope_row(a, out_row + r) + 16 * (c - R / 8);
    copy16(q_at + r * PITCH + 16 * c, real ? from : a.q, real);
//@ else
    copy16(q_at + r * PITCH + 16 * c, real ? q + (i64)r * (2 * (R + ROPE)) + 16 * c : a.q, real);
//@ end
  }
