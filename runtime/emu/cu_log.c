/* The log of a replay: spans per wave, end to end. */
#include "emu/cu_log.h"

bool emu_cu_log_open(emu_cu_log *log, int n_waves, size_t n_insts) {
  memset(log, 0, sizeof *log);
  log->wave = calloc((size_t)n_waves + 1, sizeof *log->wave);
  log->pipe = calloc(n_insts + 1, sizeof *log->pipe);
  log->n_waves = log->wave ? n_waves : 0;
  return log->wave && log->pipe;
}

void emu_cu_log_close(emu_cu_log *log) {
  for (int i = 0; i < log->n_waves; i++) free(log->wave[i].span);
  free(log->wave);
  free(log->pipe);
  memset(log, 0, sizeof *log);
}

void emu_cu_log_add(emu_cu_wave *w, uint64_t until, emu_why why) {
  mlaf_profile_span *last = w->n ? &w->span[w->n - 1] : NULL;
  if (until > UINT32_MAX || (last && until < last->end)) w->failed = true;
  if (w->failed || (last && last->end == until)) return;
  if ((w->failed = !mlaf_room(&w->span, w->n, sizeof *w->span))) return;
  w->span[w->n++] = (mlaf_profile_span){(uint32_t)until, w->inst, why};
}
