// The kernel's launch requirements, for the runtime to read from the code object: runtime/device/kernel_launch.h says what
// each field means. The includer hands over `shared`, bytes of dynamic shared memory, `cluster`, blocks that work on a tile
// together, `maps`, tensor maps { which of 1 W, 2 x; columns and rows of a box }, and `flags` beside PDL's: 16, it takes scales;
// 64, what it loads ahead wants room in L1; 2048, tokens' factors are made before; 8192, x_rows.h.
//@ local side, wants = require("projection/side"), {}
//@ local of_all = (arch.wave == 32 and arch.has_pdl or 0) + (side.of(template) and side.FLAG or 0)
//@ -- A map's fourth number: bytes of its swizzle, if they are not 128.
//@ for _, m in ipairs(maps) do wants[#wants + 1] = ("{%d, %d, %d, %d}"):format(m[1], m[2], m[3], m[4] or 128) end
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ ${arch.wave == 64 and "__attribute__((used)) " or ""}const mlaf_kernel_launch ${symbol}_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), ${shared}, {${cluster}, 1, 1},
    ${of_all + flags}, 0, 0, {0, 0}, ${#maps}, {${join(wants, ", ")}}};
