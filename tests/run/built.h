/* A real kernel for tests: a variant of a problem, generated and compiled. */
#pragma once

#include "cmocka_all.h"
#include "run/build.h"
#include "need.h"
#include "point.h"

typedef struct built {
  mlaf_gen *gen;
  mlaf_compiler *compiler;
  mlaf_problem problem;
  mlaf_build build;
} built;

/* Code objects of tests go to the build's folder, not to the user's cache. */
static inline void built_cache(void) {
  char dir[512];
  snprintf(dir, sizeof dir, "%s/test-cache", getenv("MLAF_BUILD_DIR") ? getenv("MLAF_BUILD_DIR") : ".");
  setenv("MLAF_CACHE_DIR", dir, 0);
}

static inline void built_close(built *b) {
  mlaf_build_clear(&b->build);
  mlaf_compiler_close(b->compiler);
  mlaf_gen_close(b->gen);
}

/* The baseline variant (NULL name) or the named variant. */
static inline void built_open(built *b, const char *problem, const char *name) {
  mlaf_err err = {MLAF_OK, ""};
  mlaf_variant v = {.name = NULL};
  int compiles = 0;
  *b = (built){.gen = NULL};
  built_cache();
  need_compiler("gfx942");
  assert_int_equal(mlaf_problem_parse(problem, &b->problem, err.text, sizeof err.text), MLAF_OK);
  if (mlaf_gen_open(NULL, &b->gen, &err) || mlaf_compiler_open(NULL, NULL, &b->compiler, &err))
    fail_msg("%s", err.text);
  mlaf_status st = name ? mlaf_gen_variant(b->gen, mlaf_point_text(pt(&b->problem)).s, "gfx942", name, &v, &err)
                        : mlaf_gen_baseline(b->gen, mlaf_point_text(pt(&b->problem)).s, "gfx942", &v, &err);
  if (!st) st = mlaf_build_init(&v, &b->build, &err);
  if (!st) st = mlaf_build_now(&b->build, b->gen, b->compiler, "gfx942", true, &compiles, &err);
  if (st) fail_msg("%s", err.text);
  mlaf_variant_clear(&v);
}
