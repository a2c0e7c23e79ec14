/* Opening a bundle, finding plans in it, loading code from it. */
#include <errno.h>

#include "bundle/bundle.h"
#include "op/calls.h"
#include "mlaf_limits.h"

#define MANIFEST_MAX ((size_t)256 << 20)
#define CODE_MAX ((size_t)256 << 20)
static const char trailer[] = "# sha256 ";
enum { FIELDS_MAX = 16, HEX = MLAF_HASH_HEX - 1, TRAILER = sizeof trailer - 1 + HEX + 1 };

static const char remake[] = "make it again with the `mlaforge generate` command that made it, or copy it again";

/* --- the manifest --- */

/* Cut the trailer off; false when the text is not what its trailer says. */
static bool check_hash(char *text, size_t *size, char hash[MLAF_HASH_HEX]) {
  if (*size <= TRAILER || memchr(text, 0, *size)) return false;
  char *tail = text + *size - TRAILER;
  if (tail[-1] != '\n' || memcmp(tail, trailer, sizeof trailer - 1) || tail[TRAILER - 1] != '\n') return false;
  mlaf_sha256_hex(text, *size - TRAILER, hash);
  if (!hash[0] || memcmp(hash, tail + sizeof trailer - 1, HEX)) return false;
  *size -= TRAILER;
  *tail = 0;
  return true;
}

typedef struct line_reader {
  mlaf_bundle *b;
  char *fields[FIELDS_MAX];
  int n;
  long number;
  mlaf_err *err;
} line_reader;

static mlaf_status bad(const line_reader *r, const char *what) {
  return mlaf_fail(r->err, MLAF_E_IO, "%s/" MLAF_BUNDLE_MANIFEST ":%ld: %s: it was written by another version; %s", r->b->dir,
                   r->number, what, remake);
}

static bool number(const char *text, unsigned long long max, unsigned long long *out) {
  char *end;
  if (*text < '0' || *text > '9') return false;
  errno = 0;
  *out = strtoull(text, &end, 10);
  return !*end && !errno && *out <= max;
}

static bool real(const char *text, double *out) {
  char *end;
  *out = mlaf_strtod(text, &end);
  return *text && !*end && isfinite(*out);
}

/* A name that goes into paths, C and a driver's calls: an identifier. */
static bool identifier(const char *text) {
  static const char known[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  return *text && !(*text >= '0' && *text <= '9') && !text[strspn(text, known)];
}

static bool hex(const char *text) { return strlen(text) == HEX && strspn(text, "0123456789abcdef") == HEX; }

/* kernel  target symbol sha256 size threads rows_per_wg step slots flags template params template_hash src_hash key
 * tested */
static mlaf_status read_kernel(line_reader *r) {
  char **f = r->fields;
  unsigned long long size, threads, rows, step, slots, flags;
  if (r->n != 16 || !identifier(f[1]) || !identifier(f[2]) || !hex(f[3]) || !number(f[4], CODE_MAX, &size) ||
      !number(f[5], 1024, &threads) ||
      !number(f[6], UINT32_MAX, &rows) || !threads || !rows || !number(f[7], UINT32_MAX, &step) ||
      !number(f[8], UINT32_MAX, &slots) || !number(f[9], UINT32_MAX, &flags))
    return bad(r, "malformed kernel");
  r->b->kernels[r->b->n_kernels++] = (mlaf_bundle_kernel){f[1], f[2], f[3], (size_t)size, (uint32_t)threads, (uint32_t)rows,
                                                          (uint32_t)step, (uint32_t)slots, (uint32_t)flags, f[10], f[11],
                                                          f[12], f[13], f[14], f[15]};
  return MLAF_OK;
}

static int by_name(const void *a, const void *b) {
  const mlaf_bundle_kernel *x = a, *y = b;
  int c = strcmp(x->target, y->target);
  return c ? c : strcmp(x->symbol, y->symbol);
}

/* The manifest is sorted, so its kernels are. */
const mlaf_bundle_kernel *mlaf_bundle_kernel_of(const mlaf_bundle *b, const char *target, const char *symbol) {
  const mlaf_bundle_kernel key = {.target = target, .symbol = symbol};
  return bsearch(&key, b->kernels, b->n_kernels, sizeof key, by_name);
}

/* plan  target problem role rung source variant knob ns error kernel... */
static mlaf_status read_plan(line_reader *r) {
  char **f = r->fields;
  enum { AT_KERNELS = 10 };
  unsigned long long knob;
  mlaf_bundle_plan p = {0};
  if (r->n <= AT_KERNELS || r->n > AT_KERNELS + MLAF_STAGES_MAX || (strcmp(f[3], "choice") && strcmp(f[3], "baseline")) ||
      !number(f[7], UINT32_MAX, &knob) || !knob || !real(f[8], &p.ns) || !real(f[9], &p.error) ||
      mlaf_point_parse(NULL, f[2], &p.problem, NULL, 0))
    return bad(r, "malformed plan");
  p.target = f[1];
  p.text = f[2];
  p.baseline = f[3][0] == 'b';
  p.rung = f[4];
  p.source = f[5];
  p.variant = f[6];
  p.knob = (uint32_t)knob;
  for (int i = AT_KERNELS; i < r->n; i++) {
    const bool none = i > AT_KERNELS && !strcmp(f[i], "-");
    p.kernels[i - AT_KERNELS] = none ? NULL : mlaf_bundle_kernel_of(r->b, f[1], f[i]);
    if (!none && !p.kernels[i - AT_KERNELS]) return bad(r, "a plan without its kernel");
  }
  const mlaf_calls *calls = p.problem.op->calls;
  if (knob > (calls->knob_most ? calls->knob_most(&p.problem, p.kernels[0]->step) : 1))
    return bad(r, "a knob that no kernel has");
  if (!p.kernels[1] && calls->needs_second && (p.knob > 1 || calls->needs_second(p.kernels[0]->flags)))
    return bad(r, "a plan whose first kernel leaves pieces, and no second one");
  r->b->plans[r->b->n_plans++] = p;
  return MLAF_OK;
}

/* Lines come in the order generator, target, kernel, plan, dropped: what a line names stands above it. */
static mlaf_status read_line(line_reader *r, char *line) {
  r->n = 0;
  for (char *f = line, *next; f; f = next) {
    if (r->n == FIELDS_MAX) return bad(r, "too many fields");
    next = strchr(f, '\t');
    if (next) *next++ = 0;
    r->fields[r->n++] = f;
  }
  const char *kind = r->fields[0];
  if (!strcmp(kind, "kernel")) return read_kernel(r);
  if (!strcmp(kind, "plan")) return read_plan(r);
  if (!strcmp(kind, "generator") && r->n == 2) r->b->generator = r->fields[1];
  else if (!strcmp(kind, "target") && r->n == 3 && identifier(r->fields[1]))
    r->b->targets[r->b->n_targets++] = (mlaf_bundle_target){r->fields[1], r->fields[2]};
  else if (!strcmp(kind, "dropped")) r->b->n_dropped++;
  else return bad(r, "an unknown line");
  return MLAF_OK;
}

static mlaf_status parse(mlaf_bundle *b, mlaf_err *err) {
  size_t lines = 1;
  for (const char *s = b->text; (s = strchr(s, '\n')); s++) lines++;
  b->targets = calloc(lines, sizeof *b->targets);
  b->kernels = calloc(lines, sizeof *b->kernels);
  b->plans = calloc(lines, sizeof *b->plans);
  if (!b->targets || !b->kernels || !b->plans) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for bundle '%s'", b->dir);
  line_reader r = {.b = b, .err = err};
  mlaf_status st = MLAF_OK;
  for (char *line = b->text, *next; !st && *line; line = next) {
    next = strchr(line, '\n'); /* the hashed text ends with one */
    *next++ = 0;
    r.number++;
    if (*line && *line != '#') st = read_line(&r, line);
  }
  return st;
}

/* Length of the first line, as far as a message shows it. mlaf_file_read puts a NUL behind a file. */
static int first_line(const char *text) {
  const size_t n = strcspn(text, "\n");
  return n < 40 ? (int)n : 40;
}

static bool begins(const char *text, size_t size, const char *with) {
  return size >= strlen(with) && !memcmp(text, with, strlen(with));
}

static mlaf_status read_manifest(mlaf_bundle *b, mlaf_err *err) {
  void *text = NULL;
  size_t size;
  char *path = mlaf_format("%s/" MLAF_BUNDLE_MANIFEST, b->dir);
  if (!path) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for bundle '%s'", b->dir);
  mlaf_status st = mlaf_file_read(path, MANIFEST_MAX, &text, &size, err);
  if (st) {
    mlaf_fail_prefix(err, st, "'%s' is no complete bundle (an interrupted `mlaforge generate` completes when it is run again)",
                     b->dir);
  } else {
    b->text = text;
    if (!begins(text, size, MLAF_BUNDLE_HEADER) && !begins(text, size, MLAF_BUNDLE_HEADER_3))
      st = mlaf_fail(err, MLAF_E_IO, "'%s' is not the manifest of a bundle of this version: it begins with '%.*s', not '%.*s'; "
                     "%s",
                     path, first_line(text), (char *)text, (int)strlen(MLAF_BUNDLE_HEADER) - 1, MLAF_BUNDLE_HEADER, remake);
    else if (!check_hash(text, &size, b->hash))
      st = mlaf_fail(err, MLAF_E_IO, "'%s' is damaged: it does not agree with the hash in its last line; %s", path, remake);
  }
  free(path);
  return st ? st : parse(b, err);
}

mlaf_status mlaf_bundle_open(const char *dir, mlaf_bundle **out, mlaf_err *err) {
  mlaf_bundle *b = calloc(1, sizeof *b);
  if (!b || !(b->dir = mlaf_strdup(dir))) {
    free(b);
    return mlaf_fail(err, MLAF_E_NOMEM, "no memory for bundle '%s'", dir);
  }
  b->generator = "";
  mlaf_status st = read_manifest(b, err);
  if (st) mlaf_bundle_close(b);
  else *out = b;
  return st;
}

void mlaf_bundle_close(mlaf_bundle *b) {
  if (!b) return;
  free(b->targets);
  free(b->kernels);
  free(b->plans);
  free(b->text);
  free(b->dir);
  free(b);
}

/* --- code --- */

mlaf_status mlaf_bundle_code(const mlaf_bundle *b, const mlaf_bundle_kernel *k, void **code, mlaf_err *err) {
  char hash[MLAF_HASH_HEX];
  size_t size;
  void *data = NULL;
  char *path = mlaf_format("%s/code/%s.co", b->dir, k->sha256);
  if (!path) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a path");
  mlaf_status st = mlaf_file_read(path, CODE_MAX, &data, &size, err);
  if (!st) {
    mlaf_sha256_hex(data, size, hash);
    if (size != k->size || !hash[0] || strcmp(hash, k->sha256))
      st = mlaf_fail(err, MLAF_E_IO, "'%s' is damaged (%zu bytes, %zu expected; its hash does not agree); %s", path, size,
                     k->size,
                     remake);
  }
  free(path);
  if (st) free(data);
  else *code = data;
  return st;
}
