// A norm's weights in kernels that round x times a weight to 16 bits before they divide by the root mean square. In f16 the
// product may overflow (20000 times 4 does). So all weights are multiplied by one power of two, `down`, that leaves the largest
// of them below 1, and a token's factor by its inverse, `up`. Both are exact, but for weights that become smaller than 2^-14,
// where f16 has fewer bits. In bf16 nothing is done.
//@ needs("INNER", "LANES", "mlaf_projection_kernel_args")
//@ if dtype == "f16" then
struct gain_scale {
  u32 down; // twice
  __device__ __forceinline__ float up() const { return float_of(0x7f000000u - bits_of(unpack_lo(down))); } // 1 / down
};

// The maximum of the low halves and that of the high halves.
//@   if arch.wave == 32 then
MLAF_DEV u32 larger2(u32 a, u32 b) { return __vmaxu2(a, b); }
//@   else
typedef unsigned short u16x2 __attribute__((ext_vector_type(2)));
MLAF_DEV u32 larger2(u32 a, u32 b) {
  return __builtin_bit_cast(u32, __builtin_elementwise_max(__builtin_bit_cast(u16x2, a), __builtin_bit_cast(u16x2, b)));
}
//@   end

// Each warp (wave) reads all weights. They are constants, so this may run ahead of wait_for_previous_launch().
MLAF_DEV gain_scale scale_of_gain(const mlaf_projection_kernel_args& a, int lane) {
  constexpr u32 SIZE = 0x7fff7fffu; // all bits but the signs
  u32 most = 0;
#pragma unroll 8
  for (int first = 0; first < INNER / 8; first += LANES) {
    const word4 g = load<word4>(a.gain + 16 * smaller(first + lane, INNER / 8 - 1));
    most = larger2(larger2(most, larger2(g.x & SIZE, g.y & SIZE)), larger2(g.z & SIZE, g.w & SIZE));
  }
  most = most >> 16 > (most & 0xffffu) ? most >> 16 : most & 0xffffu;
//@   if arch.wave == 32 then
  most = __reduce_max_sync(~0u, most); // one register for all lanes
//@   else
#pragma unroll
  for (int d = 1; d < LANES; d *= 2) {
    const u32 other = bits_of(exchange(float_of(most), lane, d));
    most = other > most ? other : most;
  }
  most = (u32)uniform((int)most);
//@   end
  const u32 above = most >> 10; // the largest is below 2^(above - 14); of the inverses the last three are subnormal in f16
  return {0x00010001u * (above <= 28 ? 29 - above << 10 : 0x400u >> above - 28)};
}
//@   if arch.wave == 32 then
MLAF_DEV u32 shrunk(u32 gain, const gain_scale& s) {
  u32 x;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(x) : "r"(gain), "r"(s.down));
  return x;
}
// The same kept in shared memory, for kernels that have no register for it.
MLAF_DEV void keep_scale_of_gain(const mlaf_projection_kernel_args& a, u32 at, int thread) {
  if (thread < LANES) {
    const gain_scale s = scale_of_gain(a, thread);
    if (thread == 0) asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(s.down) : "memory");
  }
  __syncthreads();
}
MLAF_DEV gain_scale kept_scale(u32 at) {
  gain_scale s;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(s.down) : "r"(at) : "memory");
  return s;
}
//@   else
MLAF_DEV u32 shrunk(u32 gain, const gain_scale& s) {
  return __builtin_bit_cast(u32, __builtin_bit_cast(f16x2, gain) * __builtin_bit_cast(f16x2, s.down));
}
//@   end
//@ else
struct gain_scale {
  __device__ __forceinline__ float up() const { return 1.0f; }
};
MLAF_DEV gain_scale scale_of_gain(const mlaf_projection_kernel_args&, int) { return {}; }
MLAF_DEV u32 shrunk(u32 gain, const gain_scale&) { return gain; }
MLAF_DEV void keep_scale_of_gain(const mlaf_projection_kernel_args&, u32, int) {}
MLAF_DEV gain_scale kept_scale(u32) { return {}; }
//@ end
MLAF_DEV word4 shrunk(const word4& gain, const gain_scale& s) {
  return words(shrunk(gain.x, s), shrunk(gain.y, s), shrunk(gain.z, s), shrunk(gain.w, s));
}
