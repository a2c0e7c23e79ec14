/* cuBLASLt's numbers, as the headers of CUDA 12.0 to 13.x have them (cublasLt.h, cublas_api.h, library_types.h; the library
 * promises its ABI within a major version, and these did not change between the two). */
#include "cuda/cuda_device.h"

const mlaf_matmul_dialect mlaf_cublaslt = {
    .name = "cuBLASLt",
    .prefix = "cublasLt",
    .compute_32f = 68, /* CUBLAS_COMPUTE_32F */
    .real_32f = 0,
    .real_16f = 2,
    .real_16bf = 14, /* CUDA_R_* */
    .op_n = 0,
    .op_t = 1,
    .transa = 3, /* CUBLASLT_MATMUL_DESC_TRANSA */
    .cols = 3,   /* CUBLASLT_MATRIX_LAYOUT_* */
    .ld = 4,
    .batch = 5,
    .stride = 6,
    .most_workspace = 1,              /* CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES */
    .least_alignment = {5, 6, 7, 8},  /* _MIN_ALIGNMENT_{A,B,C,D}_BYTES: 256 when nothing is said */
    .algo_bytes = 64,                 /* cublasLtMatmulAlgo_t: uint64_t data[8] */
    .versioned_alone = true,
    .checks = true,
    .least_version = 120000,
    .first_unknown = 140000,
};
