// Q in two tensors, of a piece that sm90_mid works on.
//@ needs("H", "N", "NB", "Q_AT", "Q_FULL", "UNIT")
// Box `at` of UNIT rows, all columns, of the piece whose first row is `first`: by one lane each.
MLAF_DEV void copy_q_parts(const mlaf_tensor_map* maps, u32 smem, int first, int at) {
  const int row = first + at * UNIT, token = (u32)row / H, head = row - token * H;
  for (int b = 0; b < NB; b++)
    copy_q_box(smem + Q_AT + b * (N * 128) + at * (UNIT * 128), maps, column_of(b), head, token, smem + Q_FULL);
}
