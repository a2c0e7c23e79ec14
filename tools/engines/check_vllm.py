"""vLLM on its CPU platform: stock, decode attention of ours, whole layers of ours. Called by tools/engines.sh."""
import sys

import serve
import vllm_by_hand

SCRIPT = "run_vllm.py"
ATTENTION, LAYER = {"MLAFORGE_VLLM": "attention"}, {"MLAFORGE_VLLM": "layer"}
CASES = [  # name, settings, what ours must have called beside its first counter
    ("4 prompts", {}, ()),
    ("chunks of 32, prefix cache, twice", dict(times=2, lengths=[5, 37, 1, 150, 80], llm=dict(enable_prefix_caching=True, enable_chunked_prefill=True,
                                                                                             max_num_batched_tokens=32, block_size=32)), ("prefix hits",)),
    ("n-gram drafts of 3", dict(repeated=True, lengths=[12, 37, 24, 80], llm=dict(speculative_config=dict(
        method="ngram", num_speculative_tokens=3, prompt_lookup_max=4, prompt_lookup_min=1))), ("most query tokens",)),
    ("compiled", dict(llm=dict(enforce_eager=False)), ()),
    ("CPU_MLA, pages of 16", dict(llm=dict(attention_backend="CPU_MLA")), ()),
]


def main():
    table = serve.Table("vllm")
    for name, settings, counters in CASES:
        stock = f"{name}: stock"
        table.run(stock, SCRIPT, {}, settings)
        table.run(f"{name}: attention", SCRIPT, ATTENTION, settings, stock, ("attention", *counters))
        table.run(f"{name}: layer", SCRIPT, LAYER, settings, stock, ("layer decode", "layer prefill", *counters))
    for name, tokens, pair in (("GPU class by hand: decode", 1, False), ("GPU class by hand: 3 drafts, q in two", 4, True)):
        out, lse = vllm_by_hand.error(tokens, pair)
        table.row(name, out < 5e-3 and lse < 1e-3, f"error of out {out:.1e}, of lse {lse:.1e}")
    table.refused("refused: an unknown MLAFORGE_VLLM", SCRIPT, {"MLAFORGE_VLLM": "all"}, {}, "must be unset or one of attention, layer")
    return 0 if table.good else 1


if __name__ == "__main__":
    sys.exit(main())
