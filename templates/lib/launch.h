// The kernel's launch requirements, for the runtime to read from the code object, and its parameter block. The includer
// hands over `launch`: shared (bytes of dynamic shared memory), and where wanted cluster ({x, y, z}, or x), maps (list of { of,
// cols, rows, swizzle }), values, of BITS what it does, flags (more bits). runtime/device/kernel_launch.h says what each means.
//@ local OF, FIELDS = { ckv = 1, kpe = 2, q = 3, o = 4, w = 5, q_nope = 6, q_pe = 7 },
//@   { shared = 1, cluster = 1, maps = 1, values = 1, flags = 1 }
//@ local BITS, flags = { overlaps = 1, turns = 2, meets = 4, fits = 8, invariant = 512, lists = 1024, list_turns = 4096 },
//@   launch.flags or 0
//@ for name, bit in sorted(BITS) do FIELDS[name], flags = 1, flags + (launch[name] and launch[name] ~= 0 and bit or 0) end
//@ for key in sorted(launch) do contract(FIELDS[key] ~= nil, "launch has no field %s", key) end
//@ local cluster, maps, wants = launch.cluster or 1, launch.maps or {}, {}
//@ if type(cluster) ~= "table" then cluster = { cluster, 1, 1 } end
//@ contract(#maps <= 8, "%d tensor maps, 8 is the most", #maps)
//@ for _, m in ipairs(maps) do
//@   contract(OF[m.of] ~= nil, "no tensor '%s' to map", m.of)
//@   contract(m.swizzle == 0 or m.swizzle == 32 or m.swizzle == 64 or m.swizzle == 128, "swizzle %d", m.swizzle)
//@   local fits = m.swizzle == 0 or m.cols * 2 <= m.swizzle
//@   contract(m.cols * 2 % 16 == 0 and m.cols <= 256 and fits, "box of %d columns", m.cols)
//@   contract(m.rows >= 1 and m.rows <= 256, "box of %d rows", m.rows)
//@   wants[#wants + 1] = ("{%d, %d, %d, %d}"):format(OF[m.of], m.cols, m.rows, m.swizzle)
//@ end
//@ local values = launch.values and ("{0, %d}"):format(launch.values) or "{}"
struct mlaf_map_want {
  u32 of, cols, rows, swizzle;
};
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, reserved[3], n_maps;
  mlaf_map_want maps[8];
};
extern "C" __device__ const mlaf_kernel_launch ${symbol}_launch = {0x314b4c4du, sizeof(mlaf_kernel_launch), ${launch.shared},
    {${cluster[1]}, ${cluster[2]}, ${cluster[3]}}, ${flags}, 0, ${values}, ${#maps},
    {${join(wants, ", ")}}};
struct __align__(64) mlaf_tensor_map {
  u64 opaque[16];
};
struct mlaf_decode_params {
  mlaf_decode_args a;
//@ if #maps > 0 then
  mlaf_tensor_map maps[${#maps}];
//@ end
};
