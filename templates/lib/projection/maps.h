//@ -- What a kernel with tensor copies of w and x is given; `args` is the type of the rest.
struct __align__(64) mlaf_tensor_map {
  u64 opaque[16];
};
struct mlaf_projection_params {
  ${args} a;
  mlaf_tensor_map w, x;
};
