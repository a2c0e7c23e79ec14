/* Least work of a launch, to compare a time with. */
#pragma once

typedef struct mlaf_work {
  double bytes;      /* that the fastest possible kernel moves */
  double main_bytes; /* of these, of the tensor that the operation is about (mla_decode: the cached tokens); 0: none apart */
  const char *main;  /* what that tensor is called: "the cache"; NULL: none apart */
  double flops;
} mlaf_work;

/* Bytes that a rate in GB/s counts. */
static inline double mlaf_work_main(const mlaf_work *w) { return w->main_bytes > 0 ? w->main_bytes : w->bytes; }
