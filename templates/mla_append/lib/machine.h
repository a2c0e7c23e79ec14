//@ -- base: false where lib/projection/machine.h stands before it and has what the two share.
//@ if base then
// One text for CUDA and HIP: thread numbers, lanes, loads and stores of global memory.
constexpr int LANES = ${arch.wave};
//@ end
//@ if arch.wave == 32 then
//@ if base then
//@ include("lib/cuda.h")
//@ include("lib/cuda_number.h")
typedef uint4 word4;
typedef uint2 word2;
MLAF_DEV word4 words(u32 a, u32 b, u32 c, u32 d) { return make_uint4(a, b, c, d); }
//@ end
MLAF_DEV word2 words(u32 a, u32 b) { return make_uint2(a, b); }
//@ if base then
MLAF_DEV u32 my_block() { return blockIdx.x; }
MLAF_DEV u32 my_thread() { return threadIdx.x; }
MLAF_DEV float exchange(float x, int, int d) { return __shfl_xor_sync(~0u, x, d); }
template <class T>
MLAF_DEV T load(const void* p) {
  return *(const T*)p;
}
template <class T>
MLAF_DEV void store(void* p, T x) {
  *(T*)p = x;
}
//@ end
// Load of data that another launch may be writing: it leaves nothing in L1.
MLAF_DEV i64 load_past_l1(const i64* at) {
  i64 x;
#if __CUDA_ARCH__ >= 700
  asm volatile("ld.relaxed.gpu.global.s64 %0, [%1];" : "=l"(x) : "l"(at) : "memory");
#else
  x = *(const volatile i64*)at;
#endif
  return x;
}
// Loads where `there`, with no branch: what was in w stays there else.
MLAF_DEV void load_if(bool there, word4& w, const char* at) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %5, 0;\n@p ld.global.v4.u32 {%0, %1, %2, %3}, [%4];\n}"
               : "+r"(w.x), "+r"(w.y), "+r"(w.z), "+r"(w.w)
               : "l"(at), "r"((u32)there));
}
MLAF_DEV void load_half_if(bool there, word4& w, const char* at) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %3, 0;\n@p ld.global.v2.u32 {%0, %1}, [%2];\n}"
               : "+r"(w.x), "+r"(w.y)
               : "l"(at), "r"((u32)there));
}
// Has an address computed before what follows, however late it is used: an instruction that is never executed takes it.
MLAF_DEV void ready(const void* p, u32 never) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %1, 0;\n@p prefetch.global.L2 [%0];\n}" ::"l"(p), "r"(never) : "memory");
}
//@ if base then
MLAF_DEV float inverse_root(float x) { return rsqrtf(x); }
//@ end
MLAF_DEV float inverse(float x) { return __frcp_rn(x); }
//@ if base then
MLAF_DEV float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
//@ end
MLAF_DEV float magnitude(float x) { return fabsf(x); }
MLAF_DEV float larger(float a, float b) { return fmaxf(a, b); }
MLAF_DEV float apart(float x) { return x; }
//@ else
//@ if base then
//@ include("lib/wave.h")
#define MLAF_CVT_BF16 ${arch.has_cvt_pk_bf16}
//@ include("lib/number.h")
typedef u32x4 word4;
typedef u32x2 word2;
MLAF_DEV word4 words(u32 a, u32 b, u32 c, u32 d) { return word4{a, b, c, d}; }
//@ end
MLAF_DEV word2 words(u32 a, u32 b) { return word2{a, b}; }
//@ if base then
MLAF_DEV u32 my_block() { return (u32)group_x(); }
MLAF_DEV u32 my_thread() { return (u32)thread_id(); }
MLAF_DEV void wait_for_previous_launch() {}
MLAF_DEV void let_next_launch_start() {}
MLAF_DEV float exchange(float x, int lane, int d) { return lane_xor(x, lane, d); }
template <class T>
MLAF_DEV T load(const void* p) {
  return *(const MLAF_GLOBAL T*)(u64)p;
}
template <class T>
MLAF_DEV void store(void* p, T x) {
  *(MLAF_GLOBAL T*)(u64)p = x;
}
//@ end
MLAF_DEV void load_if(bool there, word4& w, const char* at) {
  if (there) w = load<word4>(at);
}
MLAF_DEV void load_half_if(bool there, word4& w, const char* at) {
  if (there) {
    const word2 half = load<word2>(at);
    w.x = half.x, w.y = half.y;
  }
}
MLAF_DEV void ready(const void*, u32) {}
//@ if base then
MLAF_DEV float not_a_number() { return float_of(0x7fc00000u); } // stays one when its upper half is rounded
MLAF_DEV float inverse_root(float x) { return __builtin_amdgcn_rsqf(x); }
//@ end
MLAF_DEV float inverse(float x) { return 1.0f / x; }
//@ if base then
MLAF_DEV float multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
//@ end
MLAF_DEV float magnitude(float x) { return __builtin_fabsf(x); }
MLAF_DEV float larger(float a, float b) { return __builtin_fmaxf(a, b); }
// A value that the compiler does not put into a pair with another one, half of which nobody wrote.
MLAF_DEV float apart(float x) {
  asm("" : "+v"(x));
  return x;
}
//@ end

//@ if base then
// Eight 16-bit values as floats, and back, rounded to nearest even.
MLAF_DEV void unpack(float (&v)[8], word4 x) {
  const u32 w[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
  for (int i = 0; i < 4; i++) {
    v[2 * i] = unpack_lo(w[i]);
    v[2 * i + 1] = unpack_hi(w[i]);
  }
}
MLAF_DEV word4 pack(const float (&v)[8]) {
  return words(pack2(v[0], v[1]), pack2(v[2], v[3]), pack2(v[4], v[5]), pack2(v[6], v[7]));
}
//@ end
