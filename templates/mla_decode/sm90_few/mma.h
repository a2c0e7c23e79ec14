// The matrix product of transposed decode. Handed over: rows (N), kind (bf16 or f16).
//@ needs("N")
//@ local n, d, io = rows // 2, {}, {}
//@ for i = 0, n - 1 do
//@   d[#d + 1], io[#io + 1] = "%" .. i, '"+f"(d[' .. i .. '])'
//@ end
// D [64 x N] += A [64 x 16] B [16 x N]; d[4j + 2h + i]: row 16 warp + lane/4 + 8h, column 8j + 2 (lane%4) + i.
template <int TransA>
MLAF_DEV void mma(float (&d)[N / 2], u64 a, u64 b, bool add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %${n + 2}, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n${rows}k16.f32.${kind}.${kind} "
      "{${join(d, ", ")}}, "
      "%${n}, %${n + 1}, p, 1, 1, %${n + 3}, 0;\n}"
      : ${join(io, ", ")}
      : "l"(a), "l"(b), "r"((u32)add), "n"(TransA));
}
