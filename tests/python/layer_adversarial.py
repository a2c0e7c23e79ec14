"""A layer over the cases that broke other implementations, by hand on a GPU: every output against fp64 by PyTorch on the device.

    python3 tests/python/layer_adversarial.py [--part 1,2,3] [--only WORD] [--seed 5]
    python3 tests/python/layer_adversarial.py --device emu:gfx942 --small      small dims on the emulator: for trying the program

Each call: outputs were NaN, the workspace all ones, both with guards around them; pages around the cache, and all its rows that no token
was appended to, keep their bits; appended rows are within ROWS roundings of their exact values, outputs within bounds of their own
(layer_chain.py): one output of all of a run passes its bound by chance in one of 100 runs. A line a call: tokens, the worst error, the
bound there, how near any output came to its bound. Exit code 1: a miss."""
import argparse
import math
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import torch

import mlaforge
from layer_chain import WIDE, round_of
from layer_model import F16, Cache, Memory, Model, Requests, Shape, Yarn, bits, ints, weights_of, where

ROWS = 3
parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--device")
parser.add_argument("--small", action="store_true")
parser.add_argument("--part", default="1,2,3")
parser.add_argument("--only", default="")
parser.add_argument("--seed", type=int, default=5)
args = parser.parse_args()
where.open(args.device)
start, missed, lines = time.time(), [], 0


def small(s):
    """A smaller shape of the same kind, for the emulator."""
    heads = s.tp * max(1, min(s.h // 16, 2)) if not s.whole else s.tp * (1 if s.tp > 1 else 2)
    return replace(s, d=256, heads=heads, L=128 if s.L else 0, R=64 if s.R == 512 else 32, P=min(s.P, 32), N=32, V=32, batch=4, prefill=96, rows=min(s.rows, 500),
                   chunk=16)


def report(name, off, bound, more="", also=True):
    """A line, and whether it is right."""
    global lines
    ratio = off / bound
    i, worst = int(ratio.argmax()), int(off.argmax())
    good = bool((off <= bound).all()) and also
    lines += 1
    print(f"{'ok  ' if good else 'MISS'} {name}: {len(off)} outputs, worst {float(off[worst]):.2e} of {float(bound[worst]):.2e}, nearest {float(ratio[i]):.2f} of its bound{more} "
          f"[{time.time() - start:.0f} s]", flush=True)
    if not good:
        missed.append(name)
    return good


def said(name, good, more=""):
    global lines
    lines += 1
    print(f"{'ok  ' if good else 'MISS'} {name}{more} [{time.time() - start:.0f} s]", flush=True)
    if not good:
        missed.append(name)


def inside(rows, cols, dtype, gap=0):
    """NaN between guards: (all of it, [rows, cols] of it)."""
    base = torch.full((rows + 2, cols + gap), float("nan"), device=where.dev, dtype=dtype)
    return base, base[1:rows + 1, :cols]


def call(model, name, requests, lengths, *, prefill=False, q_len=None, at=None, x=None, lists=False, gap=0, idle=0, unslotted=(), kv_len=0, quiet=False):
    """lengths: (cached, new) of each request. idle: requests of padding behind them. unslotted: tokens that have no slot. Returns y."""
    s, layer, new = model.s, model.layer, [n for _, n in lengths]
    T, memory = sum(new), Memory()
    x = torch.randn(T, s.d, device=where.dev).to(s.dtype) if x is None else x
    residual = torch.randn(T, s.d, device=where.dev).to(s.dtype) if s.residual else None
    natural = torch.cat([torch.arange(a, a + n, device=where.dev) for a, n in lengths] + [ints([], torch.int64)])
    at = natural if at is None else at
    slots = torch.cat([requests.slots(b, a, n) for b, (a, n) in enumerate(lengths)] + [ints([], torch.int64)])
    cached = [requests.cache.at(requests.slots(b, 0, a)).clone() if a else torch.zeros(0, s.R + s.P, device=where.dev, dtype=s.dtype) for b, (a, n) in enumerate(lengths)]
    was = requests.cache.at(slots).clone()
    before = requests.cache.state(slots)
    keep = [t for t in range(T) if t not in unslotted]
    given = slots.clone()
    given[list(unslotted)] = -1
    q_len = q_len or max(new)
    pad = idle * q_len
    xs = torch.cat([x, torch.full((pad, s.d), float("nan"), device=where.dev, dtype=s.dtype)])
    if gap:
        wider = torch.full((T + pad, s.d + gap), float("nan"), device=where.dev, dtype=s.dtype)
        wider[:, :s.d] = xs
        xs = wider[:, :s.d]
    base, y = inside(T + pad, s.d, s.dtype, gap)
    guard = bits(base).clone()
    garbage = ints([2 ** 40, -1, -2 ** 40, 2 ** 31] * pad, torch.int64)[:pad]
    positions, given = torch.cat([at, garbage]), torch.cat([given, torch.full((pad,), -1, device=where.dev, dtype=torch.int64)])
    put = lambda t: memory(t)
    more = {}
    table = torch.cat([requests.table, torch.full((idle, requests.table.shape[1]), 2 ** 30, device=where.dev, dtype=torch.int32)])
    if prefill:
        more = dict(schedule=layer.schedule(new, [a for a, _ in lengths]), block_table=put(table))
    elif lists:
        ends = [a + n for a, n in lengths]
        need = [-(-e // s.page) for e in ends]
        cum = lambda v: ints([0] + torch.tensor(v).cumsum(0).tolist())
        more = dict(qo_indptr=put(cum(new)), kv_indptr=put(cum(need)), kv_last_page_lens=put(ints([(e - 1) % s.page + 1 for e in ends])),
                    kv_indices=put(torch.cat([p[:n] for p, n in zip(requests.pages, need)]).to(torch.int32)), q_len=q_len, kv_len=kv_len)
    else:
        more = dict(seq_lens=put(ints([a + n for a, n in lengths] + [0] * idle)), block_table=put(table), q_len=q_len, kv_len=kv_len)
    if residual is not None:
        more["residual"] = put(torch.cat([residual, torch.zeros(pad, s.d, device=where.dev, dtype=s.dtype)]))
    room = None
    if where.gpu:
        size = layer.workspace_size()
        room = torch.full((size + 512,), 255, device=where.dev, dtype=torch.uint8)
        more["workspace"] = room[256:256 + size]
    cache = tuple(put(p) for p in requests.cache.parts) if s.split else put(requests.cache.parts[0])
    layer.forward(put(xs), put(positions), put(given), cache, out=put(y), **more)
    memory.back()
    problems = []
    if room is not None and not (bool((room[:256] == 255).all()) and bool((room[256 + size:] == 255).all())):
        problems.append("wrote outside of its workspace")
    marked = bits(base).clone()
    marked[1:T + pad + 1, :s.d] = guard[1:T + pad + 1, :s.d]
    if not torch.equal(marked, guard):
        problems.append("wrote outside of its output")
    if pad and not bool((y[T:] == 0).all()):
        problems.append("padding is not 0")
    after = requests.cache.state(slots)
    if not all(torch.equal(a, b) for a, b in zip(before, after)):
        problems.append("rows changed that no token has")
    found = requests.cache.at(slots)
    if unslotted and not torch.equal(bits(found[list(unslotted)]), bits(was[list(unslotted)])):
        problems.append("a row without a slot changed")
    offs, bounds, t, rows_off = [], [], 0, 0.0
    for b, (a, n) in enumerate(lengths):
        if not n:
            continue
        mine = slice(t, t + n)
        without = ints([u in unslotted for u in range(t, t + n)], torch.bool)
        want, rows, bound = model.expect(x[mine], cached[b], at[mine], None if residual is None else residual[mine], (without, was[mine]) if without.any() else None)
        if prefill:
            merges = -(-a // s.chunk) + 1 if a else 0
            bound = (bound ** 2 + merges * round_of(s.dtype) ** 2).sqrt()
        offs.append((y[mine].to(WIDE) - want).norm(dim=-1) / want.norm(dim=-1))
        bounds.append(bound)
        written = [i for i in range(n) if t + i in keep]
        if written:
            e = (found[mine][written].to(WIDE) - rows[written]).norm(dim=-1) / rows[written].norm(dim=-1)
            rows_off = max(rows_off, float(e.max()))
        t += n
    if not rows_off <= ROWS * round_of(s.dtype):
        problems.append(f"appended rows are {rows_off:.2e} off")
    off, bound = torch.cat(offs), torch.cat(bounds)
    if not quiet or problems or not bool((off <= bound).all()):
        report(name, off, bound, "".join(", " + p for p in problems) or f", rows {rows_off:.1e}", not problems)
    memory.free()
    return y[:T].clone(), bound


# --- cases ---
def lengths_of(list_, most_):
    """(cached, new) tokens of requests, made small where the emulator runs them."""
    return [(a if not args.small else min(a, most_ // 4), n if not args.small else min(n, 5)) for a, n in list_]


def suite(m):
    """Prefill with parts of nothing, over several chunks; then decode of 1 to 4 query tokens; four at once and one by one."""
    s, limit = m.s, 60
    p = lengths_of([(0, 33), (64, 1), (5, 0), (130, 17)], limit)
    if s.prefill:
        r = Requests(m, [a + n for a, n in p])
        call(m, "prefill, some of no cached, some of no new tokens", r, p, prefill=True)
    for q in [q for q in (1, 2, 3, 4, 16) if q <= max(s.q_lens)]:
        d = lengths_of([(0, q), (63, q), (200, q)], limit)
        call(m, f"{q} query tokens", Requests(m, [a + n for a, n in d]), d)
    if max(s.q_lens) >= 4:
        one_by_one(m)


def one_by_one(m):
    first = lengths_of([(40, 4), (127, 4)], 60)
    first = [(a, 4) for a, _ in first]
    r = Requests(m, [a + n for a, n in first])
    x = torch.randn(8, m.s.d, device=where.dev).to(m.s.dtype)
    other = r.over(r.cache.clone())
    if m.s.residual:
        return
    together, bound = call(m, "4 query tokens at once", r, first, x=x)
    steps = torch.empty_like(together)
    for i in range(4):
        mine = [i, 4 + i]
        steps[mine], _ = call(m, f"step {i} of 4", other, [(a + i, 1) for a, _ in first], x=x[mine], quiet=True)
    compare("4 query tokens at once and 4 steps", together, steps, bound)
    slots = torch.cat([r.slots(b, 0, a + 4) for b, (a, _) in enumerate(first)])
    said("their rows", float((r.cache.at(slots).to(WIDE) - other.cache.at(slots).to(WIDE)).norm() / r.cache.at(slots).to(WIDE).norm()) <= ROWS * round_of(m.s.dtype))


def compare(name, a, b, bound):
    """Two ways to the same outputs, each within its bound."""
    report(name, (a.to(WIDE) - b.to(WIDE)).norm(dim=-1) / b.to(WIDE).norm(dim=-1), bound * math.sqrt(2))


def many(m):
    """1 to 200 requests of a token each."""
    for T in (1, 2, 3, 15, 16, 17, 63, 64, 65, 128, 200):
        if T <= m.s.batch:
            d = [(int(n), 1) for n in torch.randint(0, 300 if not args.small else 20, (T,))]
            call(m, f"{T} requests", Requests(m, [a + 1 for a, _ in d]), d)


def ways(m):
    """Whole, in parts over chunks, by as many query tokens as may be, by one."""
    n, q = 150 if not args.small else 20, max(m.s.q_lens)
    r = Requests(m, [n])
    x = torch.randn(n, m.s.d, device=where.dev).to(m.s.dtype)
    start_ = r.cache.clone()
    whole, bound = call(m, "prefill, whole", r, [(0, n)], x=x, prefill=True)
    plans = {"in parts over chunks": [(0, 1, True), (1, n // 3, True), (n // 3, n, True)], f"by {q} query tokens": [(a, min(a + q, n), False) for a in range(0, n, q)],
             "one token behind a prefill": [(0, n - 1, True), (n - 1, n, False)]}
    for name, parts in plans.items():
        other, y = r.over(start_.clone()), torch.empty_like(whole)
        most_ = bound.clone()
        for a, b, prefill in parts:
            y[a:b], most_[a:b] = call(m, f"{name}, {a} to {b}", other, [(a, b - a)], x=x[a:b], prefill=prefill, quiet=True)
        compare(f"prefill, whole and {name}", whole, y, most_)


def positions(m):
    """Queries and rows turned to positions far apart; equal ones; the last."""
    last = m.s.rows - 1
    for q, at in ((1, [1, 4095, 65535, last]), (1, [8191, 8192, 16383, 16384]), (4, [0, 1, 2, 3, last - 3, last - 2, last - 1, last])):
        at = ints([min(p, last) for p in at], torch.int64)
        d = lengths_of([(70, q)] * (len(at) // q), 60)
        d = [(a, q) for a, _ in d]
        call(m, f"positions {', '.join(str(int(p)) for p in at)}", Requests(m, [a + n for a, n in d]), d, at=at)


def slots(m):
    d = lengths_of([(10, 1), (64, 1), (127, 1)], 60)
    call(m, "tokens without slots", Requests(m, [a + n for a, n in d]), d, unslotted=(0, 2))
    call(m, "padding whose positions and pages are none", Requests(m, [a + n for a, n in d]), d, idle=1)
    d = [(a, n) for (a, _), n in zip(lengths_of([(10, 1), (64, 3), (127, 2)], 60), (1, 3, 2))]
    call(m, "lists, 1 to 3 query tokens", Requests(m, [a + n for a, n in d]), d, lists=True, q_len=3)
    last = Cache(m.s, 7)
    d = [(0, 1), (m.s.page * 2 - 1, 1)]
    call(m, "the last slot of all", Requests(m, [a + n for a, n in d], last, [3, 5, 6]), d)
    d = [(a, n) for a, n in lengths_of([(10, 2), (64, 2)], 60)]
    call(m, "gaps in hidden states, output and cache", Requests(m, [a + 2 for a, _ in d], gap=64), [(a, 2) for a, _ in d], gap=64)


def far(m):
    """Rows behind 2^31 and 2^32 bytes of a cache tensor."""
    s = m.s
    columns = s.P if s.split else s.R + s.P
    page_bytes = s.page * columns * 2
    half = 2 ** 31 if not args.small else 2 ** 18
    per = max(1, 64 // s.page)  # pages of 64 tokens
    pages = (2 * half // page_bytes if not s.split else half // page_bytes) + 4 * per + 44
    cache = Cache(s, pages, fill=False)
    name = f"{'two tensors' if s.split else 'a tensor'} of {' and '.join(f'{b.numel() * 2 / 2 ** 30:.1f}' for b in cache.parts)} GiB"
    over = [half // page_bytes + i for i in range(-2 * per, 2 * per)]
    behind = half // (s.page * s.R * 2) if s.split else 2 * half // page_bytes
    over += [behind + i for i in range(-per, per)]
    end = [pages - 2 * per + i for i in range(2 * per)]
    tokens = [len(over) * s.page, 2 * per * s.page]
    r = Requests(m, tokens, cache, over + end)
    for p in cache.parts:
        ids = ints(over + end, torch.int64)
        p[ids] = torch.randn(len(ids), s.page, p.shape[2], device=where.dev).to(s.dtype)
    new = 40
    call(m, name + ", prefill to its last slot", r, [(tokens[0] - new, new), (tokens[1] - new, new)], prefill=True)
    for q in (1, 4):
        call(m, name + f", {q} query tokens to its last slot", r, [(tokens[0] - q, q), (tokens[1] - q, q)])
        call(m, name + f", {q} query tokens around 2^31", r, [(2 * per * s.page - q // 2, q), (100, q)])


def graph(m):
    """One graph for 64 steps whose lengths grow, with a workspace and outputs full of NaN: the bits of plain calls."""
    if not where.gpu:
        return
    s, B, steps = m.s, 3, 64
    first = [5, 62, 200]
    r = Requests(m, [a + steps for a in first])
    other = r.over(r.cache.clone())
    xs = torch.randn(steps, B, s.d, device=where.dev).to(s.dtype)
    size = m.layer.workspace_size()
    room = torch.empty(size, device=where.dev, dtype=torch.uint8)
    plain = torch.full((steps, B, s.d), float("nan"), device=where.dev, dtype=s.dtype)
    x, at, slots_, lens = xs[0].clone(), ints([0] * B, torch.int64), ints([-1] * B, torch.int64), ints([1] * B)
    y = torch.empty(B, s.d, device=where.dev, dtype=s.dtype)

    def fill(i, requests):
        x.copy_(xs[i])
        at.copy_(ints([a + i for a in first], torch.int64))
        slots_.copy_(torch.cat([requests.slots(b, a + i, 1) for b, a in enumerate(first)]))
        lens.copy_(ints([a + i + 1 for a in first]))
        y.fill_(float("nan"))
        room.fill_(255)

    def go(requests):
        m.layer.forward(x, at, slots_, requests.cache.tensor(), lens, r.table, out=y, workspace=room)

    for i in range(steps):
        fill(i, r)
        go(r)
        plain[i] = y
    fill(0, other)
    kept = other.cache.clone()
    stream, captured = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        go(other)
        torch.cuda.synchronize()
        with torch.cuda.graph(captured, stream=stream):
            go(other)
    torch.cuda.synchronize()
    for b, k in zip(other.cache.bases, kept.bases):
        b.copy_(k)
    unlike = 0
    for i in range(steps):
        fill(i, other)
        captured.replay()
        unlike += int((bits(y) != bits(plain[i])).any())
    torch.cuda.synchronize()
    same = all(torch.equal(bits(a), bits(b)) for a, b in zip(r.cache.bases, other.cache.bases))
    said("graph, 64 growing steps", not unlike and same, f": {unlike} unlike, caches {'alike' if same else 'unlike'}")


def refused(m):
    """Two bytes off, where a tensor could lie: an error, and nothing is written."""
    s = m.s

    def odd(shape, dtype=s.dtype):
        count = math.prod(shape)
        return torch.full((count + 8,), float("nan"), device=where.dev, dtype=dtype)[1:count + 1].view(shape)

    def fails(name, f):
        try:
            f()
        except mlaforge.MlafError as e:
            return said(f"{name} 2 bytes off is refused", "MLAF_E_ARG" in str(e) or "align" in str(e), ": " + str(e)[:110])
        said(f"{name} 2 bytes off is refused", False)

    r = Requests(m, [20])
    memory = Memory()
    fresh = lambda: torch.zeros(1, s.d, device=where.dev, dtype=s.dtype)

    def go(x=None, y=None, cache=None, residual=None, workspace=None):
        x, y = fresh() if x is None else x, fresh() if y is None else y
        more = dict(residual=memory(fresh() if residual is None else residual)) if s.residual else {}
        if workspace is not None:
            more["workspace"] = workspace
        m.layer.forward(memory(x), memory(ints([19], torch.int64)), memory(r.slots(0, 19, 1)), memory(r.cache.tensor()) if cache is None else cache,
                        memory(ints([20])), memory(r.table), out=memory(y), **more)

    before = r.cache.state(r.slots(0, 0, 0))
    y = odd((1, s.d))
    fails("hidden states", lambda: go(x=odd((1, s.d))))
    fails("an output", lambda: go(y=y))
    shape = r.cache.parts[0].shape
    loose = odd(shape)
    fails("a cache", lambda: go(cache=(memory(loose), memory(r.cache.parts[1])) if s.split else memory(loose)))
    if s.residual:
        fails("a residual", lambda: go(residual=odd((1, s.d))))
    if where.gpu:
        room = torch.empty(m.layer.workspace_size() + 256, device=where.dev, dtype=torch.uint8)
        fails("a workspace", lambda: go(workspace=room[2:2 + m.layer.workspace_size()]))
    said("nothing was written", bool(y.isnan().all()) and all(torch.equal(a, b) for a, b in zip(before, r.cache.state(r.slots(0, 0, 0)))))
    for name, t in m.named.items():
        if t.dtype == s.dtype:
            loose = odd(t.shape)
            named = {"x." + k: memory(loose if k == name else u) for k, u in m.named.items()}
            fails(name, lambda: mlaforge.Layer(named, **m.options()))
    if m.table is not None:
        off = torch.zeros(m.table.numel() + 8, device=where.dev, dtype=torch.float32)[1:m.table.numel() + 1].view(m.table.shape)
        try:
            mlaforge.Layer({"x." + k: memory(u) for k, u in m.named.items()}, **{**m.options(), "cos_sin_cache": memory(off)})
            said("a table 4 bytes off is refused", False)
        except mlaforge.MlafError as e:
            said("a table 4 bytes off is refused", True, ": " + str(e)[:110])
    memory.free()


def ranks(models, whole):
    """Outputs of all ranks, added up: the whole layer's."""
    d = lengths_of([(30, 2), (100, 2)], 60)
    d = [(a, 2) for a, _ in d]
    s = whole.s
    x = torch.randn(4, s.d, device=where.dev).to(s.dtype)
    r = Requests(whole, [a + n for a, n in d])
    total, square = torch.zeros(4, s.d, device=where.dev, dtype=WIDE), torch.zeros(4, device=where.dev, dtype=WIDE)
    cached = [r.cache.at(r.slots(b, 0, a)).clone() for b, (a, _) in enumerate(d)]
    for m in models:
        y, bound = call(m, f"rank {m.rank} of {s.heads // m.s.h}", r.over(r.cache.clone()), d, x=x, quiet=True)
        total += y.to(WIDE)
        square += (bound * y.to(WIDE).norm(dim=-1)) ** 2
    want = torch.cat([whole.expect(x[2 * b:2 * b + 2], cached[b], torch.arange(a, a + 2, device=where.dev))[0] for b, (a, _) in enumerate(d)])
    size = want.norm(dim=-1)
    report(f"{len(models)} ranks added up", (total - want).norm(dim=-1) / size, square.sqrt() / size)


def permuted(m, other):
    """Columns that turn as pairs, and in another order as halves: the same outputs, the cache's columns in that order."""
    s = m.s
    order = torch.cat([torch.arange(0, s.P, 2), torch.arange(1, s.P, 2)]).to(where.dev)
    d = [(a, 3) for a, _ in lengths_of([(0, 3), (90, 3)], 60)]
    x = torch.randn(6, s.d, device=where.dev).to(s.dtype)
    r = Requests(m, [a + n for a, n in d])
    cache = r.cache.clone()
    cache.parts[0][..., s.R:] = cache.parts[0][..., s.R:][..., order]
    second = r.over(cache)
    a, bound = call(m, "pairs", r, d, x=x, quiet=True)
    b, _ = call(other, "halves", second, d, x=x, quiet=True)
    compare("pairs, and halves of permuted weights", a, b, bound)
    mine, theirs = r.cache.parts[0], second.cache.parts[0]
    same = torch.equal(bits(mine[..., :s.R]), bits(theirs[..., :s.R]))
    off = float((mine[..., s.R:][..., order].to(WIDE) - theirs[..., s.R:].to(WIDE)).norm() / mine[..., s.R:].to(WIDE).norm())
    unlike = not torch.equal(bits(mine[..., s.R:]), bits(theirs[..., s.R:]))
    said("their caches", off <= ROWS * round_of(s.dtype) and unlike, f": latent bits {'alike' if same else 'unlike'}, rope columns {off:.1e} apart once in order")


def permuted_weights(w, s):
    order = torch.cat([torch.arange(0, s.P, 2), torch.arange(1, s.P, 2)]).to(where.dev)
    a, q_b = w["a"].clone(), w["q_b"].clone().view(-1, s.N + s.P, w["q_b"].shape[1])
    a[-s.P:] = w["a"][-s.P:][order]
    q_b[:, s.N:] = w["q_b"].view_as(q_b)[:, s.N:][:, order]
    return {**w, "a": a, "q_b": q_b.reshape(w["q_b"].shape)}


def wide_chunk(m):
    """65537 and more cached tokens in one chunk, and a request with none."""
    if not where.gpu:
        return
    d = [(65540, 3), (0, 2)]
    call(m, "65540 cached tokens in a chunk of 65537 and one of 3", Requests(m, [a + n for a, n in d]), d, prefill=True)


V3 = Shape()
YARN = Yarn()
SCALES = {"YaRN of DeepSeek-V3": dict(yarn=YARN), "YaRN of DeepSeek-V2, mscale 0.707": dict(yarn=Yarn(mscale=0.707, all_dim=0.707)),
          "mscale 1, mscale_all_dim 0.5": dict(yarn=Yarn(all_dim=0.5)), "mscale 0.707, no mscale_all_dim": dict(yarn=Yarn(mscale=0.707, all_dim=0)),
          "m^2 left out": dict(yarn=Yarn(factor=36, original=8192, squared=False)), "factor 1": dict(yarn=Yarn(factor=1)), "no YaRN": {},
          "base 50000, factor 32, beta 1 and 1": dict(yarn=Yarn(factor=32, fast=1, slow=1), base=50000.0), "base 8e6": dict(base=8e6),
          "scale 0.03 of the caller": dict(scale=0.03), "scale 0.2 of the caller": dict(scale=0.2)}
TP = {"DeepSeek-V3": Shape(whole=True), "no q_lora": Shape(d=2048, heads=2, tp=2, L=0, whole=True), "P 0, N 192, V 256": Shape(d=5120, heads=20, tp=2, P=0, N=192, V=256, style="unrotated", whole=True),
      "f16, P 32, halves": Shape(d=4096, heads=24, tp=2, L=768, R=256, P=32, N=64, V=64, dtype=F16, style="halves", whole=True),
      "P 32, halves": Shape(d=2560, heads=40, tp=8, L=768, R=256, P=32, N=64, V=64, style="halves", whole=True)}


def plan(part):
    """(name, models, what is done with them) of a part."""
    jobs = []

    def add(name, s, *cases, **more):
        m = Model(small(s) if args.small else s, **more)
        jobs.append((name, [m], lambda: [case(m) for case in cases]))
        return m

    if part == 1:
        add("DeepSeek-V3 of 8 ranks", replace(V3, q_lens=(1, 4, 16), rows=163840), suite, slots, positions, ways, graph, refused, far)
        add("table of 16 bits", replace(V3, table16=True, rows=4096), suite, positions)
        for name, more in SCALES.items():
            add(name, replace(V3, rows=163840, **more), lambda m: call(m, "3 requests", Requests(m, [5, 40, 61]), [(4, 1), (39, 1), (60, 1)]), positions)
        add("queries scaled by position", replace(V3, rows=20000, beta=0.1), suite, positions)
        add("1 to 200 requests", replace(V3, batch=200, q_lens=(1,), prefill=0), many)
        add("a chunk of 65537 tokens", replace(V3, chunk=65537, rows=70000), wide_chunk)
        add("prefill in one chunk", replace(V3, chunk=16384), ways)
        for page in (1, 16, 128):
            add(f"pages of {page}", replace(V3, page=page), suite, slots, *((far,) if page == 1 else ()))
        add("split cache", replace(V3, split=True), suite, slots, refused, far)
        add("residual, q_a and kv_a apart", replace(V3, residual=True), suite, slots, refused, fused=False)
        add("weights of 8 bits", replace(V3, eight=True, d=7168), suite)
    elif part == 2:
        for name, s in TP.items():
            s = small(s) if args.small else s
            w = weights_of(s)
            whole = Model(replace(s, tp=1), w)
            own = [Model(s, w, rank) for rank in range(s.tp)]
            jobs.append((f"{name}: all heads", [whole], lambda m=whole: (suite(m), slots(m))))
            jobs.append((f"{name}: ranks", own, lambda o=own, m=whole: (suite(o[-1]), ranks(o, m))))
        for name, more in {"H 128, 1 to 65 requests": dict(heads=128), "H 96, 1 to 65 requests": dict(heads=96, d=5120),
                           "H 64, f16, halves, 1 to 65 requests": dict(heads=64, dtype=F16, style="halves")}.items():
            add(name, replace(V3, tp=1, batch=65, q_lens=(1,), prefill=0, **more), many)
    else:
        add("f16, 1 to 200 requests", replace(V3, dtype=F16, batch=200, q_lens=(1,), prefill=0), many)
        add("f16", replace(V3, dtype=F16, d=6144, q_lens=(1, 4, 16)), suite, slots, positions, ways, graph)
        for name, more in {"rope on read, halves": dict(style="halves"), "rope on read, pairs, f16": dict(dtype=F16), "rope on read, halves, split, R 256":
                           dict(style="halves", split=True, R=256, N=64, V=64, L=768), "rope on read, halves, P 32": dict(style="halves", P=32)}.items():
            add(name, replace(V3, d=4096, ror=True, **more), suite, slots, graph)
        add("columns that never turn", replace(V3, d=3584, style="unrotated"), suite, slots, ways)
        add("P 0", replace(V3, d=3072, P=0, style="unrotated"), suite, slots, ways, graph)
        add("P 32", replace(V3, d=7168, P=32), suite, slots, ways)
        add("no norms", replace(V3, d=2048, norms=False, L=768), suite)
        add("N 64, V 256, H 1", replace(V3, d=2048, heads=1, tp=1, N=64, V=256), suite, ways)
        add("N 192, V 64, H 5", replace(V3, d=2560, heads=5, tp=1, N=192, V=64, R=256), suite)
        s = small(V3) if args.small else replace(V3, d=2048)
        w = weights_of(s)
        pairs, halves = Model(s, w), Model(replace(s, style="halves"), permuted_weights(w, s))
        jobs.append(("pairs and halves", [pairs, halves], lambda: permuted(pairs, halves)))
    return jobs


def main():
    torch.manual_seed(args.seed)
    if where.gpu:
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    jobs = [j for part in args.part.split(",") for j in plan(int(part)) if args.only in j[0]]
    models = [m for _, list_, _ in jobs for m in list_]
    print(f"{len(jobs)} layers and pairs of them on {where.ctx.device_name}, {time.time() - start:.0f} s", flush=True)

    def build(m):
        try:
            m.build()
        except mlaforge.MlafError as e:
            m.layer = None
            m.why = str(e)

    # Layers of many plans first; made by all cores.
    with ThreadPoolExecutor(16 if where.gpu else 2) as pool:
        list(pool.map(build, models))
    if where.gpu:
        torch.cuda.synchronize()
    print(f"made in {time.time() - start:.0f} s", flush=True)
    for name, list_, go in jobs:
        print(f"== {name}: {list_[0].s.text()}", flush=True)
        broken = [m for m in list_ if m.layer is None]
        if broken:
            said(f"{name} is made", False, ": " + broken[0].why[:300])
            continue
        try:
            go()
        except Exception as e:  # whatever a case raises is a miss; the others go on
            said(f"{name}: a call", False, f": {type(e).__name__}: {str(e)[:300]}")
        for m in list_:
            m.wide = None
        if where.gpu:
            torch.cuda.empty_cache()
    for m in models:
        if m.layer is not None:
            m.layer.close()
    print(f"{lines} cases, {len(missed)} missed, {time.time() - start:.0f} s" + "".join("\n  " + n for n in missed))
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
