/* Comparisons: every condition for every type, with (cmpx) and without writing EXEC. */
#define CMP1(name, T, condition)              \
  OP(cmp_##name, 0, MASK, T, T, NO, condition) \
  OP(cmpx_##name, VF_CMPX, MASK, T, T, NO, condition)
#define CMP_FLOAT(s, T)               \
  CMP1(f_##s, T, 0)                   \
  CMP1(lt_##s, T, x < y)              \
  CMP1(eq_##s, T, x == y)             \
  CMP1(le_##s, T, x <= y)             \
  CMP1(gt_##s, T, x > y)              \
  CMP1(lg_##s, T, (x < y) | (x > y))  \
  CMP1(ge_##s, T, x >= y)             \
  CMP1(o_##s, T, (x == x) & (y == y)) \
  CMP1(u_##s, T, (x != x) | (y != y)) \
  CMP1(nge_##s, T, !(x >= y))         \
  CMP1(nlg_##s, T, !((x < y) | (x > y))) \
  CMP1(ngt_##s, T, !(x > y))          \
  CMP1(nle_##s, T, !(x <= y))         \
  CMP1(neq_##s, T, x != y)            \
  CMP1(nlt_##s, T, !(x < y))          \
  CMP1(tru_##s, T, 1)
#define CMP_INT(s, T)      \
  CMP1(f_##s, T, 0)        \
  CMP1(lt_##s, T, x < y)   \
  CMP1(eq_##s, T, x == y)  \
  CMP1(le_##s, T, x <= y)  \
  CMP1(gt_##s, T, x > y)   \
  CMP1(ne_##s, T, x != y)  \
  CMP1(ge_##s, T, x >= y)  \
  CMP1(t_##s, T, 1)
CMP_FLOAT(f32, F32)
CMP_FLOAT(f16, F16)
CMP_FLOAT(f64, F64)
CMP_INT(i32, I32)
CMP_INT(u32, U32)
CMP_INT(i16, I16)
CMP_INT(u16, U16)
CMP_INT(i64, I64)
CMP_INT(u64, U64)
#undef CMP1
#undef CMP_FLOAT
#undef CMP_INT
