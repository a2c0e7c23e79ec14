/* The mlaforge executable: signals, then the command line. */
#include <signal.h>

#include "cli/cli.h"

static atomic_bool cancel; /* the one thing a signal handler can reach, with the semaphore of stop.c */

/* The first Ctrl-C or SIGTERM ends the command within a second, with what is done; the second one kills as usual. */
static void on_signal(int signal_number) {
  atomic_store(&cancel, true);
  mlaf_cli_stop_signalled();
}

int main(int argc, char **argv) {
  struct sigaction stop = {.sa_handler = on_signal, .sa_flags = (int)(SA_RESTART | SA_RESETHAND)};
  mlaf_cli_stop_begin();
  sigaction(SIGINT, &stop, NULL);
  sigaction(SIGTERM, &stop, NULL);
  signal(SIGXFSZ, SIG_IGN); /* a file-size limit is a full disk */
  signal(SIGPIPE, SIG_IGN); /* a closed stdout is an error of ours to report, not a silent death in a transaction */
  signal(SIGCHLD, SIG_DFL); /* one that the parent ignored stays ignored, and then no end of a compile worker is known */
  return mlaf_cli_main(argc, argv, &cancel);
}
