// lib/launch_maps.h for inputs of 8 bits: maps count in columns of 16 bits, two of these, and their rows have 128 or 64 bytes.
// The includer hands over `launch`: shared, flags, cluster, and maps, a list of { tensor (1 q, 2 k, 3 k_pe, 4 v), bytes of a row,
// rows }.
//@ local wants = {}
//@ for _, m in ipairs(launch.maps) do wants[#wants + 1] = ("{%d, %d, %d, %d}"):format(m[1], m[2] // 2, m[3], m[2]) end
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ const mlaf_kernel_launch ${symbol}_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), ${launch.shared}, {${launch.cluster or 0}, 0, 0}, ${launch.flags}, 0, 0, {0, 0},
    ${#launch.maps},
    {${join(wants, ", ")}}};
struct __align__(64) mlaf_tensor_map {
  u64 opaque[16];
};
struct mlaf_prefill_params {
  mlaf_prefill_kernel_args a;
  const float *q_scale, *k_scale, *v_scale; // NULL: 1
  mlaf_tensor_map maps[${#launch.maps}];
};
static_assert(sizeof(mlaf_prefill_params) == 256 + 128 * ${#launch.maps}, "differs from runtime/ops/mla_prefill/prepare.c");
