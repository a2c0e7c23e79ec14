/* Rules that a kernel can break without a wrong result on silicon: reading what nothing wrote and then not using it, LDS
 * data that is not waited for but arrives in time. All are errors unless MLAF_EMU_STRICT takes a rule off the list; then
 * each break is counted, and the launch logs how often and where first. A few are checked only when it asks for them. What was
 * never written reads as all ones (NaN in
 * every float format but fp8), so that a result which depends on it does not pass for a number. */
#include "emu/strict.h"

enum { USUAL, ASKED_FOR, BY_NAME }; /* checked: always, on request, and forgiven by "none" or only by its name */
static const struct {
  const char *name;
  int sort;
} rules[EMU_RULE_COUNT] = {
  [EMU_RULE_REGISTERS] = {"registers", USUAL}, [EMU_RULE_LDS_UNWRITTEN] = {"lds-unwritten", USUAL},
  [EMU_RULE_LDS_ORDER] = {"lds-order", USUAL}, [EMU_RULE_WAITCNT] = {"waitcnt", USUAL},
  [EMU_RULE_WAIT_STATES] = {"wait-states", USUAL}, [EMU_RULE_SCALAR_ALIGN] = {"scalar-align", USUAL},
  [EMU_RULE_LDS_SAME_VALUE] = {"lds-same-value", ASKED_FOR}, [EMU_RULE_GLOBAL_UNWRITTEN] = {"global-unwritten", ASKED_FOR},
  [EMU_RULE_LDS_RACE] = {"lds-race", BY_NAME}};

static mlaf_status unknown(const char *word, mlaf_err *err) {
  return mlaf_fail(err, MLAF_E_ARG, "MLAF_EMU_STRICT: '%s' is no rule: 'all', 'none', or a list such as"
                                    " '-lds-order,+lds-same-value':"
                   " - of the rules to count instead of refuse (registers, lds-unwritten, lds-order, waitcnt, wait-states,"
                   " scalar-align, lds-race), + of those to check besides (lds-same-value, global-unwritten)", word);
}

static uint32_t all_of(int sort) {
  uint32_t mask = 0;
  for (int i = 0; i < EMU_RULE_COUNT; i++) mask |= rules[i].sort == sort ? 1u << i : 0;
  return mask;
}

mlaf_status emu_strict_parse(const char *text, uint32_t *forgiven, uint32_t *extra, mlaf_err *err) {
  char copy[160], *save = NULL;
  *forgiven = *extra = 0;
  if (!text || !*text) return MLAF_OK;
  if (strcmp(text, "all") == 0) *extra = all_of(ASKED_FOR);
  if (strcmp(text, "none") == 0) *forgiven = all_of(USUAL);
  if (*extra || *forgiven) return MLAF_OK;
  if (strlen(text) >= sizeof copy) return unknown(text, err);
  memcpy(copy, text, strlen(text) + 1);
  for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
    int rule = 0;
    while (rule < EMU_RULE_COUNT && strcmp(word + 1, rules[rule].name) != 0) rule++;
    if (rule == EMU_RULE_COUNT || *word != (rules[rule].sort == ASKED_FOR ? '+' : '-')) return unknown(word, err);
    *(rules[rule].sort == ASKED_FOR ? extra : forgiven) |= 1u << rule;
  }
  return MLAF_OK;
}

/* Count one more; true for the first, whose text is kept. */
static bool first_of(emu_warnings *all, emu_rule rule) {
  if (!all) return false;
  pthread_mutex_lock(&all->lock);
  bool first = all->count[rule]++ == 0;
  pthread_mutex_unlock(&all->lock);
  return first;
}

static void keep(emu_wave *w, emu_rule rule, const char *what) {
  emu_warnings *all = w->group->warnings;
  const uint32_t *id = w->group->id;
  pthread_mutex_lock(&all->lock);
  snprintf(all->first[rule], sizeof all->first[rule], "%s (pc 0x%x: '%s', workgroup (%u,%u,%u), wave %d)", what, w->inst->pc,
           w->inst->text, id[0], id[1], id[2], w->index);
  pthread_mutex_unlock(&all->lock);
}

bool emu_broken(emu_wave *w, emu_rule rule, int lane, const char *fmt, ...) {
  bool fine = w->group->dev->forgiven >> rule & 1;
  if (fine && !first_of(w->group->warnings, rule)) return true;
  char what[640];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  if (fine) return keep(w, rule, what), true;
  if (rules[rule].sort == ASKED_FOR) return emu_fault(w, lane, "%s [rule %s, asked for]", what, rules[rule].name);
  return emu_fault(w, lane, "%s [rule %s: MLAF_EMU_STRICT=-%s counts instead]", what, rules[rule].name, rules[rule].name);
}

void emu_warnings_log(const emu_warnings *all, const emu_kernel *k, const mlaf_log *log) {
  for (int i = 0; i < EMU_RULE_COUNT; i++)
    if (all->count[i])
      mlaf_log_line(log, MLAF_LOG_WARN, "kernel %s broke the rule %s %llu times, first: %s", k->symbol, rules[i].name,
                    (unsigned long long)all->count[i], all->first[i]);
}
