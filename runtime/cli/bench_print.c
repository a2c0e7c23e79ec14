/* Output of a bench: text, a table, JSON lines, CSV. */
#include "cli/bench.h"

static const char *pass_of(const bench_out *o) { return o->hot ? "hot" : "idle"; }
static int value(const mlaf_point *p, const char *field) { return mlaf_point_value(p, field, 0); }
static const char *dtype_of(const mlaf_point *p) { return value(p, "dtype") == MLAF_F16 ? "fp16" : "bf16"; }
/* The columns that peers' files have, too, are mla_decode's; of other operations the whole problem stands there. */
static bool has_columns(const mlaf_point *p) { return value(p, "batch") && value(p, "ctx"); }
static const char *source_of(const mlaf_timing *t) { return t->source == MLAF_TIME_MODELLED ? "modelled" : "measured"; }
static double rate_of(const bench_figures *f) { return mlaf_work_main(&f->work) / f->timing.ns; } /* GB/s */

void mlaf_cli_bench_ceilings(const bench_out *o) {
  const mlaf_ceilings *x = o->ceilings;
  if (o->c->json) {
    mlaf_cli_print("ceilings", NUMBER("gbytes_per_s", x->bytes_per_ns), NUMBER("tflops", x->flops_per_ns / 1e3),
                   FLAG("bytes_measured", x->bytes_measured), FLAG("flops_measured", x->flops_measured), TEXT("bytes_from",
                   x->bytes_from), TEXT("flops_from", x->flops_from));
    return;
  }
  printf("memory    %.0f GB/s: %s\n", x->bytes_per_ns, x->bytes_from);
  printf("matrix    %.1f TFLOP/s: %s\n", x->flops_per_ns / 1e3, x->flops_from);
}

static void print_json(const bench_out *o, const bench_case *x, const cli_subject *s, const bench_figures *f) {
  char problem[MLAF_POINT_TEXT_MAX];
  mlaf_point_print(&x->problem, problem, sizeof problem);
  cJSON *e = mlaf_cli_event("bench");
  if (x->set[0]) cJSON_AddStringToObject(e, "set", x->set);
  mlaf_cli_json(e, TEXT("problem", problem), NUMBER("tokens", f->tokens), TEXT("device", mlaf_ctx_device_id(o->c->ctx)),
                TEXT("variant", s->variant), TEXT("rung", s->rung), NUMBER("compiles", s->compiles),
                NUMBER("plan_ms", s->plan_s * 1e3), NUMBER("knob", mlaf_loaded_knob(s->loaded)), TEXT("pass", pass_of(o)),
                NUMBER("sets", f->sets), FLAG("verified", f->verified));
  if (f->verified) cJSON_AddNumberToObject(e, "error", f->error);
  mlaf_cli_json_timing(e, &f->timing);
  mlaf_cli_json(e, NUMBER("tflops", f->work.flops / f->timing.ns / 1e3), NUMBER("gbytes_per_s", rate_of(f)),
                NUMBER("roofline_ns", f->floor_ns), TEXT("bound", f->compute_bound ? "C" : "M"),
                NUMBER("roofline_ratio", f->floor_ns / f->timing.ns));
  mlaf_cli_emit(e);
}

static void print_text(const bench_out *o, const bench_case *x, const cli_subject *s, const bench_figures *f) {
  const mlaf_timing *t = &f->timing;
  char parts[256], problem[MLAF_POINT_TEXT_MAX];
  mlaf_cli_parts(t, parts, sizeof parts);
  mlaf_point_print(&x->problem, problem, sizeof problem);
  printf("problem   %s\ndevice    %s\nvariant   %s\n", problem, mlaf_ctx_device_id(o->c->ctx), s->variant);
  printf("plan      %s, %d compiles, %.1f ms", s->rung, s->compiles, s->plan_s * 1e3);
  if (strcmp(s->source, "none")) printf("; the choice's time was %s", s->source);
  printf("%s\n", s->notes && s->notes[0] ? " (other rungs passed over, see --verbose)" : "");
  if (f->verified) printf("verified  error %.2e on the timed data (%s)\n", f->error,
                           x->problem.op->calls->error_about);
  else printf("verified  not here, where times are modelled: `mlaforge verify` does it\n");
  printf("time      %.2f us %s", t->ns / 1e3, source_of(t));
  if (t->source == MLAF_TIME_MEASURED)
    printf(" (p10 %.2f, p90 %.2f, MAD %.2f, %s)", t->p10_ns / 1e3, t->p90_ns / 1e3, t->mad_ns / 1e3, pass_of(o));
  printf(" at %.0f MHz\n", t->clock_mhz);
  if (parts[0]) printf("parts     %s us%s%s\n", parts, t->bound[0] ? "; bound by " : "", t->bound);
  if (t->detail[0]) printf("detail    %s\n", t->detail);
  printf("rate      %.1f TFLOP/s, %.1f GB/s%s%s (%s)\n", f->work.flops / t->ns / 1e3, rate_of(f), f->work.main ? " of " : "",
         f->work.main ? f->work.main : "", source_of(t));
  printf("roofline  %.2f us by %s; this takes %.2f times as long\n", f->floor_ns / 1e3,
         f->compute_bound ? "matrix rate" : "memory", t->ns / f->floor_ns);
}

static void print_csv(const bench_out *o, const bench_case *x, const cli_subject *s, const bench_figures *f) {
  const mlaf_point *p = &x->problem;
  const mlaf_timing *t = &f->timing;
  char error[24] = "";
  if (f->verified) snprintf(error, sizeof error, "%.2e", f->error);
  const int batch = value(p, "batch"), ctx = value(p, "ctx");
  const bool spread = has_columns(p) && f->tokens != (int64_t)batch * ctx;
  fprintf(o->csv, "%s,%s,%d,%d,%d,%d,%d,%s,%d,%d,mlaforge,\"%s\",", pass_of(o), x->set, batch, ctx, spread, value(p, "heads"),
          value(p, "q_len"), dtype_of(p), value(p, "rank"), value(p, "rope"), s->variant);
  fprintf(o->csv, "%.2f,%.2f,%.2f,%d,%d,%lld,%.1f,%.1f,%.2f,%s,%.2f,%s,%s\n", t->ns / 1e3, t->p10_ns / 1e3, t->p90_ns / 1e3,
          t->samples, f->sets, (long long)f->tokens, f->work.flops / t->ns / 1e3, rate_of(f), f->floor_ns / 1e3,
          f->compute_bound ? "C" : "M", t->ns / f->floor_ns, error, source_of(t));
  fflush(o->csv); /* a run that is stopped leaves what it measured */
}

static void case_columns(const bench_case *x) {
  const mlaf_point *p = &x->problem;
  if (has_columns(p))
    printf("%-3s %4d %7d%c %4d %2d %4s %3d/%-2d ", x->set, value(p, "batch"), value(p, "ctx"), x->tokens ? '~' : ' ',
           value(p, "heads"), value(p, "q_len"), dtype_of(p), value(p, "rank"), value(p, "rope"));
  else printf("%-3s %-38s ", x->set, mlaf_point_text(p).s);
}

void mlaf_cli_bench_head(const bench_out *o) {
  if (o->csv)
    fprintf(o->csv, "pass,set,B,ctx,var,H,q,dtype,rank,rope,peer,variant,us,p10,p90,n,R,kv_tokens,tflops,kv_gbs,roof_us,"
                    "bound,x_roof,relerr,note\n");
  if (!o->many || o->c->json) return;
  printf("%-3s %4s %7s  %4s %2s %4s %6s %9s %7s %7s %6s %8s   %6s %8s  %s\n", "set", "B", "ctx", "H", "q", "type", "dims", "us",
         "MAD", "TF/s", "GB/s", "roof", "x roof", "error", "variant");
}

void mlaf_cli_bench_print(const bench_out *o, const bench_case *x, const cli_subject *s, const bench_figures *f) {
  const mlaf_timing *t = &f->timing;
  if (o->csv) print_csv(o, x, s, f);
  if (o->c->json) {
    print_json(o, x, s, f);
  } else if (!o->many) {
    print_text(o, x, s, f);
  } else {
    char error[16] = "-"; /* not verified */
    if (f->verified) snprintf(error, sizeof error, "%.2e", f->error);
    case_columns(x);
    printf("%9.2f %7.2f %7.1f %6.0f %8.2f %s %6.2f %8s  %s (%s)\n", t->ns / 1e3, t->mad_ns / 1e3, f->work.flops / t->ns / 1e3,
           rate_of(f), f->floor_ns / 1e3, f->compute_bound ? "C" : "M", t->ns / f->floor_ns, error, s->variant,
           s->rung);
    fflush(stdout);
  }
}

void mlaf_cli_bench_end(const bench_out *o) {
  const double ceiling = o->ceilings->bytes_per_ns;
  if (!o->ceilings->bytes_measured || o->fastest_gbs <= ceiling) return;
  mlaf_log_line(&o->c->log, MLAF_LOG_WARN,
                "a kernel read %.0f GB/s where the ceiling measured in this run is %.0f: rooflines by memory are %.0f %% too "
                "slow here, and ratios to them too good",
                o->fastest_gbs, ceiling, 100 * (o->fastest_gbs / ceiling - 1));
}

void mlaf_cli_bench_failed(const bench_out *o, const bench_case *x, const cli_subject *s, const mlaf_err *why) {
  char problem[MLAF_POINT_TEXT_MAX];
  mlaf_point_print(&x->problem, problem, sizeof problem);
  if (o->c->json) {
    mlaf_cli_print("bench_failed", TEXT("problem", problem), TEXT("variant", s->variant),
                   TEXT("status", mlaf_status_name(why->status)), TEXT("message", why->text));
    return;
  }
  case_columns(x);
  printf("%9s %s: %.200s  %s\n", "-", mlaf_status_name(why->status), why->text, s->variant);
}
