-- What `mlaforge embed` ships of this operation (tools/embed-files.lua).
return {
  name = "dequant",
  stem = "dequant_",
  about = "w_rows selects the kernel tuned for the nearest size; a plan serves any number of them.",
  files = { "args.c", "prepare.c", "record.c" },
  inside = { "ops/mla_dequant/dequant.h" },
  calls = { table = "mlaf_dequant_calls", check_stages = "dequant_check_stages", check_args = "dequant_check_args",
    prepare = "dequant_prepare" },
}
