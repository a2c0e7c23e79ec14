// The kernel's launch requirements, for the runtime to read from the code object: runtime/device/kernel_launch.h says
// what each field means. The includer hands over `launch`: shared (bytes of dynamic shared memory) and flags.
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ const mlaf_kernel_launch ${symbol}_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), ${launch.shared}, {0, 0, 0}, ${launch.flags}, 0, 0, {0, 0}, 0, {}};
