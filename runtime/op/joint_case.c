/* Verification cases of joint kernels: one of each problem in the list, with its own reference. A chained one's input is what the
 * first one puts out. */
#include "op/joint_calls.h"

typedef struct joint_case {
  mlaf_case head; /* first */
  const mlaf_joint *joint;
  const mlaf_calls *calls[MLAF_JOINT_PARTS]; /* of the parts; NULL: the list has none */
  mlaf_case *first, *parts[MLAF_JOINT_PARTS];
  int first_buffers;
} joint_case;

static const joint_case *case_of(const mlaf_case *c) { return (const joint_case *)c; }

static mlaf_status make_part(joint_case *c, const mlaf_point *p, int part, int index, uint64_t seed, mlaf_inject inject,
                             mlaf_err *err) {
  const mlaf_joint_part *of = &c->joint->parts[part];
  const mlaf_point other = mlaf_joint_point(p, part);
  c->calls[part] = other.op->calls;
  if (of->blocks) return other.op->calls->make_case(&other, of->cases[index], seed, inject, &c->parts[part], err);
  const mlaf_status st = other.op->calls->make_case(&other, of->cases[index], seed + 1, inject, &c->parts[part], err);
  return st ? st : other.op->calls->chain_case(c->parts[part], c->first, err);
}

mlaf_status mlaf_joint_make_case(const mlaf_point *p, int index, uint64_t seed, mlaf_inject inject, mlaf_case **out,
                                 mlaf_err *err) {
  joint_case *c = calloc(1, sizeof *c);
  if (!c) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a case");
  c->joint = p->op->joint;
  mlaf_status st = c->joint->first->make_case(p, index, seed, inject, &c->first, err);
  for (int i = 0; !st && i < c->joint->n_parts; i++)
    if (mlaf_joint_has(p, i)) st = make_part(c, p, i, index, seed, inject, err);
  if (st) {
    mlaf_joint_free_case(&c->head);
    return st;
  }
  c->head = *c->first;
  *out = &c->head;
  return MLAF_OK;
}

void mlaf_joint_free_case(mlaf_case *head) {
  joint_case *c = (joint_case *)head;
  if (!c) return;
  for (int i = c->joint->n_parts - 1; i >= 0; i--)
    if (c->parts[i]) c->calls[i]->free_case(c->parts[i]);
  if (c->first) c->joint->first->free_case(c->first);
  free(c);
}

/* --- a launch over one --- */

static int pad(int n, int to, mlaf_case_buffer *out) {
  for (; n < to; n++) out[n] = (mlaf_case_buffer){.use = MLAF_USE_NONE};
  return to;
}

/* Buffers of part i begin behind all that the problems before it may have. */
static int buffers_before(const mlaf_joint *j, int part) {
  int n = j->first_buffers;
  for (int i = 0; i < part; i++) n += j->parts[i].buffers;
  return n;
}

static int part_buffers(const joint_case *c, const mlaf_bound *b, int part, void *args, mlaf_case_buffer *out) {
  const mlaf_joint_part *of = &c->joint->parts[part];
  const mlaf_bound alone = mlaf_joint_bound(b, part);
  const int at = buffers_before(c->joint, part);
  mlaf_case_buffer more[MLAF_CASE_BUFFERS];
  const int n = c->calls[part]->case_buffers(c->parts[part], &alone, 1, (char *)args + of->args_at, more);
  for (int i = 0; i < n; i++) {
    out[at + i] = more[i];
    out[at + i].arg += of->args_at;
  }
  return pad(at + n, at + of->buffers, out);
}

/* Leaves out buffers of what is never in memory. */
static void leave_out(const mlaf_joint *j, void *args, int n, mlaf_case_buffer *out) {
  for (int i = 0; i < n; i++)
    if (out[i].arg == j->out_at || out[i].arg == j->in_at) out[i].use = MLAF_USE_NONE;
  j->part(args);
}

int mlaf_joint_case_buffers(const mlaf_case *head, const mlaf_bound *b, uint32_t knob, void *args,
                            mlaf_case_buffer out[MLAF_CASE_BUFFERS]) {
  const joint_case *c = case_of(head);
  const mlaf_joint *j = c->joint;
  const uint32_t size = (uint32_t)b->point.op->calls->args_size;
  bool chained = false;
  memcpy(args, j->args_init, size);
  int n = j->first->case_buffers(c->first, b, knob, args, out);
  memcpy(args, &size, sizeof size); /* struct_size */
  n = pad(n, j->first_buffers, out);
  for (int i = 0; i < j->n_parts; i++) {
    if (!c->parts[i]) continue;
    pad(n, buffers_before(j, i), out);
    n = part_buffers(c, b, i, args, out);
    chained |= !j->parts[i].blocks;
  }
  if (chained) leave_out(j, args, n, out);
  return n;
}

/* --- what came out --- */

/* Index of the part whose output the first problem's is: a chained one's, else its own. */
static int last_of(const joint_case *c) {
  int last = -1;
  for (int i = 0; i < c->joint->n_parts; i++)
    if (c->parts[i] && !c->joint->parts[i].blocks) last = i;
  return last;
}

static bool compare_beside(const joint_case *c, int part, void *const *outputs, mlaf_verify_result *out) {
  mlaf_verify_result own = {0}; /* its error counts otherwise */
  const bool good = c->calls[part]->compare(c->parts[part], outputs + buffers_before(c->joint, part), &own);
  out->rows += own.rows;
  if (own.compared < out->compared) out->compared = own.compared;
  if (!good) snprintf(out->detail, sizeof out->detail, "%s: %.1000s", c->joint->parts[part].name, own.detail);
  return good;
}

bool mlaf_joint_compare(const mlaf_case *head, void *const *outputs, mlaf_verify_result *out) {
  const joint_case *c = case_of(head);
  const int last = last_of(c);
  bool good = last < 0 ? c->joint->first->compare(c->first, outputs, out)
                       : c->calls[last]->compare(c->parts[last], outputs + buffers_before(c->joint, last), out);
  for (int i = 0; good && i < c->joint->n_parts; i++)
    if (c->parts[i] && i != last) good = compare_beside(c, i, outputs, out);
  return good;
}

bool mlaf_joint_same(const mlaf_case *head, void *const *a, void *const *b, mlaf_verify_result *out) {
  const joint_case *c = case_of(head);
  bool good = last_of(c) >= 0 || c->joint->first->same(c->first, a, b, out);
  for (int i = 0; good && i < c->joint->n_parts; i++) {
    const int at = buffers_before(c->joint, i);
    if (c->parts[i]) good = c->calls[i]->same(c->parts[i], a + at, b + at, out);
  }
  return good;
}
