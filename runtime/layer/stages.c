/* A layer as a graph: its stages, the tensors that each reads and writes, and the launches of a stage by what is chosen for so
 * many tokens. */
#include "layer/inside.h"

#define T(name) (1u << TENSOR_##name)

/* The kernels that a stage may be. `output` is what a profile looks at: TENSOR_HIDDEN where it is in a tensor of the caller's, or
 * another stage's, changed in place. */
static const struct {
  const char *name, *operation;
  uint32_t reads, writes;
  layer_value output;
} stages[LAYER_STAGES] = {
    [STAGE_QKV_A] = {"qkv_a", "mla_qkv_a", T(HIDDEN), T(Q_LOW) | T(LATENT), TENSOR_Q_LOW},
    [STAGE_Q_A] = {"q_a", "mla_qkv_a", T(HIDDEN), T(Q_LOW), TENSOR_Q_LOW},
    [STAGE_KV_A] = {"kv_a", "mla_qkv_a", T(HIDDEN), T(LATENT), TENSOR_Q_LOW},
    [STAGE_Q_B] = {"q_b", "mla_q_b", T(Q_LOW), T(Q), TENSOR_Q},
    [STAGE_Q_B_APPEND] = {"q_b", "mla_q_b", T(Q_LOW) | T(LATENT), T(Q) | T(CACHE), TENSOR_Q},
    [STAGE_Q_B_APPEND_ABSORB] = {"q_b", "mla_q_b", T(Q_LOW) | T(LATENT), T(Q_LATENT) | T(CACHE), TENSOR_Q_LATENT},
    [STAGE_Q_SCALE] = {"q_scale", "mla_q_scale", T(Q), T(Q), TENSOR_Q},
    [STAGE_DEQUANT_KV_B] = {"dequant", "mla_dequant", 0, T(KV_B), TENSOR_KV_B},
    [STAGE_APPEND] = {"append", "mla_append", T(LATENT), T(CACHE), TENSOR_HIDDEN},
    [STAGE_APPEND_ROPE_Q] = {"append", "mla_append", T(LATENT) | T(Q), T(CACHE) | T(Q), TENSOR_HIDDEN},
    [STAGE_Q_ABSORB] = {"q_absorb", "mla_q_absorb", T(Q), T(Q_LATENT), TENSOR_Q_LATENT},
    [STAGE_DECODE] = {"decode", "mla_decode", T(Q_LATENT) | T(CACHE), T(SUMS), TENSOR_SUMS},
    [STAGE_V_OUT] = {"v_out", "mla_v_out", T(SUMS), T(VALUES), TENSOR_VALUES},
    [STAGE_GATHER] = {"gather", "mla_gather_kv_b", T(CACHE), T(KEYS), TENSOR_KEYS},
    [STAGE_PREFILL] = {"prefill", "mla_prefill", T(Q) | T(KEYS) | T(CACHE), T(VALUES), TENSOR_VALUES},
    [STAGE_O_PROJ] = {"o_proj", "mla_o_proj", T(VALUES), T(OUT), TENSOR_HIDDEN},
    [STAGE_INDEX_K] = {"index_k", "mla_qkv_a", T(HIDDEN), T(INDEX_K), TENSOR_INDEX_K},
    [STAGE_INDEX_W] = {"index_w", "mla_qkv_a", T(HIDDEN), T(INDEX_W), TENSOR_INDEX_W},
    [STAGE_INDEX_Q] = {"index_q", "mla_q_b", T(Q_LOW), T(INDEX_Q), TENSOR_INDEX_Q},
    [STAGE_INDEX_APPEND] = {"index_append", "mla_index_append", T(INDEX_K) | T(INDEX_W) | T(INDEX_Q),
                            T(INDEX_Q8) | T(INDEX_CACHE), TENSOR_INDEX_Q8},
    [STAGE_INDEX] = {"index", "mla_index", T(INDEX_Q8) | T(INDEX_CACHE), T(LISTS), TENSOR_LISTS},
};
const char *layer_stage_name(layer_kind kind) { return stages[kind].name; }
const char *layer_operation(layer_kind kind) { return stages[kind].operation; }
layer_value layer_output_of(layer_kind kind) { return stages[kind].output; }

/* --- matrices that may become 16 bits --- */

const layer_matrix_row layer_matrices[LAYER_MATRICES] = {[MATRIX_QKV_A] = {STAGE_QKV_A, ALT_KEPT_A},
                                                         [MATRIX_Q_A] = {STAGE_Q_A, ALT_KEPT_A},
                                                         [MATRIX_KV_A] = {STAGE_KV_A, ALT_KEPT_A},
                                                         [MATRIX_Q_B] = {STAGE_Q_B, ALT_KEPT_Q_B},
                                                         [MATRIX_O] = {STAGE_O_PROJ, ALT_KEPT_O},
                                                         [MATRIX_UK] = {STAGE_Q_ABSORB, ALT_KEPT_KV_B},
                                                         [MATRIX_UV] = {STAGE_V_OUT, ALT_KEPT_KV_B}};

int layer_matrix_of(layer_kind product) {
  for (int i = 0; i < LAYER_MATRICES; i++)
    if (layer_matrices[i].product == product) return i;
  return -1;
}

bool layer_has_matrix(const layer_shape *s, int i) {
  const bool joined = s->d.q_rank && s->joined;
  if (i >= MATRIX_UK) return false;
  return i == MATRIX_QKV_A ? joined : i == MATRIX_KV_A ? !joined : i != MATRIX_Q_A || (s->d.q_rank && !joined);
}

layer_kind layer_stage_of(layer_kind kind) {
  return kind < STAGE_DEQUANT_WEIGHTS ? kind : layer_matrices[(kind - STAGE_DEQUANT_WEIGHTS) % LAYER_MATRICES].product;
}

layer_extent layer_matrix(const layer_shape *s, layer_kind stage) {
  const mlaf_layer_desc *d = &s->d;
  switch (stage) {
    case STAGE_QKV_A: return (layer_extent){layer_c_row(s), d->hidden};
    case STAGE_Q_A: return (layer_extent){d->q_rank, d->hidden};
    case STAGE_KV_A: return (layer_extent){layer_kv_row(s), d->hidden};
    case STAGE_Q_B: return (layer_extent){(int64_t)s->heads * layer_q_row(s), d->q_rank ? d->q_rank : d->hidden};
    default: return (layer_extent){d->hidden, (int64_t)s->heads * d->v};
  }
}

/* --- the order of stages --- */

/* Queries are scaled as soon as they are there. kv_b of 16 bits comes first of all: those that gather read it ahead of their
 * waits, as the constant that it else is, and no launch behind this one begins before it is over. */
static void order(layer_shape *s, layer_form form, const layer_kind *behind, size_t n_behind) {
  const layer_kind index[] = {STAGE_INDEX_K, STAGE_INDEX_W, STAGE_INDEX_Q, STAGE_INDEX_APPEND, STAGE_INDEX};
  const bool two = s->d.q_rank && !s->joined;
  int n = 0;
  if (form == FORM_PREFILL && layer_dequantises_kv_b(s)) s->kinds[form][n++] = STAGE_DEQUANT_KV_B;
  if (two) s->kinds[form][n++] = STAGE_Q_A;
  s->kinds[form][n++] = s->d.q_rank && s->joined ? STAGE_QKV_A : STAGE_KV_A;
  for (size_t i = s->index_joined ? 2 : 0; layer_indexes(s) && i < sizeof index / sizeof *index; i++)
    s->kinds[form][n++] = index[i];
  s->kinds[form][n++] = behind[0];
  if (layer_scales(s)) s->kinds[form][n++] = STAGE_Q_SCALE;
  for (size_t i = 1; i < n_behind; i++) s->kinds[form][n++] = behind[i];
  s->n[form] = n;
}
#define ORDER(s, form, list) order(s, form, list, sizeof(list) / sizeof *(list))

void layer_order_stages(layer_shape *s) {
  const layer_kind few[] = {STAGE_Q_B_APPEND, STAGE_Q_ABSORB, STAGE_DECODE, STAGE_V_OUT, STAGE_O_PROJ};
  const layer_kind absorbs[] = {STAGE_Q_B_APPEND_ABSORB, STAGE_DECODE, STAGE_V_OUT, STAGE_O_PROJ};
  const layer_kind apart[] = {STAGE_Q_B, STAGE_APPEND, STAGE_Q_ABSORB, STAGE_DECODE, STAGE_V_OUT, STAGE_O_PROJ};
  const layer_kind many[] = {STAGE_Q_B, layer_rotates(s) ? STAGE_APPEND_ROPE_Q : STAGE_APPEND, STAGE_GATHER, STAGE_PREFILL,
                             STAGE_O_PROJ};
  const layer_kind read[] = {STAGE_Q_B, STAGE_APPEND_ROPE_Q, STAGE_APPEND, STAGE_GATHER, STAGE_PREFILL, STAGE_O_PROJ};
  if (s->invariant) ORDER(s, FORM_ABSORBED, apart);
  else if (s->absorbs) ORDER(s, FORM_ABSORBED, absorbs);
  else ORDER(s, FORM_ABSORBED, few);
  if (s->d.prefill_tokens && layer_rotates_on_read(s)) ORDER(s, FORM_PREFILL, read);
  else if (s->d.prefill_tokens) ORDER(s, FORM_PREFILL, many);
}

bool layer_shape_may_absorb(const layer_shape *s) {
  bool taken = s->choices.by_default[ALT_Q_B_APPEND_ABSORB].to > 0;
  for (int k = 0; k < LAYER_CLASSES; k++) taken = taken || s->choices.stored[k] & 1 << ALT_Q_B_APPEND_ABSORB;
  return taken;
}

void layer_shape_set_absorb(layer_shape *s, bool absorbs) {
  s->absorbs = absorbs;
  layer_order_stages(s);
}

/* --- launches --- */

/* A product by itself, by a copy that is kept, or behind the kernel that makes its matrix 16 bits. */
static int product_parts(const layer_shape *s, layer_kind kind, int64_t tokens, layer_kind *out) {
  const int i = layer_matrix_of(kind);
  if (i >= 0 && layer_keeps(s, layer_matrices[i].kept, tokens)) return out[0] = (layer_kind)(STAGE_PRODUCT_16 + i), 1;
  if (i < 0 || i >= MATRIX_UK || !layer_dequantises_weights(s, tokens)) return out[0] = kind, 1;
  out[0] = (layer_kind)(STAGE_DEQUANT_WEIGHTS + i);
  out[1] = (layer_kind)(STAGE_PRODUCT_16 + i);
  return 2;
}

int layer_parts_of(const layer_shape *s, layer_kind kind, int64_t tokens, layer_kind out[LAYER_PARTS]) {
  const bool joint = kind == STAGE_Q_B_APPEND || kind == STAGE_Q_B_APPEND_ABSORB;
  if (!joint) return product_parts(s, kind, tokens, out);
  if (kind == STAGE_Q_B_APPEND_ABSORB && layer_takes(s, ALT_Q_B_APPEND_ABSORB, tokens)) return out[0] = kind, 1;
  const bool appends = layer_takes(s, ALT_Q_B_APPEND, tokens) && !layer_dequantises_weights(s, tokens);
  int n = product_parts(s, appends ? STAGE_Q_B_APPEND : STAGE_Q_B, tokens, out);
  if (!appends) out[n++] = STAGE_APPEND;
  if (kind == STAGE_Q_B_APPEND_ABSORB) out[n++] = STAGE_Q_ABSORB;
  return n;
}

/* True if calls of this form launch this, with so many tokens in all. */
static bool launched(const layer_shape *s, layer_form form, layer_kind kind, int64_t tokens) {
  for (int i = 0; i < s->n[form]; i++) {
    layer_kind parts[LAYER_PARTS];
    const int n = layer_parts_of(s, s->kinds[form][i], tokens, parts);
    for (int k = 0; k < n; k++)
      if (parts[k] == kind) return true;
  }
  return false;
}

static int64_t most_absorbed(const layer_shape *s) { return (int64_t)s->d.batch_max * layer_q_len_most(s); }

bool layer_launches(const layer_shape *s, layer_kind kind, int64_t tokens) {
  return (tokens <= most_absorbed(s) && launched(s, FORM_ABSORBED, kind, tokens)) ||
         (tokens <= s->d.prefill_tokens && launched(s, FORM_PREFILL, kind, tokens));
}

/* Within a class launches change once at most (copies that are kept, from so many tokens on), so its first and its last tell. */
int64_t layer_rows_least(const layer_shape *s, layer_kind kind) {
  if (layer_is_dequant(kind)) return 1;
  for (int k = 0; k < LAYER_CLASSES; k++) {
    const int64_t first = k ? (INT64_C(1) << (k - 1)) + 1 : 1, last = INT64_C(1) << k;
    if (layer_launches(s, kind, first)) return first;
    if (layer_launches(s, kind, last)) return last;
  }
  return 1;
}

int64_t layer_rows_most(const layer_shape *s, layer_kind kind) {
  const int64_t ends[] = {most_absorbed(s), s->d.prefill_tokens};
  int64_t most = 0;
  for (int i = 0; i < 2; i++)
    if (ends[i] > most && layer_launches(s, kind, ends[i])) most = ends[i];
  for (int k = 0; k < LAYER_CLASSES; k++) {
    const int64_t first = k ? (INT64_C(1) << (k - 1)) + 1 : 1, last = INT64_C(1) << k;
    if (first > most && layer_launches(s, kind, first)) most = first;
    if (last > most && layer_launches(s, kind, last)) most = last;
  }
  return most && layer_is_dequant(kind) ? 1 : most; /* the same launch for any number */
}

bool layer_stages_are_bound(const layer_shape *s, layer_form form, int64_t tokens) {
  uint32_t there = T(HIDDEN);
  if (!s->d.q_rank) there |= T(Q_LOW); /* q_b reads hidden states then */
  for (int i = 0; i < s->n[form]; i++) {
    layer_kind parts[LAYER_PARTS];
    const int n = layer_parts_of(s, s->kinds[form][i], tokens, parts);
    for (int k = 0; k < n; k++) {
      const layer_kind kind = parts[k] >= STAGE_PRODUCT_16 ? layer_stage_of(parts[k]) : parts[k];
      if (stages[kind].reads & ~there) return false;
      there |= stages[kind].writes;
      if (s->index_joined && kind == STAGE_QKV_A) there |= T(INDEX_K) | T(INDEX_W);
    }
  }
  return there & T(OUT);
}
