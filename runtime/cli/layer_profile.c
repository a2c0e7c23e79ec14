/* Output of `mlaforge layer --profile`: each stage beside the least that it must take, and the whole. */
#include "cli/layer.h"

static void print_part(const cli *c, const layer_rig *r, cli_table *t, const layer_part *p, double sum) {
  mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
  mlaf_plan_query(p->stage.plan, &info);
  if (!t) {
    mlaf_cli_print("layer_stage", TEXT("stage", p->stage.name), TEXT("source", r->modelled ? "modelled" : "measured"),
                   NUMBER("ns", p->ns), NUMBER("alone_ns", p->alone_ns), NUMBER("floor_ns", p->floor_ns),
                   NUMBER("share", p->ns / sum), NUMBER("bytes", p->stage.bytes), NUMBER("flops", p->stage.flops),
                   TEXT("problem", info.problem), TEXT("variant", info.variant), TEXT("rung", info.rung));
    return;
  }
  mlaf_cli_table_cell(t, "%s\t%.2f\t%.2f\t%.2f%s\t%.2f\t%.0f %%\t%.2f\t%s\t%s", p->stage.name, p->ns / 1000, p->alone_ns / 1000,
                      p->floor_ns / 1000, p->compute_bound ? " C" : "", p->ns / p->floor_ns, 100 * p->ns / sum,
                      p->stage.bytes / 1e6, info.rung, info.variant);
}

static void print_sum(const cli *c, const layer_rig *r, const mlaf_timing *whole, double sum, double floors) {
  const char *source = r->modelled ? "modelled" : "measured";
  if (c->json) {
    mlaf_cli_print("layer", TEXT("source", source), NUMBER("ns", whole->ns), NUMBER("sum_ns", sum), NUMBER("floor_ns", floors));
    return;
  }
  printf("sum of stages %.2f us, of floors %.2f us; the layer as one sequence %.2f us (%.2f x the floors), %s", sum / 1000,
         floors / 1000, whole->ns / 1000, whole->ns / floors, source);
  if (!r->modelled) printf(", %d sets of weights and pages in turn, MAD %.2f us", r->sets, whole->mad_ns / 1000);
  printf("\n");
}

int mlaf_cli_layer_profile(cli *c, layer_rig *r, const mlaf_ceilings *ceilings) {
  static const char *const columns[] = {"stage", ">us", ">alone", ">floor", ">x", ">share", ">MB", "rung", "variant", NULL};
  layer_part parts[16];
  mlaf_timing whole = {.ns = 0};
  const size_t all = mlaf_layer_stages(r->layer[0]);
  size_t n = 0;
  double sum = 0, floors = 0;
  mlaf_status st = all <= sizeof parts / sizeof *parts ? MLAF_OK : mlaf_fail(&c->err, MLAF_E_INTERNAL, "%zu stages", all);
  for (size_t i = 0; !st && i < all; i++) {
    st = layer_look_at(r, i, ceilings, &parts[n]);
    if (st || !layer_part_launches(&parts[n])) continue;
    sum += parts[n].ns, floors += parts[n].floor_ns;
    n++;
  }
  if (!st) st = layer_time(r, 0, 0, &whole);
  if (st) return mlaf_cli_fail(c);
  cli_table *t = c->json ? NULL : mlaf_cli_table_new(columns);
  for (size_t i = 0; i < n; i++) print_part(c, r, t, &parts[i], sum);
  if (t) mlaf_cli_table_end(t);
  print_sum(c, r, &whole, sum, floors);
  if (c->given[O_OUT]) st = mlaf_cli_layer_page(r, parts, n, &whole, c->given[O_OUT]);
  return st ? mlaf_cli_fail(c) : CLI_OK;
}
