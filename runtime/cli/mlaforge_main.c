/* The mlaforge executable: signals, then the command line. */
#include <signal.h>
#include <unistd.h>

#include "cli/cli.h"

static atomic_bool cancel; /* the one thing a signal handler can reach */

/* The first Ctrl-C asks the command to finish what it is at; the second one kills as usual. */
static void on_signal(int signal_number) { atomic_store(&cancel, true); }

int main(int argc, char **argv) {
  struct sigaction stop = {.sa_handler = on_signal, .sa_flags = (int)(SA_RESTART | SA_RESETHAND)};
  sigaction(SIGINT, &stop, NULL);
  sigaction(SIGTERM, &stop, NULL);
  signal(SIGPIPE, SIG_IGN); /* a closed stdout is an error of ours to report, not a silent death in a transaction */
  return mlaf_cli_main(argc, argv, &cancel);
}
