/* Evidence by execution: each decode kernel runs one small case in the emulator. */
#include "check/bench.h"
#include "compile/compile.h"
#include "device/profile.h"
#include "op/calls.h"
#include "rig/evidence.h"

struct count_rig {
  mlaf_device *dev;
  mlaf_point problem;
  mlaf_bench *bench;
};

mlaf_status mlaf_count_rig_open(const mlaf_log *log, const atomic_bool *cancel, const mlaf_point *p, const char *target,
                                uint64_t seed, count_rig **out, mlaf_err *err) {
  *out = NULL;
  count_rig *rig = calloc(1, sizeof *rig);
  if (!rig) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for an emulator");
  rig->problem = *p;
  if (p->op->calls->small) p->op->calls->small(&rig->problem);
  char device[80];
  snprintf(device, sizeof device, "emu:%.64s", target);
  mlaf_status st = mlaf_device_open(device, log, &rig->dev, err);
  if (st == MLAF_OK) mlaf_device_cancel_by(rig->dev, cancel);
  mlaf_bench_opts opts = {.data = {.seed = seed}};
  if (st == MLAF_OK) st = mlaf_bench_create(rig->dev, &rig->problem, &opts, &rig->bench, err);
  if (st == MLAF_OK) *out = rig;
  else mlaf_count_rig_close(rig);
  return st;
}

void mlaf_count_rig_close(count_rig *rig) {
  if (!rig) return;
  mlaf_bench_free(rig->bench);
  if (rig->dev) mlaf_device_close(rig->dev);
  free(rig);
}

mlaf_status mlaf_count_rig_count(count_rig *rig, const mlaf_kernel_desc *desc, const void *code, size_t size, rig_evidence *out,
                                 mlaf_err *err) {
  mlaf_kernel_ref ref = {.template_name = "one", .threads = desc->threads, .rows_per_wg = desc->rows_per_wg};
  const mlaf_loaded_desc how = {.name = desc->symbol, .kernels = {{&ref, {code, size}}}, .knob = 1};
  mlaf_loaded *loaded = NULL;
  mlaf_prepared prepared;
  mlaf_profile p;
  mlaf_kernel_launch wants;
  memcpy(ref.symbol, desc->symbol, sizeof ref.symbol);
  mlaf_status st = mlaf_code_launch(code, size, desc->symbol, &wants, err);
  if (st == MLAF_OK) st = mlaf_loaded_open(rig->dev, &rig->problem, &how, &loaded, err);
  if (st != MLAF_OK) return st;
  st = mlaf_bench_prepare(rig->bench, loaded, 1, &prepared, err);
  const mlaf_calls *calls = rig->problem.op->calls;
  if (st == MLAF_OK && calls->keep_whole) calls->keep_whole(&wants, &prepared);
  if (st == MLAF_OK) st = mlaf_profile_count(rig->dev, &prepared.launches[0], &p, err);
  if (st == MLAF_OK) {
    mlaf_evidence_executed(&p, out);
    mlaf_profile_clear(&p);
  }
  mlaf_loaded_close(loaded);
  return st;
}
