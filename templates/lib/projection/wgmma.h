// wgmma for 64 rows and ${n} columns, fp32 accumulators, A from registers (_rs) or shared memory (_ss), B from shared memory. The
// includer hands over n, type (bf16 or f16) and trans (1: B's columns are contiguous). Rows of 128 bytes, swizzled.
//@ local d = n // 2
//@ local function list(first, count, form)
//@   local t = {}
//@   for i = first, first + count - 1 do t[#t + 1] = fmt(form, i) end
//@   return join(t, ", ")
//@ end
//@ local function wrapper(rs)
//@   local a = rs and 4 or 1
//@   emit(fmt("MLAF_DEV void wgmma_%s(float (&d)[%d], %s, u32 b) {", rs and "rs" or "ss", d,
//@     rs and "const u32 (&a)[4]" or "u32 a"))
//@   emit(fmt('  asm volatile("{\\n.reg .b64 a, b;\\nmov.b64 b, {%%%d, %%%d};\\n"', d + a, d + a + 1))
//@   if not rs then emit(fmt('    "mov.b64 a, {%%%d, %%%d};\\n"', d, d + a + 1)) end
//@   emit(fmt('    "wgmma.mma_async.sync.aligned.m64n%dk16.f32.%s.%s\\n{"', n, type, type))
//@   for i = 0, d - 1, 4 do emit(fmt('    "%s%s"', list(i, 4, "%%%d"), i + 4 < d and ", " or "}, ")) end
//@   emit(fmt('    "%s, b, 1, 1, 1, %s%d;\\n}"', rs and "{" .. list(d, 4, "%%%d") .. "}" or "a", rs and "" or "0, ", trans))
//@   for i = 0, d - 1, 4 do
//@     emit(fmt("    %s %s%s", i == 0 and ":" or " ", list(i, 4, '"+f"(d[%d])'), i + 4 < d and "," or ""))
//@   end
//@   emit(fmt('    : %s, "r"(b), "n"(SWIZZLE_128));', rs and list(0, 4, '"r"(a[%d])') or '"r"(a)'))
//@   emit("}")
//@ end

// A descriptor's upper word: bytes between groups of 8 rows (16-byte units), swizzle. Lower words: an address inside a cluster
// carries the block's number above these bits.
constexpr u32 SWIZZLE_128 = 64 | 1u << 30;
MLAF_DEV u32 k_major(u32 at) { return (at & 0x3ffff) >> 4 | 1u << 16; }
MLAF_DEV u32 n_major(u32 at, u32 bytes_per_64_columns) { return (at & 0x3ffff) >> 4 | bytes_per_64_columns >> 4 << 16; }
//@ wrapper(rs)

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
