/* The disk is full at each write of each command that writes: the exit code and the message say so, what was there before is
 * there afterwards, nothing half-written is left, and with space again the same command does the same as if nothing had happened.
 *
 * Every call of a command that needs space (tests/base/full_disk.h) is made to fail, once alone and once with all that follow;
 * MLAF_DISK_POINTS bounds how many of a command's calls (8; 1000 is all of them), MLAF_DISK_CASE picks one command. Then the same
 * on a real file system that is too small, in mounts of its own. */
#include "base/full_disk.h"
#include "cli/cli_fixture.h"
#include "need.h"

/* Shell: $M mlaforge, $R what the commands read and should make, $W the disk. */
typedef struct disk_case {
  const char *name, *prepare, *command;
  const char *intact; /* what holds whenever the command failed */
  const char *check;  /* what holds when it has succeeded */
} disk_case;

#define PROBLEM "'mla_decode:h5,r64,p32,q1,bf16,page16,b1,s64'"
#define GRID "--heads 5 --rank 64 --rope 32 --page-size 16 --batch 1,8 --ctx 64,512"
#define ONE                                              \
  "--heads 5 --rank 64 --rope 32 --page-size 16 --variant " \
  "'mfma_reg:blocks=1,kvload=temporal,psplit=1,qsrc=reg,rescale=lazy,schedule=splits,tile=16,waves=4/s1'"
#define TUNE "$M tune " PROBLEM " --device emu:gfx942 --max-candidates 1 --cache $R/cache"
#define EXPORTS "$M db export --db $W/t.db >$R/../now 2>/dev/null"

static const disk_case cases[] = {
    {"bundle", "", "$M generate " GRID " --targets gfx942 --cache $R/cache --out $W/bundle",
     "[ ! -e $W/bundle/manifest.tsv ] || diff -r $R/bundle $W/bundle", "diff -r $R/bundle $W/bundle"},
    {"bundle, extended", "$M generate " GRID " --targets gfx942 --cache $R/cache --out $W/bundle",
     "$M generate --heads 7 --rank 64 --targets gfx942 --cache $R/cache --out $W/bundle --extend",
     "$M verify --bundle $W/bundle --no-compile " PROBLEM " --device emu:gfx942",
     "$M verify --bundle $W/bundle --no-compile " PROBLEM " --device emu:gfx942 && grep -q h7,r64 $W/bundle/manifest.tsv"},
    {"sources", "", "$M generate " ONE " --out $W/src", "[ ! -e $W/src/manifest.tsv ] || diff -r $R/src $W/src",
     "diff -r $R/src $W/src"},
    {"embed", "", "$M embed --from $R/bundle --out $W/kernels", "true", "diff -r $R/kernels $W/kernels"},
    {"object", "", "$M compile " ONE " --cache $R/cache --out $W/code", "diff -r $R/code $W/code || ! ls $W/code/*.co",
     "diff -r $R/code $W/code"},
    {"cache", "", "$M cache seed --from $R/bundle --cache $W/cache",
     "[ ! -e $W/cache ] || $M cache verify --cache $W/cache", "diff -r $R/seeded $W/cache"},
    {"cache of a compile", "", "$M compile " ONE " --cache $W/cache --out $R/../code",
     "[ ! -e $W/cache ] || $M cache verify --cache $W/cache", "diff -r $R/code $R/../code"},
    {"the compiler's files", "", "env -u MLAF_WORKER TMPDIR=$W $M compile " ONE " --cache $W/cache --out $R/../code", "true",
     "diff -r $R/code $R/../code && ! ls -d $W/mlaforge-worker-*"},
    {"import", "", "$M db import $R/tuned.tsv --db $W/t.db",
     EXPORTS "; cmp $R/../now $R/tuned.tsv || ! grep -q ^choice $R/../now", EXPORTS "; cmp $R/../now $R/tuned.tsv"},
    {"merge", "$M db import $R/tuned.tsv --db $W/t.db", "$M db merge $R/t.db --db $W/t.db",
     EXPORTS " && $M db check --db $W/t.db", "$M db check --db $W/t.db && $M db show --db $W/t.db --samples " PROBLEM},
    {"gc", "cp $R/t.db $W/t.db", "$M db gc --db $W/t.db", EXPORTS " && cmp $R/../now $R/tuned.tsv && $M db check --db $W/t.db",
     EXPORTS " && cmp $R/../now $R/tuned.tsv && $M db check --db $W/t.db"},
    {"export", "echo old >$W/out.tsv", "$M db export --db $R/t.db --out $W/out.tsv",
     "[ \"$(cat $W/out.tsv)\" = old ] || cmp $R/tuned.tsv $W/out.tsv", "cmp $R/tuned.tsv $W/out.tsv"},
    {"report", "echo old >$W/r.html", "$M report --db $R/t.db --out $W/r.html",
     "[ \"$(cat $W/r.html)\" = old ] || cmp $R/r.html $W/r.html", "cmp $R/r.html $W/r.html"},
    {"csv", "", "$M bench " PROBLEM " --device emu:gfx942 --db $R/t.db --cache $R/cache --csv $W/b.csv", "true",
     "[ $(wc -l <$W/b.csv) -ge 2 ]"},
    {"trace", "", "$M profile " PROBLEM " --db $R/t.db --cache $R/cache --trace $W/t.json",
     "[ ! -e $W/t.json ] || cmp $R/t.json $W/t.json", "cmp $R/t.json $W/t.json"},
    {"tune", "", TUNE " --db $W/t.db",
     "$M db check --db $W/t.db 2>&1 | grep -e 'nothing wrong' -e 'is empty' -e 'no tuning database at'",
     EXPORTS " && cmp $R/../now $R/tuned.tsv && $M db check --db $W/t.db"},
    {"tune, again", "cp $R/t.db $W/t.db", TUNE " --db $W/t.db --no-resume", EXPORTS " && cmp $R/../now $R/tuned.tsv",
     "$M db check --db $W/t.db"},
};

static struct {
  char dir[64], disk[96], log[96];
} at;

/* The exit status of a shell command, with its output in at.log; 128 + signal. */
static int shell(const char *command) {
  fflush(NULL);
  const pid_t child = fork();
  if (!child) {
    const int fd = open(at.log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(fd, 1);
    dup2(fd, 2);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int bad; /* findings: all are worth seeing */
#define FOUND(...) (bad++, print_error(__VA_ARGS__))

static void expect(const disk_case *c, const char *command, long nth, const char *when) {
  const int status = shell(command);
  if (!status) return;
  char *text = slurp(at.log);
  FOUND("%s, call %ld, %s: exit %d of `%s`\n%s\n", c->name, nth, when, status, command, text);
  free(text);
}

static void empty_disk(const disk_case *c) {
  remove_tree(at.disk);
  mkdir(at.disk, 0700);
  if (c->prepare[0]) expect(c, c->prepare, 0, "preparing");
}

static int setup(void **state) {
  need_compiler("gfx942");
  const char *build = getenv("MLAF_BUILD_DIR");
  char *program = mlaf_format("%s/mlaforge", build ? build : ".");
  snprintf(at.dir, sizeof at.dir, "/tmp/mlaf-disk-XXXXXX");
  if (!mkdtemp(at.dir)) return -1;
  snprintf(at.disk, sizeof at.disk, "%s/disk", at.dir);
  snprintf(at.log, sizeof at.log, "%s/log", at.dir);
  char *ref = mlaf_format("%s/ref", at.dir), *cache = mlaf_format("%s/cache", ref);
  setenv("M", program, 1);
  setenv("R", ref, 1);
  setenv("W", at.disk, 1);
  setenv("MLAF_TUNING_DIR", "/nonexistent", 1);
  setenv("MLAF_SITE_DB", "", 1);
  setenv("MLAF_DB", "/proc/nowhere/t.db", 1); /* which nobody can make */
  setenv("MLAF_CACHE_DIR", cache, 1);
  mkdir(ref, 0700);
  free(program);
  free(ref);
  free(cache);
  if (!shell("$M compile " ONE " --cache $R/cache --out $R/code && "
             TUNE " --db $R/t.db && $M db export --db $R/t.db --out $R/tuned.tsv && "
             "$M generate " GRID " --targets gfx942 --cache $R/cache --out $R/bundle && "
             "$M embed --from $R/bundle --out $R/kernels && "
             "$M generate --heads 7 --rank 64 --targets gfx942 --cache $R/cache --out $R/seven && "
             "$M generate " ONE " --out $R/src && $M cache seed --from $R/bundle --cache $R/seeded && "
             "$M report --db $R/t.db --out $R/r.html && "
             "$M profile " PROBLEM " --db $R/t.db --cache $R/cache --trace $R/t.json"))
    return 0;
  puts(slurp(at.log));
  return -1;
}

static int teardown(void **state) {
  remove_tree(at.dir);
  return 0;
}

/* SQLite does not always know why a write failed; then the advice has to do. */
static bool names_the_cause(const char *text) {
  return strstr(text, "No space left") || strstr(text, "disk is full") || strstr(text, "free some space") ||
         strstr(text, "has space");
}

/* --- the n-th call fails --- */

static int run_command(void *user) {
  const disk_case *c = user;
  char *command = mlaf_format("exec %s", c->command);
  const int fd = open(at.log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(fd, 1);
  dup2(fd, 2);
  execl("/bin/sh", "sh", "-c", command, (char *)NULL);
  return 127;
}

static long n_points(void) {
  const char *text = getenv("MLAF_DISK_POINTS");
  return text ? strtol(text, NULL, 10) : 8;
}

static void fault_at(const disk_case *c, long nth, bool stays) {
  empty_disk(c);
  const full_disk d = {at.disk, nth, stays};
  const full_disk_result r = full_disk_run(&d, run_command, (void *)(uintptr_t)c);
  char *text = slurp(at.log);
  const char *how = stays ? "from then on" : "once";
  if (r.hung || !WIFEXITED(r.status)) FOUND("%s, call %ld, %s: %s\n%s\n", c->name, nth, how,
                                                 r.hung ? "hangs" : strsignal(WTERMSIG(r.status)), text);
  if (r.calls < nth) return free(text); /* one call less in this run: a retry that was not needed */
  const int code = WEXITSTATUS(r.status);
  const bool named = names_the_cause(text);
  if (code && (code != 3 || !named))
    FOUND("%s, call %ld, %s: exit %d, and the message is\n%s\n", c->name, nth, how, code, text);
  free(text);
  expect(c, code ? c->intact : c->check, nth, how);
  if (shell("! find $W -name '*.tmp.*' | grep .")) FOUND("%s, call %ld, %s: it left a temporary file\n", c->name, nth, how);
  expect(c, c->command, nth, "with space again");
  expect(c, c->check, nth, "with space again");
}

TEST(each_write_fails) {
  const long points = n_points();
  const char *only = getenv("MLAF_DISK_CASE");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const disk_case *c = &cases[i];
    const full_disk count = {at.disk, 0, false};
    if (only && strcmp(only, c->name) != 0) continue;
    empty_disk(c);
    const full_disk_result r = full_disk_run(&count, run_command, (void *)(uintptr_t)c);
    if (!r.possible)
      fail_msg("seccomp's user notification is not to be had: a kernel since 5.5 has it, some containers forbid it");
    if (r.status) FOUND("%s: exit %d with all the space there is\n", c->name, WEXITSTATUS(r.status));
    expect(c, c->check, 0, "with all the space there is");
    const long step = r.calls / points + (r.calls % points != 0);
    long tried = 0;
    for (long nth = 1; nth <= r.calls; nth += step)
      for (int stays = 0; stays < 2; stays++) {
        if (step > 1 && nth / step % 2 != stays) continue; /* of a sample one call fails once, the next one from then on */
        fault_at(c, nth, stays);
        tried++;
      }
    print_message("%s: %ld calls need space, %ld faults\n", c->name, r.calls, tried);
    assert_true(r.calls >= 2);
  }
  assert_int_equal(bad, 0);
}

/* --- a file system that is too small --- */

enum { CANNOT = 77 };

static int on_small_disk(void *user) {
  const disk_case *c = user;
  int failed = 0;
  if (!own_mounts()) return CANNOT;
  for (int kib = 4; kib <= 1024; kib *= 2) {
    char size[64];
    snprintf(size, sizeof size, "size=%dk,mode=0700", kib);
    if (mount("none", at.disk, "tmpfs", 0, size)) return CANNOT;
    if (c->prepare[0] && shell(c->prepare)) { /* not even that fits */
      umount2(at.disk, MNT_DETACH);
      continue;
    }
    const int code = shell(c->command);
    char *text = slurp(at.log);
    const bool named = names_the_cause(text);
    if (code && (code != 3 || !named)) {
      fprintf(stderr, "%s on %d KiB: exit %d\n%s", c->name, kib, code, text);
      return 1;
    }
    free(text);
    failed += code != 0;
    if (!code && shell(c->check)) return fprintf(stderr, "%s on %d KiB: %s\n", c->name, kib, slurp(at.log)), 5;
    if (mount("none", at.disk, "tmpfs", MS_REMOUNT, "size=64m")) return CANNOT;
    if (code && shell(c->intact)) return fprintf(stderr, "%s on %d KiB: damage: %s\n", c->name, kib, slurp(at.log)), 2;
    if (shell(c->command) || shell(c->check)) return fprintf(stderr, "%s after %d KiB: %s\n", c->name, kib, slurp(at.log)), 3;
    umount2(at.disk, MNT_DETACH);
    if (!code) break; /* it fits */
  }
  printf("%s: %d sizes were too small\n", c->name, failed);
  fflush(stdout);
  return 0;
}

TEST(a_small_disk_fills_up) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int status = -1;
    remove_tree(at.disk);
    mkdir(at.disk, 0700);
    fflush(NULL);
    const pid_t child = fork();
    if (!child) _exit(on_small_disk((void *)(uintptr_t)&cases[i]));
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT) fail_msg(NO_MOUNTS);
    if (status) FOUND("%s: status %x\n", cases[i].name, (unsigned)status);
  }
  assert_int_equal(bad, 0);
}

/* Results that go to stdout get the same care. */
TEST(stdout_is_full) {
  static const char *const commands[] = {"$M db export --db $R/t.db", "$M db show --db $R/t.db --json", "$M devices",
                                         "$M generate " ONE,
                                         "$M cache list --cache $R/cache", "$M --help", "$M env"};
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    char *command = mlaf_format("exec %s >/dev/full", commands[i]);
    const int code = shell(command);
    char *text = slurp(at.log);
    if (code != 3 || !strstr(text, "stdout")) fail_msg("%s: exit %d\n%s", command, code, text);
    free(text);
    free(command);
  }
}

TESTS(setup, teardown)
