// wgmma of bytes of e4m3, 64 rows and N columns, 32 in a step, fp32 sums: A from registers (_rs) or shared memory (_ss), B from
// shared memory, both K-major: there is no other form of it. What else there is: lib/wgmma.h. `kinds`: the values of N.
//@ local function list(n, f) local t = {} for i = 0, n - 1 do t[#t + 1] = f(i) end return join(t, ", ") end
//@ local function wrapper(n, from_registers)
//@   local d, a_regs = n // 2, from_registers and 4 or 1
//@   local b, acc, hi = d + a_regs, d + a_regs + 1, d + a_regs + 2
//@   emit("template <u32 HI = SWIZZLE_128>")
//@   emit(fmt("MLAF_DEV void wgmma_bytes_%s(float (&d)[%d], %s, u32 b, bool accumulate) {", from_registers and "rs" or "ss", d,
//@     from_registers and "const u32 (&a)[4]" or "u32 a"))
//@   emit('  asm volatile("{\\n.reg .pred p;\\n.reg .b64 a, b;\\n"')
//@   emit(fmt('    "setp.ne.b32 p, %%%d, 0;\\nmov.b64 b, {%%%d, %%%d};\\n"', acc, b, hi))
//@   if not from_registers then emit(fmt('    "mov.b64 a, {%%%d, %%%d};\\n"', d, hi)) end
//@   emit(fmt('    "wgmma.mma_async.sync.aligned.m64n%dk32.f32.e4m3.e4m3\\n{"', n))
//@   for i = 0, d - 1, 16 do
//@     emit(fmt('    "%s%s"', list(min(16, d - i), function(k) return "%" .. i + k end), i + 16 < d and "," or "}, "))
//@   end
//@   emit(fmt('    "%s, b, p, 1, 1;\\n}"', from_registers and "{" .. list(4, function(i) return "%" .. d + i end) .. "}" or "a"))
//@   for i = 0, d - 1, 8 do
//@     local outputs = list(min(8, d - i), function(k) return fmt('"+f"(d[%d])', i + k) end)
//@     emit(fmt("    %s %s%s", i == 0 and ":" or " ", outputs, i + 8 < d and "," or ""))
//@   end
//@   emit(fmt('    : %s, "r"(b), "r"((int)accumulate), "n"(HI));', from_registers and
//@     list(4, function(i) return fmt('"r"(a[%d])', i) end) or '"r"(a)'))
//@   emit("}")
//@ end
// Rows of 32 bytes: upper words as in lib/wgmma.h.
constexpr u32 SWIZZLE_32 = 16 | 3u << 30;
//@ for _, n in ipairs(kinds) do
//@   wrapper(n, true)
//@   wrapper(n, false)
//@ end
