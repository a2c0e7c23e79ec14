#!/usr/bin/env python3
"""Each projection of DeepSeek-V3 alone, over cold weights, as plans take it: beside a streaming read of as many bytes, torch, and the best
of cuBLASLt's algorithms. By hand on an NVIDIA GPU:

    for d in 4 8 16; do
      lua5.4 gen/cli.lua render read_ceiling target=sm_90a depth=$d >read-$d.cu && nvcc -arch=sm_90a -cubin -o read-$d.cubin read-$d.cu
    done
    tools/bench-projections.py --read read-4.cubin,read-8.cubin,read-16.cubin [--out FILE.tsv] [--forced TEXT.tsv,... --only q_b:1:64,...]

A graph has at least LAUNCHES launches, one behind the other; each set of weights comes again only when COLD bytes have passed. Medians of
replays, taken in turns. Outputs of ours are compared with fp64, and those of each algorithm with ours.
read: the fastest of the texts and grids given, of the weights' bytes; read_all: of what goes in and out, too.
--forced: tuning texts that name other variants (tuning/README.md); each is timed as `forced`, in turns with what plans take."""
import argparse
import ctypes
import math
import os
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import torch

import mlaforge

DEV, COLD, LAUNCHES, WORKSPACE = "cuda", 300e6, 20, 32 << 20
D, L, R, P, N, V, HEADS = 7168, 1536, 512, 64, 128, 128, 128
TOKENS = (1, 2, 4, 8, 16, 32, 64, 128)
BOUND = 4e-3
start = time.time()


def draw(*shape, by=1.0):
    return (torch.randn(*shape, device=DEV) * by).bfloat16()


# --- what is timed ---
class Product:
    """One operation of a rank: weights in as many sets as stay cold, and what its matrix product is to a library."""

    def __init__(self, op, tp):
        self.op, self.tp, self.h = op, tp, HEADS // tp
        h = self.h
        self.shape = {"qkv_a": (L + R + P, D), "q_b": (h * (N + P), L), "q_b_append": (h * (N + P), L), "q_absorb": (h * (N + V), R),
                      "v_out": (h * (N + V), R), "o_proj": (D, h * V)}[op]
        used = {"q_absorb": h * N * R, "v_out": h * V * R}.get(op, self.shape[0] * self.shape[1])
        self.bytes = 2 * used
        self.sets = math.ceil(COLD / self.bytes) + 1
        self.w = [draw(*self.shape, by=self.shape[1] ** -0.5) for _ in range(self.sets)]
        self.gain, self.kv_gain = ((1 + 0.1 * torch.randn(n, device=DEV)).bfloat16() for n in (L, R))
        angle = torch.arange(8192, device=DEV)[:, None].double() * 10000.0 ** (-torch.arange(0, P, 2, device=DEV).double() / P)
        self.table = torch.cat([angle.cos(), angle.sin()], -1).float()
        self.cache = draw(8, 64, R + P)

    def inputs(self, T):
        h = self.h
        self.pos = torch.arange(T, device=DEV) + 4000
        self.slots = torch.randperm(512, device=DEV)[:T]
        self.c = draw(T, L + R + P)
        self.x = {"qkv_a": lambda: draw(T, D), "q_absorb": lambda: draw(T, h, N + P), "v_out": lambda: draw(T, h, R),
                  "o_proj": lambda: draw(T, h * V)}.get(self.op, lambda: self.c[:, :L])()
        self.y = torch.full({"q_absorb": (T, h, R + P), "v_out": (T, h, V)}.get(self.op, (T, self.shape[0])), float("nan"), device=DEV,
                            dtype=torch.bfloat16)
        self.beside = torch.empty_like(self.y)
        turned = {"q_absorb": h * (N + P), "v_out": h * R}.get(self.op, self.shape[1])
        self.all_bytes = self.bytes + 2 * T * (turned + self.y.numel() // T)

    def by_head(self, i):
        return self.w[i].view(self.h, N + V, R)

    def ours(self, i, ctx=None):
        if self.op == "qkv_a":
            mlaforge.mla_qkv_a(self.x, self.w[i], out=self.y, ctx=ctx)
        elif self.op == "q_b":
            mlaforge.mla_q_b(self.x, self.w[i], norm_weight=self.gain, out=self.y, ctx=ctx)
        elif self.op == "q_b_append":
            mlaforge.mla_q_b_append(self.x, self.w[i], self.c[:, L:L + R], self.c[:, L + R:], self.cache, self.slots, self.pos, self.table,
                                    norm_weight=self.gain, kv_norm_weight=self.kv_gain, out=self.y, ctx=ctx)
        elif self.op == "q_absorb":
            mlaforge.mla_q_absorb(self.x, self.by_head(i), self.pos, self.table, out=self.y, ctx=ctx)
        elif self.op == "v_out":
            mlaforge.mla_v_out(self.x, self.by_head(i), out=self.y, ctx=ctx)
        else:
            mlaforge.mla_o_proj(self.x, self.w[i], out=self.y, ctx=ctx)

    def torch(self, i):
        """The product alone: no norm, no rope columns, outputs of a head side by side."""
        if self.op == "q_absorb":
            torch.bmm(self.x[..., :N].transpose(0, 1), self.by_head(i)[:, :N], out=self.per_head)
        elif self.op == "v_out":
            torch.bmm(self.x.transpose(0, 1), self.by_head(i)[:, N:].transpose(1, 2), out=self.per_head)
        else:
            torch.mm(self.x, self.w[i].T, out=self.beside)

    def exact(self, i):
        x, w = self.x.double(), self.w[i].double()
        if self.op == "q_absorb":
            t, out = self.table[self.pos].double()[:, None], torch.empty(self.y.shape, device=DEV, dtype=torch.float64)
            out[..., :R] = torch.einsum("thn,hnr->thr", x[..., :N], w.view(self.h, N + V, R)[:, :N])
            a, b, c, s = x[..., N::2], x[..., N + 1::2], t[..., :P // 2], t[..., P // 2:]
            out[..., R::2], out[..., R + 1::2] = a * c - b * s, b * c + a * s
            return out
        if self.op == "v_out":
            return torch.einsum("thr,hvr->thv", x, w.view(self.h, N + V, R)[:, N:])
        if self.op.startswith("q_b"):
            x = x * (x.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt() * self.gain.double()
        return x @ w.T

    def library(self, T):
        """(A's type of use, rows, cols, ld), (B's cols, ld), D's ld, strides of a batch, outputs, values, batch; in column-major terms."""
        h = self.h
        if self.op == "q_absorb":
            return dict(turned=0, outer=R, inner=N, T=T, lda=R, ldb=h * (N + P), ldd=h * (R + P), batch=h, strides=((N + V) * R, N + P, R + P), at=0)
        if self.op == "v_out":
            return dict(turned=1, outer=V, inner=R, T=T, lda=R, ldb=h * R, ldd=h * V, batch=h, strides=((N + V) * R, R, V), at=2 * N * R)
        outer, inner = self.shape
        return dict(turned=1, outer=outer, inner=inner, T=T, lda=inner, ldb=self.x.stride(0), ldd=outer, batch=1, strides=(0, 0, 0), at=0)


# --- cuBLASLt by its C functions ---
class Lt:
    """CUDA 12 and 13's numbers of cublasLt.h."""

    def __init__(self):
        torch.mm(draw(16, 16), draw(16, 16))
        path = next(m.group(0) for m in (re.search(r"/\S*libcublasLt\.so\S*", line) for line in open("/proc/self/maps")) if m)
        self.lib = ctypes.CDLL(path)
        self.lib.cublasLtGetVersion.restype = ctypes.c_size_t
        self.version = self.lib.cublasLtGetVersion()
        self.handle = ctypes.c_void_p()
        self.ok(self.lib.cublasLtCreate(ctypes.byref(self.handle)))
        self.workspace = torch.empty(WORKSPACE, device=DEV, dtype=torch.uint8)

    @staticmethod
    def ok(status):
        if status:
            raise RuntimeError(f"cuBLASLt: status {status}")

    def layout(self, rows, cols, ld, batch, stride):
        made = ctypes.c_void_p()
        self.ok(self.lib.cublasLtMatrixLayoutCreate(ctypes.byref(made), 14, ctypes.c_uint64(rows), ctypes.c_uint64(cols), ctypes.c_int64(ld)))
        for what, value in ((5, ctypes.c_int32(batch)), (6, ctypes.c_int64(stride))):
            self.ok(self.lib.cublasLtMatrixLayoutSetAttribute(made, what, ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value))))
        return made

    def proposals(self, s, most):
        """Algorithms for a product, and what launches one: (W's address, x, y) on the current stream."""
        desc, pref, found = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
        self.ok(self.lib.cublasLtMatmulDescCreate(ctypes.byref(desc), 68, 0))
        use = ctypes.c_int32(s["turned"])
        self.ok(self.lib.cublasLtMatmulDescSetAttribute(desc, 3, ctypes.byref(use), ctypes.c_size_t(4)))
        a = self.layout(*((s["inner"], s["outer"]) if s["turned"] else (s["outer"], s["inner"])), s["lda"], s["batch"], s["strides"][0])
        b = self.layout(s["inner"], s["T"], s["ldb"], s["batch"], s["strides"][1])
        d = self.layout(s["outer"], s["T"], s["ldd"], s["batch"], s["strides"][2])
        self.ok(self.lib.cublasLtMatmulPreferenceCreate(ctypes.byref(pref)))
        room = ctypes.c_uint64(WORKSPACE)
        self.ok(self.lib.cublasLtMatmulPreferenceSetAttribute(pref, 1, ctypes.byref(room), ctypes.c_size_t(8)))

        class Result(ctypes.Structure):
            _fields_ = [("algo", ctypes.c_uint64 * 8), ("room", ctypes.c_size_t), ("state", ctypes.c_int), ("waves", ctypes.c_float),
                        ("reserved", ctypes.c_int * 4)]

        results = (Result * most)()
        self.ok(self.lib.cublasLtMatmulAlgoGetHeuristic(self.handle, desc, a, b, d, d, pref, most, results, ctypes.byref(found)))
        one, none = ctypes.c_float(1), ctypes.c_float(0)

        def launcher(result):
            def go(w, x, y):
                stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
                self.ok(self.lib.cublasLtMatmul(self.handle, desc, ctypes.byref(one), ctypes.c_void_p(w), a, ctypes.c_void_p(x), b,
                                                ctypes.byref(none), ctypes.c_void_p(y), d, ctypes.c_void_p(y), d, ctypes.byref(result.algo),
                                                ctypes.c_void_p(self.workspace.data_ptr()), ctypes.c_size_t(WORKSPACE), stream))
            return go
        return [launcher(r) for r in results[:found.value] if not r.state]


# --- a streaming read ---
class Read:
    class Args(ctypes.Structure):
        _fields_ = [("words", ctypes.c_void_p), ("n", ctypes.c_uint64), ("out", ctypes.c_void_p), ("never", ctypes.c_uint32),
                    ("blocks", ctypes.c_uint32), ("passes", ctypes.c_uint32)]

    def __init__(self, paths):
        self.cuda, self.functions = ctypes.CDLL("libcuda.so.1"), []
        for path in paths:
            image = open(path, "rb").read()
            module, function = ctypes.c_void_p(), ctypes.c_void_p()
            name = re.search(rb"mlaf_read_ceiling\w*", image).group(0)
            assert not self.cuda.cuModuleLoadData(ctypes.byref(module), image)
            assert not self.cuda.cuModuleGetFunction(ctypes.byref(function), module, name)
            self.functions.append(function)
        self.pool = torch.randint(0, 2 ** 31, (int(1.2e9) // 4,), device=DEV, dtype=torch.int32)
        self.out = torch.zeros(1, device=DEV, dtype=torch.int32)
        self.units = torch.cuda.get_device_properties(0).multi_processor_count

    def forms(self):
        return [(f, self.units * k) for f in self.functions for k in (1, 2, 4)]

    def go(self, form, size, at):
        args = self.Args(self.pool.data_ptr() + at, size // 16, self.out.data_ptr(), 12345, form[1], 1)
        list_ = (ctypes.c_void_p * 1)(ctypes.addressof(args))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        assert not self.cuda.cuLaunchKernel(form[0], form[1], 1, 1, 512, 1, 1, 0, stream, list_, None)

    def places(self, size):
        apart = -(-size // 256) * 256
        count = min(math.ceil(COLD / size) + 1, self.pool.numel() * 4 // apart)
        return [i * apart for i in range(count)]


# --- graphs and their times ---
class Graph:
    def __init__(self, launch, sets):
        self.n = sets * max(1, math.ceil(LAUNCHES / sets))
        launch(0)
        torch.cuda.synchronize()
        self.graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
        with torch.cuda.stream(stream), torch.cuda.graph(self.graph, stream=stream):
            for i in range(self.n):
                launch(i % sets)
        self.times = []

    def time(self, replays):
        self.graph.replay()
        events = [torch.cuda.Event(enable_timing=True) for _ in range(replays + 1)]
        events[0].record()
        for e in events[1:]:
            self.graph.replay()
            e.record()
        torch.cuda.synchronize()
        self.times += [1e3 * a.elapsed_time(b) / self.n for a, b in zip(events, events[1:])]

    def median(self):
        return sorted(self.times)[len(self.times) // 2]

    def spread(self):
        m = self.median()
        return sorted(abs(t - m) for t in self.times)[len(self.times) // 2]


def off(y, want):
    return float((y.double() - want).norm() / want.norm())


def point(p, T, args, lt, read, contexts):
    p.inputs(T)
    if p.op in ("q_absorb", "v_out"):
        p.per_head = torch.empty(p.h, T, R if p.op == "q_absorb" else V, device=DEV, dtype=torch.bfloat16)
    graphs = {"ours": Graph(p.ours, p.sets), "torch": Graph(p.torch, p.sets)}
    p.y.fill_(float("nan"))
    p.ours(1)
    want = p.exact(1)
    error = off(p.y, want)
    row = {"op": p.op, "tp": p.tp, "T": T, "MB": p.bytes / 1e6, "error": error}
    wrong = not error <= BOUND
    for k, ctx in enumerate(contexts):
        try:
            p.y.fill_(float("nan"))
            p.ours(1, ctx)
            if not off(p.y, want) <= BOUND:
                print(f"{p.op} tp {p.tp} T {T}: forced {k} is wrong", flush=True)
                continue
            graphs[f"forced{k}"] = Graph(lambda i, ctx=ctx: p.ours(i, ctx), p.sets)
        except mlaforge.MlafError as e:
            print(f"{p.op} tp {p.tp} T {T}: forced {k}: {e}", flush=True)
    if not args.no_peers:
        sizes = {"read": p.bytes, "read_all": p.all_bytes}
        for name, size in sizes.items():
            places = read.places(size)
            for k, form in enumerate(read.forms()):
                graphs[f"{name} {k}"] = Graph(lambda i, f=form, s=size, at=places: read.go(f, s, at[i]), len(places))
        s = p.library(T)
        ways = lt.proposals(s, args.ways)
        plain = p.x.double() if not p.op.startswith("q_b") else p.c[:, :L].double()
        for k, go in enumerate(ways):
            launch = lambda i, go=go: go(p.w[i].data_ptr() + s["at"], p.x.data_ptr(), p.beside.data_ptr())
            p.beside.zero_()
            launch(1)
            if k == 0:
                right = plain @ p.w[1].double().T if p.op.startswith("q_b") else want
                right = right[..., :R] if p.op == "q_absorb" else right
            if not off(p.beside[..., :R] if p.op == "q_absorb" else p.beside, right) <= BOUND:
                print(f"{p.op} tp {p.tp} T {T}: algorithm {k} of cuBLASLt is wrong", flush=True)
                continue
            graphs[f"lt {k}"] = Graph(launch, p.sets)
        row["ways"] = len(ways)
    for g in graphs.values():  # a first look: what is far behind is not timed again
        g.time(1)
    best = lambda kind: min((n for n in graphs if n.startswith(kind + " ")), key=lambda n: graphs[n].median(), default=None)
    for kind in ("read", "read_all", "lt"):
        list_ = [n for n in graphs if n.startswith(kind + " ")]
        if list_:
            low = graphs[best(kind)].median()
            for n in list_:
                if graphs[n].median() > 1.1 * low:
                    del graphs[n]
    for g in graphs.values():
        g.times = []
    for _ in range(3):
        for g in graphs.values():
            g.time(4)
        time.sleep(0.01)
    for kind in ("read", "read_all", "lt"):
        if best(kind):
            row[kind] = graphs[best(kind)].median()
    row.update({n: graphs[n].median() for n in graphs if n in ("ours", "torch") or n.startswith("forced")})
    row["mad"] = graphs["ours"].spread()
    return row, wrong


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("--read", default="")
    a.add_argument("--out")
    a.add_argument("--ways", type=int, default=16)
    a.add_argument("--forced", default="")
    a.add_argument("--only", default="")
    a.add_argument("--no-peers", action="store_true")
    a.add_argument("--seconds", type=float, default=1e9)
    args = a.parse_args()
    torch.manual_seed(1)
    lt, read = (None, None) if args.no_peers else (Lt(), Read(args.read.split(",")))
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, cuBLASLt {lt.version if lt else '-'}", flush=True)
    everything = [(op, 8) for op in ("qkv_a", "q_b", "q_b_append", "q_absorb", "v_out", "o_proj")]
    everything += [(op, 1) for op in ("q_b", "q_b_append", "q_absorb", "v_out", "o_proj")]
    wanted = {tuple(w.split(":")) for w in args.only.split(",") if w}
    points = [(op, tp, T) for op, tp in everything for T in TOKENS if not wanted or (op, str(tp), str(T)) in wanted]
    contexts = []
    default = mlaforge.context.default_context()
    for text in filter(None, args.forced.split(",")):
        os.environ["MLAF_SITE_DB"] = os.path.abspath(text)
        contexts.append(mlaforge.Context(device="cuda", db_path=f"/tmp/bench-projections-{os.getpid()}-{len(contexts)}.db"))
    os.environ.pop("MLAF_SITE_DB", None)
    # A pass that launches nothing finds what is planned; then all cores compile it.
    plans, real = {}, mlaforge.mla_projections._launch
    mlaforge.mla_projections._launch = lambda problem, args_, x, y, ctx, stream, row=None: plans.setdefault((problem, ctx, row is not None))
    for op, tp in dict.fromkeys((op, tp) for op, tp, _ in points):
        p = Product(op, tp)
        for T in [T for o, t, T in points if (o, t) == (op, tp)]:
            p.inputs(T)
            for ctx in [None, *contexts]:
                p.ours(0, ctx)
        del p
    mlaforge.mla_projections._launch = real

    def make(key):
        problem, ctx, beside = key
        try:
            (ctx or default).plan_for(problem, 0 if beside else mlaforge.context.LIBRARY)
        except mlaforge.MlafError as e:
            print(f"plan: {problem}: {e}", flush=True)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(make, plans))
    print(f"{len(plans)} plans, {time.time() - start:.0f} s", flush=True)
    names = ["op", "tp", "T", "MB", "read", "read_all", "ours", "mad", "torch", "lt", "ways", "error"] + [f"forced{k}" for k in range(len(contexts))]
    out = open(args.out, "w") if args.out else None
    text = lambda v: f"{v:.2e}" if isinstance(v, float) and v < 0.01 else f"{v:.2f}" if isinstance(v, float) else str(v)
    show = lambda row: "\t".join(text(row.get(n, "-")) for n in names)
    print("\t".join(names), flush=True)
    if out:
        print("\t".join(names), file=out, flush=True)
    wrong, p = 0, None
    for op, tp, T in points:
        if time.time() - start > args.seconds:
            print(f"out of time before {op} tp {tp} T {T}", flush=True)
            break
        if p is None or (p.op, p.tp) != (op, tp):
            p = None
            torch.cuda.empty_cache()
            p = Product(op, tp)
        row, bad = point(p, T, args, lt, read, contexts)
        wrong += bad
        print(show(row), flush=True)
        if out:
            print(show(row), file=out, flush=True)
    print(f"{wrong} wrong, {time.time() - start:.0f} s")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
