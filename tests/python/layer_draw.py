"""Layers drawn afresh beside PyTorch around FlashMLA, by hand on a GPU with PyTorch:

    python3 tests/python/layer_draw.py SEED N --peer PEER.py [--workers 10] [--limit 600] [--only 3,7] [--out FILE.jsonl]

A draw is a model, a rank, 1 to 300 requests and 100 to 20000 cached tokens of each. Ours and PyTorch's forms, eager and compiled (Inductor,
graphs before appending and behind attention), are chains of SETS layers in CUDA graphs, timed in turns. PEER.py: a module with Run(q, cache,
table, lengths, columns of values, metadata, causal, scale, None, None, None), whose o is attention's output (tools/bench-server.py --peer).
A worker is a process that makes and compiles its draws; the device is one worker's at a time while it is timed."""
import argparse
import fcntl
import importlib.util
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time

# heads, hidden, low-rank columns (0: none), columns of a key without positions, of a value
MODELS = {"deepseek-v3": (128, 7168, 1536, 128, 128), "kimi-k2": (64, 7168, 1536, 128, 128), "deepseek-v2": (128, 5120, 1536, 128, 128),
          "glm-4.7-flash": (20, 2048, 768, 192, 256), "deepseek-v2-lite": (16, 2048, 0, 128, 128), "longcat-flash": (64, 6144, 1536, 128, 128)}
OFTEN = ("deepseek-v3", "deepseek-v3", "deepseek-v3", "kimi-k2", "kimi-k2", "deepseek-v2", "glm-4.7-flash", "deepseek-v2-lite", "longcat-flash")
R, P, PAGE, SETS, CACHE_MOST, APART = 512, 64, 64, 3, 4e9, 3e-2


def log_between(rng, low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def draws(seed, n):
    """(model, ranks, kind of lengths, lengths) n times."""
    rng, out = random.Random(f"layers {seed}"), []
    while len(out) < n:
        name = rng.choice(OFTEN)
        heads = MODELS[name][0]
        tp = rng.choice([t for t in (1, 2, 4, 8) if heads % t == 0 and heads // t >= 4])
        batch = int(round(log_between(rng, 1, 300)))
        low, high = sorted(log_between(rng, 100, 20000) for _ in range(2))
        kind = rng.choice(("equal", "uniform", "log", "one_long"))
        length = {"equal": lambda i: high, "uniform": lambda i: rng.uniform(low, high), "log": lambda i: log_between(rng, low, high),
                  "one_long": lambda i: low if i else high}[kind]
        lengths = [max(100, int(length(i))) for i in range(batch)]
        if sum(lengths) * 2 * (R + P) <= CACHE_MOST:
            out.append((name, tp, kind, lengths))
    return out


class Case:
    """One draw's weights, tables and calls."""

    def __init__(self, name, tp, lengths, table, peer):
        import torch
        import mlaforge
        self.heads, self.hidden, self.low, self.n, self.v = MODELS[name]
        self.h, self.peer, self.table = self.heads // tp, peer, table
        self.scale, self.mean = (self.n + P) ** -0.5, sum(lengths) // len(lengths)
        self.sets = [self.weights(torch) for _ in range(SETS)]
        self.layers = [mlaforge.Layer(w, heads=self.heads, cos_sin_cache=table, scale=self.scale, nope=self.n, v=self.v, tp_size=tp,
                                      batch=len(lengths), kv_len=(self.mean, self.mean)) for w in self.sets]
        each = [-(-n // PAGE) for n in lengths]
        pages, starts = torch.randperm(sum(each), device=DEV), [0]
        for e in each:
            starts.append(starts[-1] + e)
        self.block = torch.zeros(len(lengths), max(each), device=DEV, dtype=torch.int32)
        for i, e in enumerate(each):
            self.block[i, :e] = pages[starts[i]:starts[i] + e].int()
        self.cache = torch.randn(sum(each), PAGE, R + P, device=DEV, dtype=torch.bfloat16)
        self.x = torch.randn(len(lengths), self.hidden, device=DEV).bfloat16()
        self.pos = torch.as_tensor([n - 1 for n in lengths], device=DEV)
        self.slots = torch.stack([pages[starts[i] + (n - 1) // PAGE] * PAGE + (n - 1) % PAGE for i, n in enumerate(lengths)])
        ints = lambda values: torch.as_tensor(values, device=DEV).to(torch.int32)
        self.lengths, self.metadata = ints(lengths), {}
        self.lists = dict(qo_indptr=ints(range(len(lengths) + 1)), kv_indptr=ints(starts), kv_indices=ints(pages),
                          kv_last_page_lens=ints([(n - 1) % PAGE + 1 for n in lengths]))
        self.room = torch.empty(self.layers[0].workspace_size(), device=DEV, dtype=torch.uint8)

    def weights(self, torch):
        def draw(*shape, by):
            return (torch.randn(*shape, device=DEV) * by ** -0.5).bfloat16()
        d, low, h = self.hidden, self.low, self.h
        w = {"kv_b_proj.weight": draw(h * (self.n + self.v), R, by=R), "o_proj.weight": draw(d, h * self.v, by=self.heads * self.v),
             "kv_a_layernorm.weight": 1 + 0.1 * draw(R, by=1)}
        if low:
            return {**w, "fused_qkv_a_proj_with_mqa.weight": draw(low + R + P, d, by=d), "q_a_layernorm.weight": 1 + 0.1 * draw(low, by=1),
                    "q_b_proj.weight": draw(h * (self.n + P), low, by=low)}
        return {**w, "kv_a_proj_with_mqa.weight": draw(R + P, d, by=d), "q_proj.weight": draw(h * (self.n + P), d, by=d)}

    def ours(self):
        y = self.x
        for layer in self.layers:
            y = layer(y, self.pos, self.slots, self.cache, kv_len=self.mean, workspace=self.room, **self.lists)
        return y

    def forms(self, w):
        """PyTorch's two parts, before attention and behind it. New rows are appended apart: compiled, index_copy_ copies the whole cache."""
        import torch
        low, h, n = self.low, self.h, self.n
        kv_b = w["kv_b_proj.weight"].view(h, n + self.v, R)

        def norm(x, gain):
            return torch.nn.functional.rms_norm(x.float(), (x.shape[-1],), gain.float(), 1e-6).to(x.dtype)

        def rotate(x, rows):
            pairs, c, s = x.float().unflatten(-1, (P // 2, 2)), rows[:, None, :P // 2], rows[:, None, P // 2:]
            a, b = pairs.unbind(-1)
            return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2).to(x.dtype)

        def before(x, pos):
            rows = self.table[pos]
            if low:
                c = x @ w["fused_qkv_a_proj_with_mqa.weight"].T
                q, c = norm(c[:, :low], w["q_a_layernorm.weight"]) @ w["q_b_proj.weight"].T, c[:, low:]
            else:
                c, q = x @ w["kv_a_proj_with_mqa.weight"].T, x @ w["q_proj.weight"].T
            new = torch.cat([norm(c[:, :R], w["kv_a_layernorm.weight"]), rotate(c[:, None, R:], rows)[:, 0]], -1)
            q = q.view(-1, h, n + P)
            latent = torch.bmm(q[..., :n].transpose(0, 1), kv_b[:, :n]).transpose(0, 1)
            return torch.cat([latent, rotate(q[..., n:], rows)], -1)[:, None].contiguous(), new

        def behind(u):
            o = torch.bmm(u[:, 0].transpose(0, 1), kv_b[:, n:].transpose(1, 2)).transpose(0, 1)
            return o.reshape(u.shape[0], -1) @ w["o_proj.weight"].T
        return before, behind

    def torch_chain(self, forms):
        def call():
            y = self.x
            for before, behind in forms:
                q, new = before(y, self.pos)
                self.cache.view(-1, R + P).index_copy_(0, self.slots, new)
                y = behind(self.peer.Run(q, self.cache.unsqueeze(2), self.block, self.lengths, R, self.metadata, False, self.scale, None, None,
                                         None).o)
            return y
        return call


def timed(case, lock):
    """us a layer of each form, and how far PyTorch's eager output is from ours."""
    import torch
    from layer_server import capture, replay_us
    eager = [case.forms(w) for w in case.sets]
    torch._dynamo.reset()
    compiled = [tuple(torch.compile(f, dynamic=False) for f in forms) for forms in eager]
    case.torch_chain(compiled)()
    torch.cuda.synchronize()
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        graphs, outputs = {}, {}
        for name, call in (("ours", case.ours), ("eager", case.torch_chain(eager)), ("compiled", case.torch_chain(compiled))):
            graphs[name], outputs[name] = capture(call)
            graphs[name].replay()
            outputs[name] = outputs[name].double()
        us = dict(zip(graphs, (t / SETS for t in replay_us(list(graphs.values()), 7, 5))))
    finally:
        torch.cuda.synchronize()
        fcntl.flock(lock, fcntl.LOCK_UN)
    return us, ((outputs["ours"] - outputs["eager"]).norm() / outputs["eager"].norm()).item()


def worker(o):
    import torch
    torch.set_grad_enabled(False)
    spec = importlib.util.spec_from_file_location("peer", o.peer)
    peer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(peer)
    angle = torch.arange(20480, device=DEV).double()[:, None] * 10000.0 ** (-torch.arange(0, P, 2, device=DEV).double() / P)
    table = torch.cat([angle.cos(), angle.sin()], -1).float()
    with open(o.lock, "w") as lock:
        for i, (name, tp, kind, lengths) in enumerate(draws(o.seed, o.n)):
            if i % o.workers != o.worker or o.only and i not in o.only:
                continue
            row = dict(i=i, model=name, tp=tp, kind=kind, batch=len(lengths), mean=sum(lengths) // len(lengths), most=max(lengths))
            try:
                case = Case(name, tp, lengths, table, peer)
                us, off = timed(case, lock)
                stages = {s["name"]: s["variant"] for s in case.layers[0].stages(batch=len(lengths), kv_len=case.mean)}
                row.update({form: round(t, 2) for form, t in us.items()}, ratio=round(us["ours"] / min(us["eager"], us["compiled"]), 3),
                           off=round(off, 4), stages=stages)
                for layer in case.layers:
                    layer.close()
                del case
            except Exception as why:  # one draw's, and the others go on
                row["failed"] = str(why)[:300]
            torch.cuda.empty_cache()
            print(json.dumps(row), flush=True)


def all_workers(o):
    """Rows of all workers as they come; those that are not through by the limit are stopped."""
    lock, begin, rows, processes, threads = tempfile.mktemp(), time.time(), [], [], []

    def read(process):
        for line in process.stdout:
            if line.startswith("{"):
                rows.append(json.loads(line))
                print({key: value for key, value in rows[-1].items() if key != "stages"}, flush=True)
    for i in range(o.workers):
        env = dict(os.environ, MLAF_DB=tempfile.mktemp(), TORCHINDUCTOR_COMPILE_THREADS="1", OMP_NUM_THREADS="1")
        command = [sys.executable, __file__, *sys.argv[1:], "--worker", str(i), "--lock", lock]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env))
        threads.append(threading.Thread(target=read, args=(processes[-1],)))
        threads[-1].start()
    for thread in threads:
        thread.join(max(0.1, o.limit - (time.time() - begin)))
    for process in processes:
        process.kill()
    return rows


def report(rows):
    done = [row for row in rows if "ratio" in row]
    bad = [row for row in rows if "failed" in row or not row["off"] < APART]
    if done:
        ratios = sorted(row["ratio"] for row in done)
        print(f"{len(done)} layers: {ratios[0]:.2f} to {ratios[-1]:.2f} of the best PyTorch, geometric mean "
              f"{math.exp(statistics.mean(map(math.log, ratios))):.3f}, above 0.85: {sum(r > 0.85 for r in ratios)}, compiled best in "
              f"{sum(row['compiled'] <= row['eager'] for row in done)}, outputs at most {max(row['off'] for row in done):.1e} apart")
    for row in bad:
        print("WRONG:", row)
    return 1 if bad or not done else 0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("seed")
    p.add_argument("n", type=int)
    p.add_argument("--peer", required=True)
    p.add_argument("--workers", type=int, default=10)
    p.add_argument("--limit", type=float, default=600, help="seconds")
    p.add_argument("--only", type=lambda text: [int(x) for x in text.split(",")], help="draws of the N")
    p.add_argument("--out", help="a file for all rows, JSON lines")
    p.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    p.add_argument("--lock", help=argparse.SUPPRESS)
    o = p.parse_args()
    if o.worker is not None:
        return worker(o)
    rows = all_workers(o)
    if o.out:
        with open(o.out, "w") as f:
            f.writelines(json.dumps(row) + "\n" for row in sorted(rows, key=lambda row: row["i"]))
    return report(rows)


DEV = "cuda"
if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    sys.exit(main())
