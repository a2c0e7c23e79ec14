-- Files of this operation that `mlaforge embed` ships (tools/embed-files.lua).
return {
  name = "decode",
  comment = [[mla_decode: O = softmax(scale * Q K^T) V over a paged latent cache. K is all rank + rope columns of a cached row, V
 * its first rank. Opening a device and closing it: mlaf_embed.h.]],
  about = "batch and ctx select the kernel of the nearest shape and its splits; a plan executes any batch and any lengths.",
  header = "mlaforge/mla_decode.h",
  takes = { "mlaf_mla_decode_args" },
  args = "mlaf_mla_decode_args",
  alias = "mlaf_embed_decode_args",
  files = { "args.c", "block_tables.c", "fit.c", "index_lists.c", "prepare.c", "problem.c" },
  inside = { "ops/mla_decode/block_tables.h", "ops/mla_decode/calls.h", "ops/mla_decode/execute.h",
    "ops/mla_decode/index_lists.h" },
  calls = { table = "mlaf_decode_calls", check_stages = "mlaf_decode_check_stages", settle = "mlaf_decode_settle",
    check_args = "mlaf_decode_check_args", workspace = "mlaf_decode_workspace", prepare = "mlaf_decode_prepare",
    second = "mlaf_decode_forms", fit_knob = "mlaf_decode_fit", stands_back = "mlaf_decode_stands_back",
    any_lengths = "mlaf_decode_any_lengths", needs_second = "mlaf_launch_needs_combine" },
  rename = { mlaf_decode_workspace = "mlaf_embed_decode_workspace_of", mlaf_decode_problem = "mlaf_embed_decode_problem_of_bound",
    mlaf_decode_args = "mlaf_embed_decode_kernel_args" },
  also = { "mlaf_embed_mla_decode_tables.h" },
}
