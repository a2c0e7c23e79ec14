-- Files of this operation that `mlaforge embed` ships (tools/embed-files.lua).
return {
  name = "prefill",
  stem = "prefill_",
  about = "batch, tokens and ctx select the kernel of the nearest sizes; a plan serves any requests of any lengths.",
  files = { "args.c", "prepare.c", "record.c" },
  inside = { "ops/mla_prefill/prefill.h" },
  calls = { table = "mlaf_prefill_calls", check_stages = "prefill_check_stages", check_args = "prefill_check_args",
    prepare = "prefill_prepare" },
}
