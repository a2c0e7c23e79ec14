/* hipBLASLt's numbers, as its headers have them from version 0.6 (ROCm 6.0) on: hipblaslt.h, hipblas-common.h and HIP's
 * library_types.h. Before, types and compute types had numbers of hipBLAS. */
#include "hip/hip_device.h"

const mlaf_matmul_dialect mlaf_hipblaslt = {
    .name = "hipBLASLt",
    .prefix = "hipblasLt",
    .compute_32f = 2, /* HIPBLAS_COMPUTE_32F */
    .real_32f = 0,
    .real_16f = 2,
    .real_16bf = 14, /* HIP_R_* */
    .op_n = 111,
    .op_t = 112, /* HIPBLAS_OP_* */
    .transa = 0, /* HIPBLASLT_MATMUL_DESC_TRANSA */
    .cols = 5,   /* HIPBLASLT_MATRIX_LAYOUT_* */
    .ld = 6,
    .batch = 0,
    .stride = 1,
    .most_workspace = 1, /* HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: 0 when nothing is said, and then no sum is split */
    .algo_bytes = 24,    /* hipblasLtMatmulAlgo_t: uint8_t data[16]; size_t max_workspace_bytes */
    .least_version = 600,
    .first_unknown = 200000,
};
