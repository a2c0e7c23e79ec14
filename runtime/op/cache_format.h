/* The formats of latent caches: how a cache holds a token. Their rows are made of gen/formats.lua, which explains them. */
#pragma once

#include "base/base.h"
#include "mlaf_formats.h"

/* Types of stored numbers. DTYPE: the problem's 16-bit type. */
typedef enum mlaf_stored {
  MLAF_STORED_DTYPE,
  MLAF_STORED_E4M3FN,
  MLAF_STORED_E4M3FNUZ,
} mlaf_stored;

static inline bool mlaf_stored_in_16(mlaf_stored type) { return type == MLAF_STORED_DTYPE; }
static inline bool mlaf_stored_fnuz(mlaf_stored type) { return type == MLAF_STORED_E4M3FNUZ; }

/* The factor that makes a value of a stored number: none, one that the launch has, or the token's own. */
typedef enum mlaf_scale { MLAF_SCALE_NONE, MLAF_SCALE_LAUNCH, MLAF_SCALE_STORED } mlaf_scale;

/* Bytes that follow a problem's rank and rope dim: rank * R + rope * P + fixed. */
typedef struct mlaf_extent {
  int32_t rank, rope, fixed;
} mlaf_extent;
static inline int64_t mlaf_extent_bytes(mlaf_extent extent, int rank, int rope) {
  return (int64_t)extent.rank * rank + (int64_t)extent.rope * rope + extent.fixed;
}

/* A token's part in the second tensor of its cache (kpe and cache_kpe in arguments, the second of a pair in Python). */
typedef enum mlaf_part { MLAF_PART_NONE, MLAF_PART_ROPE, MLAF_PART_SCALES } mlaf_part;
typedef struct mlaf_second_tensor {
  mlaf_part of;
  int number;      /* bytes of a number */
  mlaf_extent row; /* bytes of a row: 0 where the problem has no such columns */
} mlaf_second_tensor;

typedef struct mlaf_cache_format {
  const char *name;         /* "fp8_ds_mla": its word in problems */
  mlaf_stored latent, rope; /* types of the numbers of these columns */
  int unit;                 /* bytes of what strides of its rows count */
  mlaf_scale scale;
  int group, scales;     /* STORED: columns of the latent that a scale is for; scales of a row, fp32 or */
  bool powers;           /* powers of two in a byte, 2^(byte - 127), 255 is NaN */
  int aside;             /* bytes of a token's scales where those of a page's tokens lie behind its rows; 0: in the row */
  int rope_aside;        /* bytes of a rope column where all of a page lie behind those; 0: in the row */
  bool pools;            /* index lists may be of two pools */
  int columns[2];        /* of the latent, and rope columns, where the format fixes them; 0: the problem does */
  mlaf_extent row;       /* a token's row in the cache's tensor */
  mlaf_extent scales_at; /* from the row's first byte; so is */
  mlaf_extent rope_at;   /* but where they lie in the second tensor, whose rows begin with them */
  mlaf_second_tensor second;
  mlaf_extent handed; /* a row of the tensor as callers shape it: with the token's scales, wherever they lie */
  mlaf_extent token; /* in all tensors */
} mlaf_cache_format;

static inline int mlaf_format_latent(const mlaf_cache_format *f, int rank) { return f->columns[0] ? f->columns[0] : rank; }
static inline int mlaf_format_rope(const mlaf_cache_format *f, int rope) { return f->columns[0] ? f->columns[1] : rope; }
/* Units that strides count of a row of the cache's tensor, and of its second one; 0: there is none, or no such columns. */
static inline int64_t mlaf_format_row(const mlaf_cache_format *f, int rank, int rope) {
  return mlaf_extent_bytes(f->row, rank, rope) / f->unit;
}
static inline int64_t mlaf_format_second(const mlaf_cache_format *f, int rank, int rope) {
  return mlaf_extent_bytes(f->second.row, rank, rope) / f->unit;
}
/* Numbers of a row of it; of a format without, what rope columns would come to. */
static inline int64_t mlaf_format_second_columns(const mlaf_cache_format *f, int rank, int rope) {
  return f->second.of ? mlaf_extent_bytes(f->second.row, rank, rope) / f->second.number : rope;
}
/* The part as messages call it. */
static inline const char *mlaf_part_words(mlaf_part part) { return part == MLAF_PART_SCALES ? "scales" : "rope columns"; }
/* Bytes of a token that lie behind its page's rows. */
static inline int64_t mlaf_format_behind(const mlaf_cache_format *f, int rope) {
  return f->aside + (int64_t)f->rope_aside * rope;
}
/* Rows of a page of `tokens`, those included that hold what lies behind them. */
static inline int64_t mlaf_format_page_rows(const mlaf_cache_format *f, int64_t tokens, int rank, int rope) {
  const int64_t row = mlaf_extent_bytes(f->row, rank, rope);
  return f->aside ? tokens + (tokens * mlaf_format_behind(f, rope) + row - 1) / row : tokens;
}

static inline const mlaf_cache_format *mlaf_cache_format_at(int format) {
  static const mlaf_cache_format rows[MLAF_FORMATS] = {MLAF_FORMAT_ROWS};
  return &rows[format];
}

/* Pages of a format whose scales lie behind a page's rows: these follow each other, and readers count pages in rows. Strides in
 * bytes, as arguments have them: 0 is dense. */
static inline mlaf_status mlaf_format_check_pages(const mlaf_cache_format *f, int rank, int rope, int32_t page_tokens,
                                                  int64_t row_stride, int64_t page_stride, mlaf_err *err) {
  const int64_t row = mlaf_extent_bytes(f->row, rank, rope), page = mlaf_format_page_rows(f, page_tokens, rank, rope) * row;
  if (row_stride && row_stride != row)
    return mlaf_fail(err, MLAF_E_ARG, "cache_row_stride is %lld, must be 0 or %lld: the rows of a page of %s follow each other",
                     (long long)row_stride, (long long)row, f->name);
  if (!page_stride || (page_stride >= page && page_stride % row == 0)) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG,
                   "cache_page_stride is %lld, must be 0 or a multiple of %lld from %lld on: a page of %s is %d rows and, behind "
                   "them, %d bytes of %s for each", (long long)page_stride, (long long)row, (long long)page, f->name, page_tokens,
                   (int)mlaf_format_behind(f, rope), f->rope_aside ? "scales and rope columns" : "scales");
}

/* Why the operation cannot have a cache of the format whose name the first n characters of `word` are; NULL: that is no name of a
 * format, or no reason. */
const char *mlaf_cache_format_refusal(const char *op, const char *word, size_t n);

/* The same of bytes whose rows are as long as a token of a format with scales inside; rows of other lengths: NULL. */
const char *mlaf_cache_format_refused_row(const char *op, int64_t bytes, int rank, int rope);
