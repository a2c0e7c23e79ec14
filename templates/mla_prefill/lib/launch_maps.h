// The kernel's launch requirements, and its parameter block: arguments, then tensor maps. runtime/device/kernel_launch.h says
// what each field means. The includer hands over `launch`: shared (bytes of dynamic shared memory), flags, cluster (blocks, if
// more than one), and maps, a list of { tensor (1 q, 2 k, 3 k_pe, 4 v), columns, rows } of 128-byte rows.
//@ -- Maps of bytes: columns are of 16 bits, two bytes each; a fourth number is a row's bytes; scales: behind the arguments
//@ -- are three.
//@ local wants = {}
//@ for _, m in ipairs(launch.maps) do wants[#wants + 1] = ("{%d, %d, %d, %d}"):format(m[1], m[2], m[3], m[4] or 128) end
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
//@ if launch.scales then
  const float *q_scale, *k_scale, *v_scale; // NULL: 1
//@ end
  mlaf_tensor_map maps[${#launch.maps}];
};
//@ if launch.scales then
static_assert(sizeof(mlaf_prefill_params) == 256 + 128 * ${#launch.maps}, "differs from runtime/ops/mla_prefill/prepare.c");
//@ end
