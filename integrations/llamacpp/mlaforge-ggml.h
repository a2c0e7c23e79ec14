/* ggml_flash_attn_ext of absorbed MLA by mlaforge: one KV head of 576 columns, V is a view of their first 512. docs/llamacpp.md
 * says where ggml's back ends call it. Compile mlaforge-ggml.cpp as CUDA or HIP for a GPU, as C++ for the emulator. */
#ifndef MLAFORGE_GGML_H
#define MLAFORGE_GGML_H

#include <stddef.h>

#include "ggml.h"
#include "mlaforge/mlaforge.h"

/* The caller's side of a call. */
typedef struct mlaf_ggml_call {
  mlaf_ctx *ctx; /* of the device that holds the tensors; the caller's */
  void *stream;  /* cudaStream_t or hipStream_t of the current device; NULL: the default stream */
  /* Device memory that stays valid until what is launched on `stream` has run, as ggml's pools give it; NULL: there is none.
   * Called at most twice, by the calling thread. */
  void *(*alloc)(void *user, size_t bytes);
  void *user;
  /* 1: each row of the mask shows its first n_r keys and no others. Keys are then read by pages of 64 with the lengths n_r. A row
   * that breaks this makes its output NaN. 0: any mask of 0 and -inf; keys are read by index lists. */
  int prefix;
} mlaf_ggml_call;

#ifdef __cplusplus
extern "C" {
#endif

/* 1 if mlaf_ggml_flash_attn_ext serves the node `op`, else 0. Looks at types, shapes and strides, not at data, so a back end's
 * supports_op may ask. Thread-safe. */
int mlaf_ggml_supports(const struct ggml_tensor *op);

/* Computes the node `op` on the caller's stream and returns without waiting (on the emulator: when it is done). The output of a
 * query token whose mask holds anything but 0 and -inf is NaN; one that sees no key gets 0. Errors: E_ARG (the node is not
 * served; K is not 16-byte aligned; a GPU's context in a build without CUDA and HIP), E_NOMEM (alloc returned NULL), E_DEVICE,
 * those of mlaf_call_run; `why` (may be NULL) gets the detail. Thread-safe for different outputs. */
mlaf_status mlaf_ggml_flash_attn_ext(const mlaf_ggml_call *call, const struct ggml_tensor *op, char *why, size_t why_size);

#ifdef __cplusplus
}
#endif
#endif
