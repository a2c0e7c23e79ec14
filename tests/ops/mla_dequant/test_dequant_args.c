/* mla_dequant: bytes in the reference, and the words of its checks. */
#include "ops/checked.h"
#include "ops/mla_dequant/args.h"

/* --- what must come out --- */

/* The reference of one weight and its scale. */
static double meant(const char *problem, uint8_t w, float scale) {
  mlaf_point p;
  mlaf_host h;
  mlaf_rows r;
  mlaf_err err = {MLAF_OK, ""};
  const mlaf_table_case one = {.name = "one weight"};
  assert_int_equal(mlaf_point_parse(NULL, problem, &p, NULL, 0), MLAF_OK);
  mlaf_host_init(&h, &p, &one, 1);
  if (mlaf_host_alloc(&h, DEQUANT_W, w, &err) || mlaf_host_alloc(&h, DEQUANT_W_SCALE, 0, &err) || mlaf_rows_open(&h, &r, &err))
    fail_msg("%s", err.text);
  *(float *)mlaf_host_at(&h, DEQUANT_W_SCALE, 0, 0) = scale;
  mlaf_rows_seek(&r, 0, 0);
  const double value = r.want[0].value[0];
  mlaf_rows_close(&r);
  mlaf_host_free(&h);
  return value;
}

TEST(what_bytes_mean) {
  static const char fn[] = "mla_dequant:c32,bf16,e4m3fn,t4", fnuz[] = "mla_dequant:c32,bf16,e4m3fnuz,t4";
  static const char f16[] = "mla_dequant:c32,f16,e4m3fn,t4";
  assert_true(meant(fn, 0x38, 1) == 1 && meant(fnuz, 0x38, 1) == 0.5 && meant(fn, 0x7e, 1) == 448);
  assert_true(meant(fn, 0x80, 1) == 0 && signbit(meant(fn, 0x80, 1))); /* where e4m3fnuz has its NaN */
  assert_true(isnan(meant(fnuz, 0x80, 1)) && isnan(meant(fn, 0x7f, 1)) && isnan(meant(fn, 0xff, 0)));
  assert_true(meant(fn, 0x39, 1.00390625f) == 0x1.22p0);   /* 1.12939: rounded up */
  assert_true(isinf(meant(f16, 0x7e, 1000)));              /* beyond what f16 has */
  assert_true(meant(f16, 0x38, 0x1p-24f) == 0x1p-24);      /* subnormal */
}

static mlaf_dequant_args good(void) {
  static _Alignas(16) uint16_t tensor[2][16];
  static float scales[4];
  return (mlaf_dequant_args){.struct_size = sizeof(mlaf_dequant_args), .rows = 4, .w = tensor[0], .y = tensor[1],
                             .w_scale = scales, .w_scale_row = 77, .w_scale_column = 136};
}

static const args_kernel of = {"mla_dequant:c512,bf16,e4m3fn,t4096", 128, 4};

TEST(arguments_are_checked) {
  mlaf_err err;
  mlaf_dequant_args a = good();
  assert_int_equal(args_checked(&of, &a, &err), MLAF_OK);
  WRONG(a.w = NULL, "w is NULL");
  WRONG(a.y = (char *)a.y + 2, "y is");
  WRONG(a.y = (void *)(uintptr_t)a.w, "y is w");
  WRONG(a.w_row_stride = 520, "w_row_stride is 520, must be 0 or a multiple of 16 from 512 on");
  WRONG(a.y_row_stride = 504, "y_row_stride");
  WRONG(a.w_scale = NULL, "w_scale is");
  WRONG(a.w_scale = (const float *)(const void *)((const char *)a.w_scale + 2), "w_scale is");
  WRONG(a.w_scale_row = -1, "w_scale_row is -1");
  WRONG(a.w_scale_column = 4, "w_scale_column is 4");
  WRONG(a.w_scale_row_stride = 5, "w_scale_row_stride is 5, must be 0 or 6 and up");
  WRONG(a.flags = 1, "flags");
  WRONG(a.rows = -1, "rows");
  WRONG(a.rows = INT64_C(1) << 31, "rows");
  const mlaf_dequant_args nothing = MLAF_DEQUANT_ARGS_INIT;
  assert_int_equal(args_checked(&of, &nothing, &err), MLAF_OK);
}

TESTS(NULL, NULL)
