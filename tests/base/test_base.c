/* base: statuses, error details, bounded text, SHA-256, atomic publication. */
#include <dirent.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <signal.h>

#include "base/base.h"
#include "cmocka_all.h"

TEST(every_status_has_name_and_text) {
  for (int s = 0; s < MLAF_STATUS_COUNT; s++) {
    assert_string_not_equal(mlaf_status_text((mlaf_status)s), "unknown status");
    assert_memory_equal(mlaf_status_name((mlaf_status)s), "MLAF_", 5);
    for (int other = 0; other < s; other++)
      assert_string_not_equal(mlaf_status_name((mlaf_status)s), mlaf_status_name((mlaf_status)other));
  }
  assert_string_equal(mlaf_status_text((mlaf_status)-1), "unknown status");
  assert_string_equal(mlaf_status_text(MLAF_STATUS_COUNT), "unknown status");
}

TEST(prefix_keeps_the_cause) {
  mlaf_err err;
  assert_int_equal(mlaf_fail(&err, MLAF_E_IO, "cannot open '%s'", "x"), MLAF_E_IO);
  assert_int_equal(mlaf_fail_prefix(&err, MLAF_E_DB, "database %d", 7), MLAF_E_DB);
  assert_string_equal(err.text, "database 7: cannot open 'x'");
  assert_int_equal(err.status, MLAF_E_DB);
  assert_int_equal(mlaf_fail(NULL, MLAF_E_ARG, "nobody listens"), MLAF_E_ARG);
}

TEST(a_huge_detail_is_cut_not_overrun) {
  mlaf_err err;
  char *big = malloc(3 * MLAF_ERR_MAX);
  memset(big, 'a', 3 * MLAF_ERR_MAX - 1);
  big[3 * MLAF_ERR_MAX - 1] = 0;
  mlaf_fail(&err, MLAF_E_IO, "%s", big);
  assert_int_equal(strlen(err.text), MLAF_ERR_MAX - 1);
  mlaf_fail_prefix(&err, MLAF_E_IO, "%s", big);
  assert_int_equal(strlen(err.text), MLAF_ERR_MAX - 1);
  free(big);
}

TEST(text_stops_at_its_maximum) {
  mlaf_text t = MLAF_TEXT_INIT(10);
  mlaf_text_str(&t, "123456789");
  assert_false(t.failed);
  mlaf_text_str(&t, "0");
  assert_true(t.failed);
  assert_int_equal(t.len, 9);
  assert_null(mlaf_text_take(&t));
  mlaf_text_fmt(&t, "%s-%d", "ok", 5); /* take() made it new again */
  char *s = mlaf_text_take(&t);
  assert_string_equal(s, "ok-5");
  free(s);
  s = mlaf_text_take(&t);
  assert_string_equal(s, "");
  free(s);
}

TEST(sha256_of_known_texts) {
  char hex[MLAF_HASH_HEX];
  mlaf_sha256_hex("abc", 3, hex);
  assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  char one[MLAF_HASH_HEX], two[MLAF_HASH_HEX];
  mlaf_sha256_parts((const void *[]){"ab", "c"}, (size_t[]){2, 1}, 2, one);
  mlaf_sha256_parts((const void *[]){"a", "bc"}, (size_t[]){1, 2}, 2, two);
  assert_string_not_equal(one, two);
}

static int files_in(const char *dir) {
  int n = 0;
  DIR *d = opendir(dir);
  for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
  closedir(d);
  return n;
}

TEST(publish_then_read) {
  char dir[] = "/tmp/mlaf-base-XXXXXX", path[64];
  assert_non_null(mkdtemp(dir));
  mlaf_err err;
  snprintf(path, sizeof path, "%s/a/b", dir);
  assert_int_equal(mlaf_dir_make(path, &err), MLAF_OK);
  assert_int_equal(mlaf_dir_make(path, &err), MLAF_OK);
  snprintf(path, sizeof path, "%s/a/b/f", dir);
  assert_int_equal(mlaf_file_publish(path, "one", 3, &err), MLAF_OK);
  assert_int_equal(mlaf_file_publish(path, "three", 5, &err), MLAF_OK);
  void *data = NULL;
  size_t size = 0;
  assert_int_equal(mlaf_file_read(path, 100, &data, &size, &err), MLAF_OK);
  assert_int_equal(size, 5);
  assert_string_equal(data, "three");
  free(data);
  data = &err;
  assert_int_equal(mlaf_file_read(path, 4, &data, &size, &err), MLAF_E_IO);
  assert_ptr_equal(data, &err); /* out-params untouched */
  assert_non_null(strstr(err.text, "5 bytes, more than the 4"));
  assert_int_equal(mlaf_file_read(dir, 4, &data, &size, &err), MLAF_E_IO);
  assert_non_null(strstr(err.text, "not a regular file"));
  unlink(path);
  assert_int_equal(mlaf_file_publish("/nonexistent-dir/f", "x", 1, &err), MLAF_E_IO);
  assert_non_null(strstr(err.text, "/nonexistent-dir/f"));
}

/* A write that fails half-way leaves the old file as it was and no temporary one behind. */
TEST(failed_publish_leaves_the_old_file) {
  char dir[] = "/tmp/mlaf-base-XXXXXX", path[64];
  assert_non_null(mkdtemp(dir));
  snprintf(path, sizeof path, "%s/f", dir);
  mlaf_err err;
  assert_int_equal(mlaf_file_publish(path, "old", 3, &err), MLAF_OK);
  static char big[65536];
  pid_t child = fork();
  if (child == 0) { /* the limit would hit cmocka's own output in this process */
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, 4096});
    _exit(mlaf_file_publish(path, big, sizeof big, &err) == MLAF_E_IO && files_in(dir) == 1 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  assert_int_equal(status, 0);
  void *data;
  size_t size;
  assert_int_equal(mlaf_file_read(path, 100, &data, &size, &err), MLAF_OK);
  assert_string_equal(data, "old");
  free(data);
  unlink(path);
  rmdir(dir);
}

static void count_lines(void *user, mlaf_log_level level, const char *line) { *(int *)user += (int)strlen(line); }

TEST(log_respects_its_level) {
  int seen = 0;
  mlaf_log log = {count_lines, &seen, MLAF_LOG_WARN};
  mlaf_log_line(&log, MLAF_LOG_INFO, "dropped");
  assert_int_equal(seen, 0);
  mlaf_log_line(&log, MLAF_LOG_WARN, "%s", "kept");
  assert_int_equal(seen, 4);
  mlaf_log_line(NULL, MLAF_LOG_ERROR, "nobody");
}

TESTS(NULL, NULL)
