//@ -- The dealer's warp; `once`: by whom of a pair tiles without keys are written, as the start of a line.
//@ needs("TOLD", "TOLD_AT", "TOLD_EMPTY_AT", "TOLD_FULL_AT")
// The first tile is looked for before the launch ahead has ended, and again where that one wrote other lengths.
MLAF_DEV void deal_tiles(const mlaf_prefill_kernel_args& a, u32 shared, int lane) {
  ring<TOLD> told = {0, 0};
  deal d = first_deal(a, lane);
  for (bool more = true, early = true; more;) {
    tile t;
    more = me() < members() && next_tile(a, d, lane, t);
    if (early) {
      early = false;
      wait_for_previous_launch();
      if (!same_lengths(a, d, lane)) {
        d = first_deal(a, lane);
        more = true;
        continue;
      }
    }
    if (!more) t.rounds = 0;
    else if (t.rounds == 0) {
      ${once}write_empty(a, t, lane);
      continue;
    }
    barrier_wait(shared + TOLD_EMPTY_AT + 8 * told.stage, told.lap ^ 1);
    __syncwarp();
    if (lane == 0) {
      *(tile*)(memory() + TOLD_AT + 64 * told.stage) = t;
      barrier_arrive(shared + TOLD_FULL_AT + 8 * told.stage);
    }
    told.next();
  }
}
