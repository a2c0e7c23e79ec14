/* Chains and series of launches as CUDA graphs, against a driver over host memory (fakecuda.c). */
#include "cmocka_all.h"
#include "cuda/cuda_life.h"
#include "device/record.h"
#include "device/series.h"

enum { CHAIN_WORDS = 4 };
typedef struct chained {
  mlaf_device *dev;
  mlaf_module *m;
  uint32_t *mem;
  fake_fill args;
  mlaf_launch l[2];
  mlaf_chain *chain;
} chained;

static void open_chained(chained *c) {
  cubin code;
  mlaf_function *fill = NULL, *big = NULL;
  make_cubin(&code, 190);
  *c = (chained){.dev = open_device("cuda")};
  const mlaf_device_ops *ops = mlaf_ops(c->dev);
  assert_int_equal(ops->mem_alloc(c->dev, CHAIN_WORDS * sizeof *c->mem, (void **)&c->mem, NULL), MLAF_OK);
  assert_int_equal(ops->module_load(c->dev, &code, sizeof code, &c->m, NULL), MLAF_OK);
  assert_int_equal(ops->function_get(c->dev, c->m, "big", &big, NULL), MLAF_OK);
  assert_int_equal(ops->function_get(c->dev, c->m, "fill", &fill, NULL), MLAF_OK);
  c->args = (fake_fill){c->mem, 0, CHAIN_WORDS};
  c->l[0] = (mlaf_launch){.fn = big, .grid = {2, 6, 1}, .block = {64, 1, 1}, .args = &nothing, .args_size = FAKE_BIG_ARGS,
                          .cluster = {2, 3, 1}, .flags = MLAF_LAUNCH_OVERLAPS};
  c->l[1] = (mlaf_launch){.fn = fill, .grid = {1, 1, 1}, .block = {32, 1, 1}, .args = &c->args, .args_size = sizeof c->args,
                          .cluster = {1, 1, 1}, .flags = MLAF_LAUNCH_OVERLAPS};
  assert_int_equal(ops->chain_open(c->dev, c->l, 2, &c->chain, NULL), MLAF_OK);
}

static void close_chained(chained *c) {
  const mlaf_device_ops *ops = mlaf_ops(c->dev);
  if (c->chain) ops->chain_close(c->dev, c->chain);
  ops->module_unload(c->dev, c->m);
  ops->mem_free(c->dev, c->mem, NULL);
  mlaf_device_close(c->dev);
}

/* Tells whether a call with another grid and other arguments than the last one became a graph. It must be right either way. */
static bool became_graph(chained *c, void *stream) {
  const int graphs = fake_calls("cuGraphLaunch"), launches = fake_calls("cuLaunchKernelEx");
  mlaf_err err = {MLAF_OK, ""};
  c->args.value++;
  c->l[0].grid[0] += 2;
  if (mlaf_ops(c->dev)->chain_launch(c->dev, stream, c->chain, c->l, 2, &err)) fail_msg("%s", err.text);
  for (int i = 0; i < CHAIN_WORDS; i++) assert_int_equal(c->mem[i], c->args.value);
  fake_launch (*before)(void), seen;
  fake_symbol("fakecuda_before", &before);
  seen = before();
  assert_int_equal(seen.grid[0], c->l[0].grid[0]);
  assert_int_equal(seen.cluster[1], 3);
  assert_int_equal(seen.overlaps, 1);
  assert_int_equal(fake_last().overlaps, 1);
  const int more = fake_calls("cuGraphLaunch") - graphs;
  if (fake_calls("cuLaunchKernelEx") - launches != (more ? 0 : 2)) fail_msg("neither a graph nor two launches");
  return more == 1;
}

static void set_busy(void *stream, int busy) {
  void (*set)(void *, int);
  fake_symbol("fakecuda_busy", &set);
  set(stream, busy);
}

/* A graph of two for a stream with nothing to do, which is asked at every eighth call; launches behind work. */
TEST(chains_on_idle_streams) {
  use_fake();
  chained c;
  open_chained(&c);
  void *stream;
  assert_int_equal(mlaf_ops(c.dev)->stream_create(c.dev, &stream, NULL), MLAF_OK);
  set_busy(stream, 1);
  const int asked = fake_calls("cuStreamQuery");
  for (int i = 0; i < 3; i++) assert_false(became_graph(&c, stream));
  assert_int_equal(fake_calls("cuStreamQuery"), asked + 3);
  set_busy(stream, 0);
  for (int i = 0; i < 8; i++) assert_true(became_graph(&c, stream));
  assert_int_equal(fake_calls("cuStreamQuery"), asked + 4);
  set_busy(stream, 1);
  assert_false(became_graph(&c, stream));
  mlaf_ops(c.dev)->stream_destroy(c.dev, stream);
  close_chained(&c);
}

/* A chain as long as a layer's is a graph behind work, too, and nobody asks whether there is any. */
TEST(long_chains_behind_work) {
  use_fake();
  chained c;
  open_chained(&c);
  const mlaf_device_ops *ops = mlaf_ops(c.dev);
  mlaf_launch l[4] = {c.l[0], c.l[1], c.l[0], c.l[1]};
  mlaf_chain *chain = NULL;
  void *stream;
  assert_int_equal(ops->stream_create(c.dev, &stream, NULL), MLAF_OK);
  assert_int_equal(ops->chain_open(c.dev, l, 4, &chain, NULL), MLAF_OK);
  set_busy(stream, 1);
  const int asked = fake_calls("cuStreamQuery"), graphs = fake_calls("cuGraphLaunch"), launches = fake_calls("cuLaunchKernelEx");
  for (int i = 1; i <= 10; i++) {
    c.args.value += 3;
    l[2].grid[0] += 2;
    assert_int_equal(ops->chain_launch(c.dev, stream, chain, l, 4, NULL), MLAF_OK);
    for (int k = 0; k < CHAIN_WORDS; k++) assert_int_equal(c.mem[k], c.args.value);
    assert_int_equal(fake_calls("cuGraphLaunch"), graphs + i);
  }
  assert_int_equal(fake_calls("cuLaunchKernelEx"), launches);
  assert_int_equal(fake_calls("cuStreamQuery"), asked);
  ops->chain_close(c.dev, chain);
  ops->stream_destroy(c.dev, stream);
  close_chained(&c);
}

/* Nobody's graph but the first stream's; none while something is captured there, and a question does not disturb who captures. */
TEST(chains_of_one_stream) {
  use_fake();
  chained c;
  open_chained(&c);
  mlaf_cuda *device = mlaf_cuda_of(c.dev);
  void *first, *second, *graph = NULL;
  assert_int_equal(mlaf_ops(c.dev)->stream_create(c.dev, &first, NULL), MLAF_OK);
  assert_int_equal(mlaf_ops(c.dev)->stream_create(c.dev, &second, NULL), MLAF_OK);
  assert_true(became_graph(&c, first));
  assert_false(became_graph(&c, second));
  assert_false(became_graph(&c, NULL));
  bool pushed;
  assert_int_equal(mlaf_cuda_enter(device, &pushed, NULL), MLAF_OK);
  assert_int_equal(device->api.cuStreamBeginCapture_v2(second, 1), 0);
  for (int i = 0; i < 10; i++) assert_true(became_graph(&c, first)); /* asks once */
  assert_int_equal(device->api.cuStreamEndCapture(second, &graph), 0);
  device->api.cuGraphDestroy(graph);
  assert_int_equal(device->api.cuStreamBeginCapture_v2(first, 1), 0);
  const int graphs = fake_calls("cuGraphLaunch");
  assert_int_equal(mlaf_ops(c.dev)->chain_launch(c.dev, first, c.chain, c.l, 2, NULL), MLAF_OK);
  assert_int_equal(fake_calls("cuGraphLaunch"), graphs);
  assert_int_equal(device->api.cuStreamEndCapture(first, &graph), 0);
  device->api.cuGraphDestroy(graph);
  mlaf_cuda_leave(device, pushed);
  mlaf_ops(c.dev)->stream_destroy(c.dev, first);
  mlaf_ops(c.dev)->stream_destroy(c.dev, second);
  close_chained(&c);
}

/* While launches are recorded a chain's are, too: none runs, and the copies are launches. */
TEST(chains_are_recorded) {
  use_fake();
  chained c;
  mlaf_record record = {.n = 0};
  open_chained(&c);
  assert_true(became_graph(&c, NULL));
  const int graphs = fake_calls("cuGraphLaunch"), launches = fake_calls("cuLaunchKernelEx");
  c.args.value += 5;
  mlaf_record_begin(c.dev, &record);
  assert_int_equal(mlaf_ops(c.dev)->chain_launch(c.dev, NULL, c.chain, c.l, 2, NULL), MLAF_OK);
  mlaf_record_end(&record);
  assert_int_equal(fake_calls("cuGraphLaunch"), graphs);
  assert_int_equal(fake_calls("cuLaunchKernelEx"), launches);
  assert_int_equal(record.n, 2);
  for (size_t i = 0; i < record.n; i++) {
    assert_ptr_equal(record.list[i].fn, c.l[i].fn);
    assert_int_equal(mlaf_ops(c.dev)->launch(c.dev, NULL, &record.list[i], NULL), MLAF_OK);
  }
  for (int i = 0; i < CHAIN_WORDS; i++) assert_int_equal(c.mem[i], c.args.value);
  mlaf_record_free(&record);
  close_chained(&c);
}

/* A chain that the driver does not take as a graph is launched kernel by kernel from then on; so it does with other kernels than
 * the chain's. */
TEST(chains_that_do_not_hold) {
  use_fake();
  mlaf_device_close(open_device("cuda")); /* loads the fake */
  const int before = fake_int("fake_leaks");
  chained c;
  open_chained(&c);
  const mlaf_device_ops *ops = mlaf_ops(c.dev);
  mlaf_chain *same = NULL;
  assert_int_equal(ops->chain_open(c.dev, c.l, 2, &same, NULL), MLAF_OK);
  assert_ptr_equal(same, c.chain); /* plans of the same kernels share one */
  ops->chain_close(c.dev, same);
  mlaf_chain *none = (mlaf_chain *)&c;
  assert_int_equal(ops->chain_open(c.dev, c.l, 1, &none, NULL), MLAF_OK);
  assert_null(none); /* one launch is as cheap as can be */
  assert_true(became_graph(&c, NULL));
  const mlaf_launch turned[] = {c.l[1], c.l[0]};
  const int graphs = fake_calls("cuGraphLaunch");
  assert_int_equal(ops->chain_launch(c.dev, NULL, c.chain, turned, 2, NULL), MLAF_OK);
  assert_int_equal(fake_calls("cuGraphLaunch"), graphs);
  fake_reset();
  setenv("FAKECUDA_FAIL", "cuGraphExecKernelNodeSetParams_v2:2:777", 1);
  assert_false(became_graph(&c, NULL));
  unsetenv("FAKECUDA_FAIL");
  assert_false(became_graph(&c, NULL));
  close_chained(&c);
  setenv("MLAF_LAUNCH_GRAPHS", "0", 1);
  open_chained(&c);
  assert_null(c.chain);
  assert_false(became_graph(&c, NULL));
  setenv("MLAF_LAUNCH_GRAPHS", "off", 1);
  mlaf_device *refused = NULL;
  mlaf_err err = {MLAF_OK, ""};
  assert_int_equal(mlaf_cuda_ops.open(0, NULL, &refused, &err), MLAF_E_ARG);
  assert_non_null(strstr(err.text, "MLAF_LAUNCH_GRAPHS is 'off'; known are: 0 1"));
  unsetenv("MLAF_LAUNCH_GRAPHS");
  mlaf_ops(c.dev)->module_unload(c.dev, c.m);
  mlaf_ops(c.dev)->mem_free(c.dev, c.mem, NULL);
  mlaf_device_close(c.dev);
  assert_int_equal(fake_int("fake_leaks"), before);
}

/* A series keeps copies of parameters, runs nothing before its end, and becomes a graph then, whose chain is made once. While the
 * stream is captured it makes none. */
TEST(series_become_graphs) {
  use_fake();
  chained c;
  open_chained(&c);
  mlaf_series_chains *chains = mlaf_series_chains_new(c.dev);
  mlaf_series s;
  mlaf_ops(c.dev)->chain_close(c.dev, c.chain);
  c.chain = NULL;
  const int made = fake_calls("cuGraphInstantiateWithFlags");
  for (uint32_t round = 1; round <= 3; round++) {
    const int graphs = fake_calls("cuGraphLaunch"), launches = fake_calls("cuLaunchKernelEx");
    c.args.value = round;
    mlaf_series_begin(&s, c.dev, NULL);
    for (int i = 0; i < 2; i++) assert_int_equal(mlaf_series_launch(&s, &c.l[i], 1, NULL), MLAF_OK);
    c.args.value = 100;
    for (int i = 0; round > 1 && i < CHAIN_WORDS; i++) assert_int_equal(c.mem[i], round - 1);
    assert_int_equal(mlaf_series_end(&s, chains, NULL), MLAF_OK);
    for (int i = 0; i < CHAIN_WORDS; i++) assert_int_equal(c.mem[i], round);
    assert_int_equal(fake_calls("cuGraphLaunch"), graphs + 1);
    assert_int_equal(fake_calls("cuLaunchKernelEx") - launches, round == 1 ? 2 : 0); /* to capture the chain */
  }
  assert_int_equal(fake_calls("cuGraphInstantiateWithFlags"), made + 1);
  mlaf_series_chains *none = mlaf_series_chains_new(c.dev);
  void *stream, *graph = NULL;
  bool pushed;
  mlaf_cuda *device = mlaf_cuda_of(c.dev);
  assert_int_equal(mlaf_ops(c.dev)->stream_create(c.dev, &stream, NULL), MLAF_OK);
  assert_int_equal(mlaf_cuda_enter(device, &pushed, NULL), MLAF_OK);
  assert_int_equal(device->api.cuStreamBeginCapture_v2(stream, 1), 0);
  mlaf_series_begin(&s, c.dev, stream);
  assert_int_equal(mlaf_series_launch(&s, c.l, 2, NULL), MLAF_OK);
  assert_int_equal(mlaf_series_end(&s, none, NULL), MLAF_OK);
  assert_int_equal(fake_calls("cuGraphInstantiateWithFlags"), made + 1);
  assert_int_equal(device->api.cuStreamEndCapture(stream, &graph), 0);
  device->api.cuGraphDestroy(graph);
  mlaf_cuda_leave(device, pushed);
  mlaf_ops(c.dev)->stream_destroy(c.dev, stream);
  mlaf_series_chains_free(none);
  mlaf_series_chains_free(chains);
  close_chained(&c);
}

/* More launches than a chain has are launched, in order; so is what a series is told not to keep. */
TEST(series_that_are_too_long) {
  use_fake();
  chained c;
  open_chained(&c);
  mlaf_series s;
  const int launches = fake_calls("cuLaunchKernelEx");
  mlaf_series_begin(&s, c.dev, NULL);
  for (uint32_t i = 1; i <= MLAF_CHAIN_MOST + 3; i++) {
    c.args.value = i;
    assert_int_equal(mlaf_series_launch(&s, &c.l[1], 1, NULL), MLAF_OK);
    assert_int_equal(fake_calls("cuLaunchKernelEx") - launches, i <= MLAF_CHAIN_MOST ? 0 : i);
  }
  assert_int_equal(c.mem[0], MLAF_CHAIN_MOST + 3);
  mlaf_series_begin(&s, c.dev, NULL);
  c.args.value = 77;
  assert_int_equal(mlaf_series_launch(&s, &c.l[1], 1, NULL), MLAF_OK);
  assert_int_not_equal(c.mem[0], 77);
  assert_int_equal(mlaf_series_stop(&s, NULL), MLAF_OK);
  assert_int_equal(c.mem[0], 77);
  close_chained(&c);
}

TESTS(NULL, NULL)
