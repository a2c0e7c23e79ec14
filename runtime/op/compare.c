/* Two points of an operation beside each other: same shape, order, distance. */
#include <math.h>
#include <string.h>

#include "op/op.h"

bool mlaf_point_same_shape(const mlaf_point *p, const mlaf_point *q) {
  if (p->op != q->op) return false;
  for (int i = 0; i < p->op->n_fields; i++)
    if (p->op->fields[i].role == MLAF_SHAPE && p->v[i] != q->v[i]) return false;
  return true;
}

int mlaf_point_order(const mlaf_point *p, const mlaf_point *q) {
  if (p->op != q->op) return strcmp(p->op->name, q->op->name);
  for (int i = 0; i < p->op->n_fields; i++)
    if (p->v[i] != q->v[i]) return p->v[i] < q->v[i] ? -1 : 1;
  return 0;
}

int32_t mlaf_field_round(const mlaf_field *f, int32_t x) {
  if (x <= f->first) return f->first;
  int32_t step = 1; /* all integers below 2 * steps */
  while (x > 2 * f->steps * step) step *= 2; /* sizes are below 2^25 */
  int32_t up = (x + step - 1) / step * step;
  for (const int32_t *also = f->also; also && *also; also++)
    if (x <= *also && *also < up) up = *also;
  return up;
}

static double ratio(int32_t a, int32_t b) { return a > b ? (double)a / b : (double)b / a; }

double mlaf_point_times_apart(const mlaf_point *p, const mlaf_point *q) {
  double times = 1;
  for (int i = 0; i < p->op->n_fields; i++)
    if (p->op->fields[i].role == MLAF_SIZE) times *= ratio(p->v[i], q->v[i]);
  return times;
}

double mlaf_point_doublings(const mlaf_point *p, const mlaf_point *q) { return log2(mlaf_point_times_apart(p, q)); }

void mlaf_point_round(mlaf_point *p) {
  for (int i = 0; i < p->op->n_fields; i++) {
    const mlaf_field *f = &p->op->fields[i];
    if (f->role != MLAF_SIZE) continue;
    const int32_t up = mlaf_field_round(f, p->v[i]);
    p->v[i] = up < f->max ? up : f->max;
  }
}

double mlaf_point_distance(const mlaf_point *p, const mlaf_point *q) {
  mlaf_point a = *p, b = *q;
  mlaf_point_round(&a);
  mlaf_point_round(&b);
  return mlaf_point_order(&a, &b) ? mlaf_point_doublings(p, q) : 0;
}

int mlaf_point_first_of_equals(const mlaf_point *p, const mlaf_point *a, const mlaf_point *b) {
  int last = -1;
  for (int i = 0; i < p->op->n_fields; i++)
    if (p->op->fields[i].role == MLAF_SIZE) last = i;
  for (int i = 0; i < last; i++) {
    if (p->op->fields[i].role != MLAF_SIZE) continue;
    const double x = ratio(p->v[i], a->v[i]), y = ratio(p->v[i], b->v[i]);
    if (x != y) return x < y ? -1 : 1;
  }
  for (int i = 0; i <= last; i++)
    if (p->op->fields[i].role == MLAF_SIZE && a->v[i] != b->v[i]) return a->v[i] < b->v[i] ? -1 : 1;
  return 0;
}
