/* The cuda back end against a driver over host memory (fakecuda.c), and its symbols against a real library. */
#include <dlfcn.h>
#include <elf.h>
#include <sys/stat.h>

#include "cmocka_all.h"
#include "cuda/cuda_life.h"

TEST(absent_or_foreign_library) {
  setenv("MLAF_CUDA_LIBRARY", "/nonexistent/libcuda.so.1", 1);
  expect_no_device("cuda", "MLAF_CUDA_LIBRARY: /nonexistent");
  setenv("MLAF_CUDA_LIBRARY", "libm.so.6", 1);
  expect_no_device("cuda", "libm.so.6 has no function cu");
  unsetenv("MLAF_CUDA_LIBRARY");
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) return; /* a machine with a driver: nothing is absent here */
  expect_no_device("cuda", "libcuda.so.1 not found");
  expect_no_device("cuda", "install the NVIDIA driver");
}

TEST(no_gpu) {
  use_fake();
  setenv("FAKECUDA_DEVICES", "0", 1);
  expect_no_device("cuda", "CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected");
  expect_no_device("cuda", "CUDA_VISIBLE_DEVICES");
  setenv("FAKECUDA_DEVICES", "2", 1);
  expect_no_device("cuda:2", "cuda:2 asked for");
  expect_no_device("cuda:2", "2 devices");
  mlaf_device_close(open_device("cuda:1"));
  assert_int_equal(fake_int("fake_leaks"), 0);
}

TEST(identity) {
  use_fake();
  mlaf_device *dev = open_device("cuda");
  const mlaf_device_info *info = mlaf_info(dev);
  assert_string_equal(mlaf_ops(dev)->name, "cuda");
  assert_string_equal(info->id, "sm_90|sm132|l2_60M|bus6144");
  assert_string_equal(info->place, "0000:40:00.0");
  assert_string_equal(info->target, "sm_90a");
  assert_string_equal(info->full_target, "sm_90a");
  assert_string_equal(info->name, "Fake Hopper");
  assert_int_equal(info->wave_size, 32);
  assert_int_equal(info->compute_units, 132);
  assert_int_equal(info->lds_bytes, 232448);
  assert_int_equal(info->max_threads, 1024);
  assert_int_equal(info->clock_mhz, 1980);
  assert_int_equal(info->mem_clock_mhz, 3201);
  assert_int_equal(info->mem_bytes, INT64_C(139) << 30);
  assert_int_equal(info->l2_bytes, 60 << 20);
  assert_non_null(strstr(info->driver, "cuda 13.0"));
  mlaf_device_close(dev);
  setenv("FAKECUDA_SM", "8.6", 1);
  dev = open_device("cuda:0");
  assert_string_equal(mlaf_info(dev)->id, "sm_86|sm132|l2_60M|bus6144");
  assert_string_equal(mlaf_info(dev)->target, "sm_86");
  mlaf_device_close(dev);
}

TEST(kernel_module_version) {
  char root[] = "/tmp/mlaf-sysfs-XXXXXX", path[256], clean[64];
  use_fake();
  assert_non_null(mkdtemp(root));
  for (int i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "%s/module%s", root, i ? "/nvidia" : "");
    assert_int_equal(mkdir(path, 0700), 0);
  }
  snprintf(path, sizeof path, "%s/module/nvidia/version", root);
  assert_int_equal(mlaf_file_publish(path, "580.95.05\n", 10, NULL), MLAF_OK);
  mlaf_device *dev = open_device("cuda");
  assert_int_equal(mlaf_cuda_identify(mlaf_cuda_of(dev), root, NULL), MLAF_OK);
  assert_string_equal(mlaf_info(dev)->driver, "cuda 13.0 nvidia 580.95.05");
  mlaf_device_close(dev);
  snprintf(clean, sizeof clean, "rm -rf '%s'", root);
  assert_int_equal(system(clean), 0);
}

/* Every call of the driver, failing at its first and at its third use: the error names the call and the code, whatever
 * was made before is given back, the thread's context stack is as before, and the next try works. */
TEST(every_call_may_fail) {
  static const char *const harmless[] = {
      "cuDeviceGetName", "cuDeviceGetPCIBusId", "cuDriverGetVersion", "cuDevicePrimaryCtxRelease_v2", "cuCtxPopCurrent_v2",
      "cuModuleUnload", "cuStreamDestroy_v2", "cuGraphExecDestroy", "cuGraphDestroy", "cuEventDestroy_v2", "cuGetErrorName",
      "cuGetErrorString"};
  mlaf_err err = {MLAF_OK, ""};
  use_fake();
  if (cuda_life(&err)) fail_msg("%s", err.text);
  for (size_t i = 0; mlaf_cuda_symbols[i]; i++) {
    const char *name = mlaf_cuda_symbols[i];
    bool optional = false;
    for (size_t h = 0; h < sizeof harmless / sizeof *harmless; h++) optional |= !strcmp(name, harmless[h]);
    fake_reset();
    assert_int_equal(cuda_life(&err), MLAF_OK);
    int calls = fake_calls(name);
    if (!calls && strncmp(name, "cuGetError", 10)) fail_msg("%s is never called", name);
    for (int k = 1; k <= calls; k++) {
      char spec[80];
      fake_reset();
      snprintf(spec, sizeof spec, "%s:%d:777", name, k);
      setenv("FAKECUDA_FAIL", spec, 1);
      const int before = fake_int("fake_leaks");
      err = (mlaf_err){MLAF_OK, ""};
      mlaf_status st = cuda_life(&err);
      unsetenv("FAKECUDA_FAIL");
      /* the two clock rates are not needed (calls 8 and 9), nor is what finish() waits for: its work is done by then */
      bool forgiven = optional || (!strcmp(name, "cuDeviceGetAttribute") && (k == 8 || k == 9)) ||
                      (!strcmp(name, "cuStreamSynchronize") && k == calls) ||
                      /* a chain that cannot be a graph is launched */
                      (!strcmp(name, "cuStreamIsCapturing") && k == calls) || (!strcmp(name, "cuGraphLaunch") && k == calls) ||
                      !strcmp(name, "cuStreamQuery") || !strcmp(name, "cuThreadExchangeStreamCaptureMode") ||
                      !strcmp(name, "cuGraphExecKernelNodeSetParams_v2") ||
                      ((!strcmp(name, "cuCtxGetCurrent") || !strcmp(name, "cuCtxPushCurrent_v2")) && st == MLAF_OK);
      if (st == MLAF_OK && !forgiven) fail_msg("call %d of %s failed and nobody noticed", k, name);
      if (st != MLAF_OK && !strstr(err.text, "777")) fail_msg("%s: '%s' does not name the code", name, err.text);
      assert_int_equal(fake_int("fakecuda_depth"), 0);
      /* A call that could not enter the context could not give back either; nothing else may leak. */
      if (strncmp(name, "cuCtx", 5) && fake_int("fake_leaks") != before) fail_msg("call %d of %s: leaks", k, name);
      assert_int_equal(cuda_life(&err), MLAF_OK);
    }
  }
}

/* The timing counts sequences, whatever the graph holds: the fake's kernels take 2 us each. */
TEST(timing_by_graphs) {
  use_fake();
  mlaf_device_close(open_device("cuda")); /* loads the fake */
  const int before = fake_int("fake_leaks");
  mlaf_device *dev = open_device("cuda");
  const mlaf_device_ops *ops = mlaf_ops(dev);
  cubin code;
  uint32_t *mem = NULL;
  mlaf_module *m = NULL;
  mlaf_function *fill = NULL;
  mlaf_timing t = {.ns = 0};
  make_cubin(&code, 190);
  assert_int_equal(ops->mem_alloc(dev, 64, (void **)&mem, NULL), MLAF_OK);
  assert_int_equal(ops->module_load(dev, &code, sizeof code, &m, NULL), MLAF_OK);
  assert_int_equal(ops->function_get(dev, m, "fill", &fill, NULL), MLAF_OK);
  const fake_fill args = {mem, 1, 2};
  const mlaf_launch one = {.fn = fill, .grid = {1, 1, 1}, .block = {32, 1, 1}, .args = &args, .args_size = sizeof args};
  const mlaf_launch l[3] = {one, one, one};
  mlaf_time_opts opts = {.warmup = 2, .min_samples = 5, .max_samples = 7, .min_window_ns = 1e6, .limit_s = 20};
  fake_reset();
  assert_int_equal(ops->time(dev, l, 3, &opts, &t, NULL), MLAF_OK);
  assert_int_equal(t.source, MLAF_TIME_MEASURED);
  assert_int_equal(t.samples, 7);
  assert_true(t.ns > 5999 && t.ns < 6001 && t.p10_ns <= t.ns && t.ns <= t.p90_ns && t.mad_ns < 1);
  assert_string_equal(t.detail, "7 samples of 256 sequences, graph of 64");
  assert_int_equal(fake_last().total, 3 * (2 + 511 + 7 * 256)); /* warm-up, doubling up to 1.5 ms, samples */
  opts.give_up_ns = 1;
  assert_int_equal(ops->time(dev, l, 3, &opts, &t, NULL), MLAF_OK);
  assert_int_equal(t.samples, 1);
  assert_non_null(strstr(t.detail, "given up"));
  /* Rests come first here: a glance without one finds the hopeless; 6 us are near enough to 5 to be looked at rested. */
  mlaf_time_opts rested = {.min_samples = 5, .max_samples = 7, .min_window_ns = 1, .limit_s = 20, .idle_s = 0.3};
  static const struct {
    double give_up_us;
    int samples, launches; /* glance, first rested sample, further ones */
    bool rested;
  } looks[] = {{0, 7, 1 + 7, true}, {4, 1, 1, false}, {5, 1, 2, true}, {7, 7, 2 + 7, true}};
  for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
    rested.give_up_ns = 1e3 * looks[i].give_up_us;
    double took = rested.idle_s;
    for (int k = 0; k < 5 && took >= rested.idle_s && (!k || !looks[i].rested); k++) { /* a busy machine is not slow each time */
      fake_reset();
      const double begin = mlaf_now();
      assert_int_equal(ops->time(dev, l, 3, &rested, &t, NULL), MLAF_OK);
      took = mlaf_now() - begin;
    }
    assert_int_equal(took >= rested.idle_s, looks[i].rested);
    assert_int_equal(t.samples, looks[i].samples);
    assert_int_equal(fake_last().total, 3 * looks[i].launches);
    assert_int_equal(strstr(t.detail, "given up") != NULL, looks[i].samples == 1);
  }
  /* Several sets are gone through in turn, each at least once in a sample. */
  const fake_fill apart[4] = {{mem, 5, 1}, {mem + 1, 6, 1}, {mem + 2, 7, 1}, {mem + 3, 8, 1}};
  mlaf_launch sets[4] = {one, one, one, one};
  uint32_t seen[4];
  for (int i = 0; i < 4; i++) sets[i].args = &apart[i];
  const mlaf_time_opts turns = {.min_samples = 3, .max_samples = 3, .min_window_ns = 1, .limit_s = 20, .sets = 4};
  fake_reset();
  assert_int_equal(ops->time(dev, sets, 1, &turns, &t, NULL), MLAF_OK);
  assert_string_equal(t.detail, "3 samples of 4 sequences over 4 sets, graph of 4");
  assert_int_equal(fake_last().total, 1 + 4 * (1 + 3)); /* a glance at one says how many fit a sample */
  assert_int_equal(ops->mem_read(dev, seen, mem, sizeof seen, NULL), MLAF_OK);
  for (uint32_t i = 0; i < 4; i++) assert_int_equal(seen[i], 5 + i);
  /* An error inside a capture is reported as what it is, and the capture is ended. */
  setenv("FAKECUDA_FAIL", "cuLaunchKernel:8:700", 1); /* after the six warm-up launches */
  fake_reset();
  mlaf_err err = {MLAF_OK, ""};
  assert_int_equal(ops->time(dev, l, 3, &opts, &t, &err), MLAF_E_DEVICE);
  unsetenv("FAKECUDA_FAIL");
  assert_non_null(strstr(err.text, "cuLaunchKernel: CUDA_ERROR_ILLEGAL_ADDRESS (700)"));
  assert_non_null(strstr(err.text, "cannot use the device any more"));
  assert_int_equal(fake_calls("cuStreamEndCapture"), 1);
  assert_int_equal(fake_int("fake_leaks"), before + 3); /* the context, the memory, the module */
  ops->module_unload(dev, m);
  ops->mem_free(dev, mem, NULL);
  mlaf_device_close(dev);
  assert_int_equal(fake_int("fake_leaks"), before);
}

TEST(dynamic_shared_memory) {
  use_fake();
  mlaf_device *dev = open_device("cuda");
  const mlaf_device_ops *ops = mlaf_ops(dev);
  cubin code;
  mlaf_module *m = NULL;
  mlaf_function *f = NULL, *none = NULL;
  mlaf_err err = {MLAF_OK, ""};
  make_cubin(&code, 190);
  assert_int_equal(ops->module_load(dev, &code, sizeof code, &m, NULL), MLAF_OK);
  for (int big = 0; big < 2; big++) {
    assert_int_equal(ops->function_get(dev, m, big ? "big" : "fill", &f, NULL), MLAF_OK);
    const mlaf_launch l = {.fn = f, .grid = {5, 6, 7}, .block = {8, 9, 10}, .args = &nothing,
                           .args_size = big ? FAKE_BIG_ARGS : sizeof nothing};
    assert_int_equal(ops->launch(dev, NULL, &l, NULL), MLAF_OK);
    fake_launch seen = fake_last();
    assert_int_equal(seen.shared, big ? FAKE_SHARED : 0);
    assert_memory_equal(seen.grid, l.grid, sizeof l.grid);
    assert_memory_equal(seen.block, l.block, sizeof l.block);
    assert_int_equal(seen.args_size, l.args_size);
  }
  assert_int_equal(ops->function_get(dev, m, "huge", &none, &err), MLAF_E_ARG);
  assert_non_null(strstr(err.text, "huge: wants 300000 bytes of dynamic and 1024 of static"));
  assert_int_equal(ops->function_get(dev, m, "absent", &none, &err), MLAF_E_DEVICE);
  assert_non_null(strstr(err.text, "absent: cuModuleGetFunction: CUDA_ERROR_NOT_FOUND (500)"));
  assert_null(none);
  ops->module_unload(dev, m);
  mlaf_device_close(dev);
}

/* Arguments are copied from one pointer: more than it holds would be read, less would be missing. Grids have limits. */
TEST(launches_that_cannot_be) {
  use_fake();
  mlaf_device *dev = open_device("cuda");
  cubin code;
  mlaf_module *m = NULL;
  mlaf_function *f = NULL;
  mlaf_err err = {MLAF_OK, ""};
  make_cubin(&code, 190);
  assert_int_equal(mlaf_ops(dev)->module_load(dev, &code, sizeof code, &m, NULL), MLAF_OK);
  assert_int_equal(mlaf_ops(dev)->function_get(dev, m, "big", &f, NULL), MLAF_OK);
  const mlaf_launch l = {.fn = f, .grid = {1, 1, 1}, .block = {1, 1, 1}, .args = &nothing, .args_size = 4};
  assert_int_equal(mlaf_ops(dev)->launch(dev, NULL, &l, &err), MLAF_E_ARG);
  assert_non_null(strstr(err.text, "takes 8 bytes of arguments, 4 are passed"));
  mlaf_launch wide = l;
  wide.args_size = FAKE_BIG_ARGS;
  wide.grid[2] = 65536;
  assert_int_equal(mlaf_ops(dev)->launch(dev, NULL, &wide, &err), MLAF_E_ARG);
  assert_non_null(strstr(err.text, "1x1x65536 blocks: CUDA takes 65535"));
  mlaf_ops(dev)->module_unload(dev, m);
  mlaf_device_close(dev);
}

/* Two plans of one kernel have one module, which goes with the last of them; a byte of difference makes another. */
TEST(modules_are_shared) {
  use_fake();
  mlaf_device *dev = open_device("cuda");
  const mlaf_device_ops *ops = mlaf_ops(dev);
  cubin code, other;
  mlaf_module *m[3] = {NULL};
  mlaf_function *f[3] = {NULL};
  make_cubin(&code, 190);
  other = code;
  ((unsigned char *)&other)[sizeof other - 1] ^= 1;
  fake_reset();
  const int before = fake_int("fake_leaks");
  assert_int_equal(ops->module_load(dev, &code, sizeof code, &m[0], NULL), MLAF_OK);
  assert_int_equal(ops->module_load(dev, &code, sizeof code, &m[1], NULL), MLAF_OK);
  assert_int_equal(ops->module_load(dev, &other, sizeof other, &m[2], NULL), MLAF_OK);
  assert_int_equal(fake_calls("cuModuleLoadDataEx"), 2);
  assert_int_equal(fake_int("fake_leaks"), before + 2);
  for (int i = 0; i < 2; i++) assert_int_equal(ops->function_get(dev, m[i], "big", &f[i], NULL), MLAF_OK);
  assert_int_equal(ops->function_get(dev, m[1], "fill", &f[2], NULL), MLAF_OK);
  assert_ptr_equal(f[0], f[1]);
  assert_ptr_not_equal(f[0], f[2]);
  ops->module_unload(dev, m[0]);
  const mlaf_launch l = {.fn = f[1], .grid = {1, 1, 1}, .block = {1, 1, 1}, .args = &nothing, .args_size = FAKE_BIG_ARGS};
  assert_int_equal(ops->launch(dev, NULL, &l, NULL), MLAF_OK);
  ops->module_unload(dev, m[2]);
  ops->module_unload(dev, m[1]);
  assert_int_equal(fake_int("fake_leaks"), before);
  assert_int_equal(ops->module_load(dev, &code, sizeof code, &m[0], NULL), MLAF_OK);
  assert_int_equal(fake_calls("cuModuleLoadDataEx"), 3);
  ops->module_unload(dev, m[0]);
  mlaf_device_close(dev);
}

/* Clusters and overlap travel as launch attributes; an older GPU is not asked to overlap. */
TEST(launch_attributes) {
  for (int old = 0; old < 2; old++) {
    use_fake();
    setenv("FAKECUDA_SM", old ? "8.0" : "9.0", 1);
    mlaf_device *dev = open_device("cuda");
    const mlaf_device_ops *ops = mlaf_ops(dev);
    cubin code;
    mlaf_module *m = NULL;
    mlaf_function *f = NULL;
    make_cubin(&code, 190);
    assert_int_equal(ops->module_load(dev, &code, sizeof code, &m, NULL), MLAF_OK);
    assert_int_equal(ops->function_get(dev, m, "big", &f, NULL), MLAF_OK);
    mlaf_launch l = {.fn = f, .grid = {4, 6, 1}, .block = {64, 1, 1}, .args = &nothing, .args_size = FAKE_BIG_ARGS};
    l.flags = MLAF_LAUNCH_OVERLAPS;
    assert_int_equal(ops->launch(dev, NULL, &l, NULL), MLAF_OK);
    fake_launch seen = fake_last();
    assert_int_equal(seen.overlaps, !old);
    assert_int_equal(seen.cluster[0], 0);
    assert_int_equal(seen.shared, FAKE_SHARED);
    assert_memory_equal(seen.grid, l.grid, sizeof l.grid);
    l.flags = 0;
    l.cluster[0] = 2, l.cluster[1] = 3, l.cluster[2] = 1;
    assert_int_equal(ops->launch(dev, NULL, &l, NULL), MLAF_OK);
    seen = fake_last();
    assert_int_equal(seen.overlaps, 0);
    assert_memory_equal(seen.cluster, l.cluster, sizeof l.cluster);
    ops->module_unload(dev, m);
    mlaf_device_close(dev);
  }
  unsetenv("FAKECUDA_SM");
}

TEST(tensor_maps) {
  use_fake();
  mlaf_device *dev = open_device("cuda");
  mlaf_err err = {MLAF_OK, ""};
  _Alignas(64) uint64_t map[16];
  mlaf_tensor t = {.data = (void *)0x1000, .cols = 512, .rows = 640, .row_stride = 1152, .box_cols = 64, .box_rows = 64,
                   .swizzle = 128};
  assert_int_equal(mlaf_ops(dev)->tensor_map_encode(dev, &t, map, &err), MLAF_OK);
  const uint64_t want[7] = {0x1000, 512, 640, 1152, 64, 64, 3};
  assert_memory_equal(map, want, sizeof want);
  t.box_cols = 128;
  assert_int_equal(mlaf_ops(dev)->tensor_map_encode(dev, &t, map, &err), MLAF_E_DEVICE);
  assert_non_null(strstr(err.text, "640 rows of 512 columns"));
  assert_non_null(strstr(err.text, "box 64x128, swizzle 128: cuTensorMapEncodeTiled"));
  mlaf_device_close(dev);
}

/* A map is encoded once for a thread and a device, one that failed is none, and every word of a tensor counts. */
TEST(maps_are_kept) {
  use_fake();
  mlaf_device *dev = open_device("cuda");
  mlaf_err err = {MLAF_OK, ""};
  _Alignas(64) uint64_t map[16], again[16];
  const mlaf_tensor t = {.data = (void *)0x2000, .cols = 512, .rows = 640, .row_stride = 1152, .box_cols = 64, .box_rows = 64,
                         .swizzle = 128};
  mlaf_tensor others[] = {t, t, t, t, t, t, t};
  others[0].data = (void *)0x3000, others[1].cols = 256, others[2].rows = 641, others[3].row_stride = 1168;
  others[4].box_cols = 32, others[5].box_rows = 32, others[6].swizzle = 64;
  fake_reset();
  setenv("FAKECUDA_FAIL", "cuTensorMapEncodeTiled:1:700", 1);
  assert_int_not_equal(mlaf_ops(dev)->tensor_map_encode(dev, &t, map, &err), MLAF_OK);
  unsetenv("FAKECUDA_FAIL");
  const int before = fake_calls("cuTensorMapEncodeTiled");
  for (int i = 0; i < 3; i++) assert_int_equal(mlaf_ops(dev)->tensor_map_encode(dev, &t, map, &err), MLAF_OK);
  assert_int_equal(fake_calls("cuTensorMapEncodeTiled"), before + 1);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    const int so_far = fake_calls("cuTensorMapEncodeTiled");
    memset(again, 0, sizeof again);
    mlaf_status st = mlaf_ops(dev)->tensor_map_encode(dev, &others[i], again, &err);
    assert_int_equal(fake_calls("cuTensorMapEncodeTiled"), so_far + 1);
    assert_true(st || memcmp(again, map, sizeof map) != 0);
  }
  mlaf_device_close(dev);
  dev = open_device("cuda"); /* mostly at the same address */
  const int closed = fake_calls("cuTensorMapEncodeTiled");
  assert_int_equal(mlaf_ops(dev)->tensor_map_encode(dev, &t, again, &err), MLAF_OK);
  assert_int_equal(fake_calls("cuTensorMapEncodeTiled"), closed + 1);
  assert_memory_equal(again, map, sizeof map);
  mlaf_device_close(dev);
}

/* A launch asks for the context and launches: nothing that allocates or waits, so it is legal inside capture. */
TEST(a_launch_is_only_a_launch) {
  use_fake();
  mlaf_device *dev = open_device("cuda");
  cubin code;
  mlaf_module *m = NULL;
  mlaf_function *f = NULL;
  int (*push)(void *), (*pop)(void **);
  void *popped;
  make_cubin(&code, 190);
  assert_int_equal(mlaf_ops(dev)->module_load(dev, &code, sizeof code, &m, NULL), MLAF_OK);
  assert_int_equal(mlaf_ops(dev)->function_get(dev, m, "fill", &f, NULL), MLAF_OK);
  const mlaf_launch l = {.fn = f, .grid = {1, 1, 1}, .block = {1, 1, 1}, .args = &nothing, .args_size = sizeof nothing};
  fake_symbol("cuCtxPushCurrent_v2", &push);
  fake_symbol("cuCtxPopCurrent_v2", &pop);
  for (int current = 0; current < 2; current++) { /* a thread without a context, and one that has ours */
    if (current) push(mlaf_cuda_of(dev)->context);
    fake_reset();
    assert_int_equal(mlaf_ops(dev)->launch(dev, NULL, &l, NULL), MLAF_OK);
    for (size_t i = 0; mlaf_cuda_symbols[i]; i++) {
      const char *name = mlaf_cuda_symbols[i];
      bool switches = !strcmp(name, "cuCtxPushCurrent_v2") || !strcmp(name, "cuCtxPopCurrent_v2");
      bool always = !strcmp(name, "cuLaunchKernel") || !strcmp(name, "cuCtxGetCurrent");
      assert_int_equal(fake_calls(name), always || (switches && !current));
    }
  }
  assert_int_equal(fake_int("fakecuda_depth"), 1);
  pop(&popped);
  mlaf_ops(dev)->module_unload(dev, m);
  mlaf_device_close(dev);
}

/* Between enter and leave the context is asked for once, however many operations there are; within, another device's is entered
 * and left as ever; a visit that failed is none. */
TEST(a_visit_asks_once) {
  use_fake();
  setenv("FAKECUDA_DEVICES", "2", 1);
  mlaf_device *dev = open_device("cuda"), *other = open_device("cuda:1");
  const mlaf_device_ops *ops = mlaf_ops(dev);
  mlaf_visit outer, inner, elsewhere;
  mlaf_err err = {MLAF_OK, ""};
  fake_reset();
  assert_int_equal(ops->enter(dev, &outer, &err), MLAF_OK);
  for (int i = 0; i < 3; i++) assert_int_equal(ops->sync(dev, NULL, &err), MLAF_OK);
  assert_int_equal(ops->enter(dev, &inner, &err), MLAF_OK);
  assert_int_equal(ops->sync(dev, NULL, &err), MLAF_OK);
  ops->leave(dev, &inner);
  assert_int_equal(ops->sync(dev, NULL, &err), MLAF_OK);
  assert_int_equal(fake_calls("cuCtxGetCurrent"), 1);
  assert_int_equal(fake_calls("cuCtxPushCurrent_v2"), 1);
  assert_int_equal(fake_calls("cuCtxPopCurrent_v2"), 0);
  assert_int_equal(ops->enter(other, &elsewhere, &err), MLAF_OK);
  assert_int_equal(fake_int("fakecuda_depth"), 2);
  assert_int_equal(ops->sync(dev, NULL, &err), MLAF_OK); /* not the one that is visited: pushed and popped */
  assert_int_equal(fake_calls("cuCtxPushCurrent_v2"), 3);
  assert_int_equal(fake_int("fakecuda_depth"), 2);
  ops->leave(other, &elsewhere);
  assert_int_equal(ops->sync(dev, NULL, &err), MLAF_OK);
  assert_int_equal(fake_calls("cuCtxPushCurrent_v2"), 3);
  ops->leave(dev, &outer);
  assert_int_equal(fake_int("fakecuda_depth"), 0);
  fake_reset();
  setenv("FAKECUDA_FAIL", "cuCtxPushCurrent_v2:1:777", 1);
  assert_int_equal(ops->enter(dev, &outer, &err), MLAF_E_DEVICE);
  assert_non_null(strstr(err.text, "777"));
  unsetenv("FAKECUDA_FAIL");
  assert_int_equal(ops->sync(dev, NULL, &err), MLAF_OK);
  assert_int_equal(fake_calls("cuCtxGetCurrent"), 2);
  assert_int_equal(fake_int("fakecuda_depth"), 0);
  unsetenv("FAKECUDA_DEVICES");
  mlaf_device_close(other);
  mlaf_device_close(dev);
}

TEST(bad_cubins) {
  use_fake();
  mlaf_device *dev = open_device("cuda");
  mlaf_module *m = NULL;
  mlaf_err err = {MLAF_OK, ""};
  cubin junk;
  make_cubin(&junk, 224);
  assert_int_equal(mlaf_ops(dev)->module_load(dev, &junk, sizeof junk, &m, &err), MLAF_E_ARG);
  assert_non_null(strstr(err.text, "not a cubin: ELF machine 224"));
  make_cubin(&junk, 190);
  assert_int_equal(mlaf_ops(dev)->module_load(dev, &junk, 3, &m, &err), MLAF_E_ARG);
  for (size_t size = 4; size < sizeof junk; size += 4) { /* cut anywhere: refused or without the wants, never a crash */
    void *cut = malloc(size);
    memcpy(cut, &junk, size);
    if (!mlaf_ops(dev)->module_load(dev, cut, size, &m, NULL)) mlaf_ops(dev)->module_unload(dev, m);
    free(cut);
  }
  m = NULL;
  junk.symbols[1].st_value = (Elf64_Addr)-2; /* a kernel whose declaration is damaged is not launched without them */
  junk.symbols[2].st_shndx = 99;
  mlaf_function *f = NULL;
  assert_int_equal(mlaf_ops(dev)->module_load(dev, &junk, sizeof junk, &m, &err), MLAF_OK);
  assert_int_equal(mlaf_ops(dev)->function_get(dev, m, "big", &f, &err), MLAF_E_ARG);
  assert_non_null(strstr(err.text, "compile it again"));
  assert_int_equal(mlaf_ops(dev)->function_get(dev, m, "huge", &f, &err), MLAF_E_ARG);
  mlaf_ops(dev)->module_unload(dev, m);
  m = NULL;
  junk.head.e_ident[EI_OSABI] = 0x77;
  assert_int_equal(mlaf_ops(dev)->module_load(dev, &junk, sizeof junk, &m, &err), MLAF_E_DEVICE);
  assert_non_null(strstr(err.text, "not for sm_90a"));
  assert_non_null(strstr(err.text, "CUDA_ERROR_NO_BINARY_FOR_GPU (209)"));
  assert_non_null(strstr(err.text, "the driver says: ptxas fatal: wrong GPU|second line"));
  assert_null(m);
  mlaf_device_close(dev);
}

/* --- a real library --- */

static const char *stub; /* its path */

/* The toolkit's stub has every symbol of the driver and answers each call with "I am a stub". */
static void real_stub_has_every_symbol(void **state) {
  const char *path = stub;
  int n = 0;
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle) fail_msg("%s", dlerror());
  for (; mlaf_cuda_symbols[n]; n++)
    if (!dlsym(handle, mlaf_cuda_symbols[n])) fail_msg("%s has no %s", path, mlaf_cuda_symbols[n]);
  assert_null(dlsym(handle, "cuNoSuchFunction"));
  print_message("%d symbols found in %s\n", n, path);
  dlclose(handle);
  setenv("MLAF_CUDA_LIBRARY", path, 1);
  expect_no_device("cuda", "cuInit: ");
  expect_no_device("cuda", "(34)");
  expect_no_device("cuda", "stub");
}

/* "stub PATH": what a CUDA toolkit's libcuda shows, where there is one (runtime/cuda/room.cmake). */
int main(int argc, char **argv) {
  const struct CMUnitTest real[] = {cmocka_unit_test(real_stub_has_every_symbol)};
  if (argc == 3 && !strcmp(argv[1], "stub")) {
    stub = argv[2];
    return cmocka_run_group_tests(real, NULL, NULL);
  }
  return tests_run(NULL, NULL);
}
