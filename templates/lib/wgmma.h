// wgmma for 64 rows and N columns, fp32 accumulators; A from registers (_rs) or shared memory (_ss), B from shared memory,
// K-major or, with _t, columns contiguous. The upper words of matrix descriptors are constants here, so that the lower words
// stay in uniform registers. `kinds`: list of { n, trans }; `type`: bf16 or f16.
//@ local function list(n, f) local t = {} for i = 0, n - 1 do t[#t + 1] = f(i) end return join(t, ", ") end
//@ local function wrapper(n, from_registers, trans)
//@   local d, a_regs = n // 2, from_registers and 4 or 1
//@   local b, acc, hi, a_hi = d + a_regs, d + a_regs + 1, d + a_regs + 2, d + a_regs + 3
//@   emit("template <u32 B_HI = SWIZZLE_128>")
//@   emit(fmt("MLAF_DEV void wgmma_%s%s(float (&d)[%d], %s, u32 b, bool accumulate) {", from_registers and "rs" or "ss",
//@     trans and "_t" or "", d, from_registers and "const u32 (&a)[4]" or "u32 a"))
//@   emit('  asm volatile("{\\n.reg .pred p;\\n.reg .b64 a, b;\\n"')
//@   emit(fmt('    "setp.ne.b32 p, %%%d, 0;\\nmov.b64 b, {%%%d, %%%d};\\n"', acc, b, hi))
//@   if not from_registers then emit(fmt('    "mov.b64 a, {%%%d, %%%d};\\n"', d, a_hi)) end
//@   emit(fmt('    "wgmma.mma_async.sync.aligned.m64n%dk16.f32.%s.%s\\n{"', n, type, type))
//@   for i = 0, d - 1, 16 do
//@     emit(fmt('    "%s%s"', list(min(16, d - i), function(k) return "%" .. i + k end), i + 16 < d and "," or "}, "))
//@   end
//@   local a = from_registers and "{" .. list(4, function(i) return "%" .. d + i end) .. "}" or "a"
//@   emit(fmt('    "%s, b, p, 1, 1, %s%d;\\n}"', a, from_registers and "" or "0, ", trans and 1 or 0))
//@   for i = 0, d - 1, 8 do
//@     local outputs = list(min(8, d - i), function(k) return fmt('"+f"(d[%d])', i + k) end)
//@     emit(fmt("    %s %s%s", i == 0 and ":" or " ", outputs, i + 8 < d and "," or ""))
//@   end
//@   emit(fmt('    : %s, "r"(b), "r"((int)accumulate), "n"(B_HI)%s);', from_registers and
//@     list(4, function(i) return fmt('"r"(a[%d])', i) end) or '"r"(a)', from_registers and "" or ', "n"(SWIZZLE_128)'))
//@   emit("}")
//@ end

// Upper words: bytes between groups of 8 rows (16-byte units), swizzle. Rows of 128 bytes (64 columns) or of 64 bytes.
constexpr u32 SWIZZLE_128 = 64 | 1u << 30, SWIZZLE_64 = 32 | 2u << 30;
// Lower words. An address inside a cluster carries the block's number there above these bits.
MLAF_DEV u32 k_major(u32 at) { return (at & 0x3ffff) >> 4 | 1u << 16; }
MLAF_DEV u32 n_major(u32 at, u32 bytes_per_64_columns) { return (at & 0x3ffff) >> 4 | bytes_per_64_columns >> 4 << 16; }

//@ for _, kind in ipairs(kinds) do
//@   wrapper(kind[1], true, kind[2])
//@   wrapper(kind[1], false, kind[2])
//@ end

MLAF_DEV void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
MLAF_DEV void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N>
MLAF_DEV void wgmma_wait() { // until at most N groups are in flight
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
// The compiler must not move uses of accumulators across this point.
template <int N>
MLAF_DEV void settle(float (&x)[N]) {
#pragma unroll
  for (int i = 0; i < N; i++) asm volatile("" : "+f"(x[i])::"memory");
}
