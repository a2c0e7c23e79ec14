-- What `mlaforge embed` ships of this operation (tools/embed-files.lua).
return {
  name = "merge",
  stem = "merge_",
  about = "tokens selects the kernel tuned for the nearest size; a plan serves any number of them.",
  files = { "record.c", "op/args_check.c", "op/args_launch.c" },
  inside = { "ops/mla_merge/launch.h" },
  calls = { table = "mlaf_merge_calls", arguments = "&merge_arguments", check_stages = "mlaf_arguments_check_stages",
    check_args = "mlaf_arguments_check_launch", prepare = "mlaf_arguments_prepare" },
}
