//@ needs("MET_AT", "PART", "R")
// ---- Earlier parts' share of the block's last piece (mla_decode/lib/meet.h) ----------------------------------------------
// One warp does it while math is at its tiles: it takes the words, and asks for the pieces into L2, should they have left it.
MLAF_DEV void meet(const mlaf_decode_args& a, const work& w, u32 smem) {
  for (int k = threadIdx.x & 31; k < meet_count(w.whom); k += 32) {
    const int p = meet_part(PART, w.whom, k);
    meet_take(word_of(a, p), a.part_lse + part_row(p), w.rows);
    fetch_bytes((const char*)(a.part_o + part_row(p) * R), w.rows * R * 4);
    fetch_line(a.part_lse + part_row(p));
  }
  __syncwarp();
  barrier_arrive_if((threadIdx.x & 31) == 0, smem + MET_AT);
}
