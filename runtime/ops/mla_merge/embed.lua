-- What `mlaforge embed` ships of this operation (tools/embed-files.lua).
return {
  name = "merge",
  stem = "merge_",
  about = "tokens selects the kernel tuned for the nearest size; a plan serves any number of them.",
  files = { "args.c", "prepare.c", "record.c" },
  inside = { "ops/mla_merge/merge.h" },
  calls = { table = "mlaf_merge_calls", check_stages = "merge_check_stages", check_args = "merge_check_args",
    prepare = "merge_prepare" },
}
