/* Relations between mla_index's arguments that its table does not say, and its two launches: parts of rows_per_wg cached tokens,
 * those of all query tokens beside each other; then a block for each query token. Both take the same block of parameters. */
#include "ops/mla_index/index.h"

enum { INVERSE_BITS = 40, CACHE_ALIGN = 16 };
static const uint64_t BLOCKS_MOST = INT32_MAX, THREADS_MOST = UINT32_MAX; /* of a launch, as CUDA and AMD's packets count them */
static const int64_t TOKENS_MOST = UINT32_MAX / 1024; /* a block each to select, of so many threads at most */
_Static_assert(sizeof(mlaf_index_kernel_args) == 152, "templates/mla_index/lib/args.h has as many bytes");

void index_sizes(const int32_t *f, const mlaf_index_args *a, int64_t *n) {
  n[INDEX_SIZE_B] = a->q_tokens > 0 ? mlaf_up(a->tokens, a->q_tokens) : 0;
  n[INDEX_SIZE_PAGE] = (int64_t)INDEX_TOKEN * a->page_tokens;
}

mlaf_status index_numbers(const int32_t *f, const mlaf_index_args *a, mlaf_err *err) {
  if (a->q_tokens < 1 || a->tokens % a->q_tokens == 0) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "tokens is %lld, must be a multiple of q_tokens, which is %d: that many of each request",
                   (long long)a->tokens, a->q_tokens);
}

/* Cached tokens that a launch may look at. */
static int64_t most_of(const mlaf_index_args *a) {
  const int64_t paged = (int64_t)a->table_width * a->page_tokens;
  return paged < a->max_length ? paged : a->max_length;
}

static uint64_t blocks_of(const mlaf_stage *k, const mlaf_index_args *a) {
  return (uint64_t)a->tokens * (uint64_t)mlaf_up(most_of(a), k->rows_per_wg);
}

mlaf_status index_related(const mlaf_bound *b, const mlaf_index_args *a, const int64_t *n, mlaf_err *err) {
  const uint64_t by_threads = THREADS_MOST / b->stage[0].threads;
  if (a->num_pages > INT32_MAX / a->page_tokens)
    return mlaf_fail(err, MLAF_E_ARG, "num_pages is %lld, of %d tokens each: rows of the cache must be below 2^31",
                     (long long)a->num_pages, a->page_tokens);
  if (!a->cache_page_stride && a->num_pages > 1 && n[INDEX_SIZE_PAGE] % CACHE_ALIGN)
    return mlaf_fail(err, MLAF_E_ARG, "cache_page_stride is 0, and a page of %d tokens has %lld bytes: pages must begin at "
                     "multiples of %d, pass a stride", a->page_tokens, (long long)n[INDEX_SIZE_PAGE], CACHE_ALIGN);
  if (blocks_of(&b->stage[0], a) <= (by_threads < BLOCKS_MOST ? by_threads : BLOCKS_MOST) && a->tokens <= TOKENS_MOST)
    return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "tokens is %lld: with a max_length of %lld more blocks than a launch has; launch fewer at "
                   "once", (long long)a->tokens, (long long)a->max_length);
}

mlaf_status index_complete(const mlaf_bound *b, const mlaf_index_args *a, const int64_t *n, mlaf_index_kernel_args *k,
                           mlaf_launch *launch, mlaf_err *err) {
  k->page_inverse = (UINT64_C(1) << INVERSE_BITS) / (uint32_t)a->page_tokens + 1; /* exact below 2^24 */
  k->tokens = (uint32_t)a->tokens;
  k->most = (uint32_t)most_of(a);
  launch->grid[0] = (uint32_t)blocks_of(&b->stage[0], a);
  return MLAF_OK;
}

mlaf_status index_check_stages(const mlaf_bound *b, mlaf_err *err) {
  if (!b->stage[1].fn) return mlaf_fail(err, MLAF_E_ARG, "no kernel that selects behind the one that writes logits");
  return mlaf_arguments_check_stages(b, err);
}

mlaf_status index_prepare(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err) {
  const mlaf_stage *k = &b->stage[1];
  mlaf_status st = mlaf_arguments_prepare(b, knob, args, out, err);
  if (st || !out->n) return st;
  out->launches[out->n++] = (mlaf_launch){
      .fn = k->fn,
      .grid = {(uint32_t)((const mlaf_index_args *)args)->tokens, 1, 1},
      .block = {k->threads, 1, 1},
      .cluster = {1, 1, 1},
      .args = out->parameters,
      .args_size = index_parameter_bytes(1, &k->launch),
      .flags = k->launch.flags & MLAF_KERNEL_OVERLAPS ? MLAF_LAUNCH_OVERLAPS : 0,
  };
  return MLAF_OK;
}
