"""vLLM on its CPU platform: stock, decode attention of ours, whole layers of ours. Called by tools/engines.sh."""
import sys

import torch

import serve
import vllm_by_hand

SCRIPT = "run_vllm.py"
MODES = {"attention": ("attention",), "layer": ("layer decode", "layer prefill"), "prefill": ("attention", "prefill")}  # and what each must have called
HITS = ("prefix hits",) if torch.cpu._is_amx_tile_supported() else ()  # without AMX vLLM turns chunks and the prefix cache of MLA off on a CPU
SMALL = dict(attention_backend="CPU_MLA", block_size=16, max_model_len=128, num_gpu_blocks_override=14)
CASES = [  # name, settings, modes of ours, what they must have counted beside
    ("4 prompts", {}, ("attention", "layer"), ()),
    ("chunks of 32, prefix cache, twice", dict(times=2, lengths=[5, 37, 1, 150, 80], llm=dict(enable_prefix_caching=True, enable_chunked_prefill=True,
                                                                                             max_num_batched_tokens=32, block_size=32)),
     ("attention", "layer"), HITS),
    ("n-gram drafts of 3", dict(repeated=True, lengths=[12, 37, 24, 80], llm=dict(speculative_config=dict(
        method="ngram", num_speculative_tokens=3, prompt_lookup_max=4, prompt_lookup_min=1))), ("attention", "layer"), ("most query tokens",)),
    ("compiled", dict(llm=dict(enforce_eager=False)), ("attention", "layer"), ()),
    ("CPU_MLA, pages of 16", dict(llm=dict(attention_backend="CPU_MLA")), ("attention", "layer", "prefill"), ()),
    ("40 over time, few pages, 2 aborted", dict(every=2, abort=[5, 17], lengths=[5, 37, 12, 80, 20, 33, 7, 60] * 5, llm=SMALL), ("attention", "layer"),
     ("preempted", "aborted")),
]


def main():
    table = serve.Table("vllm")
    for name, settings, modes, counters in CASES:
        stock = f"{name}: stock"
        table.run(stock, SCRIPT, {}, settings)
        for mode in modes:
            table.run(f"{name}: {mode}", SCRIPT, {"MLAFORGE_VLLM": mode}, settings, stock, (*MODES[mode], *counters))
    table.run("tp 2: layer", SCRIPT, {"MLAFORGE_VLLM": "layer", "VLLM_ENABLE_V1_MULTIPROCESSING": "1"}, dict(llm=dict(tensor_parallel_size=2)),
              "4 prompts: stock", ("calls in ranks",))
    for name, tokens, pair, cache in (("decode", [1, 1, 1], False, None), ("3 drafts, q in two", [4, 4, 4], True, None),
                                      ("ragged drafts", [4, 1, 2], False, None), ("a cache of e4m3fnuz", [1, 4, 2], True, torch.float8_e4m3fnuz),
                                      ("rows of 656 bytes", [2, 1, 1], False, torch.uint8)):
        out, lse = vllm_by_hand.error(tokens, pair, cache)
        name = f"GPU class by hand: {name}"
        table.row(name, out < 5e-3 and lse < 1e-3, f"error of out {out:.1e}, of lse {lse:.1e}")
    for ranks, interleave, kind in ((2, 1, None), (4, 16, None), (3, 64, torch.float8_e4m3fn)):
        out, lse = vllm_by_hand.dcp_error(ranks, interleave, kind)
        table.row(f"GPU class by hand: DCP, {ranks} ranks, interleaved by {interleave}{'' if kind is None else ', 8 bits'}", out < 5e-3 and lse < 1e-3,
                  f"error of out, combined, {out:.1e}, of lse {lse:.1e}")
    far = vllm_by_hand.dcp_exchange_error(2)
    table.row("GPU class by hand: DCP, 2 processes", far < 8e-3, f"error of out, exchanged, {far:.1e}")
    for name, kind in (("16 bits", None), ("656 bytes", torch.uint8)):
        out, lse = vllm_by_hand.sparse_error(kind)
        table.row(f"GPU class by hand: lists, {name}", out < 5e-3 and lse < 1e-3, f"error of out {out:.1e}, of lse {lse:.1e}")
    far = vllm_by_hand.prefill_error()
    table.row("prefill hook by hand: cached context", far < 8e-3, f"error of new tokens and context, merged {far:.1e}")
    table.refused("refused: an unknown MLAFORGE_VLLM", SCRIPT, {"MLAFORGE_VLLM": "all"}, {}, "must be unset or one of attention, prefill, sparse, layer")
    table.refused("refused: an fp8 cache of layers", SCRIPT, {"MLAFORGE_VLLM": "layer"}, dict(llm=dict(kv_cache_dtype="fp8", attention_backend="CPU_MLA")),
                  "kv_cache_dtype must be 'auto'")
    return 0 if table.good else 1


if __name__ == "__main__":
    sys.exit(main())
