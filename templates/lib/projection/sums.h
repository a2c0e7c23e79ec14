// The end of a pass for kernels of NVIDIA: partial sums of WAYS warps, and of SPLIT blocks of a cluster, are added up in a fixed
// order, finished and written. Sums [WAYS][TOKENS][PITCH] and, with a norm, sums of squares [WAYS][TOKENS] lie in shared memory
// one behind the other. norm == 2: there are no squares; the tokens' factors lie where a.cos says, of 32 bits.
//@ needs("INNER", "OUTER", "TILE", "TOKENS", "WAYS", "THREADS", "SPLIT", "PITCH")
//@ if norm == 1 then
constexpr int SQUARES_AT = WAYS * TOKENS * PITCH;
//@ end

// Four sums of a warp's or block's share, added up.
MLAF_DEV void add4(float (&v)[4], const float4& x) { v[0] += x.x, v[1] += x.y, v[2] += x.z, v[3] += x.w; }
//@ if split > 1 then
MLAF_DEV u32 at_block(u32 at, u32 block) {
  u32 x;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(x) : "r"(at), "r"(block));
  return x;
}
MLAF_DEV float4 load_from(u32 at, int block) {
  float4 x;
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w) : "r"(at_block(at, (u32)block)) : "memory");
  return x;
}
MLAF_DEV float load_number_from(u32 at, int block) {
  float x;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(x) : "r"(at_block(at, (u32)block)) : "memory");
  return x;
}
MLAF_DEV void sync_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
//@ end

//@ if split > 1 then
constexpr int QUADS = TILE / 4, QUADS_OF_PASS = TOKENS * QUADS, SHARE = (QUADS_OF_PASS + SPLIT - 1) / SPLIT; // of a block
//@ else
constexpr int OCTETS = TILE / 8, ITEMS_OF_PASS = TOKENS * OCTETS; // eight outputs of a token each
//@ end

// The sums of a pass: added up, finished, rounded once, written. rank: of this block in its cluster.
//@ if norm == 1 then
// up: what the norm's weights were divided by (gain.h).
//@ end
MLAF_DEV void write_pass(const mlaf_projection_kernel_args& a, const place& p, i64 t0, float* sums,
                         int rank${norm == 1 and ", float up = 1.0f" or ""}) {
//@ if split > 1 then
  if (WAYS > 1) // this block's share first, into where its first warp's was
#pragma unroll 1
    for (int i = (int)my_thread(); i < QUADS_OF_PASS; i += ${writers}) {
      float* const at = sums + i / QUADS * PITCH + i % QUADS * 4;
      float v[4] = {};
#pragma unroll
      for (int way = 0; way < WAYS; way++) add4(v, *(const float4*)(at + way * TOKENS * PITCH));
      *(float4*)at = make_float4(v[0], v[1], v[2], v[3]);
    }
//@   if norm == 1 then
  if (WAYS > 1 && (int)my_thread() < TOKENS) {
    float* const at = sums + SQUARES_AT + my_thread();
    float square = 0.0f;
#pragma unroll
    for (int way = 0; way < WAYS; way++) square += at[way * TOKENS];
    *at = square;
  }
//@   end
  sync_cluster();
  const u32 shared = shared_address(sums);
//@ end
//@ if split > 1 then
  // A block finishes a share of the pass' tokens, so that lanes side by side read side by side from the others.
#pragma unroll 2
  for (int i = rank * SHARE + (int)my_thread(); i < smaller(QUADS_OF_PASS, rank * SHARE + SHARE); i += ${writers}) {
    const int token = i / QUADS, column = i % QUADS * 4;
    if (t0 + token >= a.tokens || (OUTER % TILE != 0 && p.first + column >= OUTER)) continue;
    float4 of[SPLIT];
#pragma unroll
    for (int block = 0; block < SPLIT; block++) of[block] = load_from(shared + 4 * (token * PITCH + column), block);
//@   if norm == 1 then
    float square = 0.0f;
#pragma unroll
    for (int block = 0; block < SPLIT; block++) square += load_number_from(shared + 4 * (SQUARES_AT + token), block);
//@   end
    float v[4] = {};
#pragma unroll
    for (int block = 0; block < SPLIT; block++) add4(v, of[block]);
//@   if norm == 1 then
    const float factor = inverse_root(multiply_add(square, ${f32(1.0 / inner)}, a.eps)) * up;
#pragma unroll
    for (int k = 0; k < 4; k++) v[k] *= factor;
//@   end
//@   if norm == 2 then
    const float factor = load<float>(a.cos + 4 * (t0 + token));
#pragma unroll
    for (int k = 0; k < 4; k++) v[k] *= factor;
//@   end
//@   if residual == 1 then
    const word2 r = load<word2>(a.residual + (t0 + token) * a.residual_token + 2 * (p.first + column));
    v[0] += unpack_lo(r.x), v[1] += unpack_hi(r.x), v[2] += unpack_lo(r.y), v[3] += unpack_hi(r.y);
//@   end
    word2 y;
    y.x = pack2(v[0], v[1]), y.y = pack2(v[2], v[3]);
    store(p.y + (t0 + token) * a.y_token + 2 * (p.first + column), y);
  }
//@ else
#pragma unroll (WAYS == 1 ? 2 : 1)
  for (int i = (int)my_thread(); i < ITEMS_OF_PASS; i += ${writers}) {
    const int token = i / OCTETS, column = i % OCTETS * 8;
    if (t0 + token >= a.tokens || (OUTER % TILE != 0 && p.first + column >= OUTER)) continue;
    float v[2][4] = {};
//@   if norm == 1 then
    float square = 0.0f;
//@   end
#pragma unroll
    for (int way = 0; way < WAYS; way++) {
      const float4* const from = (const float4*)(sums + (way * TOKENS + token) * PITCH + column);
      add4(v[0], from[0]);
      add4(v[1], from[1]);
//@   if norm == 1 then
      square += sums[SQUARES_AT + way * TOKENS + token];
//@   end
    }
//@   if norm == 1 then
    const float factor = inverse_root(multiply_add(square, ${f32(1.0 / inner)}, a.eps)) * up;
#pragma unroll
    for (int k = 0; k < 8; k++) v[k / 4][k % 4] *= factor;
//@   end
//@   if norm == 2 then
    const float factor = load<float>(a.cos + 4 * (t0 + token));
#pragma unroll
    for (int k = 0; k < 8; k++) v[k / 4][k % 4] *= factor;
//@   end
//@   if residual == 1 then
    float r[8];
    unpack(r, load<word4>(a.residual + (t0 + token) * a.residual_token + 2 * (p.first + column)));
#pragma unroll
    for (int k = 0; k < 8; k++) v[k / 4][k % 4] += r[k];
//@   end
    store(p.y + (t0 + token) * a.y_token + 2 * (p.first + column),
          words(pack2(v[0][0], v[0][1]), pack2(v[0][2], v[0][3]), pack2(v[1][0], v[1][1]), pack2(v[1][2], v[1][3])));
  }
//@ end
}
