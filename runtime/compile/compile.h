/* Compile kernels, read code objects, disassemble: one function each, two transports behind them.
 *   in-process: libhiprtc/libamd_comgr loaded here by dlopen, when the library is on this machine's loader path;
 *   worker process: `mlaforge-worker`, started through the private prefix's own ld.so, for parallel compiles and for
 *   crash and hang containment. Talks length-prefixed messages over pipes. */
#pragma once

#include "base/base.h"
#include "device/kernel_launch.h" /* types only */

typedef struct mlaf_compiler mlaf_compiler;

typedef struct mlaf_compiler_opts {
  const char *cache_dir;   /* code-object cache; NULL: $MLAF_CACHE_DIR, else $XDG_CACHE_HOME/mlaforge, else ~/.cache/mlaforge */
  const char *worker_path; /* NULL: $MLAF_WORKER, else beside the executable, else the build's path */
  const char *rocm_prefix; /* NULL: $MLAF_ROCM, else a system ROCm, else the prefix tools/setup.sh made */
  int jobs;                /* worker processes; 0 = online CPUs */
  double timeout_s;        /* CPU seconds of one compile; 0 = 120. A busy machine uses up none of them */
  bool no_cache;
  bool in_process;         /* single requests in this process where the libraries load: no worker, but no time limit and no
                              containment either. Also used when no worker executable exists. */
} mlaf_compiler_opts;

/* One compile. Inputs are borrowed, outputs owned by the caller (mlaf_compile_job_clear). */
typedef struct mlaf_compile_job {
  const char *source;
  const char *const *options; /* NULL-terminated, order matters, without the arch */
  const char *target;         /* "gfx942" or a full target id; "sm_90a" goes to NVRTC and gives a cubin */
  const char *name;           /* for messages: the kernel symbol */
  mlaf_status status;         /* OK; the kernel's fault: E_COMPILE, E_TIMEOUT, E_CRASH; not: E_KILLED, E_NO_COMPILER, E_IO (the
                                 temporary folder), E_NOMEM */
  void *code;
  size_t code_size;
  char *log;                  /* compiler output, "" if none */
  char key[MLAF_HASH_HEX];    /* the cache key */
  bool cached;                /* true: no compiler ran */
  double seconds;
} mlaf_compile_job;
void mlaf_compile_job_clear(mlaf_compile_job *job);
/* True if a compile's status says something of the kernel, to be remembered with it. All others say something of the machine. */
bool mlaf_compile_blames_kernel(mlaf_status status);

/* Cheap: no process is started and no library is loaded before the first real compile. */
mlaf_status mlaf_compiler_open(const mlaf_compiler_opts *opts, const mlaf_log *log, mlaf_compiler **out, mlaf_err *err);
void mlaf_compiler_close(mlaf_compiler *c);
/* The cache's directory, NULL when there is no cache. Lives as long as the compiler. */
const char *mlaf_compiler_cache_dir(const mlaf_compiler *c);
/* Worker processes that it may have at once. */
int mlaf_compiler_jobs(const mlaf_compiler *c);
/* Identity of the compiler ("hiprtc 6.4.43484 LLVM 21.1 build-id ..."), part of every cache key. */
mlaf_status mlaf_compiler_identity(mlaf_compiler *c, const char **id, mlaf_err *err);
/* The same for the compiler of `target`: NVRTC ("nvrtc 13.0 build-id ...") for "sm_*", which $MLAF_NVRTC, $CUDA_HOME,
 * the system or .deps/nvrtc has, hiprtc for all others. Each is looked for only when a target of its own comes along. */
mlaf_status mlaf_compiler_identity_for(mlaf_compiler *c, const char *target, const char **id, mlaf_err *err);

/* Compile n jobs over the worker pool; each job carries its own status. `progress` (may be NULL) is called on the
 * calling thread after each finished job, and with job NULL about ten times a second while workers are waited for; returning
 * false cancels the rest (status E_CANCELLED). A job whose worker was killed or stopped from outside, or that failed with no
 * error in the kernel's source, gets another worker, once. Should that be killed too, all ends with E_KILLED; should it fail
 * again, the kernel is at fault only if there is room for temporary files and the simplest kernel compiles. */
typedef bool (*mlaf_compile_progress)(void *user, size_t done, size_t total, const mlaf_compile_job *job);
mlaf_status mlaf_compile(mlaf_compiler *c, mlaf_compile_job *jobs, size_t n, mlaf_compile_progress progress, void *user,
                         mlaf_err *err);
/* A code object by cache key, without any compiler: E_NOT_COMPILED when it is not in the cache. */
mlaf_status mlaf_cache_get(mlaf_compiler *c, const char *key, void **code, size_t *size, mlaf_err *err);
enum { MLAF_HELD_MAX = 32 }; /* code objects that are held at once; what comes beyond is freed */
/* Take over what the call above gave: the next one with this key gets it, without the file. */
void mlaf_cache_hold(mlaf_compiler *c, const char *key, void *code, size_t size);
/* The key a job would have; fills job->key. */
mlaf_status mlaf_compile_key(mlaf_compiler *c, mlaf_compile_job *job, mlaf_err *err);

/* Counters for tests and `mlaforge env`: what actually happened. */
typedef struct mlaf_compile_stats {
  uint64_t compiled, cache_hits, cache_healed, worker_crashes, timeouts;
} mlaf_compile_stats;
void mlaf_compiler_stats(const mlaf_compiler *c, mlaf_compile_stats *out);

/* Arguments that whoever launches an AMD kernel adds to the caller's own: the metadata's "hidden_*", in this order. */
typedef enum mlaf_hidden {
  /* x, y, z each */
  MLAF_HIDDEN_BLOCK_COUNT, MLAF_HIDDEN_GROUP_SIZE = 3, MLAF_HIDDEN_REMAINDER = 6, MLAF_HIDDEN_GLOBAL_OFFSET = 9,
  MLAF_HIDDEN_GRID_DIMS = 12, MLAF_HIDDEN_PRINTF, MLAF_HIDDEN_HOSTCALL, MLAF_HIDDEN_MULTIGRID_SYNC, MLAF_HIDDEN_HEAP,
  MLAF_HIDDEN_DEFAULT_QUEUE, MLAF_HIDDEN_COMPLETION, MLAF_HIDDEN_DYNAMIC_LDS, MLAF_HIDDEN_PRIVATE_BASE, MLAF_HIDDEN_SHARED_BASE,
  MLAF_HIDDEN_QUEUE, MLAF_HIDDEN_COUNT
} mlaf_hidden;
typedef struct mlaf_hidden_place {
  uint32_t at, bytes; /* in the argument block; bytes 0: the kernel does not ask for it */
} mlaf_hidden_place;
/* The code object's facts of one kernel (metadata note and kernel descriptor; parsed here, no comgr needed). */
typedef struct mlaf_kernel_meta {
  char symbol[128];
  uint32_t vgpr_count, agpr_count, sgpr_count; /* vgpr_count: total of the unified file as .vgpr_count states it */
  uint32_t vgpr_spills, sgpr_spills;
  uint32_t scratch_bytes;  /* .private_segment_fixed_size */
  uint32_t lds_bytes;      /* .group_segment_fixed_size; CUDA: static and dynamic shared memory */
  uint32_t kernarg_bytes;
  uint32_t max_threads;    /* .max_flat_workgroup_size */
  uint32_t block[3];       /* .reqd_workgroup_size; 0: any */
  bool args_known;         /* the metadata lists the arguments: what follows is meant */
  uint32_t args_bytes;     /* where the last of the caller's own arguments ends */
  mlaf_hidden_place hidden[MLAF_HIDDEN_COUNT];
  mlaf_kernel_launch launch;
} mlaf_kernel_meta;
/* Fills the first `max` kernels; *n is how many the code object has. Damaged input is E_ARG, never a crash. */
mlaf_status mlaf_code_meta(const void *code, size_t size, mlaf_kernel_meta *out, size_t max, size_t *n, mlaf_err *err);
/* Reads what kernel `symbol` needs of its launch (device/kernel_launch.h): nothing special where it says nothing, or the image is
 * no ELF file. E_ARG when damaged or of another version. */
mlaf_status mlaf_code_launch(const void *code, size_t size, const char *symbol, mlaf_kernel_launch *out, mlaf_err *err);

/* Disassembly of the .text section by comgr, one line per instruction: "<hex offset in .text> <bytes> <text>\n",
 * e.g. "1c40 8 v_mfma_f32_16x16x16_bf16 a[0:3], v[2:3], v[4:5], a[0:3]". Cached by content beside the code object.
 * *text is malloc'ed. */
mlaf_status mlaf_disassemble(mlaf_compiler *c, const char *target, const void *code, size_t size, char **text,
                             mlaf_err *err);
/* Assemble text to a code object through comgr (tests of single instructions). */
mlaf_status mlaf_assemble(mlaf_compiler *c, const char *target, const char *source, void **code, size_t *size,
                          mlaf_err *err);
