"""SGLang on a CPU: the attention backend of ours. Its own torch_native fails on MLA, so vLLM's stock error is the bound (tiny.SERVED_ERROR)."""
import sys

import serve
import sglang_by_hand
import sglang_kit
import tiny

SCRIPT = "run_sglang.py"
CASES = [
    ("4 prompts", {}, ()),
    ("twice", dict(times=2), ("radix hits",)),
    ("chunks of 32", dict(engine=dict(chunked_prefill_size=32)), ()),
    ("pages of 16, twice", dict(times=2, engine=dict(page_size=16)), ("radix hits",)),
]


def main():
    table = serve.Table("sglang")
    table.stock["vLLM's stock"] = tiny.SERVED_ERROR
    for name, settings, counters in CASES:
        table.run(name, SCRIPT, {}, settings, "vLLM's stock", ("calls", *counters))
    wrong, count = sglang_kit.failed()  # before by hand, which puts settings of its own in place
    table.row("SGLang's unit tests of MLA backends", not wrong, f"{count - len(wrong)} of {count} passed" + "".join(f"; {name} failed" for name in wrong))
    for mode in sglang_by_hand.MODES:
        for graph in (False, True)[:1 if mode == "EXTEND" else 2]:
            error = sglang_by_hand.error(mode, graph)
            table.row(f"by hand: {mode.lower()}{', graph tensors' if graph else ''}", error < 5e-3, f"error of out {error:.1e}")
    table.refused("refused: an fp8 cache", SCRIPT, {}, dict(engine=dict(kv_cache_dtype="fp8_e4m3")), "--kv-cache-dtype must be auto")
    return 0 if table.good else 1


if __name__ == "__main__":
    sys.exit(main())
