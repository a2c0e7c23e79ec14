/* emu-random [FIRST [COUNT]]: random HIP programs at -O0, -O1 and -O3 on every emulated target against the host's compiler.
 *   emu-random --source SEED hip|c     the text of one program */
#include "random_hip_run.h"

static int failures;

static void report(rh_batch *b, int i, const char *where) {
  printf("%s: %s\n", where, b->why);
  failures++;
  (void)i;
}

int main(int argc, char **argv) {
  static const mlaf_device_ops *const targets[] = {&mlaf_emu_ops, &mlaf_emu_gfx950_ops, &mlaf_emu_gfx90a_ops};
  static const char *const levels[] = {"-O0", "-O1", "-O3"};
  if (argc == 4 && strcmp(argv[1], "--source") == 0) {
    mlaf_text hip = MLAF_TEXT_INIT(8u << 20), host = MLAF_TEXT_INIT(8u << 20);
    mlaf_text_str(&hip, rh_hip_head);
    mlaf_text_str(&host, rh_host_head);
    rh_program(strtoull(argv[2], NULL, 10), &hip, &host);
    fputs(strcmp(argv[3], "hip") == 0 ? hip.data : host.data, stdout);
    return 0;
  }
  uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  int count = argc > 2 ? atoi(argv[2]) : 200, agree[3][3] = {{0}};
  for (int done = 0; done < count; done += RH_MOST) {
    rh_batch b;
    int n = count - done < RH_MOST ? count - done : RH_MOST;
    if (!rh_open(&b, first + (uint64_t)done, n)) return fprintf(stderr, "%s\n", b.why), 1;
    for (int t = 0; t < 3; t++)
      for (int l = 0; l < 3; l++) {
        int k = rh_run(&b, targets[t], levels[l], report);
        agree[t][l] += k > 0 ? k : 0;
      }
    rh_close(&b);
    fflush(stdout);
  }
  printf("programs %llu to %llu that agree with the host\n", (unsigned long long)first,
         (unsigned long long)first + (uint64_t)count - 1);
  for (int t = 0; t < 3; t++)
    printf("%-12s -O0 %d, -O1 %d, -O3 %d of %d\n", targets[t]->name, agree[t][0], agree[t][1], agree[t][2], count);
  return failures != 0;
}
