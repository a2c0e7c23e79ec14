/* The timing model. Three steps:
 *   timing.c       records, while sampled workgroups execute, what each wave issued and which cache lines it touched;
 *   timing_cu.c    replays the traces of one workgroup (and its co-residents) on a model of a compute unit;
 *   timing_model.c chooses the sample, measures sharing between workgroups, and composes CUs into a launch. */
#pragma once

#include "emu/arch_gfx942.h"
#include "emu/emu.h"
#include "emu/memory.h"

/* --- recording --- */

/* One vector-memory instruction: the lanes' addresses and bytes each. Adds to w->counts and, when the wave is being
 * timed, remembers the cache lines for the step that follows. */
void emu_timing_memory(emu_wave *w, const uint64_t addr[EMU_LANES], uint64_t lanes, unsigned bytes);

/* One executed instruction. */
typedef struct emu_event {
  uint32_t inst;  /* index in code->insts */
  uint16_t clk;   /* LDS port clocks, or L1 address clocks of vector memory */
  uint16_t lines; /* cache lines, next in emu_trace.line */
} emu_event;

typedef struct emu_trace {
  emu_event *event;
  size_t n, cap;
  uint32_t *line; /* line numbers: allocations laid end to end in the order of the span table */
  size_t n_lines, cap_lines;
  uint64_t lds_clk;              /* w->counts.lds_clk at the last step */
  uint16_t pending_clk;
  size_t pending_from;
  uint32_t span;                 /* index of the span hit last */
  bool failed;                   /* out of memory */
} emu_trace;

/* One sampled workgroup. */
typedef struct emu_sample {
  uint64_t id; /* dispatch order */
  int n_waves;
  emu_trace *wave;
} emu_sample;

/* A device allocation in line numbers. */
typedef struct emu_region {
  emu_span span;
  uint32_t first, lines;
  uint32_t written, written_end; /* lines that earlier launches of this sequence wrote: they are in the Infinity Cache */
} emu_region;

typedef struct emu_recorder {
  emu_region *region;
  size_t n_regions;
  emu_sample *sample; /* sorted by id */
  size_t n_samples;
  uint64_t n_groups;
  float *work;        /* [n_groups] instructions of each workgroup; NULL: those that were looked at are alike */
  size_t counted;     /* workgroups whose work was counted; others in `work` have that of one of them */
  bool all;           /* record the whole grid */
  bool uneven;        /* workgroups may differ though those looked at first do not: count them */
  uint64_t budget;    /* instructions to record, and as many to count; four times as many where uneven */
  uint64_t max_bytes; /* of host memory for all traces: dev->max_bytes */
  atomic_uint_fast64_t bytes;
  double deadline;    /* by now(): at it no further workgroup is begun, and there is no time (E_TIMEOUT). 0: none */
  double (*now)(void);
  atomic_bool late;   /* the deadline was reached */
  bool (*hopeless)(void *user); /* asked behind the first workgroup and the first chain: record no more? NULL: go on */
  void *user;
} emu_recorder;

mlaf_status emu_recorder_open(emu_device *dev, emu_recorder *r, mlaf_err *err);
/* Which region a line number lies in; n_regions when none. */
size_t emu_recorder_region(const emu_recorder *r, uint32_t line);
/* True if earlier launches of the sequence wrote the line; `region` as emu_recorder_region() has it. */
static inline bool emu_recorder_wrote(const emu_recorder *r, size_t region, uint64_t line) {
  return region < r->n_regions && line >= r->region[region].written && line < r->region[region].written_end;
}
void emu_sample_clear(emu_sample *s);
void emu_recorder_close(emu_recorder *r);

/* --- the sample and what its workgroups share --- */

typedef struct emu_sharing {
  double *l2_hit;   /* [n_regions + 1] share of a workgroup's first touches that a sibling on its XCD made before */
  double *mall_hit; /* [n_regions + 1] of the rest, share that some workgroup of the launch, or an earlier launch, made */
} emu_sharing;

/* Run a deterministic choice of the launch's workgroups (at least 5, at most 28, all of a small grid) and record them. Where
 * they differ in length, or counting is cheap, the others are run without recording, to know how long each is. */
mlaf_status emu_sample_run(emu_device *dev, const mlaf_launch *l, emu_recorder *r, mlaf_err *err);
mlaf_status emu_sample_sharing(const emu_recorder *r, const mlaf_launch *l, emu_sharing *out, mlaf_err *err);
void emu_sharing_free(emu_sharing *s);
/* Sample that stands for workgroup `id`: nearest in work where that is known, then in (y, x, z), y first because splits differ
 * most. *scale: work of the workgroup over that of the sample. */
size_t emu_sample_for(const emu_recorder *r, const uint32_t grid[3], uint64_t id, double *scale);

/* --- one compute unit --- */

typedef enum emu_part {
  EMU_PART_ISSUE, EMU_PART_MFMA, EMU_PART_LDS, EMU_PART_L1, EMU_PART_L2, EMU_PART_HBM, EMU_PART_BARRIER, EMU_PART_LATENCY,
  EMU_PART_IDLE, EMU_PART_LAUNCH, EMU_PART_COUNT
} emu_part;

/* Environment of a CU: what the rest of the chip leaves it, and where its lines are found. */
typedef struct emu_cu_env {
  const emu_arch *arch;
  const emu_code *code;
  const emu_recorder *rec;
  const double *l2_hit;   /* [n_regions + 1] share of first touches that another CU of the XCD brought into L2 */
  const double *mall_hit; /* [n_regions + 1] of the rest, share found in the Infinity Cache */
  double clock_mhz;
  int residents;          /* copies of the workgroup on the CU */
  double l2_bpc, mall_bpc, hbm_bpc; /* this CU's share, bytes per clk */
  uint64_t l2_reuse_lines;          /* a line comes back from L2 when fewer misses than this lie between */
  const atomic_bool *cancel;        /* emu_cu_run fails once it is true; may be NULL */
  struct emu_cu_log *log;           /* cu_log.h: opened and filled when not NULL; the caller closes it */
} emu_cu_env;

typedef struct emu_cu_result {
  uint64_t clk;                    /* from start to the end of the last resident */
  double part[EMU_PART_COUNT];     /* clk of the average wave; sums to its lifetime */
  double mfma_busy, valu_busy;     /* pipe clocks of all SIMDs */
  double l2_bytes, mall_bytes, hbm_bytes;
} emu_cu_result;

/* False when out of memory or cancelled. */
bool emu_cu_run(const emu_cu_env *env, const emu_sample *s, emu_cu_result *out);

/* --- a launch, as the model settled it: what the profile looks at --- */

typedef struct emu_settled {
  size_t index; /* of the launch in its sequence */
  const mlaf_launch *launch;
  const emu_recorder *rec;
  emu_cu_env env;              /* of a CU while the chip is full */
  const emu_cu_result *result; /* [rec->n_samples] with env */
  uint64_t groups;
  int residents;
  const char *limit;           /* what keeps more workgroups from a CU */
  double clk, mfma_busy;       /* of the kernel on the chip; share of all matrix pipes */
  double launch_ns;            /* before the kernel starts */
} emu_settled;
/* Called once per launch, before its recording is freed; false: stop, with *err filled. */
typedef bool (*emu_observer)(void *user, const emu_settled *s, mlaf_err *err);

typedef struct emu_time_how {
  emu_observer observer; /* may be NULL */
  void *user;
  double limit_s;        /* as mlaf_time_opts: fixes how many instructions are recorded (8 M for each second; 0: 2 s), so that
                            the result does not depend on the host's speed. No clock is read for it */
  double deadline;       /* as mlaf_time_opts: E_TIMEOUT where it comes before the end of the recording. 0: none */
  double (*now)(void);   /* the deadline's clock; NULL: mlaf_now */
  double give_up_ns;     /* a launch, or what came before it, that takes clearly longer is not worked out further; 0: never */
  bool all;              /* record every workgroup: what extrapolation is judged by */
  bool uneven;           /* as mlaf_time_opts */
} emu_time_how;
mlaf_status emu_time_how_to(emu_device *dev, const mlaf_launch *launches, size_t n, const emu_time_how *how, mlaf_timing *out,
                            mlaf_err *err);
