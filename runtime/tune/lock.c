/* A tuner that times has its device alone: contended times would be remembered as true ones. Tuners that verify share it. */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tune/tune.h"

enum { POLL_MS = 2 }; /* less than a tuner leaves between two candidates, so that another one gets its turn */
static const double announce_after_s = 2;

/* The lock file is in /tmp, not in a per-user place: the other tuner may be another user's. Named after this very device: each of
 * a host's equal GPUs has its own tuner, whatever number it goes by in its process. */
static int open_lock_file(const mlaf_device_info *dev, char *path, size_t size) {
  char hash[MLAF_HASH_HEX], name[sizeof dev->id + sizeof dev->place];
  snprintf(name, sizeof name, "%s%s", dev->id, dev->place);
  mlaf_sha256_hex(name, strlen(name), hash);
  snprintf(path, size, "/tmp/mlaforge-device-%.16s.lock", hash);
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd >= 0) fchmod(fd, 0666); /* whatever the umask; fails harmlessly on somebody else's file */
  /* Another user's file in a sticky directory may not be opened with O_CREAT (fs.protected_regular). */
  if (fd < 0) fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  return fd;
}

static mlaf_status take(int how, const mlaf_device *dev, const mlaf_log *log, const atomic_bool *cancel, double deadline, int *fd,
                        mlaf_err *err) {
  char path[64];
  *fd = -1;
  if (mlaf_ops(dev)->features & MLAF_DEVICE_MODELLED) return MLAF_OK; /* nothing disturbs a model */
  int lock = open_lock_file(mlaf_info(dev), path, sizeof path);
  if (lock < 0) {
    mlaf_log_line(log, MLAF_LOG_WARN,
                  "cannot open the lock '%s' (%s): another tuner on this device would disturb the times", path,
                  strerror(errno));
    return MLAF_OK;
  }
  bool announced = false;
  for (double start = mlaf_now(); flock(lock, how | LOCK_NB) != 0;) {
    mlaf_status stop = cancel && atomic_load(cancel)       ? MLAF_E_CANCELLED
                       : deadline && mlaf_now() > deadline ? MLAF_E_TIMEOUT
                                                           : MLAF_OK;
    if (errno != EWOULDBLOCK && errno != EINTR) {
      mlaf_log_line(log, MLAF_LOG_WARN, "cannot lock '%s' (%s): going on without", path, strerror(errno));
      close(lock);
      return MLAF_OK;
    }
    if (stop != MLAF_OK) {
      close(lock);
      return mlaf_fail(err, stop, "stopped while another tuner was timing on this device (lock '%s')", path);
    }
    if (!announced && mlaf_now() - start > announce_after_s) {
      mlaf_log_line(log, MLAF_LOG_INFO, "waiting: another tuner is timing on this device (find it with: fuser '%s')",
                    path);
      announced = true;
    }
    nanosleep(&(struct timespec){0, POLL_MS * 1000000L}, NULL);
  }
  *fd = lock;
  return MLAF_OK;
}

mlaf_status mlaf_tuner_lock(const mlaf_device *dev, const mlaf_log *log, const atomic_bool *cancel, double deadline, int *fd,
                            mlaf_err *err) {
  return take(LOCK_EX, dev, log, cancel, deadline, fd, err);
}

mlaf_status mlaf_tuner_share(const mlaf_device *dev, const mlaf_log *log, const atomic_bool *cancel, double deadline, int *fd,
                             mlaf_err *err) {
  return take(LOCK_SH, dev, log, cancel, deadline, fd, err);
}

void mlaf_tuner_unlock(int fd) {
  if (fd >= 0) close(fd); /* the file stays: removing it would let two holders lock two files of one name */
}
