/* Decode kernels whose matrix instructions hiprtc (LLVM 21.1) leaves too few wait states behind, on the emulator, which counts
 * them. docs/lab/emulator.md has how they were found. */
#include "verdict.h"

#define TWO_BLOCKS(waves) \
  "mfma_reg:blocks=2,kvload=nt,psplit=1,qsrc=lds,rescale=always,schedule=splits,tile=32,waves=" waves \
  "/s4,rows=1,team=1"

/* The second block's scores are moved out of the accumulators behind the branch of the first block's softmax. */
TEST(scores_outlast_a_branch) {
  static const verified list[] = {
      {"gfx90a", "mla_decode:h1,r128,p0,q3,bf16,page1,b2,s100", TWO_BLOCKS("2"), MLAF_INJECT_NONE},
      {"gfx90a", "mla_decode:h8,r128,p0,q3,bf16,page1,b2,s100", TWO_BLOCKS("2"), MLAF_INJECT_NAN_Q},
  };
  each_verifies(list, sizeof list / sizeof *list);
}

TESTS(NULL, NULL)
