"""Costs of layers that a server notices, by hand on a GPU with PyTorch:

    python3 tests/python/layer_server.py create [--tp 1] [--batch 256] [--kv-len 1024,32768]   # needs no PyTorch
    python3 tests/python/layer_server.py host [--tp 8]
    python3 tests/python/layer_server.py eight [--tp 1] [--tokens 64,128,129,160,200,256,300]

create: seconds and WARN lines of Layer and of warm_up, with an empty cache and again in a new process' stead (a second context).
host: us of the calling thread a call, outside of graphs.
eight: layers of 8 bits beside those of 16 in decode, in graphs, in turns; outputs against fp64 and against each other. Exit code 1: an
output is further off than its bound, or copies give other bits than a layer of these 16 bits by the same kernels.
"""
import argparse
import collections
import json
import math
import os
import re
import statistics
import sys
import tempfile
import time

import mlaforge

D, HEADS, L, R, P, N, V, PAGE, SCALE = 7168, 128, 1536, 512, 64, 128, 128, 64, 0.135234
ROUND = 2 ** -8 * math.sqrt(3 / (8 * math.log(2)) / 3)


def bound(heads, weights):
    """mlaf_form_bound of runtime/layer/forms.c; weights: those that are rounded once more, too."""
    scores = (6 + 3 * weights) * SCALE ** 2 * (N + P)
    return min(ROUND * math.sqrt(5 + 2 * weights + scores * (1 + 3 * math.sqrt(2 / heads))), 1e-2)


# --- create ---
class Nowhere:
    """A weight that nobody reads: creating a layer looks at shapes and addresses."""

    def __init__(self, shape, dtype, at):
        self.shape, self.dtype, self.at = tuple(shape), dtype, at

    def data_ptr(self):
        return self.at

    def stride(self):
        return tuple(math.prod(self.shape[i + 1:]) for i in range(len(self.shape)))


def nowhere(tp, eight):
    heads, at, named = HEADS // tp, 1 << 40, {}
    for name, shape in (("fused_qkv_a_proj_with_mqa", (L + R + P, D)), ("q_b_proj", (heads * (N + P), L)), ("kv_b_proj", (heads * (N + V), R)),
                        ("o_proj", (D, heads * V))):
        named[f"{name}.weight"] = Nowhere(shape, "float8_e4m3fn" if eight else "bfloat16", at)
        if eight:
            named[f"{name}.weight_scale_inv"] = Nowhere([-(-n // 128) for n in shape], "float32", at + (1 << 33))
        at += 1 << 34
    return {**named, "q_a_layernorm.weight": Nowhere((L,), "bfloat16", at), "kv_a_layernorm.weight": Nowhere((R,), "bfloat16", at + 4096)}


def create(o):
    lines = []
    db = os.path.join(tempfile.mkdtemp(), "t.db")
    table = Nowhere((65536, P), "float32", 1 << 45)
    for when in ("empty cache", "filled cache"):
        begin, before = time.time(), len(lines)
        ctx = mlaforge.Context(device=o.device, db_path=db, log=lambda level, line: lines.append(line), log_level=1)
        mlaforge.set_default_context(ctx)
        opened = time.time()
        layer = mlaforge.Layer(nowhere(o.tp, o.eight), heads=HEADS, cos_sin_cache=table, scale=SCALE, tp_size=o.tp, batch=o.batch, kv_len=o.kv_len,
                               keep_16=False)  # a copy would read the weights
        made, of_layer = time.time(), len(lines) - before
        text = f"tp {o.tp} {'8 bits ' if o.eight else ''}{when}: context {opened - begin:.2f} s, Layer {made - opened:.2f} s, {of_layer} lines"
        if o.warm_up:
            result = ctx.warm_up(heads=HEADS // o.tp, batch=(1, o.batch), kv_len=o.kv_len)
            text += f"; warm_up {time.time() - made:.2f} s, {result['plans']} plans, {result['compiles']} compiled, {len(lines) - before - of_layer} lines"
        print(text, flush=True)
        layer.close()
        mlaforge.set_default_context(None)
        ctx.close()
    kinds = collections.Counter(re.sub(r"\d+", "#", line)[:150] for line in lines)
    for kind, n in kinds.most_common(6):
        print(f"    {n} x {kind}", flush=True)


# --- with PyTorch ---
def draw_weights(tp):
    """(16 bits, 8 bits with scales, what those mean in fp64)"""
    import torch
    from layer_chain import narrow
    torch.manual_seed(11)
    heads, wide, eight, meant = HEADS // tp, {}, {}, {}
    for name, shape, by in (("fused_qkv_a_proj_with_mqa", (L + R + P, D), D), ("q_b_proj", (heads * (N + P), L), L),
                            ("kv_b_proj", (heads * (N + V), R), R), ("o_proj", (D, heads * V), HEADS * V)):
        codes, scale, exact = narrow((torch.randn(*shape, device=DEV) * by ** -0.5).bfloat16())
        eight[f"{name}.weight"], eight[f"{name}.weight_scale_inv"] = codes, scale
        wide[f"{name}.weight"], meant[name] = exact.float().bfloat16(), exact
    for name, n in (("q_a_layernorm", L), ("kv_a_layernorm", R)):
        gain = (1 + 0.1 * torch.randn(n, device=DEV)).bfloat16()
        wide[f"{name}.weight"] = eight[f"{name}.weight"] = gain
        meant[name] = gain.double()
    return wide, eight, meant


def rotations(rows):
    import torch
    angle = torch.arange(rows, device=DEV).double()[:, None] * 10000.0 ** (-torch.arange(0, P, 2, dtype=torch.float64, device=DEV) / P)
    return torch.cat([angle.cos(), angle.sin()], -1).float()


class Batch:
    """Requests of one new token over `cached` ones, in pages in any order."""

    def __init__(self, n, cached):
        import torch
        torch.manual_seed(n)
        each = -(-(cached + 1) // PAGE)
        self.n, self.cached, self.pages = n, cached, torch.randperm(n * each, device=DEV).view(n, each)
        self.x = torch.randn(n, D, device=DEV).bfloat16()
        self.cache = torch.randn(n * each, PAGE, R + P, device=DEV).bfloat16()
        ints = lambda v: torch.as_tensor(v, device=DEV).to(torch.int32)
        self.positions = torch.full((n,), cached, device=DEV, dtype=torch.int64)
        self.slots = self.pages[:, cached // PAGE] * PAGE + cached % PAGE
        self.table, self.lengths = ints(self.pages).contiguous(), ints([cached + 1] * n)
        self.lists = dict(qo_indptr=ints(range(n + 1)), kv_indptr=ints([i * each for i in range(n + 1)]), kv_indices=ints(self.pages.reshape(-1)),
                          kv_last_page_lens=ints([cached % PAGE + 1] * n))

    def call(self, layer, lists=True, **more):
        tables = self.lists if lists else dict(seq_lens=self.lengths, block_table=self.table)
        return layer(self.x, self.positions, self.slots, self.cache, kv_len=self.cached + 1, **tables, **more)

    def expect(self, w, table, i):
        """y of request i in fp64; its row is the layer's own to append."""
        import torch
        from layer_chain import normed, turned
        heads, x, at = w["q_b_proj"].shape[0] // (N + P), self.x[i:i + 1].double(), self.positions[i:i + 1]
        c = x @ w["fused_qkv_a_proj_with_mqa"].T
        q = (normed(c[:, :L], w["q_a_layernorm"]) @ w["q_b_proj"].T).view(1, heads, N + P)
        new = torch.cat([normed(c[:, L:L + R], w["kv_a_layernorm"]), turned(c[:, L + R:], table[at].double())], -1)
        rows = torch.cat([self.cache[self.pages[i]].view(-1, R + P)[:self.cached].double(), new])
        kv_b = w["kv_b_proj"].view(heads, N + V, R)
        latent = torch.einsum("hn,hnr->hr", q[0, :, :N], kv_b[:, :N])
        scores = latent @ rows[:, :R].T + turned(q[..., N:], table[at].double())[0] @ rows[:, R:].T
        u = (scores * SCALE).softmax(-1) @ rows[:, :R]
        return torch.einsum("hr,hvr->hv", u, kv_b[:, N:]).reshape(1, -1) @ w["o_proj"].T


def capture(call):
    import torch
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())  # a replay that is under way reads the cache that this call appends to
    with torch.cuda.stream(stream):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        y = call()
    return graph, y


def replay_us(graphs, rounds, times=10):
    """Medians of graphs in turns."""
    import torch
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    took = [[] for _ in graphs]
    for _ in range(rounds):
        for i, graph in enumerate(graphs):
            graph.replay()
            begin.record()
            for _ in range(times):
                graph.replay()
            end.record()
            end.synchronize()
            took[i].append(begin.elapsed_time(end) * 1000 / times)
    return [statistics.median(t) for t in took]


def host(o):
    import torch
    wide, _, _ = draw_weights(o.tp)
    layer = mlaforge.Layer(wide, heads=HEADS, cos_sin_cache=rotations(4096), scale=SCALE, tp_size=o.tp, batch=16, kv_len=(1024, 1024), prefill_tokens=256)
    b = Batch(8, 1024)
    out, workspace = torch.empty_like(b.x), torch.empty(layer.workspace_size(), device=DEV, dtype=torch.uint8)
    schedule = layer.schedule([1] * b.n, [b.cached] * b.n)
    pages = dict(block_table=b.table)
    for name, call in (("lists", lambda: b.call(layer)), ("block table", lambda: b.call(layer, False)),
                       ("lists, out and workspace given", lambda: b.call(layer, out=out, workspace=workspace)),
                       ("prefill of 8 tokens", lambda: layer(b.x, b.positions, b.slots, b.cache, schedule=schedule, **pages))):
        took = {}
        for when, burst in (("idle stream", 1), ("bursts of 10", 10)):
            times = []
            for i in range(o.rounds):
                torch.cuda.synchronize()
                begin = time.perf_counter()
                for _ in range(burst):
                    call()
                times.append((time.perf_counter() - begin) / burst * 1e6)
            took[when] = statistics.median(times[o.rounds // 4:])
        print(f"host tp {o.tp} {name}: " + ", ".join(f"{t:.1f} us ({when})" for when, t in took.items()), flush=True)


KINDS = (("16 bits", False, {}), ("8 bits", True, dict(keep_16=False)), ("8 bits, itself", True, {}),
         ("kept", True, dict(keep_16=True)))


def stage_times(o, batch, layers, record):
    """Each stage alone in a graph, over what a whole call left."""
    for name in ("16 bits", "8 bits", "8 bits, itself"):
        layer = layers[name]
        import torch
        room = torch.empty(layer.workspace_size(), device=DEV, dtype=torch.uint8)
        batch.call(layer, workspace=room)
        stages = layer.stages(batch=batch.n, kv_len=batch.cached + 1)
        times = replay_us([capture(lambda: batch.call(layer, workspace=room, stage=i))[0] for i in range(len(stages))], 5)
        record.append(dict(tp=o.tp, tokens=batch.n, layer=name, stages=[(s["name"], s["variant"], round(t, 2)) for s, t in zip(stages, times)]))


def eight(o):
    import torch
    wide, narrow8, meant = draw_weights(o.tp)
    table, layers, wrong, record = rotations(4096), {}, 0, []
    for name, by_8, how in KINDS:
        begin = time.time()
        layers[name] = mlaforge.Layer(narrow8 if by_8 else wide, heads=HEADS, cos_sin_cache=table, scale=SCALE, tp_size=o.tp, batch=max(o.tokens),
                                      kv_len=(1024, 1024), dtype="bfloat16", **how)
        print(f"tp {o.tp} {name}: created in {time.time() - begin:.1f} s", flush=True)
    print(f"{'tp tokens':10}" + "".join(f"{name:>20}" for name in layers) + "   kept/16, itself/16; off fp64: 16, 8, itself, kept", flush=True)
    for n in o.tokens:
        b = Batch(n, 1024)
        graphs, ys = zip(*(capture(lambda layer=layer: b.call(layer)) for layer in layers.values()))
        for graph in graphs:
            graph.replay()
        torch.cuda.synchronize()
        some = sorted({0, n // 2, n - 1})
        want = torch.cat([b.expect(meant, table, i) for i in some])
        off = [((y[some].double() - want).norm(dim=1) / want.norm(dim=1)).max().item() for y in ys]
        first = [y.clone() for y in ys]
        times = replay_us(graphs, o.rounds)
        same = all(torch.equal(y, was) for y, was in zip(ys, first))
        limit = [bound(HEADS // o.tp, 0 if "8 bits" == name else 1) for name in layers]
        bad = [name for name, x, most in zip(layers, off, limit) if not x < most] + ([] if same else ["a replay"])
        wrong += len(bad)
        bits = [s["problem"] for s in layers["kept"].stages(batch=n, kv_len=1025)] == [s["problem"] for s in layers["16 bits"].stages(batch=n, kv_len=1025)]
        unlike = bits and not torch.equal(ys[0], ys[3])
        wrong += unlike
        print(f"{o.tp:<3}{n:<7}" + "".join(f"{t:20.1f}" for t in times) + f"   {times[3] / times[0]:.3f}, {times[2] / times[0]:.3f}; " +
              ", ".join(f"{x:.1e}" for x in off) + (f"  kept by {'16' if bits else '8'} bits" + (", OTHER BITS" if unlike else "")) +
              (f"  WRONG: {', '.join(bad)}" if bad else ""), flush=True)
        record.append(dict(tp=o.tp, tokens=n, us=dict(zip(layers, times)), off=dict(zip(layers, off))))
        if n in o.stages:
            stage_times(o, b, layers, record)
        del graphs, ys, first, b
    if o.out:
        with open(o.out, "w") as f:
            json.dump(record, f, indent=1)
    for r in record:
        if "stages" in r:
            print(f"tp {r['tp']} {r['tokens']} tokens, {r['layer']}: " + "; ".join(f"{name} {t} {variant[:44]}" for name, variant, t in r["stages"]), flush=True)
    return wrong


def main():
    numbers = lambda text: tuple(int(n) for n in text.split(","))
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=("create", "host", "eight"))
    p.add_argument("--device", default="cuda")
    p.add_argument("--tp", type=int, default=8)
    p.add_argument("--batch", type=int, default=256)
    p.add_argument("--kv-len", type=numbers, default=(1024, 32768))
    p.add_argument("--eight", action="store_true", help="create a layer of 8 bits")
    p.add_argument("--warm-up", action="store_true")
    p.add_argument("--tokens", type=numbers, default=(64, 128, 129, 160, 200, 256, 300))
    p.add_argument("--stages", type=numbers, default=(128, 200, 300), help="tokens of which stages are timed alone")
    p.add_argument("--rounds", type=int, default=12)
    p.add_argument("--out", help="a file for all figures, JSON")
    o = p.parse_args()
    return 1 if {"create": create, "host": host, "eight": eight}[o.what](o) else 0


DEV = "cuda"
if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    sys.exit(main())
