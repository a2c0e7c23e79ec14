/* Files that a user names: links are followed, modes kept, the umask honoured, and what is no regular file is written
 * through and still there afterwards. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/base.h"
#include "cmocka_all.h"

static char dir[64];

static int setup(void **state) {
  snprintf(dir, sizeof dir, "/tmp/mlaf-publish-XXXXXX");
  return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state) {
  char command[96];
  snprintf(command, sizeof command, "rm -rf '%s'", dir);
  return system(command);
}

static const char *in_dir(const char *name) {
  static char path[4][512];
  static unsigned turn;
  char *out = path[turn++ % 4];
  snprintf(out, sizeof path[0], "%s/%s", dir, name);
  return out;
}

static void expect_text(const char *path, const char *text) {
  void *data;
  size_t size;
  mlaf_err err = {MLAF_OK, ""};
  if (mlaf_file_read(path, 1 << 20, &data, &size, &err)) fail_msg("%s", err.text);
  assert_string_equal(data, text);
  free(data);
}

static struct stat stat_of(const char *path) {
  struct stat st;
  assert_int_equal(lstat(path, &st), 0);
  return st;
}

static void write_ok(const char *path, const char *text) {
  mlaf_err err = {MLAF_OK, ""};
  if (mlaf_file_write(path, text, strlen(text), &err)) fail_msg("%s", err.text);
}

TEST(new_files_honour_the_umask) {
  const mode_t before = umask(027);
  write_ok(in_dir("a"), "one");
  assert_int_equal(stat_of(in_dir("a")).st_mode & 07777, 0640);
  assert_int_equal(mlaf_file_publish(in_dir("b"), "x", 1, NULL), MLAF_OK);
  assert_int_equal(stat_of(in_dir("b")).st_mode & 07777, 0640);
  FILE *f = mlaf_file_create(in_dir("c"), NULL);
  assert_non_null(f);
  fclose(f);
  assert_int_equal(stat_of(in_dir("c")).st_mode & 07777, 0640);
  assert_int_equal(mlaf_dir_make_open(in_dir("d/e"), NULL), MLAF_OK);
  assert_int_equal(stat_of(in_dir("d")).st_mode & 07777, 0750);
  assert_int_equal(stat_of(in_dir("d/e")).st_mode & 07777, 0750);
  umask(0);
  write_ok(in_dir("f"), "one");
  assert_int_equal(stat_of(in_dir("f")).st_mode & 07777, 0666);
  assert_int_equal(mlaf_dir_make(in_dir("g"), NULL), MLAF_OK); /* caches and databases stay private */
  assert_int_equal(stat_of(in_dir("g")).st_mode & 07777, 0700);
  umask(before);
}

TEST(old_files_keep_their_mode_and_owner) {
  write_ok(in_dir("a"), "one");
  assert_int_equal(chmod(in_dir("a"), 0600), 0);
  const bool root = geteuid() == 0;
  if (root) assert_int_equal(chown(in_dir("a"), 4711, 4712), 0);
  const struct stat before = stat_of(in_dir("a"));
  write_ok(in_dir("a"), "two");
  const struct stat after = stat_of(in_dir("a"));
  expect_text(in_dir("a"), "two");
  assert_int_equal(after.st_mode & 07777, 0600);
  assert_int_equal(after.st_uid, before.st_uid);
  assert_int_equal(after.st_gid, before.st_gid);
  assert_true(after.st_ino != before.st_ino); /* by rename: whole or not at all */
}

/* Relative, absolute, in a chain, to nothing yet; a loop is an error. */
TEST(links_are_followed) {
  mlaf_err err;
  assert_int_equal(mkdir(in_dir("sub"), 0755), 0);
  write_ok(in_dir("sub/real"), "one");
  assert_int_equal(symlink("sub/real", in_dir("near")), 0);
  assert_int_equal(symlink(in_dir("near"), in_dir("sub/far")), 0);
  write_ok(in_dir("sub/far"), "two");
  expect_text(in_dir("sub/real"), "two");
  assert_true(S_ISLNK(stat_of(in_dir("near")).st_mode) && S_ISLNK(stat_of(in_dir("sub/far")).st_mode));
  assert_int_equal(symlink("made", in_dir("dangling")), 0);
  write_ok(in_dir("dangling"), "three");
  expect_text(in_dir("made"), "three");
  assert_true(S_ISLNK(stat_of(in_dir("dangling")).st_mode));
  assert_int_equal(symlink("loop", in_dir("loop")), 0);
  assert_int_equal(mlaf_file_write(in_dir("loop"), "x", 1, &err), MLAF_E_IO);
  assert_non_null(strstr(err.text, "loop"));
  /* a cache's entry is ours whatever stands there: the link goes, its target stays */
  assert_int_equal(mlaf_file_publish(in_dir("near"), "four", 4, &err), MLAF_OK);
  assert_true(S_ISREG(stat_of(in_dir("near")).st_mode));
  expect_text(in_dir("sub/real"), "two");
}

/* Links of others are not followed in a folder like /tmp: they could lead a root's output anywhere. */
TEST(links_of_others_in_shared_folders) {
  mlaf_err err;
  if (geteuid() != 0) return; /* only root can make a link of somebody else's */
  assert_int_equal(mkdir(in_dir("tmp"), 0755), 0);
  assert_int_equal(chmod(in_dir("tmp"), 01777), 0);
  write_ok(in_dir("victim"), "precious");
  assert_int_equal(symlink(in_dir("victim"), in_dir("tmp/r.html")), 0);
  assert_int_equal(lchown(in_dir("tmp/r.html"), 4711, 4711), 0);
  assert_int_equal(mlaf_file_write(in_dir("tmp/r.html"), "x", 1, &err), MLAF_E_IO);
  assert_non_null(strstr(err.text, strerror(EACCES)));
  expect_text(in_dir("victim"), "precious");
}

TEST(devices_stay_devices) {
  mlaf_err err;
  const struct {
    const char *name;
    unsigned minor;
    int error; /* of a write */
  } devices[] = {{"null", 3, 0}, {"full", 7, ENOSPC}};
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
    char path[512];
    snprintf(path, sizeof path, "/dev/%s", devices[i].name); /* the system's own where we may make none */
    if (geteuid() == 0 && mknod(in_dir(devices[i].name), S_IFCHR | 0666, (dev_t)(1u << 8 | devices[i].minor)) == 0)
      snprintf(path, sizeof path, "%s", in_dir(devices[i].name));
    const mlaf_status status = mlaf_file_write(path, "text", 4, &err);
    assert_true(S_ISCHR(stat_of(path).st_mode));
    assert_int_equal(status, devices[i].error ? MLAF_E_IO : MLAF_OK);
    if (devices[i].error) assert_non_null(strstr(err.text, strerror(devices[i].error)));
  }
  assert_int_equal(mlaf_file_write(dir, "x", 1, &err), MLAF_E_IO);
  assert_non_null(strstr(err.text, strerror(EISDIR)));
}

TEST(fifos_are_written_through) {
  mlaf_err err;
  char got[16] = "";
  assert_int_equal(mkfifo(in_dir("f"), 0600), 0);
  alarm(3600); /* it must not wait for a reader, who never comes */
  assert_int_equal(mlaf_file_write(in_dir("f"), "text", 4, &err), MLAF_E_IO);
  assert_non_null(strstr(err.text, "nobody reads this FIFO"));
  assert_null(mlaf_file_create(in_dir("f"), &err));
  alarm(0);
  const int reader = open(in_dir("f"), O_RDONLY | O_NONBLOCK);
  assert_true(reader >= 0);
  write_ok(in_dir("f"), "text");
  assert_int_equal(read(reader, got, sizeof got), 4);
  assert_string_equal(got, "text");
  assert_true(S_ISFIFO(stat_of(in_dir("f")).st_mode));
  close(reader);
}

/* /dev/stdout, /dev/fd/N: what this process has open, at the place where it stands, and not what the file is called. */
TEST(own_descriptors) {
  const char *path = in_dir("log");
  const int fd = open(path, O_RDWR | O_CREAT | O_APPEND, 0600);
  char name[64], proc[64];
  assert_true(fd >= 0 && write(fd, "head\n", 5) == 5);
  snprintf(name, sizeof name, "/dev/fd/%d", fd);
  snprintf(proc, sizeof proc, "/proc/self/fd/%d", fd);
  const ino_t before = stat_of(path).st_ino;
  write_ok(name, "body\n");
  assert_int_equal(symlink(name, in_dir("link")), 0);
  write_ok(in_dir("link"), "more\n");
  FILE *f = mlaf_file_create(proc, NULL);
  assert_non_null(f);
  fputs("tail\n", f);
  assert_int_equal(fclose(f), 0);
  expect_text(path, "head\nbody\nmore\ntail\n");
  assert_int_equal(stat_of(path).st_ino, before);
  assert_int_equal(mlaf_file_descriptor(name), fd);
  assert_int_equal(mlaf_file_descriptor("/dev/stdout"), STDOUT_FILENO);
  assert_int_equal(mlaf_file_descriptor(path), -1);
  close(fd);
}

TEST(long_names_fit) {
  char name[256];
  memset(name, 'n', sizeof name);
  name[255] = 0;
  write_ok(in_dir(name), "one");
  expect_text(in_dir(name), "one");
}

/* Runs in a child, with the signal's default action: to end the process. A signal that the host keeps pending stays pending. */
static int write_beyond_the_limit(void) {
  static const char text[4096] = "too long";
  mlaf_err err = {MLAF_OK, ""};
  sigset_t one, pending;
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){1024, 1024});
  signal(SIGXFSZ, SIG_DFL);
  if (mlaf_file_publish(in_dir("a"), text, sizeof text, &err) != MLAF_E_IO) return 1;
  if (!strstr(err.text, "File too large (raise the file-size limit: ulimit -f)")) return 2;
  sigpending(&pending);
  if (sigismember(&pending, SIGXFSZ) || access(in_dir("a"), F_OK) == 0) return 3;
  sigemptyset(&one);
  sigaddset(&one, SIGXFSZ);
  sigprocmask(SIG_BLOCK, &one, NULL);
  raise(SIGXFSZ);
  if (mlaf_file_publish(in_dir("a"), text, sizeof text, NULL) != MLAF_E_IO) return 4;
  sigpending(&pending);
  return sigismember(&pending, SIGXFSZ) ? 0 : 5;
}

TEST(a_file_size_limit_is_a_full_disk) {
  int status = -1;
  fflush(NULL);
  const pid_t child = fork();
  if (!child) _exit(write_beyond_the_limit());
  waitpid(child, &status, 0);
  assert_int_equal(status, 0);
}

/* A full table of open files and a process's own limit have different cures, and texts that begin alike. */
TEST(every_refusal_is_found_by_its_text) {
  static const int numbers[] = {ENOSPC, EDQUOT, EFBIG, EROFS, EACCES, EPERM, EMFILE, ENFILE, EIO, ENOMEM, EAGAIN};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    char text[200];
    snprintf(text, sizeof text, "cannot open 'a': %s (try again)", strerror(numbers[i]));
    assert_ptr_equal(mlaf_os_error_in(text), mlaf_os_error_of(numbers[i]));
  }
}

TESTS_EACH(setup, teardown)
