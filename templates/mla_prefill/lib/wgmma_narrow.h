// wgmma of slabs of 32 or 16 columns: 64 rows and N columns, A and B from shared memory, K-major, with rows of 64 or 32 bytes.
// More instructions are in lib/wgmma.h. `kinds`: the values of N; `type`: bf16 or f16.
//@ local function list(n, f) local t = {} for i = 0, n - 1 do t[#t + 1] = f(i) end return join(t, ", ") end
//@ for _, n in ipairs(kinds) do
//@   local d = n // 2
//@   emit("template <u32 HI>")
//@   emit(fmt("MLAF_DEV void wgmma_narrow(float (&d)[%d], u32 a, u32 b, bool accumulate) {", d))
//@   emit('  asm volatile("{\\n.reg .pred p;\\n.reg .b64 a, b;\\n"')
//@   emit(fmt('    "setp.ne.b32 p, %%%d, 0;\\nmov.b64 a, {%%%d, %%%d};\\n"', d + 2, d, d + 3))
//@   emit(fmt('    "mov.b64 b, {%%%d, %%%d};\\n"', d + 1, d + 3))
//@   emit(fmt('    "wgmma.mma_async.sync.aligned.m64n%dk16.f32.%s.%s\\n{"', n, type, type))
//@   for i = 0, d - 1, 16 do
//@     emit(fmt('    "%s%s"', list(min(16, d - i), function(k) return "%" .. i + k end), i + 16 < d and "," or "}, "))
//@   end
//@   emit('    "a, b, p, 1, 1, 0, 0;\\n}"')
//@   for i = 0, d - 1, 8 do
//@     local outputs = list(min(8, d - i), function(k) return fmt('"+f"(d[%d])', i + k) end)
//@     emit(fmt("    %s %s%s", i == 0 and ":" or " ", outputs, i + 8 < d and "," or ""))
//@   end
//@   emit('    : "r"(a), "r"(b), "r"((int)accumulate), "n"(HI));')
//@   emit("}")
//@ end
constexpr u32 SWIZZLE_32 = 16 | 3u << 30;
