-- What `mlaforge embed` ships of this operation (tools/embed-files.lua).
return {
  name = "q_scale",
  stem = "q_scale_",
  about = "tokens selects the kernel tuned for the nearest size; a plan serves any number of them.",
  files = { "args.c", "prepare.c", "record.c" },
  inside = { "ops/mla_q_scale/scale.h" },
  calls = { table = "mlaf_q_scale_calls", check_stages = "q_scale_check_stages", check_args = "q_scale_check_args",
    prepare = "q_scale_prepare" },
}
