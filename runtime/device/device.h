/* One vtable per back end (hip, cuda, emu:gfx942 and its kin). Nothing above this line knows what runs below it. */
#pragma once

#include <stdatomic.h>

#include "base/base.h"

typedef struct mlaf_device mlaf_device;     /* a back end's device; first member is mlaf_device_base */
typedef struct mlaf_module mlaf_module;     /* a loaded code object */
typedef struct mlaf_function mlaf_function; /* a kernel in it; lives as long as its module */
typedef struct mlaf_chain mlaf_chain;       /* kernels that are launched one behind the other, again and again */
struct mlaf_profile;                        /* device/profile.h */

/* Who this device is. `id` is the database's HARD key: arch with features, CU and XCC count, partitions; never the
 * marketing name. e.g. "gfx942:sramecc+:xnack-|cu304|xcc8|SPX|NPS1", the emulator's begins with "emu:". */
typedef struct mlaf_device_info {
  char id[160];
  char name[128];      /* for people */
  char target[64];     /* what the compiler and gen/arch are told: "gfx942" */
  char full_target[64];/* "gfx942:sramecc+:xnack-" */
  int32_t compute_units, xcc, wave_size, lds_bytes, max_threads;
  int64_t mem_bytes, l2_bytes, llc_bytes;
  int32_t clock_mhz, mem_clock_mhz; /* SOFT: maximum clocks */
  int32_t ordinal;                  /* among this back end's devices in this process, as tensor libraries count them */
  char driver[64];                  /* SOFT: runtime/driver version */
  char place[32];                   /* which of a host's devices: PCI address, "0000:c1:00.0"; empty when not told */
} mlaf_device_info;

typedef enum mlaf_time_source { MLAF_TIME_MEASURED, MLAF_TIME_MODELLED } mlaf_time_source;

typedef struct mlaf_launch {
  const mlaf_function *fn;
  uint32_t grid[3], block[3];
  const void *args; /* kernarg bytes, copied by launch; 64-byte aligned where they hold tensor maps */
  size_t args_size;
  uint32_t cluster[3]; /* blocks; 0 or 1: none. Only for back ends with MLAF_DEVICE_CLUSTERS */
  uint32_t flags;
  uint32_t lds; /* bytes of dynamic LDS (shared memory) behind what the kernel itself declares */
} mlaf_launch;
enum { MLAF_CHAIN_MOST = 12 };
/* The kernel waits itself for the launch before it, so it may start earlier. A permission: ignored where it means nothing. */
enum {
  MLAF_LAUNCH_OVERLAPS = 1,
  MLAF_LAUNCH_LIBRARY = 2 /* fn is a library's product, args are mlaf_matmul_args: the rest says nothing (device/matmul.h) */
};

/* A tensor of 16-bit elements in device memory and the box that one copy moves (device/kernel_launch.h): rows of columns, or with
 * `slices` so many of them. */
typedef struct mlaf_tensor {
  const void *data;           /* 16-byte aligned */
  uint64_t cols, rows;
  uint64_t row_stride;        /* bytes, a multiple of 16 */
  uint32_t box_cols, box_rows;
  uint32_t swizzle;           /* bytes: 0, 32, 64, 128 */
  uint32_t box_slices;
  uint64_t slices, slice_stride; /* 0: two dimensions */
} mlaf_tensor;

#define MLAF_TIME_PARTS 12
/* Time of a sequence of launches. parts: where a modelled time goes (issue, mfma, lds, l1, hbm, barrier, launch, ...). */
typedef struct mlaf_timing {
  mlaf_time_source source;
  double ns;            /* median per sequence */
  double p10_ns, p90_ns, mad_ns;
  int32_t samples;
  double clock_mhz;     /* assumed (modelled) or reported */
  int32_t n_parts;
  struct { char name[16]; double ns; } parts[MLAF_TIME_PARTS];
  char bound[16];       /* the part that binds, "" if unknown */
  char detail[128];     /* e.g. "simulated 24 of 2048 workgroups" */
} mlaf_timing;

typedef struct mlaf_time_opts {
  int32_t warmup, min_samples, max_samples;
  double min_window_ns;     /* per sample; repeats are doubled until reached */
  double limit_s;           /* wall-clock limit; what takes long itself goes on until it has min_samples (device/measure.c). A
                               model takes it as an amount of work, the same on each host (emu/timing.h) */
  double give_up_ns;        /* stop early when the median exceeds this; 0 = never */
  int32_t sets;             /* sequences to go through in turn, a power of two: so that none finds its data in a cache. 0: 1 */
  double idle_s;            /* leave the device alone this long first: its clock depends on what ran before */
  double deadline;          /* of mlaf_now: no sample begins later, enough or not; a model ends with E_TIMEOUT. 0: none */
  bool uneven;              /* the launches' workgroups may differ much in work: a model looks at all, not at a few */
  const atomic_bool *cancel; /* true: E_CANCELLED before the next sample. May be NULL */
  double (*now)(void);      /* seconds by which limits count; NULL: mlaf_now */
} mlaf_time_opts;

/* mlaf_device_ops.features: clusters of blocks; times come from a model; a vendor's GEMM library can run here, if it is there;
 * a process' first loads take long, and the device keeps what is loaded for whoever loads the same. */
enum { MLAF_DEVICE_CLUSTERS = 1, MLAF_DEVICE_MODELLED = 2, MLAF_DEVICE_LIBRARIES = 4, MLAF_DEVICE_SLOW_LOADS = 8 };

/* The per-thread default stream of CUDA and HIP: one name for as many streams as there are threads. */
#define MLAF_STREAM_PER_THREAD ((void *)(intptr_t)2)

/* State that `leave` restores. */
typedef struct mlaf_visit {
  void *before;
  bool pushed;
} mlaf_visit;

typedef struct mlaf_device_ops {
  const char *name; /* "hip", "cuda", "emu:gfx942" */
  /* Open `ordinal`; MLAF_E_NO_DEVICE with the reason when there is none here. */
  mlaf_status (*open)(int ordinal, const mlaf_log *log, mlaf_device **out, mlaf_err *err);
  void (*close)(mlaf_device *dev);
  mlaf_status (*mem_alloc)(mlaf_device *dev, size_t bytes, void **ptr, mlaf_err *err);
  mlaf_status (*mem_free)(mlaf_device *dev, void *ptr, mlaf_err *err);
  mlaf_status (*mem_write)(mlaf_device *dev, void *dst, const void *src, size_t bytes, mlaf_err *err);
  mlaf_status (*mem_read)(mlaf_device *dev, void *dst, const void *src, size_t bytes, mlaf_err *err);
  mlaf_status (*mem_fill)(mlaf_device *dev, void *dst, int byte, size_t bytes, mlaf_err *err);
  mlaf_status (*module_load)(mlaf_device *dev, const void *code, size_t size, mlaf_module **out, mlaf_err *err);
  void (*module_unload)(mlaf_device *dev, mlaf_module *module);
  mlaf_status (*function_get)(mlaf_device *dev, mlaf_module *module, const char *symbol, mlaf_function **out,
                              mlaf_err *err);
  /* Asynchronous on `stream` (NULL = default) where the back end has streams; the emulator runs it before returning.
   * No allocation, lock, log or synchronisation on hip and cuda: legal inside graph capture. */
  mlaf_status (*launch)(mlaf_device *dev, void *stream, const mlaf_launch *launch, mlaf_err *err);
  mlaf_status (*sync)(mlaf_device *dev, void *stream, mlaf_err *err);
  mlaf_status (*stream_create)(mlaf_device *dev, void **stream, mlaf_err *err);
  void (*stream_destroy)(mlaf_device *dev, void *stream);
  /* Time `n` launches as one sequence; launches holds opts->sets such sequences, one behind the other, the same work on other
   * data. Where times are modelled the first is enough. */
  mlaf_status (*time)(mlaf_device *dev, const mlaf_launch *launches, size_t n, const mlaf_time_opts *opts,
                      mlaf_timing *out, mlaf_err *err);
  uint32_t features;
  /* Encode a tensor map into 128 bytes, 64-byte aligned. Host work only: no allocation, lock or synchronisation, legal inside
   * capture. NULL: this back end has no such copies. */
  mlaf_status (*tensor_map_encode)(mlaf_device *dev, const mlaf_tensor *tensor, void *map, mlaf_err *err);
  /* Time product = a b for n x n matrices of bf16 in device memory by the vendor's own library, to know what the matrix units
   * can do. E_NO_DEVICE: the library is not there. NULL: this back end has none. */
  mlaf_status (*time_matmul)(mlaf_device *dev, int n, const void *a, const void *b, void *product, const mlaf_time_opts *opts,
                             mlaf_timing *out, mlaf_err *err);
  /* Tells whether `stream` records launches instead of running them: then nothing may be allocated, compiled or waited for. NULL:
   * there is no such thing here. */
  mlaf_status (*is_capturing)(mlaf_device *dev, void *stream, bool *out, mlaf_err *err);
  /* Marks memory as unwritten: a kernel that reads it before it writes it is at fault. NULL: this back end
   * does not know what was written. */
  mlaf_status (*mem_undefine)(mlaf_device *dev, void *at, size_t bytes, mlaf_err *err);
  /* Between the two kernels work on host memory in place: the device's own memory may be registered, too, and ranges may overlap.
   * `read_only`: a kernel that writes there is at fault. NULL: kernels of this back end reach device memory only. */
  mlaf_status (*mem_register)(mlaf_device *dev, void *host, size_t bytes, bool read_only, mlaf_err *err);
  mlaf_status (*mem_unregister)(mlaf_device *dev, void *host, size_t bytes, mlaf_err *err);
  /* Tells whether a kernel may follow this address, as far as the driver knows: false for plain host memory, which would end
   * every later use of the device. NULL: launches check addresses themselves. */
  mlaf_status (*can_reach)(mlaf_device *dev, const void *ptr, bool *out, mlaf_err *err);
  /* Between the two the calling thread stays in the device's context, and operations in between need not ask the driver which
   * one it is in. Nothing may change it there but who puts it back. May be nested. NULL: operations ask for little. */
  mlaf_status (*enter)(mlaf_device *dev, mlaf_visit *visit, mlaf_err *err);
  void (*leave)(mlaf_device *dev, const mlaf_visit *visit);
  /* device/profile.h, by whose functions they are called. NULL: this back end cannot tell. */
  mlaf_status (*profile)(mlaf_device *dev, const mlaf_launch *launches, size_t n, struct mlaf_profile *out, mlaf_timing *timing,
                         mlaf_err *err);
  mlaf_status (*profile_count)(mlaf_device *dev, const mlaf_launch *launch, struct mlaf_profile *out, mlaf_err *err);
  /* Opens a chain of 2 to MLAF_CHAIN_MOST launches, which makes launches of these kernels, one behind the other, cheaper for the
   * host: grids and arguments may differ from one call to the next, the rest is as `like` says. *out NULL: there is no such thing
   * for them. chain_launch is `launch` of each, by any thread in any stream, in the way that costs the host least and the device
   * nothing; `chain` may be NULL. All NULL: this back end has no such way. */
  mlaf_status (*chain_open)(mlaf_device *dev, const mlaf_launch *like, size_t n, mlaf_chain **out, mlaf_err *err);
  void (*chain_close)(mlaf_device *dev, mlaf_chain *chain);
  mlaf_status (*chain_launch)(mlaf_device *dev, void *stream, mlaf_chain *chain, const mlaf_launch *launches, size_t n,
                              mlaf_err *err);
  /* Bytes of workspace that a function of MLAF_KERNEL_LIBRARY wants. NULL without MLAF_DEVICE_LIBRARIES. */
  size_t (*library_workspace)(const mlaf_function *fn);
  /* Load the library and make its handle, if that was not done: E_NO_DEVICE says why it cannot serve. NULL: as above. */
  mlaf_status (*library_open)(mlaf_device *dev, mlaf_err *err);
} mlaf_device_ops;

/* First member of every back end's device. */
typedef struct mlaf_device_base {
  const mlaf_device_ops *ops;
  mlaf_device_info info;
  const atomic_bool *cancel; /* mlaf_device_cancel_by */
} mlaf_device_base;

static inline const mlaf_device_ops *mlaf_ops(const mlaf_device *dev) { return ((const mlaf_device_base *)dev)->ops; }
static inline const mlaf_device_info *mlaf_info(const mlaf_device *dev) {
  return &((const mlaf_device_base *)dev)->info;
}

/* Back ends in the order `--device auto` tries them; NULL-terminated. */
extern const mlaf_device_ops *const mlaf_backends[];
extern const mlaf_device_ops mlaf_hip_ops;
extern const mlaf_device_ops mlaf_cuda_ops;
extern const mlaf_device_ops mlaf_emu_ops, mlaf_emu_gfx950_ops, mlaf_emu_gfx90a_ops;

/* "hip", "hip:1", "cuda", "emu:gfx942"; "auto" or NULL: the first GPU that works, never the emulator. E_NO_DEVICE says what was
 * tried, why each failed and what to do. */
mlaf_status mlaf_device_open(const char *spec, const mlaf_log *log, mlaf_device **out, mlaf_err *err);
void mlaf_device_close(mlaf_device *dev);
/* Once *cancel is true, what runs on the host in the device's stead (the emulator's launches, its timing) ends with E_CANCELLED
 * within a few milliseconds. Launches on real devices are not stopped. NULL: nothing stops them. The flag must outlive the
 * device; set before launches run. */
void mlaf_device_cancel_by(mlaf_device *dev, const atomic_bool *cancel);

/* The target that code for a device is made for, by its identity: "gfx942" for "gfx942:sramecc+:xnack-|cu304|...",
 * "emu:gfx942|..." and "arch:gfx942"; "sm_90a" for "sm_90|sm132|...": from 9.0 on the instructions that make a generation fast
 * (wgmma, tcgen05) exist only in its "a" target. `out` is cut to `size` bytes. */
void mlaf_target_of_device(const char *id, char *out, size_t size);
/* Compute units that a device's identity names ("|cu304|", "|sm132|"): 0 where it names none. E_ARG: what stands there is no such
 * number. */
mlaf_status mlaf_units_of_device(const char *id, int32_t *out, mlaf_err *err);
/* Returns what follows "emu:" in an emulated device's identity or spec ("emu:gfx942|...", "emu:gfx942"); NULL for any other. */
const char *mlaf_emulated(const char *id);
