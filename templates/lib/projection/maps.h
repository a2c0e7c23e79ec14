//@ -- The parameter block of a kernel with tensor maps for w and x; `args` is the type of the rest.
struct __align__(64) mlaf_tensor_map {
  u64 opaque[16];
};
struct mlaf_projection_params {
  ${args} a;
  mlaf_tensor_map w, x;
};
