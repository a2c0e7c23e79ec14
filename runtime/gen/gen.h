/* The generator seen from C: problems go in as their strings, checked and canonical. A Lua state with gen/ and templates/
 * inside. Not thread-safe: one mlaf_gen per thread.
 * A build without Lua may leave this room out. */
#pragma once

#include "base/base.h"
#include "device/kernel_launch.h"
#include "mlaforge/status.h"

typedef struct mlaf_gen mlaf_gen;

/* One kernel of a variant. `template_name` and `params` determine the source; the rest says how to launch it. */
typedef struct mlaf_kernel_desc {
  char *template_name;     /* "mla_decode/mfma_reg"; NULL: this stage needs none */
  char *params;            /* canonical "k=v,k=v", sorted by key; compile-time parameters only */
  char symbol[64];         /* mlaf_<op>_<kernel>_<8 hex of sha256(template_name, params, target)> */
  char template_hash[MLAF_HASH_HEX]; /* closure: template, partials, gen/ modules */
  uint32_t threads;        /* block size */
  uint32_t rows_per_wg;    /* grid.x = ceil(rows / rows_per_wg) */
  uint32_t lds_bytes;      /* what the budget says; tests compare it with the code object */
  uint32_t vgpr_budget;    /* registers per lane the budget allows (unified file) */
  uint32_t step, slots;    /* what fitting splits needs: op/nearest.h; 0 of a combine kernel */
} mlaf_kernel_desc;

typedef struct mlaf_variant {
  char *name;     /* canonical, rebuilds the variant: "mfma_reg:blocks=1,rescale=lazy,waves=4/s8" (first kernel / the rest) */
  char *rejected; /* the stated reason, NULL when it is a candidate */
  uint32_t knob;    /* what its operation may turn at launch: of mla_decode the splits */
  bool any_lengths; /* it is as good for requests of different lengths */
  mlaf_kernel_desc kernels[MLAF_STAGES_MAX]; /* by stage */
  double model_ns; /* the generator's closed-form estimate, used for ESTIMATE planning and for pruning; 0 = none */
} mlaf_variant;
/* Stages up to the last one that has a kernel. */
static inline int mlaf_variant_stages(const mlaf_variant *v) {
  int n = MLAF_STAGES_MAX;
  while (n > 0 && !v->kernels[n - 1].template_name) n--;
  return n;
}
void mlaf_variant_clear(mlaf_variant *v);
void mlaf_variants_free(mlaf_variant *list, size_t n);

/* `root` NULL: the modules embedded in the binary; else a directory holding gen/ and templates/ (development). */
mlaf_status mlaf_gen_open(const char *root, mlaf_gen **out, mlaf_err *err);
/* The same with what it answered before kept in files under <cache_dir>/generator (runtime/gen/memo.c): a Lua state is opened
 * only for a question that is new. A root without a generator is noticed then. cache_dir NULL: as mlaf_gen_open. */
mlaf_status mlaf_gen_open_memo(const char *root, const char *cache_dir, mlaf_gen **out, mlaf_err *err);
/* Tells whether a Lua state is open. */
bool mlaf_gen_is_loaded(const mlaf_gen *g);
void mlaf_gen_close(mlaf_gen *g);

/* All variants of the space for this problem, candidates first, best model_ns first; rejected ones with their reason. */
mlaf_status mlaf_gen_space(mlaf_gen *g, const char *problem, const char *target, mlaf_variant **list, size_t *n,
                           mlaf_err *err);
/* Lists what vendors' GEMM libraries offer for it, in no space: whether the library is there the generator does not know.
 * Candidates, then those rejected; none for most operations. */
mlaf_status mlaf_gen_libraries(mlaf_gen *g, const char *problem, const char *target, mlaf_variant **list, size_t *n,
                               mlaf_err *err);
/* The one of them that is known to be better than any kernel although nobody tuned; *n 0: none is. */
mlaf_status mlaf_gen_known_library(mlaf_gen *g, const char *problem, const char *target, mlaf_variant **list, size_t *n,
                                   mlaf_err *err);
/* The first `most` (at least 1) of the space's candidates, without the rest: for planning. */
mlaf_status mlaf_gen_best(mlaf_gen *g, const char *problem, const char *target, size_t most, mlaf_variant **list, size_t *n,
                          mlaf_err *err);
/* Rebuild one variant from its name; E_TEMPLATE with the reason if the space would reject it. */
mlaf_status mlaf_gen_variant(mlaf_gen *g, const char *problem, const char *target, const char *name,
                             mlaf_variant *out, mlaf_err *err);
/* A variant tuned for another batch and ctx, fitted to this one: the same decode kernel, with the splits and the combine kernel
 * the model gives it here. E_TEMPLATE if the space has no such kernel. */
mlaf_status mlaf_gen_refit(mlaf_gen *g, const char *problem, const char *target, const char *name, mlaf_variant *out,
                           mlaf_err *err);
/* The same of a variant that was tuned for one request. *reason, malloc'ed: why it shall not serve this problem of several, since
 * other kernels are as good for any lengths and this is not; NULL: it may. */
mlaf_status mlaf_gen_serve(mlaf_gen *g, const char *problem, const char *target, const char *name, char **reason,
                           mlaf_err *err);
/* Variants that serve in place of the one of that name a caller who knows more of its launches, best first: `ahead`, what tables
 * and older rows hold is older than the launch before; `next`, the problem executed next over this one's outputs alone, which a
 * joint kernel serves, too (NULL: none). Mostly there are none. */
mlaf_status mlaf_gen_inside(mlaf_gen *g, const char *problem, const char *target, const char *name, bool ahead, const char *next,
                            mlaf_variant **list, size_t *n, mlaf_err *err);
/* A measurement of a problem of the same shape. */
typedef struct mlaf_gen_measured {
  const char *problem; /* its string */
  const char *variant, *template_hash; /* of its first kernel; "": whatever the generator makes today */
  const char *lengths; /* of the requests that were timed (op/lengths.h) */
  double ns;
  bool slow; /* its kernel was too slow wherever it was measured: it shall not serve */
} mlaf_gen_measured;
typedef struct mlaf_gen_nearby {
  mlaf_variant variant;
  int from;              /* whose decode kernel it is, an index; -1: of none of them, the model's alone */
  double ns, nearest_ns; /* the estimate, raised by what is not known; that of the nearest choice's kernel (0: it does not fit) */
} mlaf_gen_nearby;
/* The variant for an untuned problem by the model corrected with what was measured near it (gen/nearby.lua); measured[0] is the
 * nearest choice. any: a kernel may be taken that is none of theirs.
 * E_TEMPLATE when the generator makes none of them any more. */
mlaf_status mlaf_gen_nearby_variant(mlaf_gen *g, const char *problem, const char *target, const mlaf_gen_measured *measured,
                                    size_t n, bool any, mlaf_gen_nearby *out, mlaf_err *err);
/* The variant that works for every supported problem of this target, tuned or not. */
mlaf_status mlaf_gen_baseline(mlaf_gen *g, const char *problem, const char *target, mlaf_variant *out, mlaf_err *err);
/* The batch-invariant variant of the problem's shape; E_TEMPLATE with the reason where there is none. */
mlaf_status mlaf_gen_invariant(mlaf_gen *g, const char *problem, const char *target, mlaf_variant *out, mlaf_err *err);
/* Source text of a kernel (malloc'ed) and its hash. Pure function of (template, params, target). */
mlaf_status mlaf_gen_render(mlaf_gen *g, const mlaf_kernel_desc *k, const char *target, char **source,
                            char src_hash[MLAF_HASH_HEX], mlaf_err *err);
/* The suffix of a file with this kernel's source: ".hip" or ".cu". */
mlaf_status mlaf_gen_suffix(mlaf_gen *g, const char *template_name, char out[8], mlaf_err *err);
/* Compiler options of the target, NULL-terminated, owned by g. */
mlaf_status mlaf_gen_options(mlaf_gen *g, const char *target, const char *const **options, mlaf_err *err);
/* Compute units of the device that the target's model and defaults are for. */
mlaf_status mlaf_gen_units(mlaf_gen *g, const char *target, int32_t *units, mlaf_err *err);
/* Time of a perfect kernel, by the arch table: ns to move `bytes` from HBM (achievable bandwidth) and to compute
 * `flops` with dense 16-bit MFMA (boost clock). */
mlaf_status mlaf_gen_roofline(mlaf_gen *g, const char *target, double bytes, double flops, double *memory_ns,
                              double *compute_ns, mlaf_err *err);
/* Targets that have an arch table, NULL-terminated, owned by g. */
const char *const *mlaf_gen_targets(mlaf_gen *g);
/* SHA-256 over the paths and bytes of all gen/ and templates/ files under `root` (NULL: the embedded ones). Opens no Lua
 * state: whoever knows a template's hash for this stamp need not ask the generator again. */
mlaf_status mlaf_gen_stamp(const char *root, char out[MLAF_HASH_HEX], mlaf_err *err);
