// Types of a wave64 and the few intrinsics every kernel needs. Everything is forced inline: a kernel is one function.
#define MLAF_DEV static __device__ __forceinline__

typedef unsigned int u32;
typedef unsigned long u64;
typedef long i64;
typedef u32 u32x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
typedef float f32x2 __attribute__((ext_vector_type(2)));
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef short i16x4 __attribute__((ext_vector_type(4)));
typedef _Float16 f16x2 __attribute__((ext_vector_type(2)));
typedef _Float16 f16x4 __attribute__((ext_vector_type(4)));

MLAF_DEV u32 bits_of(float x) { return __builtin_bit_cast(u32, x); }
MLAF_DEV float float_of(u32 x) { return __builtin_bit_cast(float, x); }

// Thread and workgroup numbers from registers. threadIdx & co. would do, but blockDim & co. pull in hidden arguments.
MLAF_DEV int thread_id() { return __builtin_amdgcn_workitem_id_x(); }
MLAF_DEV int group_x() { return __builtin_amdgcn_workgroup_id_x(); }
MLAF_DEV int group_y() { return __builtin_amdgcn_workgroup_id_y(); }
MLAF_DEV int group_z() { return __builtin_amdgcn_workgroup_id_z(); }

// Tells the compiler that a value is the same in all lanes, so that it lives in a scalar register.
MLAF_DEV int uniform(int x) { return __builtin_amdgcn_readfirstlane(x); }
MLAF_DEV u64 uniform(u64 x) {
  return (u64)(u32)uniform((int)(x >> 32)) << 32 | (u32)uniform((int)(u32)x);
}

MLAF_DEV bool any_lane(bool x) { return __builtin_amdgcn_ballot_w64(x) != 0; }

// The value of lane l ^ d, through the LDS crossbar (no LDS memory is touched).
MLAF_DEV float lane_xor(float x, int lane, int d) {
  return float_of(__builtin_amdgcn_ds_bpermute((lane ^ d) << 2, (int)bits_of(x)));
}
// Reductions over the four lanes l, l^16, l^32, l^48, which hold the same column of an MFMA result.
MLAF_DEV float max_over_groups(float x, int lane) {
  x = __builtin_fmaxf(x, lane_xor(x, lane, 16));
  return __builtin_fmaxf(x, lane_xor(x, lane, 32));
}
MLAF_DEV float sum_over_groups(float x, int lane) {
  x += lane_xor(x, lane, 16);
  return x + lane_xor(x, lane, 32);
}

// Lane 4*(l/4)+R's value, R = 0..3: full-rate DPP, no LDS.
template <int R>
MLAF_DEV u32 quad_lane(u32 x) {
  return (u32)__builtin_amdgcn_mov_dpp((int)x, R * 0x55, 0xf, 0xf, true);
}

// Pointers that the compiler cannot mistake for LDS or scratch (a plain one may become a flat access), and one for data
// that no kernel writes while this one runs, so that uniform reads become scalar loads.
#define MLAF_GLOBAL __attribute__((address_space(1)))
#define MLAF_CONST __attribute__((address_space(4)))
typedef MLAF_GLOBAL const char* gptr;
typedef MLAF_CONST const int* cints;
MLAF_DEV gptr global(const void* p) { return (gptr)(u64)p; }
MLAF_DEV cints constants(const int* p) { return (cints)(u64)p; }
MLAF_DEV int smaller(int a, int b) { return a < b ? a : b; }
MLAF_DEV u32 smaller(u32 a, u32 b) { return a < b ? a : b; }
