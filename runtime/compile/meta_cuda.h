/* Resources of the kernels of a cubin. */
#pragma once

#include "compile/compile.h"
#include "compile/elf.h"

enum { MLAF_MACHINE_CUDA = 190 }; /* EM_CUDA */

/* mlaf_code_meta for an ELF of machine MLAF_MACHINE_CUDA. vgpr_count: registers a thread; scratch_bytes: its stack;
 * lds_bytes: static shared memory. A cubin does not tell spills: they are part of the stack. */
mlaf_status mlaf_cubin_meta(const mlaf_elf *elf, mlaf_kernel_meta *out, size_t max, size_t *n, mlaf_err *err);
