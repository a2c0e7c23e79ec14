#!/usr/bin/env python3
"""Batch-invariant plans on a GPU: whether they are, and what they cost. By hand, with PyTorch:

    tools/bench-batch-invariance.py [--bits] [--cost 60] [--cuts 4:16:8:32,...] [--seconds 280] [--out FILE.tsv]

--bits: requests alone, at each place of a batch, eager and in graphs, for decode (16, 64, 128 heads, 1 and 2 query tokens), prefill (also
prefixes), all projections (1 to 129 tokens) and layers at tp 8 and 1: what differs is printed.
--cost: so many batches drawn at random, 3 to 400 requests of 200 to 20,000 tokens on average, equal and ragged, 16, 64 and 128 heads in
turns: the time of a batch-invariant plan over that of the usual one, same tables, same run. Medians of replays of a graph, taken in turns;
launches of a graph read other pages, so that L2 is cold.
--cuts: least:knee:wide:most of gen/ops/mla_decode/plans/invariant.lua to time instead, by copies of the generator (--root)."""
import argparse
import itertools
import math
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import torch

import mlaforge
from mlaforge import context as contexts

DEV, R, P, N, V, PAGE = "cuda", 512, 64, 128, 128, 64
START = time.time()
WRONG = []


def say(*words):
    print(f"[{time.time() - START:5.0f} s]", *words, flush=True)


def same(what, got, want):
    if not torch.equal(got.view(torch.uint8), want.view(torch.uint8)):
        off = (got.float() - want.float()).abs().max().item()
        WRONG.append(what)
        say("DIFFERS", what, f"by {off:.3g}")


def ints(list_of, kind=torch.int32):
    return torch.tensor(list_of, dtype=kind, device=DEV)


def draw(*shape, by=1.0):
    return (torch.randn(*shape, device=DEV) * by).bfloat16()


def graphed(call):
    """Outputs of a call that was captured and replayed."""
    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = call()
    for x in out:
        x.zero_()
    graph.replay()
    torch.cuda.synchronize()
    return out


# --- bits ---
def decode_bits(ctx, heads, q_len):
    lengths = [250, 3000, 256, 1, 20000, 1025, 64]
    first = list(itertools.accumulate((-(-n // PAGE) for n in lengths), initial=0))
    order = torch.randperm(first[-1]).tolist()
    pages = [order[a:b] for a, b in zip(first, first[1:])]
    cache, q = draw(first[-1], PAGE, 1, R + P), draw(len(lengths), q_len, heads, R + P)

    def run(which, graph=False):
        tables = (ints(list(range(0, len(which) * q_len + 1, q_len))),
                  ints(list(itertools.accumulate((len(pages[i]) for i in which), initial=0))),
                  ints([p for i in which for p in pages[i]]), ints([(lengths[i] - 1) % PAGE + 1 for i in which]))
        x = q[list(which)].reshape(-1, heads, R + P).contiguous()

        def call():
            o, lse = torch.empty(len(x), heads, R, device=DEV, dtype=x.dtype), torch.empty(len(x), heads, device=DEV)
            mlaforge.mla_decode_fwd(x, cache, o, *tables, q_len, 0.1, lse=lse, batch_invariant=True, ctx=ctx)
            return o, lse
        o, lse = graphed(call) if graph else call()
        return [(o[q_len * k:q_len * (k + 1)], lse[q_len * k:q_len * (k + 1)]) for k in range(len(which))]
    whole = list(range(len(lengths)))
    alone = [run([i])[0] for i in whole]
    batches = [(whole[k:] + whole[:k], k % 2 == 1) for k in whole] + [([random.choice(whole) for _ in range(300)], False)]
    for which, graph in batches:
        for k, (i, got) in enumerate(zip(which, run(which, graph))):
            for name, a, b in zip(("o", "lse"), got, alone[i]):
                same(f"decode h{heads} q{q_len}: {name} of {lengths[i]} tokens at place {k} of {len(which)}{' in a graph' if graph else ''}", a, b)
    for i in whole:  # and right at all
        n = lengths[i]
        keys = cache[ints(pages[i], torch.int64)].reshape(-1, R + P)[:n].float()
        for t in range(q_len):
            seen = max(n - (q_len - 1 - t), 0)
            p = torch.softmax(0.1 * q[i, t].float() @ keys[:seen].T, -1)
            want, got = p @ keys[:seen, :R], alone[i][0][t].float()
            if seen and (off := ((got - want).norm() / want.norm()).item()) > 6e-3:
                WRONG.append(f"decode h{heads} q{q_len}: {n} tokens off by {off:.3g}")
                say(WRONG[-1])


def prefill_bits(ctx, heads):
    lengths = [(700, 700), (64, 64), (1, 1), (40, 77), (5, 300), (2000, 2000)]
    inputs = [(draw(n, heads, N + P), draw(k, heads, N), draw(k, P), draw(k, heads, V)) for n, k in lengths]

    def run(which, causal, tokens=None):
        parts = [tuple(x[:tokens] for x in inputs[i]) if tokens else inputs[i] for i in which]
        q, k, k_pe, v = (torch.cat([p[j] for p in parts]) for j in range(4))
        sums = [ints(list(itertools.accumulate((len(p[j]) for p in parts), initial=0))) for j in (0, 1)]
        out, lse = torch.empty(len(q), heads, V, device=DEV, dtype=q.dtype), torch.empty(len(q), heads, device=DEV).T
        mlaforge.mla_prefill_varlen(q, k, k_pe, v, *sums, max(len(p[0]) for p in parts), max(len(p[1]) for p in parts), 0.1, causal, out, lse,
                                    batch_invariant=True, ctx=ctx)
        at = sums[0].tolist()
        return [(out[a:b], lse.T[a:b].contiguous()) for a, b in zip(at, at[1:])]
    whole = list(range(len(lengths)))
    for causal in (True, False):
        alone = [run([i], causal)[0] for i in whole]
        for k in whole:
            for i, got in zip(whole[k:] + whole[:k], run(whole[k:] + whole[:k], causal)):
                for a, b in zip(got, alone[i]):
                    same(f"prefill h{heads} causal {causal}: request {i} in turn {k}", a, b)
    o, lse = run([5], True)[0]
    for tokens in (1, 64, 100, 128, 777, 1999):
        short, short_lse = run([5], True, tokens)[0]
        same(f"prefill h{heads}: o of the first {tokens} of 2000", short, o[:tokens].contiguous())
        same(f"prefill h{heads}: lse of the first {tokens} of 2000", short_lse, lse[:tokens].contiguous())


def projection_bits(ctx, heads, hidden=7168, low=1536):
    more = {"batch_invariant": True, "ctx": ctx}
    w, b, o = draw(low + R + P, hidden, by=0.01), draw(heads * (N + P), low, by=0.02), draw(hidden, heads * V, by=0.01)
    kv_b, gain = draw(heads, N + V, R, by=0.05), draw(low)
    x, c, h, u, q = draw(129, hidden), draw(129, low), draw(129, heads * V), draw(129, heads, R), draw(129, heads, N + P)
    table, at = torch.rand(4096, P, device=DEV), torch.arange(129, device=DEV)
    narrow, scale = (w * 8).to(torch.float8_e4m3fn), torch.rand(-(-w.shape[0] // 128), -(-hidden // 128), device=DEV)
    narrow_b, scale_b = (b * 8).to(torch.float8_e4m3fn), torch.rand(-(-b.shape[0] // 128), -(-low // 128), device=DEV)
    calls = {"qkv_a": lambda s: mlaforge.mla_qkv_a(x[s], w, **more), "qkv_a fp8": lambda s: mlaforge.mla_qkv_a(x[s], narrow, w_scale=scale, **more),
             "q_b norm": lambda s: mlaforge.mla_q_b(c[s], b, norm_weight=gain, **more), "q_b": lambda s: mlaforge.mla_q_b(c[s], b, **more),
             "q_b norm fp8": lambda s: mlaforge.mla_q_b(c[s], narrow_b, norm_weight=gain, w_scale=scale_b, **more),
             "o_proj": lambda s: mlaforge.mla_o_proj(h[s], o, residual=x[s], **more), "v_out": lambda s: mlaforge.mla_v_out(u[s], kv_b, **more),
             "q_absorb": lambda s: mlaforge.mla_q_absorb(q[s], kv_b, at[s].clone(), table, **more)}
    for name, call in calls.items():
        whole = call(slice(0, 129))
        for tokens in (1, 3, 8, 17, 64):
            for first in (0, 129 - tokens):
                s = slice(first, first + tokens)
                same(f"{name} h{heads}: rows {first} to {first + tokens - 1} of 129", call(s), whole[s].contiguous())


def layer_bits(ctx, tp, hidden=7168, low=1536, heads=128):
    h = heads // tp
    shapes = {"q_a_proj": (low, hidden), "q_a_layernorm": (low,), "q_b_proj": (h * (N + P), low), "kv_a_proj_with_mqa": (R + P, hidden),
              "kv_a_layernorm": (R,), "kv_b_proj": (h * (N + V), R), "o_proj": (hidden, h * V)}
    weights = {f"self_attn.{name}.weight": draw(*shape, by=shape[-1] ** -0.5 if len(shape) > 1 else 1) for name, shape in shapes.items()}
    table = torch.rand(32768, P, device=DEV)
    cached = [250, 3000, 0, 20000, 1025, 63, 700] + [40] * 130
    first = list(itertools.accumulate((-(-(n + 128) // PAGE) for n in cached), initial=0))
    rows, new = draw(first[-1], PAGE, R + P), draw(len(cached), 128, hidden)
    layer = mlaforge.Layer(weights, heads=heads, cos_sin_cache=table, scale=0.1, tp_size=tp, batch=len(cached), q_lens=(1, 2), kv_len=(64, 32768),
                           page_size=PAGE, table_width=512, prefill_tokens=1024, batch_invariant=True, ctx=ctx)

    def run(which, q_len=1, fresh=None, graph=False):
        n = fresh or q_len
        at = [cached[i] + t for i in which for t in range(n)]
        slots = [(first[i] + p // PAGE) * PAGE + p % PAGE for i, p in zip([i for i in which for _ in range(n)], at)]
        table = torch.zeros(len(which), 512, dtype=torch.int32)
        for k, i in enumerate(which):
            table[k, :first[i + 1] - first[i]] = torch.arange(first[i], first[i + 1])
        x, table, slots, at = new[list(which), :n].reshape(-1, hidden).contiguous(), table.to(DEV), ints(slots, torch.int64), ints(at, torch.int64)
        given = ({"schedule": layer.schedule([n] * len(which), [cached[i] for i in which])} if fresh else
                 {"seq_lens": ints([cached[i] + n for i in which]), "q_len": n})
        call = lambda: (layer(x, at, slots, rows, block_table=table, **given),)
        y, = graphed(call) if graph else call()
        return list(y.reshape(len(which), n, hidden))
    some = list(range(7))
    for q_len, fresh in ((1, None), (2, None), (1, 100)):
        alone = [run([i], q_len, fresh)[0] for i in some]
        for which, graph in ((some, False), (some[3:] + some[:3], not fresh), (some if fresh else list(range(len(cached))), False)):
            for i, got in zip(which, run(which, q_len, fresh, graph)):
                if i < 7:
                    same(f"layer tp {tp}, {fresh or q_len} new tokens: request {i} of {cached[i]} among {len(which)}", got, alone[i])
    layer.close()


# --- cost ---
def with_root(root, **more):
    """A context whose generator's files are there."""
    make = contexts._struct

    def patched(structure, **values):
        if structure is contexts.CtxOpts:
            values["gen_root"] = os.fsencode(root)
        return make(structure, **values)
    contexts._struct = patched
    try:
        return mlaforge.Context(**more)
    finally:
        contexts._struct = make


def cut_root(root, folder, cut):
    least, knee, wide, most = cut.split(":")
    there = os.path.join(folder, cut.replace(":", "-"))
    for part in ("gen", "templates"):
        shutil.copytree(os.path.join(root, part), os.path.join(there, part))
    with open(os.path.join(there, "gen/ops/mla_decode/plans/invariant.lua"), "w") as f:
        f.write(f"return {{ cut = function() return {{ least = {least}, knee = {knee}, wide = {wide} }} end, most = function() return {most} end }}\n")
    return there


def drawn(n, seed=3):
    """Batches: heads, and the tokens of their requests."""
    rng, out = random.Random(seed), []
    for i in range(n):
        requests, mean = round(3 * (400 / 3) ** rng.random()), 200 * 100 ** rng.random()
        kind = ("equal", "uniform", "lognormal")[rng.randrange(3)]
        one = {"equal": lambda: 1, "uniform": rng.random, "lognormal": lambda: math.exp(rng.gauss(0, 1))}[kind]
        shares = [one() for _ in range(requests)]
        total = sum(shares)
        out.append(((16, 64, 128)[i % 3], kind, [max(1, round(s / total * mean * requests)) for s in shares]))
    return out


class Batch:
    def __init__(self, pool, workspace, heads, lengths):
        self.pool, self.workspace, self.n, self.mean = pool, workspace, len(lengths), round(sum(lengths) / len(lengths))
        counts = [-(-n // PAGE) for n in lengths]
        self.bytes = sum(lengths) * 2 * (R + P)
        sets = max(1, min(8, len(pool) // sum(counts)))
        order = torch.randperm(len(pool), device=DEV, dtype=torch.int32)
        self.ids = [order[k * sum(counts):(k + 1) * sum(counts)].contiguous() for k in range(sets)]
        self.tables = ints(list(range(self.n + 1))), ints(list(itertools.accumulate(counts, initial=0)))
        self.last = ints([(n - 1) % PAGE + 1 for n in lengths])
        self.q = draw(self.n, heads, R + P)
        self.launches = max(2, min(16, int(3e9 / self.bytes)))

    def call(self, ctx, k, o, invariant):
        mlaforge.mla_decode_fwd(self.q, self.pool, o, *self.tables, self.ids[k % len(self.ids)], self.last, 1, 0.05, mean_kv_len=self.mean,
                                workspace=self.workspace, batch_invariant=invariant, ctx=ctx)

    def graph(self, ctx, invariant):
        o = torch.empty(self.n, self.q.shape[1], R, device=DEV, dtype=self.q.dtype)
        self.call(ctx, 0, o, invariant)
        torch.cuda.synchronize()
        first, graph = o.clone(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for k in range(self.launches):
                self.call(ctx, k, o, invariant)
        return graph, first


def timed(graphs, launches, rounds=7):
    times = [[] for _ in graphs]
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for r in range(rounds + 1):
        for i, graph in enumerate(graphs):
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            if r:
                times[i].append(begin.elapsed_time(end) * 1000 / launches)
    return [statistics.median(t) for t in times]


def cost(args, usual, others):
    """others: by name, contexts of batch-invariant plans."""
    batches = drawn(args.cost)
    pool = torch.empty(int(args.pool * 1e9) // (PAGE * 2 * (R + P)), PAGE, 1, R + P, device=DEV, dtype=torch.bfloat16)
    for i in range(0, len(pool), 4096):
        pool[i:i + 4096].normal_()
    workspace = torch.empty(5 << 30, device=DEV, dtype=torch.uint8)

    def warm(job):  # compiles; a context does so for one plan at a time
        ctx, heads, invariant = job
        for of, _, lengths in batches if not invariant else [next(b for b in batches if b[0] == heads)]:
            if of == heads:
                ctx._lib.mlaf_plan_release((ctx.with_batch_invariance() if invariant else ctx)._plan(
                    (heads, R, P, 1, 0, 0, PAGE, len(lengths), round(sum(lengths) / len(lengths)))))
    with ThreadPoolExecutor(16) as jobs:
        list(jobs.map(warm, [(usual[h], h, False) for h in (16, 64, 128)] + [(c, h, True) for c in others.values() for h in (16, 64, 128)]))
    say("compiled")
    lines, logs = [], {(name, h): [] for name in others for h in (16, 64, 128)}
    for heads, kind, lengths in batches:
        if time.time() - START > args.seconds:
            say("out of time")
            break
        batch = Batch(pool, workspace, heads, lengths)
        made = [batch.graph(usual[heads], False)] + [batch.graph(c, True) for c in others.values()]
        for name, (_, o) in zip(others, made[1:]):
            off = ((o.float() - made[0][1].float()).norm() / made[0][1].float().norm()).item()
            if not off < 8e-3:
                WRONG.append(f"cost: {name} h{heads} {kind} {len(lengths)} x {batch.mean} is {off:.3g} off the usual plan")
                say(WRONG[-1])
        times = timed([g for g, _ in made], batch.launches)
        for name, t in zip(others, times[1:]):
            logs[name, heads].append(math.log(t / times[0]))
        lines.append((heads, kind, len(lengths), batch.mean, *(f"{t:.1f}" for t in times)))
        say(*lines[-1])
    if args.out:
        with open(args.out, "w") as f:
            print("heads", "lengths", "requests", "mean", "usual", *others, sep="\t", file=f)
            for line in lines:
                print(*line, sep="\t", file=f)
    mean = lambda x: f"{math.exp(sum(x) / len(x)):.3f}" if x else "-"
    print(f"\ntime of a batch-invariant plan over the usual one, geometric means over {len(lines)} batches (worst)")
    print(f"{'least:knee:wide:most':24}{'all':>16}{'16 heads':>16}{'64 heads':>16}{'128 heads':>16}")
    for name in others:
        by = [[x for h in (16, 64, 128) for x in logs[name, h]], *(logs[name, h] for h in (16, 64, 128))]
        print(f"{name:24}" + "".join(f"{mean(x) + (f' ({math.exp(max(x)):.2f})' if x else ''):>16}" for x in by))


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("--bits", action="store_true")
    a.add_argument("--cost", type=int, default=0)
    a.add_argument("--cuts", default="")
    a.add_argument("--seconds", type=float, default=280)
    a.add_argument("--pool", type=float, default=20, help="GB of cache")
    a.add_argument("--root", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    a.add_argument("--out")
    args = a.parse_args()
    torch.manual_seed(1)
    random.seed(1)
    with tempfile.TemporaryDirectory() as folder:
        if args.cost:
            roots = {cut: cut_root(args.root, folder, cut) for cut in args.cuts.split(",") if cut}
            others = {"as it is": mlaforge.Context(), **{cut: with_root(root) for cut, root in roots.items()}}
            cost(args, {h: mlaforge.Context() for h in (16, 64, 128)}, others)
        if args.bits:
            ctx = mlaforge.Context()
            steps = [(decode_bits, h, q) for h in (16, 64, 128) for q in (1, 2)] + [(prefill_bits, h) for h in (16, 128)] + [
                (projection_bits, h) for h in (16, 128)] + [(layer_bits, tp) for tp in (8, 1)]
            for step, *of in steps:
                before = len(WRONG)
                if time.time() - START > args.seconds:
                    say("out of time before", step.__name__, *of)
                    continue
                try:
                    step(ctx, *of)
                except Exception as why:  # the others are wanted all the same
                    WRONG.append(f"{step.__name__} {of}: {why}")
                    say(WRONG[-1])
                say(step.__name__, *of, "equal" if len(WRONG) == before else f"{len(WRONG) - before} DIFFER")
    print(f"\n{len(WRONG)} wrong" if WRONG else "\nall equal to the bit")
    return 1 if WRONG else 0


if __name__ == "__main__":
    sys.exit(main())
