#!/usr/bin/env bash
# Compile, execute and verify N variants (default 24) of each of the 40 problems of a covering grid on the emulator:
# heads {1,5,8,16,20,40,64,128} x q_len {1,2,3,5,8}, with the four (rank, rope) pairs, page sizes {64,1,16} and masks in
# rotation. One line a problem; some 7 minutes on two cores. Usage: tools/verify-grid.sh [N | all]
set -euo pipefail
cd "$(dirname "$0")/.."
MLAF_REQUIRE_ROCM=1 MLAF_KERNEL_GRID=1 MLAF_KERNEL_VARIANTS=${1:-24} exec "${MLAF_BUILD_DIR:-build}/test_kernels"
