//@ -- Inside of bring() (load.h): codes from one tensor, scales from another. at_once: rows that follow each other in a page.
//@ needs("PITCH")
//@ if at_once > 1 then
  if (a.ckv_row_stride == PITCH && a.kpe_row_stride == 16) { // three copies for 16 rows
    const int part = smaller(rows - 8 * lane, 8);
    if (lane < 2 && part > 0) copy_bytes(to + lane * (8 * PITCH + 16), a.ckv + (u64)(row + 8 * lane) * PITCH, part * PITCH, full);
    if (lane == 2 && rows > 0) copy_bytes(to + ${scales_at}, a.kpe + (u64)row * 16, rows * 16, full);
    return;
  }
  row += mine;
//@ end
  if (mine >= rows) return;
  if (lane < 16) copy_bytes(to + mine * PITCH + mine / 8 * 16, a.ckv + (u64)row * a.ckv_row_stride, PITCH, full);
  else copy_bytes(to + ${scales_at} + mine * 16, a.kpe + (u64)row * a.kpe_row_stride, 16, full);
