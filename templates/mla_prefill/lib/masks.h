// Masks of scores of the Hopper kernels, and what keeps work beside a product.
//@ needs("CAUSAL", "KEYS")
template <int N>
MLAF_DEV void hide(const math& c, int round, float (&s)[N]) {
  const tile& f = told(c.told);
  int limit[2];
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int row = c.row + 16 * c.warp + (c.lane >> 2) + 8 * h;
    limit[h] = smaller(CAUSAL ? f.seen + row : f.keys, f.keys) - round * KEYS - 2 * (c.lane & 3);
  }
#pragma unroll
  for (int i = 0; i < N; i++)
    if (8 * (i / 4) + (i & 1) >= limit[i >> 1 & 1]) s[i] = minus_inf();
}

// The compiler would wait for a product first and then do all that could run beside it. It keeps stores to shared memory ahead
// of the wait, so here is one that never happens: sums are not negative.
MLAF_DEV void keep_ahead(const math& c, float sum) {
  asm volatile("{\n.reg .pred p;\nsetp.lt.f32 p, %0, %1;\n@p st.shared.b32 [%2], %2;\n}" ::"f"(sum), "f"(-c.scale), "r"(c.shared)
               : "memory");
}
