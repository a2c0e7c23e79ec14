/* Shared by the fake drivers: each call is counted and may be told to fail, handles know their kind, and what is alive is known.
 * Included once by each, which defines FAKE, the beginning of its variables' names:
 *
 *   ..._DEVICES=n      devices it claims to have (default 1)
 *   ..._FAIL=name:k:e  the k-th call of `name` from now on returns error e
 *   fake_calls(name)   how often a function was called; fake_reset(), which each defines, forgets
 *   fake_leaks()       what is alive; each defines it, too */
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* a back end looks them up by name */

enum { SUCCESS = 0, MAX_NAMES = 64, MAX_ALIVE = 4096 };
enum { STREAM = 0x5354, EVENT = 0x4556, MODULE = 0x4d4f, GRAPH = 0x4752, EXEC = 0x4558 }; /* kinds of handles */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  char name[40];
  int calls;
} counted[MAX_NAMES];
/* All that is alive. What a back end could not give back, as its context was refused, is found here, too, so that a leak checker
 * sees only what is lost for another reason. */
static void *alive[MAX_ALIVE];
static int live;

/* --- counting and failing --- */

static int *counter(const char *name) {
  int i = 0;
  while (i < MAX_NAMES - 1 && counted[i].name[0] && strcmp(counted[i].name, name)) i++;
  snprintf(counted[i].name, sizeof counted[i].name, "%s", name);
  return &counted[i].calls;
}

/* Count this call; the error that the environment wants it to return, or 0. */
static int enter(const char *name) {
  char wanted[40] = "";
  int k = 1, code = 999;
  pthread_mutex_lock(&lock);
  int calls = ++*counter(name);
  pthread_mutex_unlock(&lock);
  const char *env = getenv(FAKE "_FAIL");
  if (!env || sscanf(env, "%39[^:]:%d:%d", wanted, &k, &code) < 1 || strcmp(wanted, name)) return SUCCESS;
  return calls == k ? code : SUCCESS;
}
#define ENTER                    \
  int forced_ = enter(__func__); \
  if (forced_) return forced_

static int device_count(void) {
  const char *env = getenv(FAKE "_DEVICES");
  return env ? (int)strtol(env, NULL, 10) : 1;
}

EXPORT int fake_calls(const char *name) { return *counter(name); }
EXPORT void fake_reset(void);
EXPORT int fake_leaks(void);

/* --- what is alive --- */

/* NULL stays NULL. */
static void *keep(void *p) {
  pthread_mutex_lock(&lock);
  if (p && live < MAX_ALIVE) alive[live++] = p;
  pthread_mutex_unlock(&lock);
  return p;
}
static int forget(const void *p) {
  int i = 0;
  pthread_mutex_lock(&lock);
  while (i < live && alive[i] != p) i++;
  const int found = i < live;
  if (found) alive[i] = alive[--live];
  pthread_mutex_unlock(&lock);
  return found;
}

/* Every handle begins so. */
typedef struct handle {
  uint32_t magic;
  double when; /* of an event */
} handle;

static int is(const void *h, uint32_t magic) { return h && ((const handle *)h)->magic == magic; }

/* A handle of `size` bytes, zero but for its kind; NULL without memory. */
static void *make(size_t size, uint32_t magic) {
  handle *h = calloc(1, size);
  if (h) h->magic = magic;
  return keep(h);
}
/* Destroys a handle; tells whether it was one. */
static int destroy(void *h, uint32_t magic) {
  if (!is(h, magic)) return 0;
  forget(h);
  ((handle *)h)->magic = 0;
  free(h);
  return 1;
}
