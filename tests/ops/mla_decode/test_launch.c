/* The kernels' argument blocks as code objects ask for them. tests/lua/test_args.lua compares them with those of templates. */
#include "run/built.h"
#include "ops/mla_decode/launch.h"

/* A code object may ask for more (hidden arguments), never for fewer bytes than we pass. */
TEST(code_objects_take_them) {
  static const char *const problems[] = {"mla_decode:h4,r64,p32,q1,bf16,page16,b1,s4096",
                                         "mla_decode:h128,r512,p64,q1,bf16,page64,b1,s4096"};
  for (int i = 0; i < 2; i++) {
    built b;
    built_open(&b, problems[i], NULL);
    for (int k = 0; k < b.build.n; k++) {
      assert_true(b.build.meta[k].kernarg_bytes >= (k ? sizeof(mlaf_combine_args) : sizeof(mlaf_decode_args)));
      assert_string_equal(b.build.meta[k].symbol, b.build.refs[k].symbol);
    }
    built_close(&b);
  }
}

TESTS(NULL, NULL)
