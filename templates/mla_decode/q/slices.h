// Q of a piece of sm90_many: slices of 64 columns, the last one by way of P's place.
//@ -- q: gen/ops/mla_decode/q.lua
//@ needs("MAP_Q", "MAP_Q_FEW", "MAP_Q_ROPE", "P_AT", "Q_AT", "Q_FULL_AT", "Q_SLICES", "ROPE", "ROPE_BYTES", "ROWS", "SLICE")
MLAF_DEV void load_q(const loader& l, int row) {
//@ if q.parts then
  if (l.lane < Q_SLICES)
    copy_q(l.shared + Q_AT + l.lane * SLICE, l.p.maps, l.lane, row, q_rows(), 128, l.shared + Q_FULL_AT);
//@ else
  if (l.lane < Q_SLICES)
    copy_box(l.shared + Q_AT + l.lane * SLICE, &l.p.maps[q_rows() < ROWS ? MAP_Q_FEW : MAP_Q], 64 * l.lane, row,
             l.shared + Q_FULL_AT);
//@ end
}
// Q's last slice, and with it the piece is handed over. Row -1: there is none.
MLAF_DEV void load_last(const loader& l, int row) {
  const u32 full = l.shared + Q_FULL_AT;
//@ if q.parts then
  if (row >= 0) copy_q(l.shared + P_AT, l.p.maps, Q_SLICES, row, ROWS, 2 * ROPE, full);
//@ else
  if (row >= 0) copy_box(l.shared + P_AT, &l.p.maps[ROPE > 0 ? MAP_Q_ROPE : MAP_Q], 64 * Q_SLICES, row, full);
//@ end
  barrier_expect(full, row >= 0 ? Q_SLICES * 128 * q_rows() + (ROPE > 0 ? ROPE_BYTES : SLICE) : 0);
}
