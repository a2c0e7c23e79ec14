// Operands of mma.h of weights of 8 bits, which lie in the ring as bytes and become numbers in registers, in an order of values
// (layout=outputs: lane t of a quad has four beside each other) or of outputs (inputs: 2g and 2g+1) that fits. A warp's part of a
// step has one scale, asked for a step ahead.
//@ needs("PITCH_W", "STEP", "STEPS", "place", "expand2", "scale_at", "scales_of")
// 16 outputs, values 0..15 and 16..31 of the warp's.
//@ if layout == "outputs" then
MLAF_DEV void load_operands(u32 (&a0)[4], u32 (&a1)[4], u32 w, int col, int way, int lane) {
  u32 codes[4]; // rows g and g+8: values 4t .. 4t+3 of the first 16, of the others
  load_matrices(codes, w + (16 * col + (lane & 15)) * PITCH_W + 32 * way + (lane >> 4) * 16);
  a0[0] = expand2<0>(codes[0]), a0[1] = expand2<0>(codes[1]), a0[2] = expand2<1>(codes[0]), a0[3] = expand2<1>(codes[1]);
  a1[0] = expand2<0>(codes[2]), a1[1] = expand2<0>(codes[3]), a1[2] = expand2<1>(codes[2]), a1[3] = expand2<1>(codes[3]);
}
// A token's values in the same order.
MLAF_DEV void load_quads(u32 (&b)[4], u32 at) {
#pragma unroll
  for (int i = 0; i < 4; i += 2)
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(b[i]), "=r"(b[i + 1]) : "r"(at + 16 * i) : "memory");
}
//@ else
MLAF_DEV u32 load_two(u32 at) {
  unsigned short x;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(x) : "r"(at) : "memory");
  return x;
}
// Outputs 2g and 2g+1 are rows g and g+8.
MLAF_DEV void load_operands(u32 (&a0)[4], u32 (&a1)[4], u32 w, int col, int way, int lane) {
  const u32 at = w + (32 * way + 2 * (lane & 3)) * PITCH_W + 16 * col + 2 * (lane >> 2);
  u32 codes[4]; // two values of each of the two outputs
#pragma unroll
  for (int i = 0; i < 4; i++)
    codes[i] = __byte_perm(load_two(at + 8 * i * PITCH_W), load_two(at + (8 * i + 1) * PITCH_W), 0x5140);
  a0[0] = expand2<0>(codes[0]), a0[1] = expand2<1>(codes[0]), a0[2] = expand2<0>(codes[1]), a0[3] = expand2<1>(codes[1]);
  a1[0] = expand2<0>(codes[2]), a1[1] = expand2<1>(codes[2]), a1[2] = expand2<0>(codes[3]), a1[3] = expand2<1>(codes[3]);
}
//@ end

// The scale of the warp's outputs and values of a step; of one behind the last, another.
MLAF_DEV float scale_of_step(const mlaf_projection_scaled_args& a, const place& p, int step, int col, int way) {
  const int value = step * STEP + 32 * way < INNER ? step * STEP + 32 * way : INNER - 1;
  const int output = p.first + 16 * col < OUTER ? p.first + 16 * col : OUTER - 1;
//@ if layout == "outputs" then
  return scale_at(a, scales_of(a, p.head, output), value);
//@ else
  return scale_at(a, scales_of(a, p.head, value), output);
//@ end
}
