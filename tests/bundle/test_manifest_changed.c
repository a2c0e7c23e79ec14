/* Manifests that somebody changed and sealed again: what does not fit is refused when the bundle is opened, and no text of a
 * manifest gets out of the comment that `embed` puts it in. */
#include "bundle/bundle.h"
#include "cli/cli_fixture.h"
#include "run/built.h"

static struct {
  char dir[64], bundle[96], bad[96];
} at;

static int setup(void **state) {
  need_compiler("gfx942");
  built_cache();
  snprintf(at.dir, sizeof at.dir, "/tmp/mlaf-manifest-XXXXXX");
  if (!mkdtemp(at.dir)) return -1;
  snprintf(at.bundle, sizeof at.bundle, "%s/bundle", at.dir);
  snprintf(at.bad, sizeof at.bad, "%s/bad", at.dir);
  char *make = mlaf_format("'%s/mlaforge' generate --heads 5 --rank 64 --rope 32 --page-size 16 --ctx 512 --targets gfx942 "
                           "--out '%s' >/dev/null", getenv("MLAF_BUILD_DIR"), at.bundle);
  int failed = system(make);
  free(make);
  return failed;
}

static int teardown(void **state) {
  remove_tree(at.dir);
  return 0;
}

/* A copy of the bundle in which field `field` of the first line that begins with `kind` is `value`, sealed. */
static void change(const char *kind, int field, const char *value) {
  char *copy = mlaf_format("rm -rf '%s' && cp -r '%s' '%s'", at.bad, at.bundle, at.bad);
  char *path = mlaf_format("%s/" MLAF_BUNDLE_MANIFEST, at.bad), hash[MLAF_HASH_HEX];
  assert_int_equal(system(copy), 0);
  void *data = NULL;
  size_t size;
  mlaf_err err;
  assert_int_equal(mlaf_file_read(path, 1 << 20, &data, &size, &err), MLAF_OK);
  char *text = data, *start = mlaf_format("\n%s\t", kind);
  mlaf_text out = MLAF_TEXT_INIT(1 << 20);
  assert_true(strstr(text, start) && strstr(text, "# sha256 "));
  const size_t end = (size_t)(strstr(text, "# sha256 ") - text);
  size_t from = (size_t)(strstr(text, start) - text) + 1;
  for (; field > 0; field--) from += strcspn(text + from, "\t") + 1;
  const size_t behind = from + strcspn(text + from, "\t\n");
  mlaf_text_add(&out, text, from);
  mlaf_text_str(&out, value);
  mlaf_text_add(&out, text + behind, end - behind);
  mlaf_sha256_hex(out.data, out.len, hash);
  mlaf_text_fmt(&out, "# sha256 %s\n", hash);
  assert_int_equal(mlaf_file_publish(path, out.data, out.len, &err), MLAF_OK);
  mlaf_text_free(&out);
  free(copy), free(path), free(text), free(start);
}

TEST(what_does_not_fit_is_refused) {
  static const struct {
    const char *kind;
    int field;
    const char *value, *says;
  } cases[] = {{"plan", 7, "65536", "a knob that no kernel has"},
               {"plan", 7, "257", "a knob that no kernel has"},
               {"plan", 7, "513", "a knob that no kernel has"}, /* of a context of 512 tokens */
               {"plan", 7, "4294967296", "malformed plan"},
               {"plan", 7, "0", "malformed plan"},
               {"kernel", 1, "gfx942*/", "malformed kernel"},
               {"kernel", 2, "a\"b", "malformed kernel"},
               {"kernel", 2, "../../x", "malformed kernel"},
               {"kernel", 2, "", "malformed kernel"},
               {"target", 1, "gfx 942", "an unknown line"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mlaf_bundle *b = NULL;
    mlaf_err err = {MLAF_OK, ""};
    change(cases[i].kind, cases[i].field, cases[i].value);
    if (mlaf_bundle_open(at.bad, &b, &err) != MLAF_E_IO || !strstr(err.text, cases[i].says))
      fail_msg("case %zu: '%s' does not say '%s'", i, err.text, cases[i].says);
    assert_null(b);
  }
  mlaf_bundle *b = NULL;
  mlaf_err err = {MLAF_OK, ""};
  if (mlaf_bundle_open(at.bundle, &b, &err)) fail_msg("%s", err.text);
  mlaf_bundle_close(b);
}

/* Fields that may be any text: of a kernel its template, parameters and how it was tested; of a target its compiler. */
TEST(texts_stay_in_their_comment) {
  static const struct {
    const char *kind;
    int field;
  } fields[] = {{"kernel", 10}, {"kernel", 11}, {"kernel", 15}, {"target", 2}};
  static const char *const texts[] = {"*/ int x[-1]; /*", "*\\", "/*", "?" "?/", "\xff\xfe*\x1b/ *", "/", "*",
                                      "*?" "?/", "/*/", "//"};
  char *embed = mlaf_format("'%s/mlaforge' embed --from '%s' --out '%s/c' >/dev/null", getenv("MLAF_BUILD_DIR"), at.bad, at.dir);
  char *compile = mlaf_format("cc -std=c11 -Wall -Wextra -Wcomment -Wtrigraphs -Werror -pedantic -fsyntax-only "
                              "'%s/c/mlaf_kernels.c'", at.dir);
  for (size_t f = 0; f < sizeof fields / sizeof *fields; f++)
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
      change(fields[f].kind, fields[f].field, texts[i]);
      assert_int_equal(system(embed), 0);
      if (system(compile)) fail_msg("%s, field %d: '%s'", fields[f].kind, fields[f].field, texts[i]);
    }
  free(embed), free(compile);
}

TESTS(setup, teardown)
