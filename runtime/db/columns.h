/* Columns and sums that the migrations and the statements share. */
#pragma once

#include "device/kernel_launch.h"

/* A stage's kernel stands in kernel1, kernel2, ... of a sample or choice. */
#define STAGES(x) #x ".kernel1, " #x ".kernel2, " #x ".kernel3, " #x ".kernel4"
_Static_assert(MLAF_STAGES_MAX == 4, "one column for each stage");

#define KERNEL_COLUMNS(k) #k ".template," #k ".params," #k ".symbol," #k ".template_hash," #k ".src_hash," #k ".code_key," #k \
                             ".threads," #k ".rows_per_wg"
/* Everything a row means, the names behind its keys included: columns alone would let a flipped key point elsewhere. */
#define KERNEL_SUM(k) "mlaf_sum(" #k ".id," KERNEL_COLUMNS(k) ")"
#define DEVICE_OF(x) "(SELECT canonical FROM device WHERE id = " #x ".device)"
#define PROBLEM_OF(x) "(SELECT canonical FROM problem WHERE id = " #x ".problem)"
#define TOOLCHAIN_OF(x) "(SELECT identity FROM toolchain WHERE id = " #x ".toolchain)"
#define SAMPLE_SUM_OF(s, stages)                                                                                              \
  "mlaf_sum(" #s ".id, " DEVICE_OF(s) ", " PROBLEM_OF(s) ", " TOOLCHAIN_OF(s) ", " #s ".protocol, " #s ".variant, " #s        \
  ".knob, " stages ", " #s ".outcome, " #s ".source, " #s ".ns, " #s ".p10_ns, " #s ".p90_ns, " #s ".mad_ns, " #s ".n, " #s   \
  ".parts, " #s ".error, " #s ".lengths, " #s ".driver, " #s ".clock_mhz, " #s ".mem_clock_mhz)"
#define CHOICE_SUM_OF(c, stages)                                                                                              \
  "mlaf_sum(" DEVICE_OF(c) ", " PROBLEM_OF(c) ", " TOOLCHAIN_OF(c) ", " #c ".protocol, " #c ".variant, " #c ".knob, " stages  \
  ", " #c ".source, " #c ".imported, " #c ".ns, " #c ".margin, " #c ".error, " #c ".lengths, " #c ".driver, " #c              \
  ".clock_mhz, " #c ".mem_clock_mhz)"
#define SAMPLE_SUM(s) SAMPLE_SUM_OF(s, STAGES(s))
#define CHOICE_SUM(c) CHOICE_SUM_OF(c, STAGES(c))
