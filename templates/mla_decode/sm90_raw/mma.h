// The matrix product of raw bytes: e4m3 that became f16 in registers is the A operand. Handed over: rows (N), kind (the problem's
// type), scales (groups of columns that each token has a scale for; 0: none).
//@ needs("N")
//@ local function list(first, n) local t = {} for i = 0, n - 1 do t[#t + 1] = "%" .. first + i end return join(t, ", ") end
//@ local n, io, kinds = rows // 2, {}, { "f16", scales > 0 and kind ~= "f16" and kind or nil }
//@ for i = 0, n - 1 do io[#io + 1] = '"+f"(d[' .. i .. '])' end
//@ for _, k in ipairs(kinds) do
// D [64 x N] += A [64 x 16] B [16 x N]; d[4j + 2h + i]: row 16 warp + lane/4 + 8h, column 8j + 2 (lane%4) + i. A in registers; B
// in shared memory, K-major in rows of 128 bytes with a swizzle of as many: the lower word of its descriptor.
MLAF_DEV void mma_${k}(float (&d)[N / 2], const u32 (&a)[4], u32 b, bool add) {
  asm volatile(
      "{\n.reg .pred p;\n.reg .b64 b;\nsetp.ne.b32 p, %${n + 5}, 0;\nmov.b64 b, {%${n + 4}, %${n + 6}};\n"
      "wgmma.mma_async.sync.aligned.m64n${rows}k16.f32.${k}.${k} {${list(0, n)}}, {${list(n, 4)}}, b, p, 1, 1, 0;\n}"
      : ${join(io, ", ")}
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"((u32)add), "n"(64 | 1u << 30));
}
//@ end
// Returns the low half of the wgmma descriptor of an address. Offsets are added to it in units of 16 bytes, one instruction each.
MLAF_DEV u32 operand(u32 at) { return (at & 0x3ffff) >> 4 | 1u << 16; }

// Keeps the compiler from moving reads of x above the wait for the wgmma that writes it.
template <int M>
MLAF_DEV void settle(float (&x)[M]) {
#pragma unroll
  for (int i = 0; i < M; i++) asm volatile("" : "+f"(x[i])::"memory");
}
