/* Alternatives of a layer: which exist, which are taken by default, their names. */
#include "layer/choice.h"

#include "layer/inside.h"

/* --- which exist --- */

/* Combine kernels that serve v_out, too, are made for values of so many columns (gen/ops/mla_decode/families/combine_values.lua).
 * A plan of others serves decode alone; here it keeps an alternative off the list that would be the same launches. */
enum { FUSED_V_OUT_COLUMNS = 128 };

static bool may_absorb(const layer_shape *s) {
  const mlaf_layer_desc *d = &s->d;
  layer_shape with = *s;
  if (!d->q_rank || d->weights || d->flags & MLAF_LAYER_NO_NORMS) return false;
  layer_choices_force(&with, 1 << ALT_Q_B_APPEND | 1 << ALT_Q_B_APPEND_ABSORB);
  layer_shape_set_absorb(&with, true);
  return layer_stages_are_bound(&with, FORM_ABSORBED, 1); /* queries that are scaled must be in memory */
}

bool layer_alternative_exists(const layer_shape *s, layer_alternative alt) {
  if (s->invariant) return alt == ALT_COPIES_16; /* stages are separate kernels, and all calls have the same matrices */
  switch (alt) {
    case ALT_Q_B_APPEND: return true;
    case ALT_Q_B_APPEND_ABSORB: return may_absorb(s);
    case ALT_DECODE_V_OUT: /* no device has run it with rope on read, index lists or a cache of 8 bits yet */
      return !layer_rotates_on_read(s) && !layer_lists(s) && !s->d.cache_format && layer_kv_b_bytes(s) == LAYER_ELEMENT &&
             s->d.v == FUSED_V_OUT_COLUMNS;
    case ALT_DEQUANT_WEIGHTS: return s->d.weights && !(s->d.flags & (MLAF_LAYER_DEQUANT_NEVER | MLAF_LAYER_KEEP_16));
    case ALT_KEPT_A:
    case ALT_KEPT_Q_B:
    case ALT_KEPT_O:
    case ALT_KEPT_KV_B:
      return s->d.weights && !(s->d.flags & (MLAF_LAYER_DEQUANT_NEVER | MLAF_LAYER_KEEP_16 | MLAF_LAYER_KEEP_NEVER)) &&
             (alt != ALT_KEPT_KV_B || layer_kv_b_bytes(s) == 1);
    default: return true;
  }
}

/* --- defaults --- */

void layer_choices_by_default(layer_shape *s, const char *target) {
  layer_choices c = {.stored = {0}};
  for (int i = 0; i < LAYER_ALTERNATIVES; i++) c.by_default[i].from = 1; /* to 0: never */
  for (const layer_default *row = layer_defaults; row->target; row++) {
    const bool here = !strcmp(row->target, "*") || (target && !strcmp(row->target, target));
    if (!here || s->heads < row->heads || !layer_alternative_exists(s, row->alternative)) continue;
    c.by_default[row->alternative].from = row->from;
    c.by_default[row->alternative].to = row->to;
    c.by_default[row->alternative].margin = row->margin;
  }
  s->choices = c;
}

void layer_choices_force(layer_shape *s, layer_choice choice) {
  memset(s->choices.stored, choice | LAYER_CHOSEN, sizeof s->choices.stored);
}

bool layer_choices_forget(layer_shape *s) {
  bool any = false;
  for (int k = 0; k < LAYER_CLASSES; k++) any = any || s->choices.stored[k];
  memset(s->choices.stored, 0, sizeof s->choices.stored);
  return any;
}

layer_choice layer_choice_for(const layer_shape *s, int64_t tokens) {
  layer_choice choice = 0;
  for (int alt = 0; alt < ALT_COPIES_16; alt++)
    if (layer_takes(s, (layer_alternative)alt, tokens)) choice |= (layer_choice)(1 << alt);
  return choice;
}

layer_choice layer_choice_usual(const layer_shape *s, int64_t tokens) {
  layer_shape plain = *s;
  layer_choices_forget(&plain);
  return layer_choice_for(&plain, tokens);
}

/* --- candidates --- */

/* True for a set of alternatives that exist and do not exclude each other. */
static bool is_candidate(const layer_shape *s, layer_choice choice) {
  if (choice & 1 << ALT_Q_B_APPEND_ABSORB && !(choice & 1 << ALT_Q_B_APPEND)) return false;
  if (choice & 1 << ALT_DEQUANT_WEIGHTS && choice & 1 << ALT_Q_B_APPEND) return false; /* a product by 16 bits appends nothing */
  for (int alt = 0; alt < ALT_COPIES_16; alt++)
    if (choice & 1 << alt && !layer_alternative_exists(s, (layer_alternative)alt)) return false;
  return true;
}

bool layer_choice_at(const layer_shape *s, int64_t tokens, size_t i, layer_choice *out) {
  const layer_choice usual = layer_choice_for(s, tokens);
  size_t n = 1;
  *out = usual;
  if (!i) return true;
  for (layer_choice c = 0; c < 1 << ALT_COPIES_16; c++) {
    *out = c;
    if (c != usual && is_candidate(s, c) && n++ == i) return true;
  }
  return false;
}

/* --- names --- */

static const char *const names[ALT_COPIES_16] = {[ALT_Q_B_APPEND] = "q_b+append",
                                                 [ALT_Q_B_APPEND_ABSORB] = "q_b+append+q_absorb",
                                                 [ALT_DECODE_V_OUT] = "decode+v_out",
                                                 [ALT_DEQUANT_WEIGHTS] = "dequant"};
static const char none[] = "separate";

void layer_choice_print(layer_choice choice, char *out) {
  size_t n = 0;
  if (choice & 1 << ALT_Q_B_APPEND_ABSORB) choice &= (layer_choice)~(1 << ALT_Q_B_APPEND); /* its name says so */
  for (int alt = 0; alt < ALT_COPIES_16; alt++)
    if (choice & 1 << alt) n += (size_t)snprintf(out + n, LAYER_CHOICE_TEXT_MAX - n, "%s%s", n ? "," : "", names[alt]);
  if (!n) snprintf(out, LAYER_CHOICE_TEXT_MAX, "%s", none);
}

static int find_name(const char *text, size_t n) {
  for (int alt = 0; alt < ALT_COPIES_16; alt++)
    if (strlen(names[alt]) == n && !memcmp(names[alt], text, n)) return alt;
  return -1;
}

bool layer_choice_parse(const layer_shape *s, const char *text, layer_choice *out, char *why, size_t why_size) {
  layer_choice choice = 0;
  for (const char *at = strcmp(text, none) ? text : NULL; at;) {
    const size_t n = strcspn(at, ",");
    const int alt = find_name(at, n);
    if (alt < 0 || !layer_alternative_exists(s, (layer_alternative)alt)) {
      snprintf(why, why_size, alt < 0 ? "'%.*s' is no alternative of this version" : "this layer cannot do '%.*s'", (int)n, at);
      return false;
    }
    choice |= (layer_choice)(1 << alt);
    at = at[n] ? at + n + 1 : NULL;
  }
  if (choice & 1 << ALT_Q_B_APPEND_ABSORB) choice |= 1 << ALT_Q_B_APPEND;
  if (!is_candidate(s, choice)) {
    snprintf(why, why_size, "the alternatives of '%s' exclude each other", text);
    return false;
  }
  *out = choice;
  return true;
}
