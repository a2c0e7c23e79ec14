//@ -- Inside of bring() (load.h): codes, scales and rope columns are three rows of a page (mla_decode/lib/planar.h). at_once:
//@ -- rows that follow each other in a page; scales_at, rope_at: of a warp's 16 tokens in shared memory.
//@ needs("PITCH", "ROPE")
  const token_parts from = parts_of(a, row);
//@ if at_once > 1 then -- five copies for 16 rows
  const int half = lane % 2, part = smaller(rows - 8 * half, 8);
  if (lane < 2 && part > 0) copy_bytes(to + half * (8 * PITCH + 16), from.codes + half * (8 * PITCH), part * PITCH, full);
  if (lane / 2 == 1 && part > 0)
    copy_bytes(to + ${rope_at} + half * (16 * ROPE + 16), from.rope + half * (16 * ROPE), part * (2 * ROPE), full);
  if (lane == 4 && rows > 0) copy_bytes(to + ${scales_at}, from.scales, rows * 16, full);
//@ else
  if (mine >= rows) return;
  if (lane < 16) {
    copy_bytes(to + mine * PITCH + mine / 8 * 16, from.codes, PITCH, full);
  } else {
    copy_bytes(to + ${rope_at} + mine * (2 * ROPE) + mine / 8 * 16, from.rope, 2 * ROPE, full);
    copy_bytes(to + ${scales_at} + mine * 16, from.scales, 16, full);
  }
//@ end
