// Workgroups that read the same cache tokens, "siblings", should run on one XCD and share its L2. The hardware deals
// consecutive workgroups out over the XCDs in turn, so siblings numbered consecutively end up on different ones. The includer
// says how many XCDs a device has: MLAF_XCDS.
struct work {
  int rows, split, request; // which group of rows, which KV split, which request
};

// Workgroup id -> work, for a grid of (N, splits, batch) with N siblings each: XCD id%XCDS takes its share of the sibling
// sets, set after set. What is left over when the number of sets is no multiple of XCDS keeps its plain order.
template <int N>
MLAF_DEV work my_work(int splits, int batch) {
  if (N == 1) return {0, group_y(), group_z()};
  constexpr u32 XCDS = MLAF_XCDS;
  const u32 sets = (u32)splits * (u32)batch, dealt = sets / XCDS * XCDS;
  const u32 id = (u32)group_x() + N * ((u32)group_y() + (u32)splits * (u32)group_z());
  u32 rows, set;
  if (id < dealt * N) {
    const u32 turn = id / XCDS;
    rows = turn % N;
    set = turn / N * XCDS + id % XCDS;
  } else {
    rows = id % N;
    set = id / N;
  }
  return {(int)rows, (int)(set % (u32)splits), (int)(set / (u32)splits)};
}
