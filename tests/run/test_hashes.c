/* Remembered hashes: a cache folder that lives long has more kernels than there are places for them. */
#include <libgen.h>

#include "cmocka_all.h"
#include "run/hashes.h"

static char *numbered(char *out, unsigned i) {
  snprintf(out, MLAF_HASH_HEX, "%064x", i);
  return out;
}

/* A choice whose template's hash found no place was taken for one of another template. */
TEST(what_was_put_last_is_found) {
  static mlaf_hashes h;
  char hash[MLAF_HASH_HEX], name[32];
  for (unsigned i = 0; i < 3 * MLAF_HASHES_MAX; i++) {
    snprintf(name, sizeof name, "kernel %u", i);
    assert_null(mlaf_hashes_find(&h, "gfx942", name));
    mlaf_hashes_add(&h, "gfx942", name, numbered(hash, i));
    const char *found = mlaf_hashes_find(&h, "gfx942", name);
    assert_non_null(found);
    assert_string_equal(found, hash);
  }
  assert_int_equal(h.n, MLAF_HASHES_MAX);
  assert_null(mlaf_hashes_find(&h, "gfx942", "kernel 0"));
  mlaf_hashes_free(&h);
}

/* Programs that start one after another on a full file must not drop what the one before them put. */
TEST(the_oldest_one_goes_first_also_in_the_next_program) {
  static mlaf_hashes h, next;
  char hash[MLAF_HASH_HEX], name[32], folder[] = "hashes-XXXXXX"; /* in the build folder */
  assert_non_null(mkdtemp(folder));
  mlaf_hashes_load(&h, folder, NULL);
  for (unsigned i = 0; i < MLAF_HASHES_MAX + 5; i++) {
    snprintf(name, sizeof name, "kernel %u", i);
    assert_true(mlaf_hashes_put(&h, "gfx942", name, numbered(hash, i)));
  }
  mlaf_hashes_save(&h);
  mlaf_hashes_load(&next, folder, NULL);
  assert_int_equal(next.n, MLAF_HASHES_MAX);
  assert_true(mlaf_hashes_put(&next, "gfx942", "one more", numbered(hash, 1)));
  assert_null(mlaf_hashes_find(&next, "gfx942", "kernel 5"));
  assert_non_null(mlaf_hashes_find(&next, "gfx942", "kernel 6"));
  snprintf(name, sizeof name, "kernel %d", MLAF_HASHES_MAX + 4);
  assert_non_null(mlaf_hashes_find(&next, "gfx942", name));
  assert_int_equal(unlink(h.path), 0);
  assert_int_equal(rmdir(dirname(h.path)), 0);
  assert_int_equal(rmdir(folder), 0);
  mlaf_hashes_free(&h);
  mlaf_hashes_free(&next);
}

TEST(what_is_no_hash_or_known_is_not_put) {
  static mlaf_hashes h;
  char hash[MLAF_HASH_HEX];
  assert_false(mlaf_hashes_put(&h, "gfx942", "a", "12"));
  assert_true(mlaf_hashes_put(&h, "gfx942", "a", numbered(hash, 1)));
  assert_false(mlaf_hashes_put(&h, "gfx942", "a", numbered(hash, 2)));
  assert_true(mlaf_hashes_put(&h, "gfx950", "a", hash));
  assert_int_equal(h.n, 2);
  mlaf_hashes_free(&h);
}

TESTS(NULL, NULL)
