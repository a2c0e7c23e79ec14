// The loaders of the many-rows Hopper kernel: a warp each for the left half, the right half, rope, and Q with what others must
// know of a piece. The includer has the constants of the kernel.
//@ needs("AHEAD", "ALL", "ASK", "BOX", "BOXES", "BUFFER", "CHECKED_AT", "EMPTY_AT", "EVICT_FIRST", "EVICT_NORMAL", "FULL_AT",
//@   "H", "KV_AT", "LAST_EMPTY_AT", "MANY", "MAP_CKV", "MAP_KPE", "NEAR_END_AT",
//@   "OWN_BUFFERS", "QUARTER", "Q_EMPTY_AT", "Q_FULL_AT", "Q_LEN", "R", "ROPE", "ROPE_BYTES",
//@   "ROWS", "SLICE", "SLICES")

// The cache leaves L2 first, but not where it is read again and again: by more than two blocks with other rows of the request
// (it would cost 1 to 2 %), and in pairs, which ask ahead, by the box beside where boxes share lines (rope 32: rows of 1088
// bytes; 5 %).
constexpr u64 POLICY = Q_LEN * H <= 2 * ROWS && (PAIR == 1 || ROPE % 64 == 0) ? EVICT_FIRST : EVICT_NORMAL;

//@ if small then
// Boxes of a slice that are sent together: registers end there.
constexpr int BOXES_AT_ONCE = BOXES < 2 ? BOXES : PAIR == 1 ? 2 : BOXES < 4 ? BOXES : 4;
// One lane of the warp, and the compiler knows that it is one: behind `lane == 0` each copy is a loop over lanes, 12
// instructions, and several of them stand in a row here.
MLAF_DEV bool elected() {
  u32 yes;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(yes));
  return yes != 0;
}
//@ else
constexpr int BOXES_AT_ONCE = BOXES < 4 ? BOXES : 4; // boxes of a slice whose rows are known together: registers end there
//@ end

//@ if ahead then
// Barriers are there, of the other block of a pair, too.
MLAF_DEV void begin_together() {
  named_sync(0, ${plan.threads});
  if (PAIR == 2) cluster_sync();
}

//@ end
struct loader {
  const mlaf_decode_params& p;
  u32 shared;
  int lane, half; // half: 0 left, 1 right, 2 rope
};

// The buffer of block j, and how often it was used before.
struct buffer_use {
  int buffer;
  u32 use;
};
MLAF_DEV buffer_use next_use(u32 (&used)[2], int j) {
  const u32 n = j & 1 ? used[1]++ : used[0]++;
  return {(j & 1) + 2 * (int)(n % OWN_BUFFERS), n / OWN_BUFFERS};
}

MLAF_DEV void wait_empty(const loader& l, buffer_use t, int group) {
  if (t.use > 0) barrier_wait(l.shared + EMPTY_AT + 8 * (5 * t.buffer + group), (t.use - 1) & 1);
  __syncwarp();
}

//@ if gather then
//@   include("mla_decode/sm90_many/gather.h")
//@ else
// Slices [first, first + count) of a buffer, as soon as they are given back; dealt out to the blocks of a pair. By one lane: what
// they take is then the same in all lanes and lies in uniform registers when they come, and lanes send one by one anyway.
// A pair then asks for those of block j + AHEAD, into L2: one block alone would only load L2 more by that.
MLAF_DEV void load_slices(const loader& l, const piece& x, buffer_use t, int j, int ids, int next, int group, int first,
                          int count) {
  const bool rope = first == SLICES;
  const int at = j * BOXES, later = at + AHEAD * BOXES;
  const int odd = PAIR == 2 ? (int)((rope ? t.use : first) ^ cta_in_cluster()) & 1 : 0;
  const int slice = first + (count == 2 ? odd : 0), column = rope ? 0 : 64 * slice;
//@ local one = small and "chosen" or "l.lane == 0"
//@ if small then
  const bool chosen = elected();
//@ end
  const bool mine = ${one} && (count == 2 || odd == 0); // of two a block of a pair takes one
  const u32 to = l.shared + KV_AT + t.buffer * BUFFER + slice * SLICE;
  const u32 full = l.shared + FULL_AT + 8 * (ALL * t.buffer + first); // one for all of them
  const mlaf_tensor_map* map = &l.p.maps[rope ? MAP_KPE : MAP_CKV];
  int rows[BOXES_AT_ONCE]; // found together, ahead of the wait: beside QK a shuffle takes 200-350 clocks
  auto find = [&](int first_box) {
#pragma unroll
    for (int b = 0; b < BOXES_AT_ONCE; b++) rows[b] = row_of_box${small and "_for_all" or ""}(x, at + first_box + b, ids);
  };
  find(0);
  wait_empty(l, t, group);
  if (${one}) barrier_expect(full, rope ? ROPE_BYTES : QUARTER * SLICE);
#pragma unroll 1
  for (int b0 = 0; b0 < BOXES; b0 += BOXES_AT_ONCE) {
    if (b0 > 0) find(b0);
#pragma unroll
    for (int b = 0; b < BOXES_AT_ONCE; b++) {
      const u32 place = to + (b0 + b) * BOX * (rope ? 2 * ROPE : 128);
      if (!mine) continue;
      if (PAIR == 2) {
        copy_box_to_pair(place, map, column, rows[b], full, POLICY);
      } else {
        copy_box_once(place, map, column, rows[b], full, POLICY);
        if (count == 2) copy_box_once(place + SLICE, map, column + 64, rows[b], full, POLICY);
      }
    }
  }
//@ if not small then
  if (PAIR == 1 || j == 0) return; // what the first two blocks need goes first
#pragma unroll 1
  for (int b = j == 1 ? later - BOXES : later; b < later + BOXES; b += BOXES) { // a lane a box
    const int own = b + l.lane % BOXES, row = row_of_box(x, own, b / 32 == at / 32 ? ids : next);
    if (l.lane < BOXES && (count == 2 || odd == 0) && x.begin + own * BOX < x.end) fetch_box(map, column, row);
  }
//@ end
}

//@ if small then
// Each block of a pair asks for every second box of block j + AHEAD, into L2, all of its columns at once: as many requests as
// there are boxes. Asked for by slice, as large boxes are, they would load the copy engine more than they gain.
MLAF_DEV void fetch_ahead(const loader& l, const piece& x, int j, int ids, int next) {
  const int own = (j + AHEAD) * BOXES + l.lane % BOXES, row = row_of_box(x, own, own / 32 == j * BOXES / 32 ? ids : next);
  const bool mine = l.lane < BOXES && (l.lane & 1) == (int)cta_in_cluster() && x.begin + own * BOX < x.end;
  if (mine && l.p.a.ckv_row_stride == R + ROPE) fetch_bytes(l.p.a.ckv + (u64)(u32)row * (2 * (R + ROPE)), BOX * 2 * (R + ROPE));
}
//@ end

// Piece k. Its second block waits until Q is there: asked for together, all would come as late as the last of it. One warp says
// when the end is near, in every piece and not before Q is there: so it is never two pieces ahead of who waits for that.
MLAF_DEV void load_piece(const loader& l, const piece& x, u32 k, u32 (&used)[2]) {
  const int blocks = blocks_of(x), near_end = !MANY || l.half > 0 ? -1 : blocks - ASK > 1 ? blocks - ASK : 1;
//@   if ahead then
  // The first piece's Q is math's and no copy, so nothing waits for it but what says when the end is near.
  const int old = (x.tokens - x.n - x.begin) >> 6; // blocks that were all there before the launch before
//@   end
  int ids = page_of_box(l.p.a, x, l.lane), next = page_of_box(l.p.a, x, l.lane + 32);
  for (int j = 0; j < blocks; j++) {
    if (j > 0 && j * BOXES % 32 == 0) {
      ids = next;
      next = page_of_box(l.p.a, x, j * BOXES + 32 + l.lane);
    }
    const buffer_use t = next_use(used, j);
//@   if ahead then
    if (j >= old) wait_for_previous_launch(); // rows that were appended since are in it
    if (j == 1 && k > 0) barrier_wait(l.shared + Q_FULL_AT, k & 1);
//@   else
    if (j == 1) barrier_wait(l.shared + Q_FULL_AT, k & 1);
    if (j == near_end && l.lane == 0) barrier_arrive(l.shared + NEAR_END_AT);
//@   end
    if (l.half == 2) {
//@ if small then
      if (PAIR == 2) fetch_ahead(l, x, j, ids, next);
//@ end
      load_slices(l, x, t, j, ids, next, 4, SLICES, 1);
    } else {
#pragma unroll 1
      for (int q = 2 * l.half; q < 2 * l.half + 2; q++) load_slices(l, x, t, j, ids, next, q, q * QUARTER, QUARTER);
    }
//@   if ahead then
    if (j == near_end) {
      barrier_wait(l.shared + Q_FULL_AT, k & 1);
      if (l.lane == 0) barrier_arrive(l.shared + NEAR_END_AT);
    }
//@   end
  }
  if (MANY && l.half == 0 && blocks < 2) {
    barrier_wait(l.shared + Q_FULL_AT, k & 1);
    if (l.lane == 0) barrier_arrive(l.shared + NEAR_END_AT);
  }
}

MLAF_DEV void load_cache(const loader& l, walk& w) {
  u32 used[2] = {0, 0};
  piece x;
//@   if ahead then
  begin_together();
//@   end
  for (u32 k = 0; next_piece(l.p.a, w, x); k++) {
    load_piece(l, x, k, used);
    if (!MANY) return;
  }
}
//@ end

//@ include("mla_decode/q/slices.h", { q = q })

// Piece k is handed over: its facts to where the math warps look for them, and a copy for its end, when the next one is there.
static_assert(sizeof(facts) == 40, "gen/ops/mla_decode/plans/sm90_many.lua and finish() count so many bytes");
MLAF_DEV void tell(facts* f, u32 k, const facts& x) {
  f[0] = x;
  f[2 + (k & 1)] = x;
}

//@ if ahead then
// The launch's report of its cuts to the kernel behind it, made behind the wait, since the launch before may still be at
// work there, and by the warp that brings Q alone. first_goes_on: next_of_part() has said what there is to say of the
// part's first piece.
MLAF_DEV void tell_cuts(const loader& l, const walk& w, bool first_goes_on) {
  wait_for_previous_launch();
//@   if fitted then
//@     needs("PART")
  const mlaf_decode_args& a = l.p.a;
  const int parts = smaller(fit_slots(&a), (int)(gridDim.y * gridDim.z));
  if (blockIdx.x != 0 || l.lane != 0 || !a.part_o) return;
  if (PART == 0) fit_tell(a.part_o, w.request < 0 ? parts : 0);
  if (w.request < 0 && PART < parts && !first_goes_on) fit_list(a.part_o, PART, -1);
//@   end
}

//@ end
// f: of the piece that is worked on, and of the next one, whose tables and pages are looked at meanwhile. Its Q is asked for into
// L2 near the end of this one, and copied as soon as there is no more use for this one's.
MLAF_DEV void load_queries(const loader& l, walk& w, facts* f) {
  piece x;
//@ if ahead then
  begin_together();
//@ end
  if (!next_piece(l.p.a, w, x)) {
    if (l.lane == 0) {
      f->blocks = -1;
      load_last(l, -1);
    }
//@ if ahead then
    tell_cuts(l, w, false);
//@ end
    return;
  }
//@ if not ahead then
  load_q(l, (int)x.row);
//@ end
  if (l.lane == 0) {
    tell(f, 0, facts_of(l.p.a, x, false));
//@ if ahead then
    barrier_arrive(l.shared + Q_FULL_AT); // math brings this Q
//@ else
    load_last(l, (int)x.row);
//@ end
  }
//@ if gather then
  say_checked(l, x, f + 2);
//@ else
  const bool bad = check_pages(l.p.a, x, l.lane);
  if (l.lane == 0) {
    if (bad) f[2].bad = 1;
    barrier_arrive(l.shared + CHECKED_AT);
  }
//@ end
//@ if ahead then
  tell_cuts(l, w, ${fitted and "x.part >= 0 && x.begin == 0" or "false"});
//@ end
  if (!MANY) return;
  int row = 0;
#pragma unroll 1
  for (u32 k = 0; row >= 0; k++) {
    row = -1;
    if (next_piece(l.p.a, w, x)) {
      row = (int)x.row;
      const bool bad = ${gather and "false" or "check_pages(l.p.a, x, l.lane)"};
      if (l.lane == 0) f[1] = facts_of(l.p.a, x, bad);
    }
    barrier_wait(l.shared + NEAR_END_AT, k & 1);
    __syncwarp();
//@ if q.hint then
    if (row >= 0 && l.lane < ALL) ${boxes.fetch("l.p.maps", "l.lane", "row", "ROWS")};
//@ end
    barrier_wait(l.shared + Q_EMPTY_AT, k & 1);
    __syncwarp();
    if (row >= 0) load_q(l, row);
    barrier_wait(l.shared + LAST_EMPTY_AT, k & 1);
    __syncwarp();
    if (l.lane == 0) {
      if (row >= 0) tell(f, k + 1, f[1]);
      else f->blocks = -1;
      load_last(l, row);
//@ if not gather then
      barrier_arrive(l.shared + CHECKED_AT);
//@ end
    }
//@ if gather then
    if (row >= 0) say_checked(l, x, f + 2 + (k + 1 & 1));
//@ end
  }
}
