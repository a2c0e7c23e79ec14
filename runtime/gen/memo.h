/* Answers of the generator in files. */
#pragma once

#include "gen/gen.h"

typedef struct mlaf_memo_answer {
  mlaf_variant *list;
  size_t n;
  int from; /* with ns and nearest_ns what "nearby" says beside its variant */
  double ns, nearest_ns;
} mlaf_memo_answer;

/* `dir` is the generator's own (its stamp is in the name); `question` holds all that the answer depends on beside. */
bool mlaf_memo_get(const char *dir, const char *question, mlaf_memo_answer *out);
void mlaf_memo_put(const char *dir, const char *question, const mlaf_memo_answer *answer);
