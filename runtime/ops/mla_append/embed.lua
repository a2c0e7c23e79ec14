-- Files of this operation that `mlaforge embed` ships (tools/embed-files.lua).
return {
  name = "append",
  stem = "append_",
  about = "tokens selects the kernel tuned for the nearest size; a plan serves any number of them.",
  files = { "args.c", "prepare.c", "record.c" },
  inside = { "ops/mla_append/append.h" },
  calls = { table = "mlaf_append_calls", check_stages = "append_check_stages", check_args = "append_check_args",
    parameter_bytes = "append_parameter_bytes", prepare = "append_prepare" },
}
