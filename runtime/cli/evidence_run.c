/* Evidence by execution: each decode kernel runs one small case in the emulator. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "check/bench.h"
#include "device/profile.h"
#include "ops/mla_decode/execute.h"

enum { SMALL_CTX = 1024 }; /* enough rounds that what happens once a launch is below half of them */

struct cli_rig {
  mlaf_device *dev;
  mlaf_problem problem;
  mlaf_bench *bench;
};

mlaf_status mlaf_cli_rig_open(const cli *c, const mlaf_problem *p, const char *target, uint64_t seed, cli_rig **out,
                              mlaf_err *err) {
  *out = NULL;
  cli_rig *rig = calloc(1, sizeof *rig);
  if (!rig) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for an emulator");
  rig->problem = *p;
  rig->problem.batch = 1;
  rig->problem.ctx = SMALL_CTX;
  char device[80];
  snprintf(device, sizeof device, "emu:%.64s", target);
  mlaf_status st = mlaf_device_open(device, &c->log, &rig->dev, err);
  if (st == MLAF_OK) mlaf_device_cancel_by(rig->dev, c->cancel);
  mlaf_bench_opts opts = {.data = {.seed = seed}};
  if (st == MLAF_OK) st = mlaf_bench_create(rig->dev, &rig->problem, &opts, &rig->bench, err);
  if (st == MLAF_OK) *out = rig;
  else mlaf_cli_rig_close(rig);
  return st;
}

void mlaf_cli_rig_close(cli_rig *rig) {
  if (!rig) return;
  mlaf_bench_free(rig->bench);
  if (rig->dev) mlaf_device_close(rig->dev);
  free(rig);
}

mlaf_status mlaf_cli_rig_count(cli_rig *rig, const mlaf_kernel_desc *desc, const void *code, size_t size, cli_evidence *out,
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
  if (wants.flags & MLAF_KERNEL_FITS) /* one part: the request stays whole */
    mlaf_decode_parameters_of(&prepared)->decode.splits = mlaf_fit_word(1, false, 1);
  if (st == MLAF_OK) st = mlaf_profile_count(rig->dev, &prepared.launches[0], &p, err);
  if (st == MLAF_OK) {
    mlaf_cli_evidence_executed(&p, out);
    mlaf_profile_clear(&p);
  }
  mlaf_loaded_close(loaded);
  return st;
}
