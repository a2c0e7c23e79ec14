/* `mlaforge embed`: the kernels of a bundle as C, and the loader that belongs to them. */
#include <ctype.h>
#include <dirent.h>

#include "bundle/bundle.h"
#include "cli/cli.h"
#include "cli/embedded_text.h"
#include "compile/compile.h"
#include "op/op.h"

#define SOURCE_MAX ((size_t)2 << 30)
/* Notice at the head of each file, as the loader's files have it. */
#define NOTICE \
  "/* SPDX-License-Identifier: MIT */\n/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */\n"

enum { OPS_MAX = 64 };

typedef struct embedding {
  cli *c;
  const mlaf_bundle *b;
  const char *name;
  const mlaf_op *ops[OPS_MAX + 1];
  int n_ops;
  size_t targets, kernels, rows, bytes;
} embedding;

/* Words that C or C++ keep for themselves, macros and types that embedded files meet, and headers of C and POSIX that NAME.h
 * would hide from files that search its folder. */
static bool is_taken(const char *s) {
  static const char taken[] =
      " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class "
      "co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue contract_assert "
      "decltype default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline "
      "int long main mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public "
      "register reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct "
      "switch template this thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using "
      "virtual void volatile wchar_t while xor xor_eq "
      "linux unix NULL size_t ptrdiff_t max_align_t nullptr_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t "
      "intptr_t uintptr_t intmax_t uintmax_t "
      "assert complex ctype errno fenv inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic stdbit stdbool "
      "stdckdint stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype "
      "aio alloca cpio dirent dlfcn elf endian fcntl features fmtmsg fnmatch ftw glob grp iconv langinfo libgen libintl link "
      "malloc memory monetary mqueue ndbm netdb nl_types poll pthread pwd regex sched search semaphore spawn strings stropts "
      "sysexits syslog tar termios ulimit unistd utime utmpx wordexp ";
  char word[64];
  return snprintf(word, sizeof word, " %s ", s) < (int)sizeof word && strstr(taken, word);
}

static bool is_word(const char *s) {
  if (is_taken(s) || (!isalpha((unsigned char)*s) && *s != '_')) return false;
  if (*s == '_' && (s[1] == '_' || isupper((unsigned char)s[1]))) return false; /* C's: _Bool, __func__ */
  for (; *s; s++)
    if (!isalnum((unsigned char)*s) && *s != '_') return false;
  return true;
}

static int op_number(const embedding *x, const mlaf_op *op) {
  int i = 0;
  while (i < x->n_ops && x->ops[i] != op) i++;
  return i;
}

/* --targets, or all there are. */
static bool wants(const embedding *x, const char *target) {
  const char *list = x->c->given[O_TARGETS];
  const size_t n = strlen(target);
  if (!list) return true;
  for (const char *at = list; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ','))
    if (strcspn(at, ",") == n && !strncmp(at, target, n)) return true;
  return false;
}

static mlaf_status check_targets(const embedding *x) {
  cli *c = x->c;
  for (const char *at = c->given[O_TARGETS]; at && *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ","), at);
    if (*name && !mlaf_bundle_has_target(x->b, name))
      return mlaf_fail(&c->err, MLAF_E_ARG, "the bundle '%s' has no kernels for '%s'", x->b->dir, name);
  }
  return MLAF_OK;
}

/* --- the C text --- */

/* Texts of a manifest within a comment: nothing in it may end it, begin another, continue its line or be a trigraph. */
static void comment(mlaf_text *out, const char *text) {
  char last = 0;
  for (const char *p = text; *p; p++) {
    const char ch = (unsigned char)*p < 0x20 || (unsigned char)*p > 0x7e || *p == '\\' ? '.' : *p;
    if ((last == '*' && ch == '/') || (last == '/' && ch == '*') || (last == '?' && ch == '?')) mlaf_text_add(out, " ", 1);
    mlaf_text_add(out, &ch, 1);
    last = ch;
  }
}

/* Code objects as numbers: compilers take long lists of them, but not long strings. 4096: what drivers map pages by. */
static void code_array(const embedding *x, const mlaf_bundle_kernel *k, const unsigned char *code, mlaf_text *out) {
  static const char digits[] = "0123456789";
  char line[160];
  size_t at = 0;
  const char *const says[] = {k->target, " ", k->symbol, ": ", k->template_name, " ", k->params, ", ", k->tested};
  mlaf_text_str(out, "/* ");
  for (size_t i = 0; i < sizeof says / sizeof *says; i++) comment(out, says[i]);
  mlaf_text_fmt(out, " */\n_Alignas(4096) static const unsigned char code_%s[%zu] = {\n", k->sha256, k->size);
  for (size_t i = 0; i < k->size; i++) {
    const unsigned v = code[i];
    if (v >= 100) line[at++] = digits[v / 100];
    if (v >= 10) line[at++] = digits[v / 10 % 10];
    line[at++] = digits[v % 10];
    line[at++] = ',';
    if (at > 120 || i + 1 == k->size) {
      line[at++] = '\n';
      mlaf_text_add(out, line, at);
      at = 0;
    }
  }
  mlaf_text_str(out, "};\n");
}

/* Equal code objects are one array. */
static bool is_first(const mlaf_bundle *b, const mlaf_bundle_kernel *k) {
  for (const mlaf_bundle_kernel *x = b->kernels; x < k; x++)
    if (!strcmp(x->sha256, k->sha256)) return false;
  return true;
}

static void kernel_entry(const mlaf_bundle_kernel *k, const mlaf_kernel_launch *l, mlaf_text *out) {
  mlaf_text_fmt(out, "  {code_%s, \"%s\", %u, %u, %u, %u,\n   {.dynamic_shared = %u, .cluster = {%u, %u, %u}, .flags = %u, ",
                k->sha256, k->symbol, k->threads, k->rows_per_wg, k->step, k->slots, l->dynamic_shared, l->cluster[0],
                l->cluster[1], l->cluster[2], l->flags);
  mlaf_text_fmt(out, ".per_cu = %u, .values = %u, .n_maps = %u, .maps = {", l->per_cu, l->values, l->n_maps);
  for (uint32_t i = 0; i < l->n_maps; i++)
    mlaf_text_fmt(out, "%s{%u, %u, %u, %u}", i ? ", " : "", l->maps[i].of, l->maps[i].cols, l->maps[i].rows, l->maps[i].swizzle);
  mlaf_text_str(out, l->n_maps ? "}}},\n" : "{0, 0, 0, 0}}}},\n");
}

static mlaf_status kernels_of(embedding *x, const char *target, mlaf_text *arrays, mlaf_text *entries) {
  mlaf_status st = MLAF_OK;
  for (size_t i = 0; st == MLAF_OK && i < x->b->n_kernels; i++) {
    const mlaf_bundle_kernel *k = &x->b->kernels[i];
    mlaf_kernel_launch launch;
    void *code = NULL;
    if (strcmp(k->target, target)) continue;
    st = mlaf_bundle_code(x->b, k, &code, &x->c->err);
    if (st == MLAF_OK) st = mlaf_code_launch(code, k->size, k->symbol, &launch, &x->c->err);
    if (st == MLAF_OK && launch.flags != k->flags) /* what the manifest says was checked with its plans */
      st = mlaf_fail(&x->c->err, MLAF_E_IO, "%s: its flags are %u, the bundle's manifest says %u: make the bundle again",
                     k->symbol, launch.flags, k->flags);
    if (st == MLAF_OK) {
      if (is_first(x->b, k)) code_array(x, k, code, arrays);
      kernel_entry(k, &launch, entries);
      x->kernels++;
      x->bytes += k->size;
    }
    free(code);
  }
  return st;
}

/* Number of a kernel among those of its target, from 1; 0: none. */
static int number_of(const mlaf_bundle *b, const mlaf_bundle_kernel *k) {
  int n = 1;
  if (!k) return 0;
  for (const mlaf_bundle_kernel *x = b->kernels; x < k; x++) n += !strcmp(x->target, k->target);
  return n;
}

static size_t rows_of(embedding *x, const char *target, mlaf_text *out) {
  size_t n = 0;
  for (size_t i = 0; i < x->b->n_plans; i++) {
    const mlaf_bundle_plan *p = &x->b->plans[i];
    if (strcmp(p->target, target)) continue;
    mlaf_text_fmt(out, "  {%d, {", op_number(x, p->problem.op));
    for (int f = 0; f < p->problem.op->n_fields; f++) mlaf_text_fmt(out, "%s%d", f ? ", " : "", p->problem.v[f]);
    mlaf_text_fmt(out, "}, %d, %u, {", p->baseline, p->knob);
    for (int s = 0; s < MLAF_STAGES_MAX; s++) mlaf_text_fmt(out, "%s%d", s ? ", " : "", number_of(x->b, p->kernels[s]));
    mlaf_text_str(out, "}},\n");
    n++;
  }
  return n;
}

/* --- operations --- */

/* Those that a wanted target has plans of, in the order of the first. */
static void find_ops(embedding *x) {
  for (size_t i = 0; i < x->b->n_plans; i++) {
    const mlaf_bundle_plan *p = &x->b->plans[i];
    if (wants(x, p->target) && op_number(x, p->problem.op) == x->n_ops) x->ops[x->n_ops++] = p->problem.op;
  }
}

static void op_table(const embedding *x, mlaf_text *out) {
  mlaf_text_str(out, "static const mlaf_embed_index_op ops[] = {");
  for (int o = 0; o < x->n_ops; o++)
    mlaf_text_fmt(out, "%s{\"%s\", %d}", o ? ", " : "", x->ops[o]->name, x->ops[o]->n_fields);
  mlaf_text_str(out, "};\n");
}

/* --- the files --- */

static bool serves(const mlaf_embedded_file *f, const mlaf_op *op) {
  const size_t n = strlen(op->name);
  const char *at = f->ops;
  while (*at && (strncmp(at, op->name, n) || at[n] != ' ')) at += strcspn(at, " ") + 1;
  return *at;
}

static bool belongs(const embedding *x, const mlaf_embedded_file *f) {
  bool some = !*f->ops;
  for (int o = 0; o < x->n_ops && !some; o++) some = serves(f, x->ops[o]);
  return some;
}

static mlaf_status check_loaders(const embedding *x) {
  for (int o = 0; o < x->n_ops; o++) {
    const mlaf_embedded_file *f = mlaf_embedded_files;
    while (f->name && !serves(f, x->ops[o])) f++;
    if (!f->name)
      return mlaf_fail(&x->c->err, MLAF_E_ARG, "the bundle has plans of %s, which nothing launches from C yet "
                       "(runtime/ops/%s/embed.lua): leave them out of the bundle", x->ops[o]->name, x->ops[o]->name);
  }
  return MLAF_OK;
}

static mlaf_status source(embedding *x, mlaf_text *out) {
  mlaf_text entries = MLAF_TEXT_INIT((size_t)64 << 20), targets = MLAF_TEXT_INIT((size_t)1 << 20);
  mlaf_status st = MLAF_OK;
  mlaf_text_fmt(out, NOTICE "/* Written by mlaforge embed from the bundle %s. Do not edit. */\n#include \"%s.h\"\n\n",
                x->b->hash, x->name);
  for (size_t i = 0; st == MLAF_OK && i < x->b->n_targets; i++) {
    const char *target = x->b->targets[i].name;
    if (!wants(x, target)) continue;
    const size_t before = x->kernels;
    mlaf_text_fmt(&entries, "static const mlaf_embed_kernel kernels_%zu[] = {\n", i);
    st = kernels_of(x, target, out, &entries);
    mlaf_text_fmt(&entries, "};\n/* operation {fields} baseline knob {kernels} */\n"
                  "static const mlaf_embed_row rows_%zu[] = {\n", i);
    const size_t rows = rows_of(x, target, &entries);
    mlaf_text_str(&entries, "};\n");
    mlaf_text_fmt(&targets, "  {\"%s\", kernels_%zu, rows_%zu, %zu, %zu}, /* ", target, i, i, x->kernels - before, rows);
    comment(&targets, x->b->targets[i].compiler);
    mlaf_text_str(&targets, " */\n");
    x->rows += rows;
    x->targets++;
  }
  if (entries.data) mlaf_text_str(out, entries.data);
  op_table(x, out);
  mlaf_text_fmt(out,
                "static const mlaf_embed_target targets[] = {\n%s};\nconst mlaf_embed_index %s = {MLAF_EMBED_VERSION, "
                "%zu, \"%s\", targets, ops, %d};\n", targets.data ? targets.data : "", x->name, x->targets, x->b->hash, x->n_ops);
  if (st == MLAF_OK && (out->failed || entries.failed || targets.failed))
    st = mlaf_fail(&x->c->err, MLAF_E_NOMEM, "no memory for the C text of %zu kernels", x->kernels);
  mlaf_text_free(&entries);
  mlaf_text_free(&targets);
  return st;
}

static void header(const embedding *x, mlaf_text *out) {
  mlaf_text_fmt(out,
                NOTICE "/* Written by mlaforge embed from the bundle %s. Do not edit. */\n"
                "#ifndef %s_INCLUDED\n#define %s_INCLUDED\n\n", x->b->hash, x->name, x->name);
  for (int o = 0; o < x->n_ops; o++) mlaf_text_fmt(out, "#include \"mlaf_embed_%s.h\"\n", x->ops[o]->name);
  mlaf_text_fmt(out,
                "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n/* For mlaf_embed_open. */\n"
                "extern const mlaf_embed_index %s;\n\n#ifdef __cplusplus\n}\n#endif\n#endif\n", x->name);
}

/* --- the command --- */

static mlaf_status publish(cli *c, const char *name, const char *suffix, const char *text, size_t size) {
  char *path = mlaf_format("%s/%s%s", c->given[O_OUT], name, suffix);
  mlaf_status st = path && text ? mlaf_file_write(path, text, size, &c->err)
                                : mlaf_fail(&c->err, MLAF_E_NOMEM, "no memory to write %s%s", name, suffix);
  free(path);
  return st;
}

static mlaf_status write_files(embedding *x) {
  mlaf_text c_text = MLAF_TEXT_INIT(SOURCE_MAX), h_text = MLAF_TEXT_INIT(1 << 16);
  mlaf_status st = source(x, &c_text);
  header(x, &h_text);
  if (st == MLAF_OK) st = mlaf_dir_make_open(x->c->given[O_OUT], &x->c->err);
  for (const mlaf_embedded_file *f = mlaf_embedded_files; st == MLAF_OK && f->name; f++)
    if (belongs(x, f)) st = publish(x->c, f->name, "", f->text, strlen(f->text));
  if (st == MLAF_OK) st = publish(x->c, "LICENSE", ".mlaforge", mlaf_embed_license, strlen(mlaf_embed_license));
  if (st == MLAF_OK) st = publish(x->c, x->name, ".h", h_text.data, h_text.len);
  if (st == MLAF_OK) st = publish(x->c, x->name, ".c", c_text.data, c_text.len);
  mlaf_text_free(&c_text);
  mlaf_text_free(&h_text);
  return st;
}

static bool is_written(const embedding *x, const char *name) {
  for (const mlaf_embedded_file *f = mlaf_embedded_files; f->name; f++)
    if (!strcmp(f->name, name)) return belongs(x, f);
  return false;
}

/* The loader's files that lie there from an earlier embedding: a project that compiles all there is would compile them, too. */
static void warn_of_older(const embedding *x) {
  mlaf_text names = MLAF_TEXT_INIT(1 << 16);
  DIR *d = opendir(x->c->given[O_OUT]);
  for (struct dirent *e; d && (e = readdir(d));)
    if (!strncmp(e->d_name, "mlaf_embed", 10) && !is_written(x, e->d_name)) mlaf_text_fmt(&names, " %s", e->d_name);
  if (d) closedir(d);
  if (names.len)
    mlaf_log_line(&x->c->log, MLAF_LOG_WARN, "%s holds files of an earlier embedding, which this one does not have: remove%s",
                  x->c->given[O_OUT], names.data);
  mlaf_text_free(&names);
}

int mlaf_cli_embed(cli *c) {
  mlaf_bundle *b = NULL;
  if (!c->given[O_FROM] || !c->given[O_OUT]) return mlaf_cli_usage(c, "embed wants --from BUNDLE and --out DIR");
  embedding x = {.c = c, .name = c->given[O_NAME] ? c->given[O_NAME] : "mlaf_kernels"};
  if (!is_word(x.name) || !strncmp(x.name, "mlaf_embed", 10))
    return mlaf_cli_usage(c, "--name '%s' must be a C name that does not begin with mlaf_embed, no word of C or C++ and no "
                             "header of C or POSIX", x.name);
  mlaf_status st = mlaf_bundle_open(c->given[O_FROM], &b, &c->err);
  x.b = b;
  if (st == MLAF_OK) st = check_targets(&x);
  if (st == MLAF_OK) find_ops(&x);
  if (st == MLAF_OK) st = check_loaders(&x);
  if (st == MLAF_OK) st = write_files(&x);
  if (st == MLAF_OK) warn_of_older(&x);
  if (st == MLAF_OK && c->json) {
    mlaf_cli_print("embed", TEXT("directory", c->given[O_OUT]), TEXT("name", x.name), TEXT("bundle", b->hash),
                   NUMBER("targets", x.targets), NUMBER("kernels", x.kernels), NUMBER("rows", x.rows),
                   NUMBER("code_bytes", x.bytes));
  } else if (st == MLAF_OK) {
    printf("%zu kernels (%.2f MB) and %zu rows for %zu targets in %s: %s.h %s.c", x.kernels, (double)x.bytes / 1e6, x.rows,
           x.targets, c->given[O_OUT], x.name, x.name);
    for (const mlaf_embedded_file *f = mlaf_embedded_files; f->name; f++)
      if (belongs(&x, f)) printf(" %s", f->name);
    puts(" LICENSE.mlaforge");
  }
  mlaf_bundle_close(b);
  return st == MLAF_OK ? CLI_OK : mlaf_cli_fail(c);
}
