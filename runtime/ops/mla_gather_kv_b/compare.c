/* A case's buffers, and its outputs against fp64: every row within a rounding, every other byte as it was. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "op/ulp.h"
#include "ops/mla_gather_kv_b/case.h"

enum { AT_K = 7, AT_V, AT_K_PE };

int gather_case_buffers(const mlaf_case *head, const mlaf_bound *b, uint32_t knob, void *args,
                        mlaf_case_buffer out[MLAF_CASE_BUFFERS]) {
  const gather_case *c = (const gather_case *)head;
  const gather_spec *spec = &c->spec;
  const size_t words = (size_t)spec->n * sizeof(int32_t);
  const int64_t unit = c->s.format->unit;
  const size_t workspace = gather_workspace(b, knob, c->tokens);
  *(mlaf_gather_kv_b_args *)args = (mlaf_gather_kv_b_args){
      .struct_size = sizeof(mlaf_gather_kv_b_args),
      .batch = spec->n,
      .page_tokens = spec->page_tokens,
      .tokens = c->tokens + (gather_is_library(b) ? 0 : c->spare_tokens), /* a library writes all there are */
      .cache_row_stride = c->cache_row / unit,
      .cache_page_stride = c->cache_page / unit,
      .num_pages = c->num_pages,
      .scale = spec->scale_at ? 0 : c->scale,
      .table_stride = spec->list ? 0 : c->table_stride,
      .w_row_stride = c->w_row,
      .w_head_stride = c->w_head,
      .k_token_stride = c->k_token,
      .k_head_stride = c->k_head,
      .v_token_stride = c->v_count ? c->v_token : 0,
      .v_head_stride = c->v_count ? c->v_head : 0,
      .k_pe_token_stride = c->k_pe_token,
      .k_pe_head_stride = c->k_pe_head,
      .cache_kpe_row_stride = c->kpe_row / 2,
      .workspace_size = workspace,
      .rope_rows = c->rope_rows,
  };
#define ARG(name) offsetof(mlaf_gather_kv_b_args, name)
  const mlaf_use pe = !c->k_pe_count ? MLAF_USE_NONE : spec->spare ? MLAF_USE_OPTIONAL_OUTPUT : MLAF_USE_INOUT;
  const mlaf_case_buffer all[] = {
      {"cache", MLAF_USE_INPUT, c->cache_bytes, ARG(cache), c->cache},
      {"table", MLAF_USE_INPUT, (size_t)c->table_count * sizeof(int32_t), ARG(table), c->table},
      {"table_indptr", spec->list ? MLAF_USE_INPUT : MLAF_USE_NONE, words + 4, ARG(table_indptr), c->indptr},
      {"cu_seqlens", MLAF_USE_INPUT, words + 4, ARG(cu_seqlens), c->cu},
      {"seq_starts", spec->no_starts ? MLAF_USE_NONE : MLAF_USE_INPUT, words, ARG(seq_starts), c->starts},
      {"w", MLAF_USE_INPUT, c->w_count * 2, ARG(w), c->w},
      {"scale_at", spec->scale_at ? MLAF_USE_INPUT : MLAF_USE_NONE, sizeof(float), ARG(scale_at), &c->scale},
      [AT_K] = {"k", MLAF_USE_INOUT, c->k_count * 2, ARG(k), c->k},
      [AT_V] = {"v", c->v_count ? MLAF_USE_INOUT : MLAF_USE_NONE, c->v_count * 2, ARG(v), c->v},
      [AT_K_PE] = {"k_pe", pe, c->k_pe_count * 2, ARG(k_pe), spec->spare ? NULL : c->k_pe},
      {"cache_kpe", c->kpe_bytes ? MLAF_USE_INPUT : MLAF_USE_NONE, c->kpe_bytes, ARG(cache_kpe), c->kpe},
      {"rope_table", c->rope_rows ? MLAF_USE_INPUT : MLAF_USE_NONE, (size_t)(c->rope_rows * c->s.rope) * sizeof(float),
       ARG(rope_table), c->rope_table},
      {"workspace", workspace ? MLAF_USE_WORKSPACE : MLAF_USE_NONE, workspace, ARG(workspace), NULL},
  };
#undef ARG
  memcpy(out, all, sizeof all);
  return sizeof all / sizeof *all;
}

/* --- what was found --- */

typedef struct walk {
  const gather_case *c;
  mlaf_verify_result *out;
  bool good;
  int request;
  int64_t token;
} walk;

static void see(walk *w, const char *what, int head, int column, uint16_t got, double want, double slack) {
  const double off = mlaf_off16(w->c->s.dtype, got, want, slack);
  w->out->error = fmax(w->out->error, off);
  w->out->row_error = fmax(w->out->row_error, off);
  if (off <= GATHER_ULPS || !w->good) return;
  w->good = false;
  char text[160];
  mlaf_snprintf(text, sizeof text, "column %d is %g, reference %g: off by %.3g units in the last place, at most %g", column,
                (double)mlaf_decode16(w->c->s.dtype, got), want, off, GATHER_ULPS);
  snprintf(w->out->detail, sizeof w->out->detail, "case %s: request %d, token %lld, %s of head %d: %s", w->c->head.name,
           w->request, (long long)w->token, what, head, text);
}

static void see_token(walk *w, void *const *outputs, const double *latent, const double *rope, const double *rope_slack,
                      double behind) {
  const gather_case *c = w->c;
  const gather_shape *s = &c->s;
  const uint16_t *k = (const uint16_t *)outputs[AT_K] + w->token * c->k_token;
  const uint16_t *pe = outputs[AT_K_PE];
  for (int h = 0; h < s->heads; h++) {
    const uint16_t *v = c->v_count ? (const uint16_t *)outputs[AT_V] + w->token * c->v_token + h * c->v_head
                                   : k + h * c->k_head + s->nope;
    for (int i = 0; i < s->out; i++) {
      double slack;
      const double want = gather_output(s, c->w + h * c->w_head + i * c->w_row, latent, behind, &slack);
      if (i < s->nope) see(w, "k", h, i, k[h * c->k_head + i], want, slack);
      else
        see(w, "v", h, i - s->nope, v[i - s->nope], want, slack);
    }
    for (int i = 0; pe && i < s->rope && (h == 0 || c->k_pe_head); i++)
      see(w, "k_pe", h, i, pe[w->token * c->k_pe_token + h * c->k_pe_head + i], rope[i], rope_slack[i]);
  }
  w->out->rows += s->heads;
}

/* Whether every element of `got` that no row has is still what it was; rows of `n` columns begin at t * token + h * head. */
static bool kept(walk *w, const char *what, const uint16_t *got, const uint16_t *before, size_t count, int64_t token,
                 int64_t head, int heads, int n) {
  size_t at = 0;
  for (int64_t t = 0; t <= w->c->tokens; t++)
    for (int h = 0; h < heads; h++) {
      const bool row = t < w->c->tokens;
      const size_t next = row ? (size_t)(t * token + h * head) : count;
      for (; at < next; at++)
        if (got[at] != before[at]) {
          snprintf(w->out->detail, sizeof w->out->detail, "case %s: element %zu of %s, in no row, was written",
                   w->c->head.name, at, what);
          return false;
        }
      if (row) at = next + (size_t)n;
    }
  return true;
}

bool gather_compare(const mlaf_case *head, void *const *outputs, mlaf_verify_result *out) {
  const gather_case *c = (const gather_case *)head;
  const gather_shape *s = &c->s;
  walk w = {.c = c, .out = out, .good = true};
  double latent[MLA_GATHER_KV_B_RANK_MAX], rope[MLA_GATHER_KV_B_ROPE_MAX + 1], slack[MLA_GATHER_KV_B_ROPE_MAX + 1], behind;
  for (w.request = 0; w.request < c->spec.n; w.request++)
    for (w.token = c->cu[w.request]; w.token < c->cu[w.request + 1]; w.token++) {
      const unsigned char *row = gather_case_row(c, w.request, w.token);
      gather_decode_row(s, row, gather_case_rope(c, row), latent, rope, (double)c->scale, &behind);
      const int64_t position = w.token - c->cu[w.request] + (c->spec.no_starts ? 0 : c->starts[w.request]);
      const bool inside = position >= 0 && position < c->rope_rows;
      for (int i = 0; i < s->rope; i++) slack[i] = fabs(rope[i]) * 0x1p-22;
      if (s->rotate) gather_turn(s, inside ? c->rope_table + position * s->rope : NULL, rope, slack);
      see_token(&w, outputs, latent, rope, slack, behind);
    }
  if (!w.good) return false;
  const int columns = c->v_count ? s->nope : s->out;
  if (!kept(&w, "k", outputs[AT_K], c->k, c->k_count, c->k_token, c->k_head, s->heads, columns)) return false;
  if (c->v_count && !kept(&w, "v", outputs[AT_V], c->v, c->v_count, c->v_token, c->v_head, s->heads, s->vdim)) return false;
  if (!c->k_pe_count || c->spec.spare) return true;
  return kept(&w, "k_pe", outputs[AT_K_PE], c->k_pe, c->k_pe_count, c->k_pe_token, c->k_pe_head, c->k_pe_head ? s->heads : 1,
              s->rope);
}

bool gather_same(const mlaf_case *head, void *const *a, void *const *b, mlaf_verify_result *out) {
  const gather_case *c = (const gather_case *)head;
  const struct {
    const char *name;
    int at;
    size_t count;
  } all[] = {{"k", AT_K, c->k_count}, {"v", AT_V, c->v_count}, {"k_pe", AT_K_PE, c->k_pe_count}};
  for (int i = 0; i < 3; i++) {
    const uint16_t *x = a[all[i].at], *y = b[all[i].at];
    if (!x || !y || !all[i].count || !memcmp(x, y, all[i].count * 2)) continue;
    snprintf(out->detail, sizeof out->detail, "case %s: two runs differ in %s", head->name, all[i].name);
    return false;
  }
  return true;
}
