/* The three functions of NCCL that the example calls, loaded at run time; RCCL has the same under the same names. */
#ifndef EXAMPLE_NCCL_H
#define EXAMPLE_NCCL_H

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef struct nccl {
  const char *device; /* "cuda" or "hip": what its devices are called */
  int (*init_all)(void **comms, int n, const int *devices);
  int (*all_gather)(const void *from, void *to, size_t count, int type, void *comm, void *stream);
  const char *(*error)(int);
} nccl;

enum { NCCL_BYTE = 0 }; /* ncclInt8 */

static int nccl_find(void *lib, const char *name, void *function) {
  void *symbol = dlsym(lib, name);
  memcpy(function, &symbol, sizeof symbol);
  return symbol ? 0 : (fprintf(stderr, "the library has no %s\n", name), 1);
}

/* 0 once a library is loaded, else 1 with the reason on stderr. */
static int nccl_open(nccl *n) {
  static const char *const names[][2] = {
      {"libnccl.so.2", "cuda"}, {"libnccl.so", "cuda"}, {"librccl.so.1", "hip"}, {"librccl.so", "hip"}};
  void *lib = NULL;
  for (int i = 0; i < 4 && !lib; i++)
    if ((lib = dlopen(names[i][0], RTLD_NOW))) n->device = names[i][1];
  if (!lib) return fprintf(stderr, "neither libnccl.so.2 nor librccl.so.1 is found: set LD_LIBRARY_PATH (%s)\n", dlerror()), 1;
  return nccl_find(lib, "ncclCommInitAll", &n->init_all) || nccl_find(lib, "ncclAllGather", &n->all_gather) ||
         nccl_find(lib, "ncclGetErrorString", &n->error);
}

#endif
