/* Single requests, over whichever transport: disassemble, assemble, and compiles that run in this process. */
#include <poll.h>

#include "compile/blame.h"
#include "compile/elf.h"
#include "compile/internal.h"

enum { LOOK_MS = 100 }; /* between two looks at a worker's CPU time */
#define DISASSEMBLY_EPOCH "mlaforge disassembly 1" /* raise when the text's form changes */

/* malloc'ed copy with a NUL behind it. */
static void *copy_field(const mlaf_wire_field *f) {
  char *p = malloc(f->size + 1);
  if (!p) return NULL;
  if (f->size) memcpy(p, f->data, f->size);
  p[f->size] = 0;
  return p;
}

mlaf_status mlaf_compiler_answer(const mlaf_worker *w, mlaf_answer *out, mlaf_err *err) {
  mlaf_status status = (mlaf_status)w->header.status;
  mlaf_answer a = {NULL, w->reply[0].size, copy_field(&w->reply[1]), 0};
  memcpy(&a.seconds, w->reply[2].data, sizeof a.seconds);
  a.payload = copy_field(&w->reply[0]);
  if (!a.payload || !a.log) {
    free(a.payload);
    free(a.log);
    return mlaf_fail(err, MLAF_E_NOMEM, "no memory for the compiler's answer of %zu bytes", a.size);
  }
  if (status != MLAF_OK) {
    mlaf_fail(err, status, "%s", (const char *)a.payload);
    free(a.payload);
    a.payload = NULL;
    a.size = 0;
  }
  *out = a;
  return status;
}

static mlaf_tool tool_of(const mlaf_wire_field *target) { return mlaf_tool_of(target->data, target->size); }

static mlaf_status request_once(mlaf_compiler *c, mlaf_wire_kind kind, const mlaf_wire_field fields[3], mlaf_answer *out,
                                  mlaf_err *err) {
  mlaf_worker *w = NULL;
  mlaf_status status = mlaf_compiler_take_worker(c, tool_of(&fields[0]), true, &w, err);
  if (status != MLAF_OK) return status;
  status = mlaf_worker_send(w, kind, fields, c->timeout_s, err);
  if (status != MLAF_OK) {
    mlaf_compiler_give_worker(c, w);
    return status;
  }
  mlaf_worker_state state;
  while ((state = mlaf_worker_step(w)) == MLAF_WORKER_BUSY && (state = mlaf_worker_pace(w)) == MLAF_WORKER_BUSY) {
    struct pollfd p = {w->fd, mlaf_worker_events(w), 0};
    poll(&p, 1, LOOK_MS);
  }
  if (state == MLAF_WORKER_DONE) {
    status = mlaf_compiler_answer(w, out, err);
    mlaf_compiler_give_worker(c, w);
    return status;
  }
  status = mlaf_worker_bury(w, state, err);
  mlaf_compiler_give_worker(c, NULL);
  mlaf_compiler_count(c, status == MLAF_E_TIMEOUT ? MLAF_COUNT_TIMEOUT : MLAF_COUNT_CRASH);
  return status;
}

static mlaf_status request_worker(mlaf_compiler *c, mlaf_wire_kind kind, const mlaf_wire_field fields[3], mlaf_answer *out,
                                  mlaf_err *err) {
  mlaf_status status = request_once(c, kind, fields, out, err);
  return status == MLAF_E_KILLED ? request_once(c, kind, fields, out, err) : status; /* that was nobody's fault here */
}

static mlaf_status request_here(mlaf_compiler *c, mlaf_wire_kind kind, const mlaf_wire_field f[3], mlaf_answer *out,
                                mlaf_err *err) {
  mlaf_answer a = {NULL, 0, NULL, 0};
  char *target = copy_field(&f[0]), *source = copy_field(&f[2]);
  mlaf_status status = target && source ? MLAF_OK : mlaf_fail(err, MLAF_E_NOMEM, "no memory for a compile request");
  pthread_mutex_lock(&c->rocm_mutex);
  double start = mlaf_now();
  if (status == MLAF_OK) status = mlaf_compiler_load(c, tool_of(&f[0]), err);
  if (status == MLAF_OK && kind == MLAF_WIRE_COMPILE && tool_of(&f[0]) == MLAF_TOOL_NVRTC)
    status = mlaf_nvrtc_compile(c->nvrtc, target, f[1].data, f[1].size, source, &a.payload, &a.size, &a.log, err);
  else if (status == MLAF_OK && kind == MLAF_WIRE_COMPILE)
    status = mlaf_rocm_compile(c->rocm, target, f[1].data, f[1].size, source, &a.payload, &a.size, &a.log, err);
  else if (status == MLAF_OK && kind == MLAF_WIRE_DISASSEMBLE)
    status = mlaf_rocm_disassemble(c->rocm, target, f[1].data, f[1].size, &a.payload, &a.size, &a.log, err);
  else if (status == MLAF_OK)
    status = mlaf_rocm_assemble(c->rocm, target, source, f[2].size, &a.payload, &a.size, &a.log, err);
  a.seconds = mlaf_now() - start;
  pthread_mutex_unlock(&c->rocm_mutex);
  free(target);
  free(source);
  *out = a;
  return status;
}

mlaf_status mlaf_compiler_request(mlaf_compiler *c, mlaf_wire_kind kind, const mlaf_wire_field fields[3], mlaf_answer *out,
                                  mlaf_err *err) {
  return (mlaf_compiler_runs_here(c, tool_of(&fields[0]), true) ? request_here : request_worker)(c, kind, fields, out, err);
}

/* The same; what the machine is to blame for has its own status. */
static mlaf_status ask(mlaf_compiler *c, mlaf_wire_kind kind, const mlaf_wire_field fields[3], mlaf_answer *out, mlaf_err *err) {
  mlaf_err why = {MLAF_OK, ""};
  mlaf_status status = mlaf_compiler_request(c, kind, fields, out, &why);
  if (status != MLAF_OK) status = mlaf_blame(tool_of(&fields[0]), status, out->log, &why);
  return status == MLAF_OK ? MLAF_OK : mlaf_fail(err, status, "%s", why.text);
}

/* NVRTC has no disassembler and no assembler. */
static mlaf_status only_compiles(const char *target, mlaf_err *err) {
  return mlaf_fail(err, MLAF_E_ARG, "%.40s has no disassembler or assembler here; `cuobjdump -sass` shows a cubin", target);
}

mlaf_status mlaf_disassemble(mlaf_compiler *c, const char *target, const void *code, size_t size, char **text,
                             mlaf_err *err) {
  if (!target || !mlaf_cache_target_ok(target) || !code)
    return mlaf_fail(err, MLAF_E_ARG, "disassembly needs a code object and a target such as gfx942");
  if (mlaf_tool_of(target, strlen(target)) == MLAF_TOOL_NVRTC) return only_compiles(target, err);
  const void *parts[] = {DISASSEMBLY_EPOCH, target, code};
  size_t sizes[] = {strlen(DISASSEMBLY_EPOCH), strlen(target), size};
  char key[MLAF_HASH_HEX];
  mlaf_sha256_parts(parts, sizes, 3, key);
  mlaf_cache_label label = {.kind = MLAF_CACHE_TEXT, .target = target, .key = key};
  void *data;
  size_t n;
  if (mlaf_cache_load(&c->cache, &label, &data, &n, NULL) == MLAF_OK) {
    *text = data;
    return MLAF_OK;
  }
  mlaf_elf elf; /* what is no ELF is refused here, before a process is started for it */
  const void *image;
  size_t image_size;
  mlaf_status status = mlaf_code_object_find(target, code, size, &image, &image_size, err);
  if (status == MLAF_OK) status = mlaf_elf_open(image, image_size, &elf, err);
  if (status != MLAF_OK) return status;
  mlaf_wire_field fields[3] = {{target, strlen(target)}, {code, size}, {"", 0}};
  mlaf_answer a = {NULL, 0, NULL, 0};
  status = ask(c, MLAF_WIRE_DISASSEMBLE, fields, &a, err);
  free(a.log);
  if (status != MLAF_OK) return status;
  if (mlaf_compiler_identity(c, &label.toolchain, NULL) != MLAF_OK) label.toolchain = "";
  mlaf_cache_store(&c->cache, &label, a.payload, a.size);
  *text = a.payload;
  return MLAF_OK;
}

mlaf_status mlaf_assemble(mlaf_compiler *c, const char *target, const char *source, void **code, size_t *size,
                          mlaf_err *err) {
  if (!target || !mlaf_cache_target_ok(target) || !source)
    return mlaf_fail(err, MLAF_E_ARG, "assembling needs a source and a target such as gfx942");
  if (mlaf_tool_of(target, strlen(target)) == MLAF_TOOL_NVRTC) return only_compiles(target, err);
  mlaf_wire_field fields[3] = {{target, strlen(target)}, {"", 0}, {source, strlen(source)}};
  mlaf_answer a = {NULL, 0, NULL, 0};
  mlaf_status status = ask(c, MLAF_WIRE_ASSEMBLE, fields, &a, err);
  free(a.log);
  if (status != MLAF_OK) return status;
  *code = a.payload;
  *size = a.size;
  return MLAF_OK;
}
