/* Joint kernels: who may run, and their launches. */
#include "op/joint.h"

enum { MAP_ALIGN = 64, ALIGN = 8 };
static uint32_t aligned(uint32_t x, uint32_t to) { return (x + to - 1) / to * to; }

/* --- the problems of a list --- */

static bool kernel_has(const mlaf_kernel_launch *k, int part) { return k->flags & (uint32_t)MLAF_KERNEL_SECOND << part; }

static bool is_list(const mlaf_point *p) {
  for (int i = 0; i < p->op->joint->n_parts; i++)
    if (mlaf_joint_has(p, i)) return true;
  return false;
}

static bool is_chained(const mlaf_point *p) {
  for (int i = 0; i < p->op->joint->n_parts; i++)
    if (mlaf_joint_has(p, i) && !p->op->joint->parts[i].blocks) return true;
  return false;
}

mlaf_point mlaf_joint_point(const mlaf_point *p, int part) {
  const mlaf_joint_part *of = &p->op->joint->parts[part];
  mlaf_point out;
  mlaf_point_init(mlaf_op_of(of->op), &out);
  for (const mlaf_joint_field *f = of->fields; f->at >= 0; f++) out.v[f->at] = p->v[f->of] - f->less;
  for (int i = 0; i < out.op->n_fields; i++) {
    const mlaf_field *f = &out.op->fields[i];
    if (f->moot_by >= 0 && out.v[f->moot_by] == f->moot_at) out.v[i] = 0;
  }
  return out;
}

/* Maps of a part's block: a kernel that takes none itself loads nothing by maps. */
static uint32_t maps_of(const mlaf_joint *j, const mlaf_kernel_launch *k, int part) {
  return k->n_maps ? j->parts[part].maps : 0;
}

/* Maps of a kernel's parts before part `part`, counted from the first part on; part -1: of all parts. */
static uint32_t maps_before(const mlaf_joint *j, const mlaf_kernel_launch *k, int part) {
  uint32_t n = 0;
  for (int i = 0; i < (part < 0 ? j->n_parts : part); i++)
    if (kernel_has(k, i)) n += maps_of(j, k, i);
  return n;
}

/* A kernel's launch as its first problem alone has it: maps of the parts stand behind. */
static mlaf_kernel_launch first_launch(const mlaf_joint *j, const mlaf_kernel_launch *k) {
  mlaf_kernel_launch out = *k;
  const uint32_t behind = maps_before(j, k, -1);
  out.n_maps -= behind < k->n_maps ? behind : k->n_maps;
  return out;
}

static mlaf_kernel_launch part_launch(const mlaf_joint *j, const mlaf_kernel_launch *k, int part) {
  mlaf_kernel_launch out = {.n_maps = maps_of(j, k, part)};
  const uint32_t at = first_launch(j, k).n_maps + maps_before(j, k, part);
  for (uint32_t i = 0; i < out.n_maps; i++) {
    out.maps[i] = k->maps[at + i];
    out.maps[i].of = i + 1;
  }
  return out;
}

static mlaf_bound first_bound(const mlaf_bound *b) {
  mlaf_bound out = *b;
  out.stage[0].launch = first_launch(b->point.op->joint, &b->stage[0].launch);
  return out;
}

mlaf_bound mlaf_joint_bound(const mlaf_bound *b, int part) {
  const mlaf_stage *k = &b->stage[0];
  return (mlaf_bound){.dev = b->dev,
                      .point = mlaf_joint_point(&b->point, part),
                      .stage = {{.fn = k->fn, .threads = k->threads, .rows_per_wg = 1,
                                 .launch = part_launch(b->point.op->joint, &k->launch, part)}},
                      .knob = 1};
}

/* --- who may run --- */

/* Bytes of a part's block: its operation's parameters, and where it runs beside the number of its blocks. */
static uint32_t part_bytes(const mlaf_joint *j, const mlaf_kernel_launch *k, int part) {
  const mlaf_kernel_launch alone = part_launch(j, k, part);
  const uint32_t bytes = mlaf_op_of(j->parts[part].op)->calls->parameter_bytes(0, &alone);
  return bytes + (j->parts[part].blocks ? (uint32_t)sizeof(int64_t) : 0);
}

static uint32_t align_of(const mlaf_kernel_launch *k) { return k->n_maps ? MAP_ALIGN : ALIGN; }

/* Returns where a part's block begins that follows `at` bytes. */
static uint32_t begins(const mlaf_joint *j, const mlaf_kernel_launch *k, int part, uint32_t at) {
  return aligned(at, maps_of(j, k, part) ? MAP_ALIGN : ALIGN);
}

uint32_t mlaf_joint_parameter_bytes(const mlaf_joint *j, int stage, const mlaf_kernel_launch *launch) {
  const mlaf_kernel_launch alone = first_launch(j, launch);
  const uint32_t first = j->first->parameter_bytes(stage, &alone);
  uint32_t at = first;
  for (int i = 0; i < j->n_parts; i++)
    if (kernel_has(launch, i)) at = begins(j, launch, i, at) + part_bytes(j, launch, i);
  return at > first ? aligned(at, align_of(launch)) : first;
}

/* Maps of parts are of their operations' tensors, counted on from the first's. */
static bool has_its_maps(const mlaf_joint *j, const mlaf_kernel_launch *k) {
  const uint32_t behind = maps_before(j, k, -1);
  if (behind > k->n_maps) return false;
  for (uint32_t i = 0; i < behind; i++)
    if (k->maps[k->n_maps - behind + i].of != j->first->n_mapped + i + 1) return false;
  for (uint32_t i = 0; i < k->n_maps - behind; i++)
    if (k->maps[i].of > j->first->n_mapped) return false;
  return true;
}

static mlaf_status check_part(const mlaf_bound *b, int part, mlaf_err *err) {
  const mlaf_joint_part *of = &b->point.op->joint->parts[part];
  const mlaf_stage *k = &b->stage[0];
  const bool wanted = mlaf_joint_has(&b->point, part);
  const int name = (int)strcspn(of->op, ":");
  if (wanted != kernel_has(&k->launch, part))
    return mlaf_fail(err, MLAF_E_TEMPLATE, wanted ? "its kernel does no %.*s, and the problem wants it"
                                                  : "its kernel does %.*s, too, and the problem has none", name, of->op);
  if (wanted && of->blocks && b->dev && k->threads < (uint32_t)mlaf_info(b->dev)->wave_size)
    return mlaf_fail(err, MLAF_E_TEMPLATE, "its kernel has %u threads, and a row takes a whole warp", k->threads);
  return MLAF_OK;
}

mlaf_status mlaf_joint_check_stages(const mlaf_bound *b, mlaf_err *err) {
  const mlaf_joint *j = b->point.op->joint;
  const mlaf_bound first = first_bound(b);
  mlaf_status st = j->first->check_stages(&first, err);
  for (int i = 0; !st && i < j->n_parts; i++) st = check_part(b, i, err);
  if (!st && !has_its_maps(j, &b->stage[0].launch))
    st = mlaf_fail(err, MLAF_E_TEMPLATE, "its kernel wants other tensor maps than the operations of its problem have");
  return st;
}

/* --- arguments --- */

static const void *args_of(const mlaf_joint_part *part, const void *args) { return (const char *)args + part->args_at; }

static mlaf_status check_part_args(const mlaf_bound *b, int part, const void *args, mlaf_err *err) {
  const mlaf_joint_part *of = &b->point.op->joint->parts[part];
  const mlaf_bound alone = mlaf_joint_bound(b, part);
  mlaf_err inner;
  mlaf_status st = alone.point.op->calls->check_args(&alone, 1, args_of(of, args), &inner);
  if (!st && of->check) st = of->check(b, args_of(of, args), &inner);
  return st ? mlaf_fail(err, st, "%s: %s", of->name, inner.text) : MLAF_OK;
}

/* Checks the parts that are chained, or the others. */
static mlaf_status check_parts(const mlaf_bound *b, bool chained, const void *args, mlaf_err *err) {
  const mlaf_joint *j = b->point.op->joint;
  mlaf_status st = MLAF_OK;
  for (int i = 0; !st && i < j->n_parts; i++)
    if (mlaf_joint_has(&b->point, i) && chained == !j->parts[i].blocks) st = check_part_args(b, i, args, err);
  return st;
}

mlaf_status mlaf_joint_check_args(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_err *err) {
  const mlaf_joint *j = b->point.op->joint;
  mlaf_whole_args lent;
  mlaf_status st = MLAF_OK;
  if (is_chained(&b->point)) {
    st = j->check_chained(args, err);
    memcpy(&lent, args, b->point.op->calls->args_size);
    j->lend(&lent);
    args = &lent;
  }
  if (!st) st = check_parts(b, true, args, err);
  if (!st) st = j->first->check_args(b, knob, args, err);
  if (!st) st = j->check(&b->point, args, err);
  return st ? st : check_parts(b, false, args, err);
}

/* --- a launch --- */

/* Writes the block of a part at *at, which is then behind it. */
static mlaf_status add_part(const mlaf_bound *b, int part, const void *args, uint32_t *at, mlaf_prepared *out, mlaf_err *err) {
  const mlaf_joint *j = b->point.op->joint;
  const mlaf_joint_part *of = &j->parts[part];
  const mlaf_bound alone = mlaf_joint_bound(b, part);
  const uint32_t bytes = part_bytes(j, &b->stage[0].launch, part), begin = begins(j, &b->stage[0].launch, part, *at);
  mlaf_prepared other;
  const mlaf_status st = alone.point.op->calls->prepare(&alone, 1, args_of(of, args), &other, err);
  if (st) return st;
  if (other.n) memcpy(out->parameters + begin, other.launches[0].args, other.launches[0].args_size);
  if (of->blocks) {
    const int64_t blocks = of->blocks(b, out->launches[0].grid[0], args_of(of, args));
    memcpy(out->parameters + begin + bytes - sizeof blocks, &blocks, sizeof blocks);
    out->launches[0].grid[0] += (uint32_t)blocks;
  }
  *at = begin + bytes;
  return MLAF_OK;
}

/* The first problem's launch, with the parts' argument blocks behind its own. */
mlaf_status mlaf_joint_prepare(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err) {
  const mlaf_joint *j = b->point.op->joint;
  if (!is_list(&b->point)) return j->first->prepare(b, knob, args, out, err);
  const mlaf_bound first = first_bound(b);
  mlaf_status st = j->first->prepare(&first, knob, args, out, err);
  if (st || !out->n) return st;
  uint32_t at = j->first->parameter_bytes(0, &first.stage[0].launch);
  const uint32_t size = mlaf_joint_parameter_bytes(j, 0, &b->stage[0].launch);
  memset(out->parameters + at, 0, size - at);
  for (int i = 0; !st && i < j->n_parts; i++)
    if (mlaf_joint_has(&b->point, i)) st = add_part(b, i, args, &at, out, err);
  out->launches[0].args_size = size;
  return st;
}
