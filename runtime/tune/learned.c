/* Errors of the model at the problems of a campaign so far. The same kernel at another size errs mostly by as much, so a
 * corrected estimate says at once which kernels are worth a timing. */
#include "tune/tune_internal.h"

enum { KERNEL_NAME = 200, TEMPLATE_NAME = 64 };

typedef struct lesson {
  mlaf_point problem;
  mlaf_lengths_kind lengths;
  char kernel[KERNEL_NAME], template_name[TEMPLATE_NAME]; /* kernel: the first one, as a variant's name has it */
  double off;    /* log of time over estimate */
  double beside; /* off, less the mean of its template's at that problem */
} lesson;

struct mlaf_learned {
  pthread_mutex_t lock;
  lesson *list;
  size_t n;
};

mlaf_learned *mlaf_learned_new(void) {
  mlaf_learned *l = calloc(1, sizeof *l);
  if (l) pthread_mutex_init(&l->lock, NULL);
  return l;
}

void mlaf_learned_free(mlaf_learned *l) {
  if (!l) return;
  pthread_mutex_destroy(&l->lock);
  free(l->list);
  free(l);
}

/* Doublings between the sizes of two problems. */
static double distance(const mlaf_point *a, const mlaf_point *b) {
  static const char *const sizes[] = {"batch", "ctx", "tokens"};
  double sum = 0;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    sum += fabs(log2((double)mlaf_point_value(a, sizes[i], 1) / mlaf_point_value(b, sizes[i], 1)));
  return sum;
}

static size_t kernel_part(const char *variant) { return strcspn(variant, "/"); }

static bool is_kernel(const lesson *x, const mlaf_variant *v) {
  const size_t n = kernel_part(v->name);
  return strlen(x->kernel) == n && !memcmp(x->kernel, v->name, n);
}

/* Problems of the same shape say the most. From other shapes follows only how kernels of a template differ: by how much all of
 * them are off depends on the shape. */
static double log_off(const mlaf_learned *l, tuner *t, const mlaf_variant *v) {
  double near = 0, far = 0, near_shares = 0, far_shares = 0;
  for (size_t i = 0; i < l->n; i++) {
    const lesson *x = &l->list[i];
    if (x->lengths != t->opts.lengths.kind || strcmp(x->problem.op->name, t->problem->op->name) || !is_kernel(x, v)) continue;
    const double d = distance(&x->problem, t->problem), share = 1 / (1 + d * d);
    if (mlaf_point_same_shape(&x->problem, t->problem)) near += share * x->off, near_shares += share;
    else far += share * x->beside, far_shares += share;
  }
  t->taught = t->taught || near_shares > 0 || far_shares > 0;
  return near_shares > 0 ? near / near_shares : far_shares > 0 ? far / far_shares : 0;
}

double mlaf_tuner_corrected(tuner *t, const mlaf_variant *v) {
  mlaf_learned *l = t->env->learned;
  if (!l) return v->model_ns;
  pthread_mutex_lock(&l->lock);
  const double off = log_off(l, t, v);
  pthread_mutex_unlock(&l->lock);
  return v->model_ns * exp(off);
}

static lesson *append(mlaf_learned *l) {
  return mlaf_room(&l->list, l->n, sizeof *l->list) ? &l->list[l->n++] : NULL;
}

static void set_beside(lesson *list, size_t n) {
  for (size_t i = 0; i < n; i++) {
    double sum = 0;
    int of = 0;
    for (size_t k = 0; k < n; k++)
      if (!strcmp(list[k].template_name, list[i].template_name)) sum += list[k].off, of++;
    list[i].beside = list[i].off - sum / of;
  }
}

/* Without memory the next problem starts from the model. */
void mlaf_tuner_learn(const tuner *t) {
  mlaf_learned *l = t->env->learned;
  if (!l) return;
  pthread_mutex_lock(&l->lock);
  const size_t first = l->n;
  for (size_t i = 0; i < t->n_own; i++) {
    const tune_candidate *c = &t->list[i];
    const mlaf_variant *v = c->variant;
    if (!t->counted[i] || c->state != TUNE_DONE || c->item.sample.outcome != MLAF_OUT_OK || v->model_ns <= 0) continue;
    lesson *x = append(l);
    if (!x) break;
    *x = (lesson){.problem = *t->problem, .lengths = t->opts.lengths.kind, .off = log(c->item.sample.timing.ns / v->model_ns)};
    snprintf(x->kernel, sizeof x->kernel, "%.*s", (int)kernel_part(v->name), v->name);
    snprintf(x->template_name, sizeof x->template_name, "%s", v->kernels[0].template_name);
  }
  set_beside(l->list + first, l->n - first);
  pthread_mutex_unlock(&l->lock);
}
