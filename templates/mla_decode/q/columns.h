// Q of a piece of sm90_mid, in the order of a tile's boxes.
//@ -- q: gen/ops/mla_decode/q.lua. Returns by_one, by_warp: what the first lane does where it hands the piece over, and the warp
//@ -- behind that.
//@ needs("H", "MAP_Q", "N", "NB", "Q_AT", "Q_FULL")
//@ if q.parts then
//@   needs("UNIT")
// Box `at` of UNIT rows, all columns, of the piece whose first row is `first`: by one lane each.
MLAF_DEV void copy_q_parts(const mlaf_tensor_map* maps, u32 smem, int first, int at) {
  const int row = first + at * UNIT, token = (u32)row / H, head = row - token * H;
  for (int b = 0; b < NB; b++)
    copy_q_box(smem + Q_AT + b * (N * 128) + at * (UNIT * 128), maps, column_of(b), head, token, smem + Q_FULL);
}
//@ end
//@ local function by_one()
//@   if not q.parts then
      if (more)
        for (int b = 0; b < NB; b++)
          copy_box(smem + Q_AT + b * (N * 128), p.maps + MAP_Q, 64 * column_of(b), (int)w.row, smem + Q_FULL);
//@   end
//@ end
//@ local function by_warp()
//@   if q.parts then
    if (more && lane < N / UNIT) copy_q_parts(p.maps, smem, (int)w.row, lane);
    __syncwarp();
//@   end
//@ end
//@ return { by_one = by_one, by_warp = by_warp }
