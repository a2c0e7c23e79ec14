/* The record of mla_decode and its typed struct: what a caller gives is checked for its size here, the rest is the record's. */
#include "ops/mla_decode/problem.h"

#include "device/kernel_launch.h"
#include "ops/mla_decode/calls.h"
#include "ops/mla_decode/fields.h"

static const mlaf_field fields[] = {MLA_DECODE_ROWS};

static const char *const stages[MLAF_STAGES_MAX + 1] = {"decode", "combine"}; /* columns of stored choices: never renumbered */

const mlaf_op mlaf_op_mla_decode = {
    .name = "mla_decode", .example = MLA_DECODE_EXAMPLE, .fields = fields, .n_fields = MLA_DECODE_FIELDS, .stages = stages,
    .calls = &mlaf_decode_calls};
_Static_assert((int)MLAF_PROBLEM_TEXT_MAX == (int)MLAF_POINT_TEXT_MAX, "what is public holds any text");

/* The first version ended before `rotate`. What an older caller's struct lacks is 0. */
#define PROBLEM_FIRST offsetof(mlaf_problem, rotate)

#define COUNT(member) +1
_Static_assert(sizeof(mlaf_problem) == sizeof(uint32_t) + (MLA_DECODE_MEMBERS(COUNT)) * sizeof(int32_t), "a member is no field");

void mlaf_problem_point(const mlaf_problem *p, mlaf_point *out) {
#define TO_POINT(member) p->member,
  *out = (mlaf_point){&mlaf_op_mla_decode, {MLA_DECODE_MEMBERS(TO_POINT)}};
}

mlaf_problem mlaf_problem_of(const mlaf_point *p) {
  const int32_t *v = p->v;
  mlaf_problem out = {.struct_size = sizeof out};
#define OF_POINT(member) out.member = *v++;
  MLA_DECODE_MEMBERS(OF_POINT)
  return out;
}

void mlaf_problem_of_caller(const mlaf_problem *p, mlaf_point *out) {
  mlaf_problem whole = {.struct_size = sizeof whole};
  memcpy(&whole, p, p->struct_size < sizeof whole ? p->struct_size : sizeof whole);
  mlaf_problem_point(&whole, out);
}

static mlaf_status check_size(const mlaf_problem *p, char *why, size_t why_size) {
  if (p->struct_size < PROBLEM_FIRST)
    return mlaf_point_fault(why, why_size, "struct_size is %u, must be at least %zu: start from MLAF_PROBLEM_INIT",
                            p->struct_size, PROBLEM_FIRST);
  /* A caller built against a newer header may pass a longer struct as long as it asks for nothing we do not know. */
  const unsigned char *tail = (const unsigned char *)p + sizeof *p;
  if (p->struct_size > 4096) return mlaf_point_fault(why, why_size, "struct_size is %u: not set?", p->struct_size);
  for (size_t i = 0; i + sizeof *p < p->struct_size; i++)
    if (tail[i])
      return mlaf_point_fault(why, why_size,
                              "byte %zu behind the fields this library knows is not 0: it is older than its caller", i);
  return MLAF_OK;
}

mlaf_status mlaf_problem_take(const mlaf_problem *in, mlaf_problem *out, char *why, size_t why_size) {
  mlaf_point p;
  mlaf_status st = check_size(in, why, why_size);
  if (st) return st;
  mlaf_problem_of_caller(in, &p);
  st = mlaf_point_check(&p, why, why_size);
  if (!st) *out = mlaf_problem_of(&p);
  return st;
}
