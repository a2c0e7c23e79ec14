"""Both entry points on a real GPU with PyTorch's tensors: results against PyTorch in float64, graphs, arguments, what a call costs the host.

PYTHONPATH=python MLAF_LIBRARY=build/libmlaforge.so.0 python3 tests/python/with_torch.py [device]      (device: cuda or hip; auto)
"""
import os
import statistics
import sys
import time

import torch

import mlaforge
from mlaforge.library import fast

HEADS, RANK, ROPE, PAGE = 16, 512, 64, 64
COLS = RANK + ROPE
DEVICE = torch.device("cuda")
SCALE = COLS ** -0.5

failures = []


def check(what, good, more=""):
    print(f"{'ok   ' if good else 'WRONG'} {what} {more}")
    if not good:
        failures.append(what)


def ints(x):
    return torch.tensor(x, device=DEVICE, dtype=torch.int32)


def reference(q, cache, table, length, causal_back):
    """One request's query tokens [n, H, COLS] over `length` cached tokens."""
    pages = -(-length // PAGE)
    rows = cache[table[:pages].long()].reshape(-1, COLS)[:length].double()
    scores = torch.einsum("nhc,tc->nht", q.double(), rows) * SCALE
    if causal_back:
        n = q.shape[0]
        for i in range(n):
            scores[i, :, length - (n - 1 - i):] = float("-inf")
    return torch.einsum("nht,tr->nhr", scores.softmax(-1), rows[:, :RANK]), scores.logsumexp(-1)


def relative(a, b):
    return float((a.double() - b).norm() / b.norm())


class Case:
    """Requests in a shuffled cache; tables in both forms."""

    def __init__(self, lengths, q_len=1, heads=HEADS, most=None, spare=3):
        self.lengths, self.q_len, self.heads, self.batch = lengths, q_len, heads, len(lengths)
        self.most = most or max(-(-n // PAGE) for n in lengths)
        self.cache = torch.randn(self.batch * self.most + spare, PAGE, COLS, device=DEVICE, dtype=torch.bfloat16)
        order = torch.randperm(self.batch * self.most + spare, device=DEVICE)[:self.batch * self.most]
        self.table = order.reshape(self.batch, self.most).to(torch.int32)
        self.q = torch.randn(self.batch * q_len, heads, COLS, device=DEVICE, dtype=torch.bfloat16)
        self.q4, self.kv = self.q.view(self.batch, q_len, heads, COLS), self.cache.unsqueeze(2)
        self.seqlens = ints(lengths)
        pages = [-(-n // PAGE) for n in lengths]
        self.qo = ints([i * q_len for i in range(self.batch + 1)])
        self.indptr = ints([sum(pages[:i]) for i in range(self.batch + 1)])
        self.indices = torch.cat([self.table[b, :n] for b, n in enumerate(pages)]).contiguous()
        self.last = ints([n - (p - 1) * PAGE if p else 0 for n, p in zip(lengths, pages)])
        self.o = torch.empty(self.batch * q_len, heads, RANK, device=DEVICE, dtype=torch.bfloat16)
        self.lse = torch.empty(self.batch * q_len, heads, device=DEVICE, dtype=torch.float32)

    def aiter(self, **how):
        how = {"lse": self.lse, **how}
        mlaforge.mla_decode_fwd(how.pop("q", self.q), how.pop("kv", self.kv), how.pop("o", self.o), self.qo, self.indptr, self.indices,
                                self.last, self.q_len, SCALE, **how)

    def flash(self, **how):
        return mlaforge.flash_mla_with_kvcache(how.pop("q", self.q4), how.pop("kv", self.kv), how.pop("table", self.table),
                                               how.pop("seqlens", self.seqlens), RANK, *mlaforge.get_mla_metadata(),
                                               softmax_scale=SCALE, causal=True, **how)

    def want(self, lengths=None):
        parts = [reference(self.q[b * self.q_len:(b + 1) * self.q_len], self.cache, self.table[b], n, self.q_len > 1) if n else
                 (torch.zeros(self.q_len, self.heads, RANK, device=DEVICE), torch.full((self.q_len, self.heads), float("-inf"), device=DEVICE))
                 for b, n in enumerate(lengths or self.lengths)]
        return torch.cat([o for o, _ in parts]), torch.cat([s for _, s in parts])

    def compare(self, what, o, lse, lengths=None, empty=float("-inf")):
        """empty: lse of rows without keys."""
        torch.cuda.synchronize()
        want_o, want_lse = self.want(lengths)
        live = want_lse.isfinite()
        error = relative(o.reshape(want_o.shape), want_o)
        lse_error = float((lse.reshape(want_lse.shape).double() - want_lse)[live].abs().max()) if live.any() else 0.0
        said = bool((lse.reshape(want_lse.shape)[~live] == empty).all())
        check(what, error < 5e-3 and lse_error < 1e-2 and said, f"O {error:.2e}, lse {lse_error:.2e}{'' if said else ', of empty rows wrong'}")

    def compare_flash(self, what, out, lse, lengths=None):
        self.compare(what, out, lse.transpose(1, 2).contiguous(), lengths, float("inf"))


def results():
    for lengths, q_len in (([1000, 1, 64, 4097], 1), ([777, 65], 2), ([300, 0, 5], 1)):
        case = Case(lengths, q_len)
        case.aiter()
        case.compare(f"aiter    {lengths} q_len {q_len}", case.o, case.lse)
        case.compare_flash(f"flashmla {lengths} q_len {q_len}", *case.flash())
    # caches as servers cut them: one layer of many, pages with room behind them, rows with room, q with gaps
    case = Case([500, 70])
    layers = torch.randn(case.cache.shape[0], 3, PAGE, 1, COLS, device=DEVICE, dtype=torch.bfloat16)
    layers[:, 1, :, 0] = case.cache
    case.aiter(kv=layers[:, 1])
    case.compare("one layer of a cache of three", case.o, case.lse)
    case.compare_flash("one layer, flashmla", *case.flash(kv=layers[:, 1]))
    apart = torch.randn(case.cache.shape[0], PAGE + 16, 1, COLS, device=DEVICE, dtype=torch.bfloat16)
    apart[:, :PAGE, 0] = case.cache
    case.aiter(kv=apart[:, :PAGE])
    case.compare("pages 80 rows apart", case.o, case.lse)
    wide = torch.randn(2, HEADS, COLS + 64, device=DEVICE, dtype=torch.bfloat16)
    wide[:, :, :COLS] = case.q
    case.aiter(q=wide[:, :, :COLS])
    case.compare("q with gaps", case.o, case.lse)
    part = torch.full((2, 40), -1, device=DEVICE, dtype=torch.int32)
    part[:, :case.most] = case.table
    case.compare_flash("block table with a row stride", *case.flash(table=part[:, :case.most]))


def graphs():
    """Captures on a stream of one's own and on PyTorch's; larger plans afterwards; lengths and tables that change between replays."""
    for own in (True, False):
        name = "own stream" if own else "torch.cuda.graph's stream"
        case = Case([16384], spare=40)  # one request: many splits, a workspace
        case.aiter()
        case.flash()
        torch.cuda.synchronize()
        expected, graph, side = case.o.clone(), torch.cuda.CUDAGraph(), torch.cuda.Stream()
        with torch.cuda.graph(graph, **({"stream": side} if own else {})):
            case.aiter()
            out, lse = case.flash()
        # plans with a larger workspace on the same and on the default stream, and memory that PyTorch gives to others
        big = Case([16384] * 3, q_len=2, heads=128, most=260)
        for stream in (side, torch.cuda.current_stream()):
            with torch.cuda.stream(stream):
                big.aiter()
                big.flash()
        torch.cuda.synchronize()
        noise = [torch.full((1 << 20,), float("nan"), device=DEVICE) for _ in range(64)]
        case.o.zero_()
        out.zero_()
        for _ in range(1000):
            graph.replay()
        big.aiter()
        torch.cuda.synchronize()
        check(f"{name}: 1000 replays after larger plans are bit-equal", torch.equal(case.o, expected))
        case.compare_flash(f"{name}: flashmla in the graph", out, lse)
        del noise

        case = Case([4000, 700, 64, 2], most=100)
        case.flash()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out, lse = case.flash()
        for lengths in ([1, 6400, 0, 999], [6400, 6400, 6400, 6400], [3, 2, 1, 0]):
            case.seqlens.copy_(ints(lengths))
            case.table.copy_(torch.randperm(case.cache.shape[0], device=DEVICE)[:400].reshape(4, 100).to(torch.int32))
            graph.replay()
            case.compare_flash(f"{name}: replay with {lengths} and new pages", out, lse, lengths)


def refused(what, says, call):
    try:
        call()
    except mlaforge.MlafError as why:
        check(f"{what} is refused", says in str(why), f"({str(why)[:110]})")
    else:
        check(f"{what} is refused", False)


def arguments():
    case = Case([100, 50])
    case.aiter()
    for name in ("qo", "indptr", "indices", "last"):
        kept = getattr(case, name)
        setattr(case, name, kept.cpu())
        refused(f"{name} on the CPU", "host memory", case.aiter)
        setattr(case, name, kept)
    refused("q on the CPU", "host memory", lambda: case.aiter(q=case.q.cpu()))
    refused("cache_seqlens on the CPU", "host memory", lambda: case.flash(seqlens=case.seqlens.cpu()))
    refused("block_table on the CPU", "host memory", lambda: case.flash(table=case.table.cpu()))
    refused("cache_seqlens of int64", "int64", lambda: case.flash(seqlens=case.seqlens.long()))
    refused("lse of bfloat16", "float32", lambda: case.aiter(lse=case.lse.bfloat16()))
    refused("lse that is too short", "lse", lambda: case.aiter(lse=case.lse[:1]))
    refused("o of float32", "float32", lambda: case.aiter(o=case.o.float()))
    graph = torch.cuda.CUDAGraph()
    odd = Case([333] * 7, heads=24)
    with torch.cuda.graph(graph):
        refused("a plan that would have to be made while capturing", "warm_up", odd.aiter)
        case.o.zero_()  # a graph is not to be empty
    case.aiter()
    case.compare("and the device still works", case.o, case.lse)


def host_us(call, n=200, rounds=30):
    best = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        for _ in range(n):
            call()
        best.append((time.perf_counter() - begun) / n * 1e6)
    torch.cuda.synchronize()
    return statistics.median(best)


def host_cost():
    case = Case([64] * 4)  # the device is done before the host is
    out, lse = case.flash()
    rows = [("mla_decode_fwd", case.aiter), ("flash_mla_with_kvcache", case.flash),
            ("flash_mla_with_kvcache, out and lse given", lambda: case.flash(out=out, lse=lse)),
            ("get_mla_metadata", mlaforge.get_mla_metadata), ("torch.empty_like, for comparison", lambda: torch.empty_like(case.o))]
    for name, call in rows:
        call()
        print(f"host  {host_us(call):7.2f} us  {name}")
    try:
        import flash_mla
    except ImportError:
        return
    meta = flash_mla.get_mla_metadata()
    if not isinstance(meta[0], torch.Tensor):
        peer = lambda: flash_mla.flash_mla_with_kvcache(case.q4, case.kv, case.table, case.seqlens, RANK, meta[0], None, SCALE, True)
        peer()
        print(f"host  {host_us(peer):7.2f} us  FlashMLA")


def server(heads, steps=300, layers=2):
    """Random batches as a server meets them: what a step costs the host, before and after warm_up."""
    lines = []
    with mlaforge.Context(device=sys.argv[1] if len(sys.argv) > 1 else os.environ.get("MLAF_DEVICE"), log_level=2,
                          log=lambda level, line: lines.append(line)) as ctx:
        begun = time.perf_counter()
        made = ctx.warm_up(heads, batch=(1, 128), kv_len=(1, 8192))
        print(f"warm  {heads} heads: {made['plans']} plans, {made['kernels']} kernels, {made['compiles']} compiled, "
              f"{time.perf_counter() - begun:.2f} s, workspace {made['workspace'] / 1e6:.1f} MB")
        lines.clear()
        generator, worst, total = torch.Generator().manual_seed(1), 0.0, 0.0
        big = Case([8192] * 128, heads=heads, spare=0)
        for _ in range(steps):
            batch = int(torch.randint(1, 129, (1,), generator=generator))
            lengths = torch.randint(1, 8193, (batch,), generator=generator).to(torch.int32).to(DEVICE)
            torch.cuda.synchronize()
            begun = time.perf_counter()
            for _ in range(layers):
                mlaforge.flash_mla_with_kvcache(big.q4[:batch], big.kv, big.table[:batch], lengths, RANK, *mlaforge.get_mla_metadata(),
                                                softmax_scale=SCALE, causal=True, ctx=ctx)
            took = time.perf_counter() - begun
            worst, total = max(worst, took), total + took
        torch.cuda.synchronize()
        made = [line for line in lines if "plan made" in line]
        print(f"host  {1e6 * total / steps / layers:7.2f} us a layer over {steps} random steps, {heads} heads; worst step {1e3 * worst:.2f} ms")
        check(f"{heads} heads: no plan is made after warm_up", not made, made[:1])
        del big


def shard_lengths_without_waiting():
    lens, cases = ints([0, 1, 5, 63, 64, 65, 1000, 1 << 20]), [(2, 1, 1), (3, 16, 4), (8, 64, 2), (1, 1, 1)]
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        got = [[mlaforge.shard_lengths(lens, ranks, rank, run, q_len) for rank in range(ranks)] for ranks, run, q_len in cases]
    finally:
        torch.cuda.set_sync_debug_mode("default")
    same = all(x.tolist() == mlaforge.shard_lengths(lens.tolist(), ranks, rank, run, q_len) and x.dtype == torch.int32
               for (ranks, run, q_len), ofs in zip(cases, got) for rank, x in enumerate(ofs))
    check("shard_lengths on the device, without waiting", same)
    tokens = torch.arange(300, device=DEVICE)
    check("shard_tokens on the device", mlaforge.shard_tokens(tokens, 3, 1, 4).tolist() == mlaforge.shard_tokens(range(300), 3, 1, 4))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        local = mlaforge.shard_lengths(lens, 3, 1, 2, 4)
    lens += 7
    graph.replay()
    check("shard_lengths in a replayed graph", local.tolist() == mlaforge.shard_lengths(lens.tolist(), 3, 1, 2, 4))


def merged_parts():
    N, T, H, V = 4, 64, 128, 512
    sets = [torch.randn(N, T, H, V, device=DEVICE).bfloat16() for _ in range(6)]
    lse = 3 * torch.randn(N, T, H, device=DEVICE)
    lse[torch.rand(N, T, H, device=DEVICE) < 0.2] = float("-inf")
    out, out_lse = torch.empty(T, H, V, device=DEVICE, dtype=torch.bfloat16), torch.empty(T, H, device=DEVICE)
    sets[0][lse.isinf()] = float("nan")  # what empty parts hold does not matter
    mlaforge.merge_attn_parts(out, sets[0], lse, out_lse)
    weights = lse.double().softmax(0).nan_to_num(0)
    want = (weights[..., None] * sets[0].double().nan_to_num(0)).sum(0)
    check("merge_attn_parts", relative(out, want) < 2e-3 and bool(torch.isclose(out_lse.double(), lse.double().logsumexp(0)).all()))
    graph, copies = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    from_, to = (torch.empty(6, sets[0].nbytes // 8 * (N + 1), device=DEVICE, dtype=torch.uint8) for _ in range(2))
    with torch.cuda.graph(graph):
        for parts in sets:
            mlaforge.merge_attn_parts(out, parts, lse, out_lse)
    with torch.cuda.graph(copies):
        for a, b in zip(from_, to):
            b.copy_(a)
    times = {}
    for name, g in (("merge", graph), ("copy", copies)):
        for i in range(-3, 20):
            if i == 0:
                start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                start.record()
            g.replay()
        stop.record()
        torch.cuda.synchronize()
        times[name] = 1e3 * start.elapsed_time(stop) / 20 / len(sets)
    print(f"merge of {N} parts, {H} heads, {T} tokens: {times['merge']:.2f} us, a copy of as many bytes {times['copy']:.2f}")


def main():
    torch.manual_seed(1)
    ctx = mlaforge.Context(device=sys.argv[1] if len(sys.argv) > 1 else os.environ.get("MLAF_DEVICE"))
    mlaforge.set_default_context(ctx)
    print("device ", ctx.device_name, ctx.target, "mlaforge", mlaforge.version(), "torch", torch.__version__,
          "compiled module" if fast() else "ctypes alone")
    for part in (results, graphs, arguments, shard_lengths_without_waiting, merged_parts, host_cost, lambda: server(16), lambda: server(128)):
        part()
    print("ok" if not failures else f"WRONG: {len(failures)}")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
