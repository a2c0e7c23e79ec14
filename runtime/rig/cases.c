/* The cases of the founding documents: their shapes, what they publish, and what we compute and take for it. Tables; a case is a
 * loop over its rows. */
#include "rig/cases.h"

enum { EMU = CASE_EMU, GPU = CASE_GPU, BOTH = EMU | GPU };
enum { CC = 1 << MLAF_FORM_CC, ME = 1 << MLAF_FORM_ACC_ME, ALL = (1 << MLAF_FORMS) - 1 };

#define ROWS(list) list, sizeof(list) / sizeof *(list)
#define ABSORBED(text) {[MLAF_FORM_ACC_ME] = text}

/* --- 000: a layer over AITER on MI300X --- */
static const case_row rows_000[] = {
    {"B 2, 128 cached", 2, 127, 1, NULL, ME, EMU, 2, false, ABSORBED("not in the document")},
    {"B 1, 1024 cached", 1, 1023, 1, NULL, ME, GPU, 1, false, ABSORBED("up to 1.47 x without AITER")},
    {"B 64", 64, 1023, 1, NULL, ME, GPU, 4, false, ABSORBED("up to 1.47 x")},
    {"B 128", 128, 1023, 1, NULL, ME, GPU, 4, false, ABSORBED("up to 1.47 x; attention alone 680 us (tutorial)")},
    {"B 256", 256, 1023, 1, NULL, ME, GPU, 4, false, ABSORBED("up to 1.47 x")},
    {"B 512", 512, 1023, 1, NULL, ME, GPU, 4, false, ABSORBED("up to 1.47 x")},
    {"B 128, 2048 cached", 128, 2047, 1, NULL, ME, GPU, 4, false, ABSORBED("up to 2 x; attention alone 810 us")},
    {"B 128, 4096 cached", 128, 4095, 1, NULL, ME, GPU, 4, false, ABSORBED("up to 2 x; attention alone 1050 us")},
    {"B 128, 6144 cached", 128, 6143, 1, NULL, ME, GPU, 4, false, ABSORBED("up to 2 x; attention alone 1180 us")},
    {"B 128, 8192 cached", 128, 8191, 1, NULL, ME, GPU, 4, false, ABSORBED("up to 2 x; attention alone 1430 us")},
};

/* --- 002: four forms of execution, DeepSeek-V2 on an A100 (medians of its repository) --- */
#define FORMS(cd, cc, acc, me) {[MLAF_FORM_CD] = cd, [MLAF_FORM_CC] = cc, [MLAF_FORM_ACC] = acc, [MLAF_FORM_ACC_ME] = me}
static const case_row rows_002[] = {
    {"B 1, kv 32", 1, 31, 1, NULL, ALL, BOTH, 1, false, FORMS("313 us", "364 us", "379 us", "358 us")},
    {"B 1, kv 1 K", 1, 1023, 1, NULL, ALL, GPU, 1, false, FORMS("380 us", "688 us", "719 us", "372 us")},
    {"B 1, kv 4 K", 1, 4095, 1, NULL, ALL, GPU, 1, false, FORMS("568 us", "1775 us", "1809 us", "415 us")},
    {"B 1, kv 16 K", 1, 16383, 1, NULL, ALL, GPU, 1, false, FORMS("1312 us", "6151 us", "7420 us", "576 us")},
    {"B 1, kv 128 K", 1, 131071, 1, NULL, ALL, GPU, 1, false, FORMS("8393 us", "49083 us", "58924 us", "2397 us")},
    {"B 32, kv 32", 32, 31, 1, NULL, ALL, GPU, 2, false, FORMS("424 us", "838 us", "844 us", "558 us")},
    {"B 32, kv 1 K", 32, 1023, 1, NULL, ALL, GPU, 2, false, FORMS("2316 us", "14994 us", "13353 us", "3080 us")},
    {"B 32, kv 4 K", 32, 4095, 1, NULL, ALL, GPU, 2, false, FORMS("8312 us", "59519 us", "52501 us", "15486 us")},
    {"B 32, kv 8 K", 32, 8191, 1, NULL, ALL, GPU, 2, false, FORMS("16277 us", "121784 us", "99435 us", "29778 us")},
};

/* --- 003: the AMD developer challenge --- */
static const case_row rows_003[] = {
    {"B 2, prefill 128", 2, 128, 1, NULL, ME, EMU, 2, false, ABSORBED("not in the document")},
    {"prefill 128", 128, 128, 1, NULL, ME, GPU, 8, false, ABSORBED("a test, no time")},
    {"prefill 512", 128, 512, 1, NULL, ME, GPU, 8, false, ABSORBED("speed of light 54.62 us")},
    {"prefill 1024", 128, 1024, 1, NULL, ME, GPU, 4, false, ABSORBED("106.65 us (older text)")},
    {"prefill 2048", 128, 2048, 1, NULL, ME, GPU, 4, false, ABSORBED("141.16 us")},
    {"prefill 4096", 128, 4096, 1, NULL, ME, GPU, 4, false, ABSORBED("210.75 us")},
    {"prefill 6144", 128, 6144, 1, NULL, ME, GPU, 4, false, ABSORBED("280.87 us")},
};

/* --- 004: InfiniLM on DeepSeek-R1 --- */
static const layer_request prefill_004[] = {{512, 64}, {0, 128}, {0, 256}, {256, 256}};
static const layer_request decode_004[] = {{50, 1},  {50, 1},  {50, 1},  {50, 1},  {100, 1}, {100, 1}, {100, 1}, {100, 1},
                                           {200, 1}, {200, 1}, {200, 1}, {200, 1}, {400, 1}, {400, 1}, {400, 1}, {400, 1}};
#define BOTH_FORMS(text) {[MLAF_FORM_CC] = text, [MLAF_FORM_ACC_ME] = text}
static const case_row rows_004[] = {
    {"decode_no_cache: B 4, S 1", 4, 0, 1, NULL, ME | CC, BOTH, 4, false, BOTH_FORMS("passed, 0.0 (one key)")},
    {"one window of single_prefill: S 8", 1, 0, 8, NULL, ME | CC, EMU, 8, false, BOTH_FORMS("-")},
    {"batch_prefill: B 2, S 32, in windows", 2, 0, 32, NULL, ME, GPU, 64, false, BOTH_FORMS("failed, mean_rel 0.21")},
    {"batch_prefill: B 2, S 32", 2, 0, 32, NULL, CC, BOTH, 64, true, BOTH_FORMS("failed, mean_rel 0.21")},
    {"single_prefill: B 1, S 64, in windows", 1, 0, 64, NULL, ME, GPU, 64, false, BOTH_FORMS("failed, mean_rel 0.18")},
    {"single_prefill: B 1, S 64", 1, 0, 64, NULL, CC, GPU, 64, true, BOTH_FORMS("failed, mean_rel 0.18")},
    {"longer_prefill: B 1, S 128, in windows", 1, 0, 128, NULL, ME, GPU, 128, false, BOTH_FORMS("failed, mean_rel 0.27")},
    {"longer_prefill: B 1, S 128", 1, 0, 128, NULL, CC, GPU, 128, true, BOTH_FORMS("failed, mean_rel 0.27")},
    {"64, 128, 256, 256 over 512, 0, 0, 256, in windows", 4, 0, 0, prefill_004, ME, GPU, 16, false, ABSORBED("2800 us (absorb)")},
    {"64, 128, 256, 256 over 512, 0, 0, 256", 4, 0, 0, prefill_004, CC, GPU, 64, true, BOTH_FORMS("2820 us (naive)")},
    {"16 decodes over 50, 100, 200, 400", 16, 0, 0, decode_004, ME | CC, GPU, 16, false,
     {[MLAF_FORM_CC] = "7650 us (2091 tok/s, naive)", [MLAF_FORM_ACC_ME] = "7810 us (2049 tok/s)"}},
};

static const founding_case cases[] = {
    {"seed-000", "AITER's MLA layer on MI300X (blog; figures are ratios, its absolute times are pictures)", "deepseek-r1", 1,
     MLAF_FORM_NO_NORMS, true, false, {.row = 5e-3},
     "the document compares nothing; bound: what roundings to bf16 come to, against fp64",
     "The document leaves the appended key un-rotated, which is a slip of its demonstration: here it is rotated.",
     ROWS(rows_000)},
    {"seed-002", "execution forms of DeepSeek-V2's layer (madsys; medians on an A100-PCIe-40G)", "deepseek-v2", 32, 0, true, true,
     {.row = 5e-3}, "the document has no threshold; bound: what roundings to bf16 come to, against fp64",
     "Scale without YaRN's m, columns turn in halves, as there.",
     ROWS(rows_002)},
    {"seed-003", "the AMD developer challenge: un-rotated cache, rotation on read by a chain in bf16", "deepseek-v3", 64,
     MLAF_FORM_NO_NORMS | MLAF_FORM_ROPE_ON_READ | MLAF_FORM_BF16_TURN, true, true,
     {.worst = 2e-2, .row = 5e-3, .rtol = 2e-2, .atol = 8e-3}, "the document's: rtol 2e-2, atol 8e-3 for outputs and cache",
     "Its reference is PyTorch in bf16; ours is fp64 with its table of rotations and its rounding of a rotation's products. Its "
     "times are the speed of light on MI300X that the challenge published.",
     ROWS(rows_003)},
    {"seed-004", "InfiniLM's layer of DeepSeek-R1, absorb beside naive (on a GPU that the document does not name)", "deepseek-r1",
     1, 0, false, true, {.row = 5e-3},
     "bound: what roundings to bf16 come to, at most 1e-2, against fp64, absorb and naive alike",
     "Prompts go through the layer's prefill (naive, form cc), and through attention for few tokens in windows of 8, all in one "
     "call (absorb). Weights are random.", ROWS(rows_004)},
};

const founding_case *layer_case_find(const char *name) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    if (!strcmp(cases[i].name, name)) return &cases[i];
  return NULL;
}

layer_setup layer_case_setup(const founding_case *f, const case_row *row, layer_request alike[CASE_REQUESTS],
                             layer_weights *weights) {
  for (int32_t i = 0; !row->requests && i < row->batch; i++) alike[i] = (layer_request){row->past, row->fresh};
  return (layer_setup){.model = mlaf_model_find(f->model), .tp = 1, .flags = f->flags, .plain = f->plain,
                       .page_size = f->page_size, .in_order = f->in_order, .window = 8, .prefill = row->prefill,
                       .requests = row->requests ? row->requests : alike, .batch = row->batch, .checked = row->checked,
                       .weights = weights};
}

/* --- running a row --- */

static mlaf_status run_form(layer_rig *r, mlaf_form form, const founding_case *f, case_outcome *x) {
  layer_tolerance bound = f->bound;
  if (!bound.worst) bound.worst = mlaf_form_bound(&r->form);
  if (form != MLAF_FORM_ACC_ME && !r->setup.prefill) return layer_chain(r, form, &bound, &x->checked, &x->timing);
  mlaf_status st = layer_rig_run(r);
  if (!st) st = layer_check(r, &bound, &x->checked);
  return st ? st : layer_time(r, 0, 0, &x->timing);
}

static void say(case_outcome *x, mlaf_status st, const char *why) {
  x->status = st;
  snprintf(x->why, sizeof x->why, "%.290s", why);
}

mlaf_status layer_case_run(rig_env *env, const founding_case *f, const case_row *row, layer_weights *weights,
                           const case_watcher *watch) {
  layer_request alike[CASE_REQUESTS];
  layer_rig r = {.env = NULL};
  const layer_setup s = layer_case_setup(f, row, alike, weights);
  const int sets = layer_sets_wanted(mlaf_ctx_device(env->ctx), &s, false);
  mlaf_status opened = layer_rig_open(env, &s, sets, &r);
  char why[300];
  snprintf(why, sizeof why, "%.290s", opened ? env->err->text : "");
  for (int form = 0; form < MLAF_FORMS; form++) {
    case_outcome x = {.status = MLAF_OK};
    if (!(row->forms & 1 << form)) continue;
    watch->begins(watch->user, row, (mlaf_form)form);
    if (opened) say(&x, opened, why);
    else {
      const mlaf_status st = run_form(&r, (mlaf_form)form, f, &x);
      say(&x, st, st ? env->err->text : "");
    }
    watch->ended(watch->user, row, (mlaf_form)form, &x);
    if (x.status == MLAF_E_CANCELLED) opened = x.status;
    else *env->err = (mlaf_err){.status = MLAF_OK};
  }
  if (r.env) layer_rig_close(&r);
  return opened == MLAF_E_CANCELLED ? opened : rig_go_on(env);
}
