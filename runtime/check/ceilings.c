/* Measuring the ceilings. */
#include "check/ceilings.h"

#include "run/tool.h"

enum { MATRIX = 8192, READ_BLOCKS_PER_CU = 4, READ_PASSES = 2 };
#define READ_BYTES ((int64_t)4 << 30)
#define GLANCE_BYTES ((int64_t)4 << 20) /* read first, to see how much is not too much */
#define READ_MOST_NS 5e8                /* of one launch: nothing stops it on the way */

static mlaf_status run_reader(const mlaf_ceilings_env *e, const mlaf_tool *tool, const mlaf_time_opts *time, void *data,
                              size_t bytes, mlaf_timing *out, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(e->device);
  mlaf_read_args args = {.words = data, .n = bytes / 16, .never = MLAF_READ_NEVER, .passes = READ_PASSES};
  args.blocks = (uint32_t)(READ_BLOCKS_PER_CU * mlaf_info(e->device)->compute_units);
  const mlaf_launch launch = {
      .fn = tool->fn, .grid = {args.blocks, 1, 1}, .block = {MLAF_READ_THREADS, 1, 1}, .args = &args, .args_size = sizeof args};
  mlaf_status st = ops->mem_alloc(e->device, sizeof(uint32_t), &args.out, err);
  if (!st) st = ops->time(e->device, &launch, 1, time, out, err);
  if (args.out) ops->mem_free(e->device, args.out, NULL);
  return st;
}

/* So much that no pass helps the next, but on a device that would take minutes for it (slow by nature, or emulated) as much as it
 * reads in half a second. */
static mlaf_status choose_bytes(const mlaf_ceilings_env *e, const mlaf_tool *tool, const mlaf_time_opts *time, size_t *bytes,
                                mlaf_err *err) {
  const int64_t mem = mlaf_info(e->device)->mem_bytes, most = mem && mem / 2 < READ_BYTES ? mem / 2 : READ_BYTES;
  const mlaf_time_opts glance = {
      .min_samples = 1, .max_samples = 1, .min_window_ns = 1, .limit_s = 0.001, .cancel = time->cancel};
  mlaf_timing timing = {.ns = 0};
  void *data = NULL;
  mlaf_status st = mlaf_pool_need(e->pool, MLAF_BF16, GLANCE_BYTES, &data, err);
  if (!st) st = run_reader(e, tool, &glance, data, GLANCE_BYTES, &timing, err);
  if (st) return st;
  const double reads = READ_MOST_NS / timing.ns; /* so many glances, or more: a glance counts its launch, too */
  *bytes = reads * GLANCE_BYTES >= (double)most ? (size_t)most : (size_t)(reads < 1 ? 1 : reads) * GLANCE_BYTES;
  return MLAF_OK;
}

static mlaf_status measure_read(const mlaf_ceilings_env *e, const mlaf_time_opts *time, mlaf_ceilings *c, mlaf_err *err) {
  const mlaf_tool_env env = {e->device, e->gen, e->compiler, e->target};
  mlaf_timing timing = {.ns = 0};
  mlaf_tool tool;
  void *data = NULL;
  size_t bytes = 0;
  mlaf_status st = mlaf_tool_open(&env, "read_ceiling", MLAF_READ_PARAMS, &tool, err);
  if (!st) st = choose_bytes(e, &tool, time, &bytes, err);
  if (!st) st = mlaf_pool_need(e->pool, MLAF_BF16, bytes, &data, err);
  if (!st) st = run_reader(e, &tool, time, data, bytes, &timing, err);
  mlaf_tool_close(&tool);
  if (st) return st;
  const double moved = READ_PASSES * (double)bytes;
  c->bytes_per_ns = moved / timing.ns;
  c->bytes_measured = true;
  mlaf_snprintf(c->bytes_from, sizeof c->bytes_from, "own kernel, %.1f GB read in %.1f us, median of %d", moved / 1e9,
                timing.ns / 1e3, timing.samples);
  return MLAF_OK;
}

static mlaf_status measure_matmul(const mlaf_ceilings_env *e, const mlaf_time_opts *time, mlaf_ceilings *c, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(e->device);
  const size_t bytes = (size_t)MATRIX * MATRIX * 2;
  mlaf_timing timing = {.ns = 0};
  void *data = NULL, *product = NULL;
  if (!ops->time_matmul) return mlaf_fail(err, MLAF_E_NO_DEVICE, "the %s back end has no such library", ops->name);
  mlaf_status st = mlaf_pool_need(e->pool, MLAF_BF16, 2 * bytes, &data, err);
  if (!st) st = ops->mem_alloc(e->device, bytes, &product, err);
  if (!st) st = ops->time_matmul(e->device, MATRIX, data, (char *)data + bytes, product, time, &timing, err);
  if (product) ops->mem_free(e->device, product, NULL);
  if (st) return st;
  c->flops_per_ns = 2.0 * MATRIX * MATRIX * MATRIX / timing.ns;
  c->flops_measured = true;
  mlaf_snprintf(c->flops_from, sizeof c->flops_from, "%.60s, bf16 %d^3 in %.1f us, median of %d", timing.detail, MATRIX,
                timing.ns / 1e3, timing.samples);
  return MLAF_OK;
}

mlaf_status mlaf_ceilings_measure(const mlaf_ceilings_env *e, const mlaf_time_opts *time, mlaf_ceilings *out, mlaf_err *err) {
  mlaf_ceilings c = {.bytes_per_ns = 0};
  mlaf_err why = {MLAF_OK, "times are modelled here"};
  double memory_ns, compute_ns;
  mlaf_status st = mlaf_gen_roofline(e->gen, e->target, 1e12, 1e15, &memory_ns, &compute_ns, err);
  if (st) return st;
  c.bytes_per_ns = 1e12 / memory_ns;
  c.flops_per_ns = 1e15 / compute_ns;
  const bool real = !(mlaf_ops(e->device)->features & MLAF_DEVICE_MODELLED);
  st = real ? measure_read(e, time, &c, &why) : MLAF_E_NO_DEVICE;
  if (st == MLAF_E_CANCELLED) return mlaf_fail(err, st, "%s", why.text);
  if (st) snprintf(c.bytes_from, sizeof c.bytes_from, "table of %.16s (%.120s)", e->target, why.text);
  if (st != MLAF_E_NOMEM) st = real ? measure_matmul(e, time, &c, &why) : MLAF_E_NO_DEVICE;
  if (!c.flops_measured) snprintf(c.flops_from, sizeof c.flops_from, "table of %.16s (%.120s)", e->target, why.text);
  if (st == MLAF_E_NOMEM || st == MLAF_E_CANCELLED) return mlaf_fail(err, st, "%s", why.text);
  *out = c;
  return MLAF_OK;
}

double mlaf_ceilings_ns(const mlaf_ceilings *c, double bytes, double flops, bool *compute_bound) {
  const double memory = bytes / c->bytes_per_ns, compute = flops / c->flops_per_ns;
  *compute_bound = compute > memory;
  return compute > memory ? compute : memory;
}
