/* The balanced schedule (templates/mla_decode/lib/schedule.h) on the host: its cuts over any batch. */
#include "cmocka_all.h"
#include "base/base.h"
#include "ops/mla_decode/launch.h"
#include "op/numeric.h"

typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t i64;
#define MLAF_DEV static inline
static int fixed; /* gen/ops/mla_decode/plans/schedule.lua has one for each family */
#define SCHEDULE_FIXED fixed
#include "../templates/mla_decode/lib/schedule.h"
/* alike_cut: as gen/ops/mla_decode/plans/schedule.lua's alike_text() has it. */
#define FIT_CUT \
  ((alike_cut && (float)most * (float)a->batch <= 1.125f * (float)a->kv_indptr[a->batch] ? alike_cut : fit_cut) - fit_less)
static int fit_cut, fit_less, alike_cut;
#include "../templates/mla_decode/lib/fit.h"
#include "../templates/mla_decode/lib/meet.h"

enum { FIXED_MOST = 5 };
static const int fixed_costs[FIXED_MOST] = {64, 128, 192, 320, 512};

enum { MOST = 3000 };

typedef struct batch {
  mlaf_decode_args a;
  int page_size;
  int32_t qo[MOST + 1], kv[MOST + 1], last[MOST];
  int tokens[MOST];
} batch;

static int length(mlaf_rng *rng, int kind) {
  switch (kind) {
    case 0: return 0;
    case 1: return 1 + (int)mlaf_rng_below(rng, 3);
    case 2: return 1 + (int)mlaf_rng_below(rng, 200);
    case 3: return 1 + (int)mlaf_rng_below(rng, 9000);
    default: return 1000;
  }
}

/* Mostly of one kind, some of any: empty batches, equal ones, one long request among short ones. */
static void draw(mlaf_rng *rng, batch *x) {
  static const int pages[] = {1, 16, 64, 64, 64, 128, 48, 65536};
  x->page_size = pages[mlaf_rng_below(rng, 8)];
  const int n = 1 + (int)mlaf_rng_below(rng, mlaf_rng_below(rng, 4) ? 40 : MOST), usual = (int)mlaf_rng_below(rng, 5);
  x->kv[0] = x->qo[0] = 0;
  for (int b = 0; b < n; b++) {
    x->tokens[b] = length(rng, mlaf_rng_below(rng, 8) ? usual : (int)mlaf_rng_below(rng, 5));
    const int full = (x->tokens[b] + x->page_size - 1) / x->page_size;
    x->kv[b + 1] = x->kv[b] + full;
    x->last[b] = full ? x->tokens[b] - (full - 1) * x->page_size : 0;
    x->qo[b + 1] = x->qo[b] + (mlaf_rng_below(rng, 6) ? 1 + (int)mlaf_rng_below(rng, 2) : 0);
  }
  static const int parts[] = {1, 2, 33, 66, 132, 264, 1000, 4096};
  x->a = (mlaf_decode_args){.qo_indptr = x->qo, .kv_indptr = x->kv, .kv_last_page_lens = x->last, .batch = n};
  x->a.splits = mlaf_rng_below(rng, 2) ? parts[mlaf_rng_below(rng, 8)] : 1 + (int)mlaf_rng_below(rng, 300);
}

typedef struct seen {
  int covered[MOST]; /* tokens of each request so far, in order of the parts */
  int whole[MOST];   /* pieces that finish the request */
  int slots[2 * 4096];
} seen;

static void check_piece(const batch *x, const struct mlaf_part *part, const struct mlaf_piece *p, seen *s) {
  const int b = p->request;
  assert_int_equal(p->tokens, x->tokens[b]);
  assert_int_equal(p->first_page, x->kv[b]);
  assert_int_equal(p->qo, x->qo[b]);
  assert_int_equal(p->q_tokens, x->qo[b + 1] - x->qo[b]);
  assert_true(p->q_tokens > 0);
  assert_int_equal(p->begin, s->covered[b]); /* each token once, parts in order */
  assert_true(p->begin % SCHEDULE_GRAIN == 0 && (p->begin < p->end || !p->tokens));
  s->covered[b] = p->end;
  if (p->slot < 0) {
    assert_true(p->begin == 0 && p->end == p->tokens);
    s->whole[b]++;
  } else {
    assert_true(p->end - p->begin < p->tokens);
    assert_int_equal(p->slot / 2, part->id);
    assert_int_equal(s->slots[p->slot], -1); /* nobody else's */
    s->slots[p->slot] = b;
  }
}

/* Walks all parts; no part has more than its share and what a cut may move. */
static void walk(const batch *x, seen *s) {
  const i64 total = schedule_start(x->kv[x->a.batch], x->a.batch, x->page_size);
  memset(s, 0, sizeof *s);
  memset(s->slots, -1, sizeof s->slots);
  for (int id = 0; id < x->a.splits; id++) {
    struct mlaf_part part = part_open(&x->a, x->page_size, id);
    struct mlaf_piece p;
    i64 work = 0;
    while (part_next(&x->a, x->page_size, &part, &p)) {
      check_piece(x, &part, &p, s);
      work += p.end - p.begin;
    }
    assert_true(work <= total / x->a.splits + 1 + SCHEDULE_GRAIN);
  }
}

/* Checks that the combine kernel finds for a request what the parts did. */
static void check_request(const batch *x, int b, const seen *s) {
  const struct mlaf_shares shares = schedule_shares(schedule_start(x->kv[x->a.batch], x->a.batch, x->page_size), x->a.splits);
  const i64 start = schedule_start(x->kv[b], b, x->page_size), end = schedule_start(x->kv[b + 1], b + 1, x->page_size);
  int first, last, pieces = 0, others = 0;
  request_parts(shares, start, end, &first, &last);
  assert_true(0 <= first && first <= last && last < x->a.splits);
  for (int id = first; id <= last; id++) {
    const int slot = request_slot(shares, start, x->tokens[b], id);
    if (slot < 0) continue;
    assert_int_equal(s->slots[slot], b);
    pieces++;
  }
  for (int i = 0; i < 2 * x->a.splits; i++) others += s->slots[i] == b;
  assert_int_equal(others, pieces);
  assert_true(pieces == 0 ? s->whole[b] == 1 : pieces > 1 && s->whole[b] == 0);
}

TEST(each_token_once) {
  mlaf_rng rng = {11};
  batch *x = malloc(sizeof *x);
  seen *s = malloc(sizeof *s);
  for (int round = 0; round < 1000; round++) {
    fixed = fixed_costs[round % FIXED_MOST];
    draw(&rng, x);
    walk(x, s);
    for (int b = 0; b < x->a.batch; b++) {
      if (x->qo[b + 1] == x->qo[b]) {
        assert_int_equal(s->covered[b] + s->whole[b], 0);
        continue;
      }
      assert_int_equal(s->covered[b], x->tokens[b]);
      if (x->a.batch < 50 || b % 17 == 0) check_request(x, b, s);
    }
  }
  free(x);
  free(s);
}

/* --- walked backwards, merged by who has a request's end --- */

typedef struct backwards {
  struct mlaf_piece pieces[MOST];
  int whom[MOST], n;
} backwards;

static void walk_back(const batch *x, int id, backwards *w) {
  struct mlaf_part part = meet_open(&x->a, x->page_size, id, x->a.splits);
  w->n = 0;
  while (meet_next(&x->a, x->page_size, &part, &w->pieces[w->n], 0, &w->whom[w->n])) w->n++;
}

/* Cuts at their positions: the pieces are those of a forward walk over the same positions, from the last to the first. */
static void compare_walks(const batch *x, int id, i64 total, const backwards *w) {
  const i64 width = fit_width(total, x->a.splits), lo = width * id;
  const int first = schedule_find(x->kv, 0, x->a.batch, x->page_size, lo, 0), page = x->kv[first];
  struct mlaf_part part = {lo, lo + width, schedule_start(page, first, x->page_size), first, page, id};
  struct mlaf_piece p;
  int at = w->n;
  while (part_next(&x->a, x->page_size, &part, &p)) {
    assert_true(at-- > 0);
    const struct mlaf_piece *b = &w->pieces[at];
    assert_int_equal(b->request, p.request);
    assert_int_equal(b->qo, p.qo);
    assert_int_equal(b->q_tokens, p.q_tokens);
    assert_int_equal(b->first_page, p.first_page);
    assert_int_equal(b->tokens, p.tokens);
    assert_int_equal(b->begin, p.begin);
    assert_int_equal(b->end, p.end);
  }
  assert_int_equal(at, 0);
}

enum { PARTS_MOST = 4096 };

/* A request as seen from its end: tokens that no part had so far, its pieces, who finishes it with whose help. */
typedef struct backward_request {
  int left, pieces, owner, whom;
} backward_request;

typedef struct backward_part {
  int request; /* of the piece that it publishes, -1: none */
  int taken;   /* how often another part adds it */
  int whom;
} backward_part;

static void check_back(const batch *x, int id, const backwards *w, backward_request *requests, backward_part *parts) {
  for (int i = 0; i < w->n; i++) {
    const struct mlaf_piece *p = &w->pieces[i];
    const int whom = w->whom[i], most = meet_count(whom);
    backward_request *r = &requests[p->request];
    assert_int_equal(p->tokens, x->tokens[p->request]);
    assert_int_equal(p->end, r->left);
    assert_true(p->begin % SCHEDULE_GRAIN == 0 && (p->begin < p->end || !p->tokens));
    r->left = p->begin;
    r->pieces++;
    if (p->begin > 0) assert_int_equal(i, w->n - 1); /* the last of the walk: nothing else waits while it does */
    if (p->slot < 0) {
      assert_int_equal(p->end, p->tokens); /* the request's end: who has it finishes it, once */
      assert_int_equal(r->owner, -1);
      assert_int_equal(most > 0, p->begin > 0);
      r->owner = id;
      r->whom = whom;
    } else {
      assert_int_equal(p->slot, 2 * id);
      assert_int_equal(i, 0); /* published before all else */
      assert_true(r->owner > id && most % 3 == 0);
      parts[id].request = p->request;
      parts[id].whom = whom;
    }
    for (int k = 0; k < most; k++) {
      const int other = meet_part(id, whom, k);
      assert_true(other >= 0 && other < id); /* nobody waits for who is launched later */
      parts[other].taken++;
    }
  }
}

/* The pieces that one stands for with those that its part adds, and they with theirs: all of one request. */
static int stands_for(const backward_part *parts, int id, int whom, int request) {
  int pieces = 1;
  for (int k = 0; k < meet_count(whom); k++) {
    const backward_part *p = &parts[meet_part(id, whom, k)];
    assert_int_equal(p->request, request);
    pieces += stands_for(parts, meet_part(id, whom, k), p->whom, request);
  }
  return pieces;
}

TEST(backwards_they_meet) {
  mlaf_rng rng = {12};
  batch *x = malloc(sizeof *x);
  backwards *w = malloc(sizeof *w);
  backward_request *r = malloc(MOST * sizeof *r);
  backward_part *parts = malloc(PARTS_MOST * sizeof *parts);
  int deep = 0;
  for (int round = 0; round < 600; round++) {
    fixed = fixed_costs[round % FIXED_MOST];
    draw(&rng, x);
    const i64 total = schedule_start(x->kv[x->a.batch], x->a.batch, x->page_size);
    for (int b = 0; b < x->a.batch; b++) r[b] = (backward_request){x->tokens[b], 0, -1, 0};
    for (int id = 0; id < x->a.splits; id++) parts[id] = (backward_part){-1, 0, 0};
    for (int id = x->a.splits - 1; id >= 0; id--) {
      walk_back(x, id, w);
      check_back(x, id, w, r, parts);
      compare_walks(x, id, total, w);
    }
    for (int b = 0; b < x->a.batch; b++) {
      const bool asked = x->qo[b + 1] > x->qo[b];
      assert_int_equal(r[b].left, asked ? 0 : x->tokens[b]);
      assert_int_equal(r[b].owner >= 0, asked);
      if (asked) assert_int_equal(stands_for(parts, r[b].owner, r[b].whom, b), r[b].pieces);
      deep += r[b].whom >= 16;
    }
    for (int id = 0; id < x->a.splits; id++) /* what is published is added once, and nothing else is asked for */
      assert_int_equal(parts[id].taken, parts[id].request >= 0);
  }
  assert_true(deep > 100);
  free(x);
  free(w);
  free(r);
  free(parts);
}

/* The count by division is that by subtraction, also beyond what floats tell apart. */
TEST(parts_before_are_counted) {
  mlaf_rng rng = {14};
  for (int round = 0; round < 100000; round++) {
    const i64 width = 64 + (i64)mlaf_rng_below(&rng, mlaf_rng_below(&rng, 2) ? 2000 : 1u << 31);
    const i64 behind = width * (i64)mlaf_rng_below(&rng, 300) + (i64)mlaf_rng_below(&rng, 5) - 2;
    const int most = (int)mlaf_rng_below(&rng, 400);
    int count = 0;
    for (i64 left = behind; left > 0 && count < most; left -= width) count++;
    assert_int_equal(meet_before(behind, width, most), count);
  }
}

/* The combine kernel finds each piece where its part left it, and no slot has two. */
TEST(apart_they_are_found) {
  mlaf_rng rng = {15};
  batch *x = malloc(sizeof *x);
  int *slots = malloc(2 * PARTS_MOST * sizeof *slots), many = 0;
  for (int round = 0; round < 600; round++) {
    fixed = fixed_costs[round % FIXED_MOST];
    draw(&rng, x);
    const i64 width = fit_width(schedule_start(x->kv[x->a.batch], x->a.batch, x->page_size), x->a.splits);
    for (int i = 0; i < 2 * PARTS_MOST; i++) slots[i] = -1;
    for (int id = 0; id < x->a.splits; id++) {
      const bool back = round % 2; /* sm90_few walks backwards, sm90_many forwards */
      struct mlaf_part part = back ? meet_open(&x->a, x->page_size, id, x->a.splits)
                                   : fit_open(&x->a, x->page_size, id, x->a.splits);
      struct mlaf_piece p;
      int whom = 0;
      while (back ? meet_next(&x->a, x->page_size, &part, &p, 1, &whom) : fit_next(&x->a, x->page_size, &part, &p)) {
        assert_int_equal(whom, 0);
        assert_int_equal(p.slot < 0, p.begin == 0 && p.end == p.tokens);
        if (p.slot < 0) continue;
        assert_true(p.slot / 2 == id && slots[p.slot] < 0);
        slots[p.slot] = p.request;
      }
    }
    for (int b = 0; b < x->a.batch; b++) {
      if (x->qo[b + 1] == x->qo[b] || !x->tokens[b]) continue;
      int first, last = fit_pieces(schedule_start(x->kv[b], b, x->page_size), x->tokens[b], width, &first);
      for (int k = 0; last > 0 && k <= last; k++) {
        const int slot = 2 * (first + k) + (k == last);
        assert_int_equal(slots[slot], b);
        slots[slot] = -1;
      }
      many += last > 3;
    }
    for (int i = 0; i < 2 * PARTS_MOST; i++) assert_int_equal(slots[i], -1); /* what nobody looks for was not left */
  }
  assert_true(many > 100);
  free(x);
  free(slots);
}

/* Tables that contradict themselves: walks end, and nobody is waited for that is not an earlier part. */
TEST(contradictions_end) {
  mlaf_rng rng = {13};
  batch *x = malloc(sizeof *x);
  backwards *w = malloc(sizeof *w);
  for (int round = 0; round < 300; round++) {
    fixed = fixed_costs[round % FIXED_MOST];
    draw(&rng, x);
    for (int i = 0; i < 4; i++) {
      x->kv[1 + mlaf_rng_below(&rng, (u32)x->a.batch)] = (int)mlaf_rng_below(&rng, 4000) - 1000;
      x->last[mlaf_rng_below(&rng, (u32)x->a.batch)] = (int)mlaf_rng_below(&rng, 4000) - 1000;
    }
    for (int id = 0; id < x->a.splits; id++) {
      walk_back(x, id, w);
      for (int i = 0; i < w->n; i++) {
        assert_true(w->whom[i] >= 0 && (w->whom[i] == 0 || i == w->n - 1));
        for (int k = 0; k < meet_count(w->whom[i]); k++) {
          const int other = meet_part(id, w->whom[i], k);
          assert_true(other >= 0 && other < id);
        }
        assert_true(w->pieces[i].slot == -1 || w->pieces[i].slot == 2 * id);
      }
    }
  }
  free(x);
  free(w);
}

/* As many parts as equal requests: one each, nothing to combine. */
TEST(equal_lengths_stay_whole) {
  batch *x = calloc(1, sizeof *x);
  seen *s = malloc(sizeof *s);
  x->page_size = 64;
  for (int b = 0; b < 128; b++) {
    x->tokens[b] = 4096;
    x->kv[b + 1] = 64 * (b + 1);
    x->qo[b + 1] = b + 1;
    x->last[b] = 64;
  }
  x->a = (mlaf_decode_args){.qo_indptr = x->qo, .kv_indptr = x->kv, .kv_last_page_lens = x->last, .batch = 128, .splits = 128};
  for (int i = 0; i < FIXED_MOST; i++) {
    fixed = fixed_costs[i];
    walk(x, s);
    for (int b = 0; b < 128; b++) assert_int_equal(s->whole[b], 1);
  }
  free(x);
  free(s);
}

/* When a fitted launch cuts its batch. Slots 132, 500 positions for a cut, one request of 128. */
static void set_lengths(batch *x, int n, int tokens, int longest) {
  x->page_size = 64;
  for (int b = 0; b < n; b++) x->kv[b + 1] = x->kv[b] + ((b == n / 2 ? longest : tokens) + 63) / 64;
  x->a = (mlaf_decode_args){.kv_indptr = x->kv, .batch = n, .splits = 1};
}

TEST(fitted_launches_decide) {
  static const struct {
    int n, tokens, longest, shares;
    bool cut;
  } cases[] = {
      {128, 4096, 4096, 1, false},   {128, 4096, 8192, 1, true},   {100, 4096, 4096, 1, true},   {100, 1024, 1024, 1, false},
      {64, 1024, 1024, 2, false},    {16, 8192, 8192, 6, false},   {16, 8192, 65536, 6, true},   {6, 500, 65536, 20, true},
      {6, 500, 800, 20, false},      {1, 131072, 131072, 96, false}, {0, 0, 0, 1, false},        {4, 0, 0, 16, false},
      {1025, 1000, 1000, 1, true},   {256, 4096, 4096, 1, false},  {256, 4096, 40960, 1, true},
  };
  batch *x = calloc(1, sizeof *x);
  fixed = 128, fit_cut = 500;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    set_lengths(x, cases[i].n, cases[i].tokens, cases[i].longest);
    assert_int_equal(fit_cuts(&x->a, 64, cases[i].shares, 132, 132, fit_longest(&x->a)), cases[i].cut);
  }
  free(x);
}

/* sm90_few's number where lengths are alike, and where they differ: one request of a page more is enough there. */
TEST(lengths_that_are_alike_are_cut_earlier) {
  static const struct {
    int n, tokens, longest;
    bool cut, cut_alike;
  } cases[] = {
      {140, 320, 320, false, true},  {140, 192, 192, false, false}, {140, 256, 320, false, false}, {140, 832, 832, true, true},
      {1024, 64, 64, false, false},  {1025, 64, 64, true, true},    {132, 320, 320, false, false},
  };
  batch *x = calloc(1, sizeof *x);
  fixed = 128, fit_cut = 500;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    set_lengths(x, cases[i].n, cases[i].tokens, cases[i].longest);
    for (alike_cut = 0; alike_cut <= 330; alike_cut += 330)
      assert_int_equal(fit_cuts(&x->a, 64, 1, 132, 132, fit_longest(&x->a)), alike_cut ? cases[i].cut_alike : cases[i].cut);
  }
  alike_cut = 0;
  free(x);
}

/* The merge kernel that ends early knows slots, not parts, and takes eight positions off: what it takes for
 * whole is whole, whatever the tables hold. */
TEST(what_a_merge_kernel_takes_for_whole_is_whole) {
  mlaf_rng rng = {31};
  batch *x = malloc(sizeof *x);
  int whole = 0, cut = 0, between = 0;
  for (int round = 0; round < 20000; round++) {
    draw(&rng, x);
    const int same = (int)mlaf_rng_below(&rng, 3);
    if (same) /* lengths that are alike, or nearly: what the numbers tell apart */
      for (int b = 0, most = 1 + (int)mlaf_rng_below(&rng, 40); b < x->a.batch; b++)
        x->kv[b + 1] = x->kv[b] + most + (same == 2 ? (int)mlaf_rng_below(&rng, 1 + (u32)most / 4) : 0);
    if (mlaf_rng_below(&rng, 4) == 0) x->kv[0] = (int)mlaf_rng_below(&rng, 3000) - 1000;
    if (mlaf_rng_below(&rng, 16) == 0) x->kv[mlaf_rng_below(&rng, (u32)x->a.batch + 1)] = (int)mlaf_rng_below(&rng, 1u << 31);
    const int slots = 33 + (int)mlaf_rng_below(&rng, 400), parts = 1 + (int)mlaf_rng_below(&rng, (u32)slots);
    fixed = 128, fit_cut = 500, alike_cut = mlaf_rng_below(&rng, 2) ? 330 : 0;
    const int cuts = fit_cuts(&x->a, x->page_size, 1, slots, mlaf_rng_below(&rng, 2) ? slots : parts, fit_longest(&x->a));
    fit_less = 8;
    const int may = fit_cuts(&x->a, x->page_size, 1, slots, slots, fit_longest(&x->a));
    fit_less = 0;
    if (schedule_start(x->kv[x->a.batch], x->a.batch, x->page_size) >= 1 << 22) continue; /* floats do not tell them apart */
    assert_true(may || !cuts);
    whole += !may, cut += cuts, between += may && !cuts;
  }
  assert_true(whole > 1000 && cut > 1000 && between > 10);
  alike_cut = 0;
  free(x);
}

/* Positions beyond 32 bits: many pages of 65536 tokens. */
TEST(positions_are_wide) {
  static const int32_t kv[] = {0, 30000, 60000, 60001}, qo[] = {0, 1, 2, 3}, last[] = {1, 65536, 9};
  const mlaf_decode_args a = {.qo_indptr = qo, .kv_indptr = kv, .kv_last_page_lens = last, .batch = 3, .splits = 7};
  i64 sum = 0;
  fixed = 128;
  for (int id = 0; id < 7; id++) {
    struct mlaf_part part = part_open(&a, 65536, id);
    struct mlaf_piece p;
    while (part_next(&a, 65536, &part, &p)) sum += p.end - p.begin;
  }
  assert_int_equal(sum, (i64)29999 * 65536 + 1 + (i64)30000 * 65536 + 9);
}

TESTS(NULL, NULL)
