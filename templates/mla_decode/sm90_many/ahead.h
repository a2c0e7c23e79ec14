// The math of sm90_many_ahead brings the first Q.
//@ needs("BOTH", "H", "P_AT", "Q_AT", "Q_SLICES", "R", "ROPE", "ROW_OF", "SLICE")

MLAF_DEV void copy_16(u32 to, const char* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

// Q of the block's first piece, by math itself: a copy of the copy engine would queue behind those of the cache, which are on
// their way since before there was a Q. To where the copy engine puts it. A warp takes 8 rows, 128 bytes of four of them at once;
// rows behind all requests' repeat the last.
MLAF_DEV void take_q(const mlaf_decode_args& a, u32 shared) {
  const int lane = threadIdx.x & 31, chunk = lane & 7;
  const i64 first = known_row(shared, ROW_OF), last = a.total_q * H - 1;
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const int n = 8 * (((int)threadIdx.x >> 5) - 4) + 4 * half + (lane >> 3);
    const i64 row = first + n < last ? first + n : last;
    const char* const from = a.q + row * (2 * (R + ROPE)) + 16 * chunk;
    const u32 place = 128 * n + ((chunk ^ (n & 7)) << 4);
#pragma unroll
    for (int i = 0; i < Q_SLICES; i++) copy_16(shared + Q_AT + SLICE * i + place, from + 128 * i);
    if (ROPE != 32) copy_16(shared + P_AT + place, from + 128 * Q_SLICES);
    else if (chunk < 4) copy_16(shared + P_AT + 64 * n + ((chunk ^ (n >> 1 & 3)) << 4), from + 128 * Q_SLICES);
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
  fence_async();
  named_sync(BOTH, 256);
}
