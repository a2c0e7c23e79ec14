/* Which problems a tuning run takes: what was missed, and this machine's share of a grid. */
#include "cli/cli.h"

/* --- misses --- */
typedef struct missed {
  cli *c;
  cli_problems *out;
  mlaf_status status;
} missed;

static bool take_miss(void *user, const char *device, const char *text, int64_t count) {
  missed *m = user;
  mlaf_point p;
  if (strcmp(device, mlaf_ctx_device_id(m->c->ctx)) != 0 || mlaf_point_parse(NULL, text, &p, NULL, 0) != MLAF_OK) return true;
  if (!mlaf_room(&m->out->list, m->out->n, sizeof *m->out->list)) {
    m->status = mlaf_fail(&m->c->err, MLAF_E_NOMEM, "no memory for the misses");
    return false;
  }
  m->out->list[m->out->n++] = p;
  return true;
}

/* Most wanted first, as the database lists them. */
mlaf_status mlaf_cli_missed(cli *c, cli_problems *out) {
  missed m = {c, out, MLAF_OK};
  *out = (cli_problems){NULL, 0};
  mlaf_status status = mlaf_db_each_miss(c->ctx->db, take_miss, &m, &c->err);
  return status == MLAF_OK ? m.status : status;
}

/* --- shards --- */
static bool number(const char *name, long long *out) {
  const char *text = getenv(name);
  char *end;
  if (!text || !*text) return false;
  *out = strtoll(text, &end, 10);
  return !*end;
}

/* An array job numbers its tasks from anywhere in any step; srun and mpirun number the processes of one. Both may apply. */
static cli_share from_environment(const char **what) {
  long long id, first = 0, step = 1, count, rank, size;
  cli_share s = {0, 1};
  *what = NULL;
  if (number("SLURM_ARRAY_TASK_ID", &id) && number("SLURM_ARRAY_TASK_COUNT", &count) && count > 0) {
    number("SLURM_ARRAY_TASK_MIN", &first);
    if (!number("SLURM_ARRAY_TASK_STEP", &step) || step < 1) step = 1;
    s = (cli_share){(id - first) / step, count};
    *what = "Slurm's array";
  }
  static const char *const ranks[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                         {"PMI_RANK", "PMI_SIZE"},
                                         {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
  for (size_t k = 0; k < sizeof ranks / sizeof *ranks; k++)
    if (number(ranks[k][0], &rank) && number(ranks[k][1], &size) && size > 0) {
      s = (cli_share){s.i * size + rank, s.n * size};
      *what = *what ? "Slurm's array and the ranks in it" : ranks[k][0];
      break;
    }
  return s;
}

mlaf_status mlaf_cli_share(cli *c, cli_share *out) {
  const char *text = c->given[O_SHARD], *what = NULL;
  cli_share s = {0, 1};
  char tail;
  if (text && strcmp(text, "auto") != 0) {
    if (sscanf(text, "%lld/%lld%c", &s.i, &s.n, &tail) != 2 || s.n < 1 || s.i < 0 || s.i >= s.n)
      return mlaf_fail(&c->err, MLAF_E_ARG, "--shard is '%s'; wanted are auto or I/N with 0 <= I < N, e.g. 0/4", text);
  } else if (text) {
    s = from_environment(&what);
    if (!what)
      return mlaf_fail(&c->err, MLAF_E_ARG,
                       "--shard auto, but neither SLURM_ARRAY_TASK_ID, OMPI_COMM_WORLD_RANK, PMI_RANK nor SLURM_STEP_NUM_TASKS "
                           "is "
                       "set: start it from an array job, srun or mpirun, or say --shard I/N");
    if (s.n < 1 || s.i < 0 || s.i >= s.n)
      return mlaf_fail(&c->err, MLAF_E_ARG, "--shard auto: %s says task %lld of %lld", what, s.i, s.n);
    mlaf_log_line(&c->log, MLAF_LOG_INFO, "shard %lld of %lld, from %s", s.i, s.n, what);
  }
  *out = s;
  return MLAF_OK;
}

mlaf_status mlaf_cli_shard(cli *c, cli_problems *g) {
  cli_share s;
  size_t kept = 0;
  mlaf_status status = mlaf_cli_share(c, &s);
  if (status != MLAF_OK) return status;
  for (size_t k = 0; k < g->n; k++) /* by turns: neighbours in size go to different machines */
    if ((long long)(k % (size_t)s.n) == s.i) g->list[kept++] = g->list[k];
  g->n = kept;
  return MLAF_OK;
}
