"""Costs of a server beside its kernels: host time of a call, graph replays with other lengths, stalls while plans are made."""
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from . import cases

STALL_US = 1000.0  # a call above this, beyond the median, is a stall


# --- host time: the calling thread's microseconds for one call, the device idle enough never to hold it up ---
def _per_call(torch, call, count=2000, burst=20):
    times = []
    for i in range(count + 100):
        if i % burst == 0:
            torch.cuda.synchronize()
        start = time.perf_counter_ns()
        call()
        times.append(time.perf_counter_ns() - start)
    torch.cuda.synchronize()
    times = times[100:]
    return {"median_us": statistics.median(times) / 1e3, "p90_us": sorted(times)[len(times) * 9 // 10] / 1e3}


def host(torch, mlaforge, peer, pool, works):
    """[(name, heads, figures)]; `works` are small cases, one for each head count."""
    rows = []
    for work in works:
        heads, q_len = work.case.heads, work.case.q_len
        add = lambda name, call, **more: rows.append({"name": name, "heads": heads, **_per_call(torch, call, **more)})
        ours = work.ours(mlaforge.mla_decode_fwd)
        add("mla_decode_fwd", lambda: ours(0))
        args = (work.q, work.cache, work.tables[0], work.lengths, 512)
        try:
            step = mlaforge.get_mla_metadata(work.lengths, heads * q_len, 1)
            add("flash_mla_with_kvcache", lambda: mlaforge.flash_mla_with_kvcache(*args, *step, causal=q_len > 1))
            o, lse = mlaforge.flash_mla_with_kvcache(*args, *step, causal=q_len > 1)
            add("flash_mla_with_kvcache, out=, lse=",
                lambda: mlaforge.flash_mla_with_kvcache(*args, *step, causal=q_len > 1, out=o, lse=lse))

            def first():
                mlaforge.flash_mla_with_kvcache(*args, *mlaforge.get_mla_metadata(work.lengths, heads * q_len, 1), causal=q_len > 1)
            add("get_mla_metadata + first layer", first, count=300)
        except mlaforge.MlafError as why:
            rows.append({"name": "flash_mla_with_kvcache", "heads": heads, "error": str(why)})
        if peer:
            meta = peer.metadata(work.lengths, q_len * heads, 1)
            name = getattr(peer, "NAME", "peer")
            add(f"{name} decode", lambda: peer.decode(*args, meta, causal=q_len > 1))
            add(f"{name} metadata", lambda: peer.metadata(work.lengths, q_len * heads, 1))
    return rows


# --- graphs: each in a process of its own, since a replay that reads freed memory ends the process's CUDA context ---
def _captured(torch, call, stream=None):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        call()
    return graph


def _judge(torch, work, what):
    from .work import REF_LIMIT
    torch.cuda.synchronize()
    error = work.against_reference(work.o, 0)
    return error <= REF_LIMIT, f"{what}: error {error:.2g}"


def _relength(torch, work, lengths):
    """Other lengths in the same tensors, of no more pages than each request had."""
    page, case = work.case.page, work.case
    new = torch.tensor(lengths, dtype=torch.int32)
    counts = -(-new // page)
    indices = torch.cat([work.tables[0][b][:int(n)] for b, n in enumerate(counts)])
    work.indices[0][:indices.shape[0]] = indices
    work.kv_indptr.copy_(torch.cat([torch.zeros(1, dtype=torch.int32), counts.cumsum(0).to(torch.int32)]))
    work.last.copy_(torch.where(new > 0, new - (counts - 1) * page, 0).to(torch.int32))
    work.lengths.copy_(new)
    case.lengths = list(lengths)


def graph_grown(torch, mlaforge, make):
    """Captured, then a plan with a larger workspace ran on the same stream and memory was used by others: the replay is right."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        small, large = make(16, [8192] * 2, 1), make(128, [65536, 65536, 65536, 40000], 1)
        call = small.ours(mlaforge.mla_decode_fwd)
        call(0)
        graph = _captured(torch, lambda: call(0), stream)
        large.ours(mlaforge.mla_decode_fwd)(0)
        filler = [torch.full((1 << 22,), float("nan"), device=small.device) for _ in range(64)]
        small.o.fill_(float("nan"))
        graph.replay()
        ok, text = _judge(torch, small, f"replay after a larger plan ({len(filler)} buffers of NaN allocated)")
    return ok, text


def graph_own_stream(torch, mlaforge, make):
    """Captured on PyTorch's own capture stream; calls before were on the current stream alone."""
    work = make(128, [30000, 12000, 50000], 1)
    call = work.ours(mlaforge.mla_decode_fwd)
    call(0)
    torch.cuda.synchronize()
    graph = _captured(torch, lambda: call(0))
    work.o.fill_(float("nan"))
    graph.replay()
    return _judge(torch, work, "PyTorch's capture stream")


def graph_lengths(torch, mlaforge, make):
    """mla_decode_fwd: lengths and tables written anew between replays."""
    work = make(128, [3000] * 48, 1)
    call, stream = work.ours(mlaforge.mla_decode_fwd), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        call(0)
        graph = _captured(torch, lambda: call(0), stream)
        texts, good = [], True
        for lengths in ([3000] * 48, [2900] + [40] * 47, [0, 1, 64, 65] * 12, [2000 - 40 * b for b in range(48)]):
            _relength(torch, work, lengths)
            work.o.fill_(float("nan"))
            graph.replay()
            ok, text = _judge(torch, work, f"{max(lengths)}..{min(lengths)}")
            good, texts = good and ok and not bool(torch.isnan(work.o).any()), texts + [text]
    return good, "; ".join(texts)


def graph_block_table(torch, mlaforge, make):
    """flash_mla_with_kvcache: metadata made before the capture, cache_seqlens and block_table written anew between replays."""
    work = make(64, [3000] * 24, 1)
    step, stream = mlaforge.get_mla_metadata(work.lengths, 64, 1), torch.cuda.Stream()
    call = lambda: mlaforge.flash_mla_with_kvcache(work.q, work.cache, work.tables[0], work.lengths, 512, *step, causal=False)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        call()
        got = []
        graph = _captured(torch, lambda: got.append(call()[0]), stream)
        texts, good = [], True
        for lengths in ([3000] * 24, [1500 + 50 * b for b in range(24)], [2999] + [130] * 23):
            _relength(torch, work, lengths)
            work.tables[0].copy_(work.tables[0].flip(1))  # same pages, other order: the reference reads the table, too
            got[0].fill_(float("nan"))
            graph.replay()
            work.o.copy_(got[0].view_as(work.o))
            ok, text = _judge(torch, work, f"{max(lengths)}..{min(lengths)}")
            good, texts = good and ok, texts + [text]
    return good, "; ".join(texts)


GRAPHS = {f.__name__: f for f in (graph_grown, graph_own_stream, graph_lengths, graph_block_table)}


def child_graph(name):
    import torch
    import mlaforge
    from .work import Pool, Work
    pool = Pool(2e9, 0, torch.device("cuda"))
    make = lambda heads, lengths, q_len: Work(cases.Case("graph", name, heads, q_len, 64, list(lengths)), pool, 0, 1)
    ok, text = GRAPHS[name](torch, mlaforge, make)
    return {"ok": bool(ok), "text": text}


# --- stalls: random batches as a server would have them, in a process that has planned nothing yet ---
def _compiled():
    return len(glob.glob(os.path.join(os.environ["MLAF_CACHE_DIR"], "**", "*.co"), recursive=True))


def child_stalls(heads, steps, warm_up):
    import torch
    import mlaforge
    from .work import Pool, Work
    most = 600000
    pool = Pool(2.2 * most * cases.ROW_BYTES, 0, torch.device("cuda"))
    before, begun = _compiled(), time.perf_counter()
    ctx = mlaforge.default_context()
    made_us, warm_s = (time.perf_counter() - begun) * 1e6, 0.0
    if warm_up:
        begun = time.perf_counter()
        exec(warm_up, {"mlaforge": mlaforge, "ctx": ctx, "heads": heads})  # the user's own words, from the command line
        warm_s = time.perf_counter() - begun
    warm_compiles, times, worst_at = _compiled() - before, [], ""
    for i, (lengths, q_len) in enumerate(cases.server_steps(heads, steps, most)):
        work = Work(cases.Case("stalls", "", heads, q_len, 64, lengths), pool, 0, 1)
        call = work.ours(mlaforge.mla_decode_fwd)
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        call(0)
        us = (time.perf_counter_ns() - start) / 1e3
        torch.cuda.synchronize()
        if not times or us > max(times):
            worst_at = f"step {i}: {len(lengths)} x {sum(lengths) // len(lengths)} q{q_len}"
        times.append(us)
    typical = statistics.median(times)
    late = [t - typical for t in times if t - typical > STALL_US]
    return {"heads": heads, "steps": steps, "context_us": made_us, "first_us": times[0], "median_us": typical, "worst_us": max(times),
            "worst_at": worst_at, "stalls": len(late), "stall_s": sum(late) / 1e6, "compiles": _compiled() - before - warm_compiles,
            "warm_up_s": warm_s, "warm_up_compiles": warm_compiles}


# --- the parent's side ---
def child(arguments, environment, timeout_s=300):
    """One JSON object that a child process printed as its last line, or {"error": ...}."""
    command = [sys.executable, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bench-server.py")]
    try:
        done = subprocess.run(command + arguments, env={**os.environ, **environment}, capture_output=True, text=True,
                              timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return {"error": f"no end after {timeout_s} s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        said = [line for line in done.stderr.strip().splitlines() if line.strip()]
        return {"error": f"exit {done.returncode}: {said[-1][:200] if said else 'nothing said'}"}
    return json.loads(lines[-1])


def _all(jobs):
    """Run them at once; results in order."""
    out = [None] * len(jobs)

    def run(i, job):
        out[i] = job()
    threads = [threading.Thread(target=run, args=(i, job)) for i, job in enumerate(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return out


def graphs():
    names = list(GRAPHS)
    return [{"name": name, **result} for name, result in zip(names, _all([lambda n=n: child(["--child", "graph", n], {}) for n in names]))]


def stalls(steps, warm_up):
    """Cold, warm and (where words for it are given) warmed up, with 128 and 16 heads side by side, each with its own cache."""
    def of(heads):
        out = []
        with tempfile.TemporaryDirectory() as home:
            env = {"MLAF_CACHE_DIR": os.path.join(home, "cache"), "MLAF_DB": os.path.join(home, "user.db")}
            os.mkdir(env["MLAF_CACHE_DIR"], 0o700)
            for name in ("cold cache", "warm cache"):
                out.append({"name": name, "heads": heads, **child(["--child", "stalls", str(heads), "--steps", str(steps)], env)})
            if warm_up:
                env["MLAF_CACHE_DIR"] = os.path.join(home, "other")
                os.mkdir(env["MLAF_CACHE_DIR"], 0o700)
                out.append({"name": "after warm-up", "heads": heads, **child(
                    ["--child", "stalls", str(heads), "--steps", str(steps), "--warm-up", warm_up], env)})
        return out
    return [row for rows in _all([lambda h=h: of(h) for h in (128, 16)]) for row in rows]
