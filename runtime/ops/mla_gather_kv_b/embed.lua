-- Files of this operation that `mlaforge embed` ships (tools/embed-files.lua).
return {
  name = "gather",
  stem = "gather_",
  about = "tokens selects the kernel tuned for the nearest size; a plan serves any number of them.",
  args = "mlaf_gather_kv_b_args",
  alias = "mlaf_embed_gather_args",
  files = { "args.c", "prepare.c", "record.c" },
  inside = { "ops/mla_gather_kv_b/gather.h" },
  calls = { table = "mlaf_gather_calls", check_stages = "gather_check_stages", check_args = "gather_check_args",
    prepare = "gather_prepare" },
}
