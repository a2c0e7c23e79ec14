/* A second form of an operation's arguments, and the launch that makes the first form of it. */
#ifndef MLAF_SECOND_H
#define MLAF_SECOND_H

#include "op/bound.h"
#include "op/kernel.h"

/* A launch of the kernel of a second form. Its args point to the parameters: do not copy it. */
enum { MLAF_SECOND_PARAMETERS = 256 };
typedef struct mlaf_second_prepared {
  _Alignas(16) unsigned char parameters[MLAF_SECOND_PARAMETERS];
  mlaf_launch launch;
} mlaf_second_prepared;

/* A second form of the arguments (block tables of mla_decode): one more kernel, launched before the others, makes the first
 * form of it, in the workspace. */
typedef struct mlaf_second_form {
  const mlaf_kernel_ref *kernel; /* for whoever builds it. Every bundle of the operation has it */
  const char *what;              /* "the kernel that reads block tables" */
  bool (*wanted)(const void *args);
  /* Bytes of workspace, the other kernels' included; SIZE_MAX where there are too many, or no such arguments. */
  size_t (*workspace)(const mlaf_bound *b, uint32_t knob, const void *args);
  /* Fields that all its launches share. */
  mlaf_launch (*like)(const mlaf_function *fn);
  /* Check all and fill its launch. `fn` NULL: it is not loaded. *first, of args_size bytes: the arguments' first form, launched
   * next; its first word is 0 where there is nothing to do, and nothing to launch. */
  mlaf_status (*prepare)(const mlaf_bound *b, uint32_t knob, const mlaf_function *fn, const void *args, void *first,
                         mlaf_second_prepared *out, mlaf_err *err);
  /* The same for a caller that keeps what the kernel makes elsewhere, and for several launches: it is written to `at`, and only
   * what goes into it is checked. */
  mlaf_status (*prepare_at)(const mlaf_bound *b, const mlaf_function *fn, const void *args, void *at, void *first,
                            mlaf_second_prepared *out, mlaf_err *err);
} mlaf_second_form;

#endif
