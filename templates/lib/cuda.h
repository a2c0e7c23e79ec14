// Types and the few intrinsics every CUDA kernel needs, without headers. Everything is forced inline: a kernel is one function.
#define MLAF_DEV static __device__ __forceinline__

typedef unsigned int u32;
typedef unsigned long u64;
typedef long i64;

MLAF_DEV u32 bits_of(float x) { return __float_as_uint(x); }
MLAF_DEV float float_of(u32 x) { return __uint_as_float(x); }
MLAF_DEV int smaller(int a, int b) { return a < b ? a : b; }
MLAF_DEV u32 smaller(u32 a, u32 b) { return a < b ? a : b; }

// Tables in global memory. Plain loads: an overlapping launch may have written them just before this kernel's dependency wait.
typedef const int* cints;
MLAF_DEV cints constants(const int* p) { return p; }

// A word that another launch may be writing: leaves nothing in L1.
MLAF_DEV int load_past_l1(const int* at) {
  int x;
#if __CUDA_ARCH__ >= 700
  asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(x) : "l"(at) : "memory");
#else
  x = *(const volatile int*)at;
#endif
  return x;
}

// Address of shared memory as instructions want it.
MLAF_DEV u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }

// Maximum and sum over the lanes that differ in the bits of [FROM, TO).
template <int FROM, int TO>
MLAF_DEV float max_over_lanes(float x) {
#pragma unroll
  for (int d = FROM; d < TO; d *= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, d));
  return x;
}
template <int FROM, int TO>
MLAF_DEV float sum_over_lanes(float x) {
#pragma unroll
  for (int d = FROM; d < TO; d *= 2) x += __shfl_xor_sync(~0u, x, d);
  return x;
}

// Programmatic dependent launch: wait for all launches before this one and for what they wrote; let the next one start.
MLAF_DEV void wait_for_previous_launch() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
MLAF_DEV void let_next_launch_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
