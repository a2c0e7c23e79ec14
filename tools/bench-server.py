#!/usr/bin/env python3
"""Measures what a user gets: mlaforge.mla_decode_fwd with default tuning on one GPU, beside a peer's kernel in the same run.

    PYTHONPATH=python MLAF_LIBRARY=build/libmlaforge.so.0 python3 tools/bench-server.py --peer peer.py --only ragged,offgrid
Needs PyTorch and a GPU of the CUDA kind. Sets: ragged (requests of different lengths), offgrid (equal lengths nobody tuned for),
pages (pages of 1 and 16 tokens; the peer has the same tokens in pages of 64), equal (shapes of peers' sets), host (the calling thread's time),
graph (replays after lengths, tables and workspaces changed), stalls (random batches of a server whose process has planned nothing).

Default tuning: tuning/ of this tree ($MLAF_TUNING_DIR if set) and an empty user database. Each side's launches are one CUDA graph
over several page tables whose pages left L2 in between; rounds are taken in turns; whole outputs are compared with each other and a few
requests with fp64. Exit code 1: an output or a graph is wrong, or a case failed.

A peer (--peer PATH, optional) is a Python module with
    metadata(cache_seqlens, rows, h_k) -> anything                    once a step, not timed; rows: query tokens * heads, cache_seqlens int32 [B]
    prepare(q, cache, block_table, cache_seqlens, dv, metadata, causal, scale=None, o=None, lse=None, acc=None) -> run
        run() launches and allocates nothing; run.o [B, q, H, dv], run.lse [B, q, H] natural log, run.acc: scratch that may be shared
    decode(q, cache, block_table, cache_seqlens, dv, metadata, causal) -> (o, lse)              for host times: allocates its outputs
    NAME                                                              optional; what its columns are called
q [B, q, H, 576], cache [pages, 64, 1, 576], block_table [B, most] int32.
"""
import argparse
import importlib.util
import json
import math
import os
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tools"))
sys.dont_write_bytecode = True  # the tree stays as it is
from bench_server import cases, server  # noqa: E402 (neither imports torch)

TIMED, OTHER = ("ragged", "offgrid", "pages", "equal"), ("host", "graph", "stalls")


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog="The head of this file says more.")
    p.add_argument("--peer", help="Python module to compare with")
    p.add_argument("--only", help="sets, comma separated: " + ",".join(TIMED + OTHER))
    p.add_argument("--seed", type=int, default=0, help="0: the cases of record; else others drawn by it")
    p.add_argument("--limit", type=int, help="at most this many cases of a set, spread over it")
    p.add_argument("--match", help="only cases whose name has this text")
    p.add_argument("--gpu", type=int, help="which device, counted from 0")
    p.add_argument("--json", help="write all figures here")
    p.add_argument("--rounds", type=int, default=7, help="timed rounds of each side (default 7)")
    p.add_argument("--budget", type=float, help="start no further case after this many seconds")
    p.add_argument("--pool-gb", type=float, default=21.0, help="size of the cache that all cases share (default 21)")
    p.add_argument("--steps", type=int, default=300, help="steps of the server simulation")
    p.add_argument("--warm-up", help="Python statement for the simulation, with mlaforge, ctx and heads; run before the first step")
    p.add_argument("--db", help="a user database, instead of none")
    p.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    args = p.parse_args()
    args.sets = args.only.split(",") if args.only else list(TIMED + OTHER)
    unknown = [name for name in args.sets if name not in TIMED + OTHER]
    if unknown:
        p.error(f"no set '{unknown[0]}'; there are {', '.join(TIMED + OTHER)}")
    if args.rounds < 1 or args.pool_gb <= 0 or args.steps < 1 or (args.limit is not None and args.limit < 1):
        p.error("--rounds, --pool-gb, --steps and --limit must be positive")
    return args


def environment(args):
    """Before torch or the library are loaded."""
    if args.gpu is not None:
        seen = [d for d in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if d]
        if seen and args.gpu >= len(seen):
            raise SystemExit(f"bench-server: --gpu {args.gpu}, but CUDA_VISIBLE_DEVICES names {len(seen)} devices")
        os.environ["CUDA_VISIBLE_DEVICES"] = seen[args.gpu] if seen else str(args.gpu)
    if not args.child:
        os.environ["MLAF_DB"] = args.db or os.path.join(tempfile.mkdtemp(prefix="bench-server-"), "user.db")
    os.environ.setdefault("MLAF_TUNING_DIR", os.path.join(ROOT, "tuning"))
    sys.path.insert(0, os.path.join(ROOT, "python"))


def load_peer(path):
    if not path:
        return None
    spec = importlib.util.spec_from_file_location("peer", path)
    if not spec or not os.path.exists(path):
        raise SystemExit(f"bench-server: --peer {path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules["peer"] = module
    spec.loader.exec_module(module)
    return module


class Bench:
    def __init__(self, args):
        import torch
        import mlaforge
        self.args, self.torch, self.mlaforge = args, torch, mlaforge
        if not torch.cuda.is_available():
            raise SystemExit("bench-server: PyTorch sees no CUDA device")
        self.peer, self.device = load_peer(args.peer), torch.device("cuda")
        self.peer_name = getattr(self.peer, "NAME", "peer") if self.peer else "no peer"
        self.l2 = torch.cuda.get_device_properties(0).L2_cache_size or 60 << 20
        self.stream, self.begun = torch.cuda.Stream(), time.perf_counter()
        self.ctx = mlaforge.default_context()
        if not self.ctx.target.startswith("sm_"):
            raise SystemExit(f"bench-server: the library serves {self.ctx.device_name}, not the GPU PyTorch has; set MLAF_DEVICE=cuda")

    def pool(self, names):
        from bench_server.work import Pool
        return Pool(self.args.pool_gb * 1e9, 4e9 if "pages" in names else 0, self.device)

    def plan_all(self, chosen):
        """Plans made ahead: compiling is not what is measured here. Seconds it took."""
        begun, contexts, mine = time.perf_counter(), [], threading.local()

        def open_context():  # one for each thread: a context's lock is held while it compiles. They share the cache
            mine.ctx = self.mlaforge.Context(device=os.environ.get("MLAF_DEVICE"))
            contexts.append(mine.ctx)

        def plan(case):
            try:
                mine.ctx.plan_info(case.problem())
            except Exception:  # the case itself will say it
                pass
        with ThreadPoolExecutor(min(len(chosen), os.cpu_count() or 4), initializer=open_context) as threads:
            list(threads.map(plan, chosen))
        for ctx in contexts:
            ctx.close()
        return time.perf_counter() - begun

    def taken(self, work):
        """The plan of a work's problem, as far as a row says it."""
        try:
            info = self.ctx.plan_info(work.case.problem())
        except Exception as why:
            return {"rung": "?", "variant": str(why)[:60]}
        return {k: info[k] for k in ("rung", "variant", "knob", "tuned_for", "compiles", "lengths") if k in info}

    def check(self, work, run, first, copy, row):
        """Both sides' outputs of one copy; what is wrong is added to row["wrong"]."""
        from bench_server.work import LSE_LIMIT, REF_LIMIT, ROW_LIMIT, compare, number
        error = work.against_reference(work.o, copy)
        row["error"] = max(row.get("error", 0.0), error)
        if error > REF_LIMIT:
            row["wrong"].append(f"copy {copy}: error {error:.2g} against fp64")
        if bool(self.torch.isnan(work.o).any()):
            row["wrong"].append(f"copy {copy}: NaN")
        if not run:
            return
        most, worst, nans, others = compare(work.o, first.o)
        row["diff"], row["row_diff"] = max(row.get("diff", 0.0), most), max(row.get("row_diff", 0.0), worst)
        apart = work.against_reference(first.o, copy)
        row["peer_error"] = max(row.get("peer_error", 0.0), apart)
        if apart > REF_LIMIT:
            row["notes"].append(f"copy {copy}: {self.peer_name}'s own error is {apart:.2g} against fp64")
        if others and not nans:
            row["notes"].append(f"{self.peer_name} has {others} NaN")
        elif worst > ROW_LIMIT:
            row["wrong"].append(f"copy {copy}: a row is {worst:.2g} from {self.peer_name}'s")
        if row.get("lse_checked") is None:
            full = work.lengths > 0
            apart = (work.lse.view_as(first.lse) - first.lse).abs()[full]
            row["lse_checked"] = number(apart.max()) if apart.numel() else 0.0
            if row["lse_checked"] > LSE_LIMIT:
                row["wrong"].append(f"lse is {row['lse_checked']:.2g} from {self.peer_name}'s")

    def case(self, case, pool):
        from bench_server.timing import Side, in_turns, launches_for
        from bench_server.work import Work
        torch = self.torch
        row = {"set": case.set, "name": case.name, "heads": case.heads, "batch": case.batch, "q_len": case.q_len, "page": case.page,
               "tokens": case.tokens, "longest": max(case.lengths), "wrong": [], "notes": []}
        with torch.cuda.stream(self.stream):
            work = Work(case, pool, 6 * self.l2)
            run, first = work.peers(self.peer) if self.peer else (None, None)
            call = work.ours(self.mlaforge.mla_decode_fwd)
            work.o.fill_(float("nan"))
            work.ours(self.mlaforge.mla_decode_fwd, lse=work.lse)(0)
            row.update(self.taken(work), copies=work.copies)
            if run:
                first.o.fill_(float("nan"))
                run(0)
            self.check(work, run, first, 0, row)
            launches = launches_for(case, work.copies)
            sides = [Side("ours", call, work.copies, launches)]
            if run:
                sides.append(Side(self.peer_name, run, work.copies, launches))
            for side in sides:
                side.call(0)
                torch.cuda.synchronize()
                side.capture(self.stream)
                if side.note:
                    row["notes"].append(side.note)
            times = in_turns(sides, self.args.rounds, 0.03)
            for out in (work.o, first.o if run else None):
                if out is not None:
                    out.fill_(float("nan"))
            for side in sides:
                side.once()
            self.check(work, run, first, sides[0].last_copy, row)
            row.update(us=times[0], peer_us=times[1] if run else None, ratio=times[0] / times[1] if run else None, launches=launches)
        return row

    def late(self):
        return self.args.budget is not None and time.perf_counter() - self.begun > self.args.budget


def text(value, form):
    return "-" if value is None else format(value, form)


def print_row(row):
    plan = f"{row.get('rung', '?')} {row.get('variant', '')}" + (f" [{row['knob']}]" if "knob" in row else "")
    print(f"{row['name'][:34]:34} {text(row.get('us'), '9.1f')} {text(row.get('peer_us'), '9.1f')} {text(row.get('ratio'), '6.3f')} "
          f"{text(row.get('diff'), '8.1e')} {text(row.get('row_diff'), '8.1e')} {text(row.get('error'), '8.1e')}  {plan}", flush=True)
    for words in row["wrong"]:
        print(f"    WRONG {words}")
    for words in row["notes"]:
        print(f"    note: {words}", flush=True)


def summary(name, rows):
    ratios = [r["ratio"] for r in rows if r.get("ratio")]
    out = {"set": name, "cases": len(rows), "wrong": sum(bool(r["wrong"]) for r in rows)}
    if ratios:
        worst = max((r for r in rows if r.get("ratio")), key=lambda r: r["ratio"])
        out.update(mean=math.exp(sum(map(math.log, ratios)) / len(ratios)), worst=worst["ratio"], worst_case=worst["name"],
                   above_103=sum(r > 1.03 for r in ratios), above_110=sum(r > 1.10 for r in ratios))
        if name == "pages":
            for page in (1, 16):
                some = [r["ratio"] for r in rows if r["page"] == page and r.get("ratio")]
                if some:
                    out[f"page_{page}"] = {"mean": math.exp(sum(map(math.log, some)) / len(some)), "worst": max(some)}
    return out


def print_summary(s):
    line = f"== {s['set']}: {s['cases']} cases, {s['wrong']} wrong"
    if "mean" in s:
        line += (f"; geometric mean {s['mean']:.3f}, worst {s['worst']:.3f} ({s['worst_case']}), "
                 f"above 1.03: {s['above_103']}, above 1.10: {s['above_110']}")
    for page in (1, 16):
        if f"page_{page}" in s:
            line += f"; page {page}: {s[f'page_{page}']['mean']:.3f}, worst {s[f'page_{page}']['worst']:.3f}"
    print(line, flush=True)


def timed_sets(bench, args, out):
    chosen = []
    for name in args.sets:
        some = cases.build([name], args.seed, args.pool_gb * 1e9, ROOT)
        some = [c for c in some if not args.match or args.match in c.name]
        few = min(len(some), args.limit or len(some))
        chosen += [some[i * len(some) // few] for i in range(few)]
    if not chosen:
        return
    pool = bench.pool({c.set for c in chosen})
    print(f"{len(chosen)} cases; plans made in {bench.plan_all(chosen):.1f} s", flush=True)
    out["cases"], out["summaries"] = [], []
    for name in [n for n in args.sets if n in TIMED]:
        rows = []
        some = [c for c in chosen if c.set == name]
        if some:
            print(f"-- {name}: us, {bench.peer_name} us, ratio, largest difference, worst row, error against fp64, plan")
        for case in some:
            if bench.late():
                print(f"   {len(some) - len(rows)} cases of {name} not started: the budget is spent")
                break
            try:
                row = bench.case(case, pool)
            except (bench.mlaforge.MlafError, RuntimeError, ValueError) as why:
                row = {"set": name, "name": case.name, "page": case.page, "wrong": [f"failed: {str(why)[:300]}"], "notes": []}
            rows.append(row)
            print_row(row)
        if rows:
            out["cases"] += rows
            out["summaries"].append(summary(name, rows))
            print_summary(out["summaries"][-1])


def host_set(bench, out):
    from bench_server.work import Pool, Work
    pool = Pool(1e8, 0, bench.device)
    works = [Work(cases.Case("host", "", heads, 1, 64, [64] * 4), pool, 0, 1) for heads in (16, 128)]
    out["host"] = server.host(bench.torch, bench.mlaforge, bench.peer, pool, works)
    out["calls_by"] = "the compiled module" if bench.mlaforge.library.fast() else "ctypes alone: _fast.abi3.so is not beside the library"
    print(f"-- host: us a call of the calling thread, 4 requests of 64 tokens; calls by {out['calls_by']} (a peer's are those of its module, "
          "not of its own package)")
    for r in out["host"]:
        print(f"h{r['heads']:<4} {r['name'][:34]:34} " + (r["error"] if "error" in r else f"{r['median_us']:8.1f}   p90 {r['p90_us']:.1f}"),
              flush=True)


def other_sets(args, out):
    if "graph" in args.sets:
        print("-- graph: what a replay gives")
        out["graph"] = server.graphs()
        for r in out["graph"]:
            print(f"{r['name']:20} {'ok   ' if r.get('ok') else 'WRONG'} {r.get('text') or r.get('error')}", flush=True)
    if "stalls" in args.sets:
        print(f"-- stalls: {args.steps} steps of random batches in a new process")
        out["stalls"] = server.stalls(args.steps, args.warm_up)
        for r in out["stalls"]:
            print(f"h{r['heads']:<4} {r['name']:14} " + (r["error"] if "error" in r else (
                f"compiles {r['compiles']}, stalls {r['stalls']}, {r['stall_s']:.2f} s in all, worst {r['worst_us'] / 1e3:.1f} ms "
                f"({r['worst_at']}), first {r['first_us'] / 1e3:.1f} ms, median {r['median_us']:.0f} us; context {r['context_us'] / 1e3:.0f} ms"
                + (f"; warm-up {r['warm_up_s']:.1f} s, {r['warm_up_compiles']} compiles" if r["warm_up_s"] else ""))), flush=True)


def run_child(args):
    kind, what = args.child
    result = server.child_graph(what) if kind == "graph" else server.child_stalls(int(what), args.steps, args.warm_up)
    print(json.dumps(result))


def main():
    args = arguments()
    environment(args)
    if args.child:
        return run_child(args)
    begun, out = time.perf_counter(), {"seed": args.seed, "sets": args.sets}
    if set(args.sets) & set(TIMED + ("host",)):
        bench = Bench(args)
        out.update(device=bench.ctx.device_name, target=bench.ctx.target, mlaforge=bench.mlaforge.version(), peer=bench.peer_name,
                   torch=bench.torch.__version__, tuning=os.environ["MLAF_TUNING_DIR"], db=args.db)
        print(f"{out['device']} ({out['target']}), mlaforge {out['mlaforge']}, torch {out['torch']}, beside: {bench.peer_name}; "
              f"tuning of {out['tuning']}, user database: {args.db or 'none'}", flush=True)
        timed_sets(bench, args, out)
        if "host" in args.sets:
            host_set(bench, out)
    other_sets(args, out)
    out["seconds"] = time.perf_counter() - begun
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(out, file, indent=1, default=str)
    print(f"{out['seconds']:.0f} s")
    bad = (any(r["wrong"] for r in out.get("cases", [])) or any(not r.get("ok") for r in out.get("graph", []))
           or any("error" in r for r in out.get("stalls", []) + out.get("host", [])))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
