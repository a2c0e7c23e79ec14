"""A rank's layer of any dims and options, its weights, its caches, and what fp64 by PyTorch makes of the same: for checks by hand."""
import math
from dataclasses import dataclass

import torch

import mlaforge
from layer_chain import WIDE, Exact, Moved, key_parts, most, narrow, normed, round_of, turned

REPLICAS, CHANCE, OUTPUTS, VALUES = 8, 0.01, 20000, 6
BF16, F16 = torch.bfloat16, torch.float16
NAMES = {BF16: "bf16", F16: "f16"}


class Where:
    """The device that everything lies on: a GPU by PyTorch, or the emulator, which has copies of host tensors."""

    def open(self, device):
        self.gpu = not (device or "").startswith("emu")
        self.dev, self.ctx = "cuda" if self.gpu else "cpu", mlaforge.Context(device=device or "cuda")


where = Where()


# --- tensors where the device reads them ---
class Shadow:
    """A host tensor's copy in the emulator's memory, gaps and all."""

    def __init__(self, t, address):
        self.t, self.address, self.shape, self.dtype = t, address, tuple(t.shape), str(t.dtype)

    def data_ptr(self):
        return self.address + self.t.storage_offset() * self.t.element_size()

    def stride(self):
        return self.t.stride()

    def get_device(self):
        return where.ctx.ordinal


class Memory:
    """On a GPU tensors themselves; on the emulator copies, by storage."""

    def __init__(self):
        self.held = {}

    def __call__(self, t):
        if where.gpu or t is None:
            return t
        if isinstance(t, tuple):
            return tuple(self(x) for x in t)
        key = t.untyped_storage().data_ptr()
        if key not in self.held:
            raw = bytes(t.untyped_storage())
            address = where.ctx.alloc(max(len(raw), 1))
            where.ctx.write(address, raw)
            self.held[key] = (address, len(raw), t)
        return Shadow(t, self.held[key][0])

    def back(self):
        """Copies what the device wrote into the host's tensors."""
        if where.gpu:
            return torch.cuda.synchronize()
        where.ctx.sync()
        for address, size, t in self.held.values():
            raw = torch.frombuffer(bytearray(where.ctx.read(address, size)), dtype=torch.uint8)
            torch.empty(0, dtype=torch.uint8).set_(t.untyped_storage()).copy_(raw)

    def free(self):
        for address, _, _ in self.held.values():
            where.ctx.free(address)
        self.held = {}


def ints(values, dtype=torch.int32):
    return torch.tensor(values, dtype=dtype, device=where.dev)


def bits(t):
    return t.contiguous().view(torch.int16)


# --- tables ---
def mscale(factor, a):
    return 1.0 if factor <= 1 else 0.1 * a * math.log(factor) + 1


@dataclass(frozen=True)
class Yarn:
    factor: float = 40
    mscale: float = 1
    all_dim: float = 1
    fast: float = 32
    slow: float = 1
    original: int = 4096
    squared: bool = True

    def times(self):
        return mscale(self.factor, self.mscale) / mscale(self.factor, self.all_dim)

    def of_scale(self):
        return mscale(self.factor, self.all_dim) ** 2 if self.squared and self.all_dim else 1


def rope_table(rows, p, base=10000.0, yarn=None):
    """[rows, P]: P/2 cosines, then P/2 sines, fp32."""
    i = torch.arange(0, p, 2, dtype=WIDE, device=where.dev)
    theta, times = base ** (-i / p), 1.0
    if yarn is not None:
        at = lambda beta: p * math.log(yarn.original / (2 * math.pi * beta)) / (2 * math.log(base))
        low, high = max(math.floor(at(yarn.fast)), 0), min(math.ceil(at(yarn.slow)), p - 1)
        ramp = ((torch.arange(p // 2, dtype=WIDE, device=where.dev) - low) / max(high - low, 0.001)).clamp(0, 1)
        theta, times = theta / yarn.factor * ramp + theta * (1 - ramp), yarn.times()
    angle = torch.arange(rows, device=where.dev)[:, None].to(WIDE) * theta
    return (torch.cat([angle.cos(), angle.sin()], -1) * times).float()


# --- layers ---
@dataclass(frozen=True)
class Shape:
    d: int = 7168
    heads: int = 128
    tp: int = 8
    L: int = 1536
    R: int = 512
    P: int = 64
    N: int = 128
    V: int = 128
    dtype: torch.dtype = BF16
    style: str = "pairs"
    page: int = 64
    batch: int = 4
    q_lens: tuple = (1, 4)
    prefill: int = 512
    chunk: int = 64
    norms: bool = True
    residual: bool = False
    split: bool = False
    ror: bool = False
    table16: bool = False
    eight: bool = False
    beta: float = 0.0
    scale: float = 0.0
    yarn: Yarn = None
    base: float = 10000.0
    rows: int = 2048
    whole: bool = False  # tensors of all ranks

    @property
    def h(self):
        return self.heads // self.tp

    def of_scale(self):
        return self.scale or (self.N + self.P) ** -0.5 * (self.yarn.of_scale() if self.yarn else 1)

    def text(self):
        what = f"H {self.h} of {self.heads}, d {self.d}, L {self.L}, R {self.R}, P {self.P}, N {self.N}, V {self.V}, {NAMES[self.dtype]}, {self.style}, page {self.page}"
        return what + "".join(", " + n for n, on in (("split", self.split), ("rope on read", self.ror), ("table of 16 bits", self.table16),
                                                    ("8 bits", self.eight), ("residual", self.residual), ("no norms", not self.norms)) if on)


def weights_of(s):
    h = s.heads if s.whole else s.h
    draw = lambda rows, cols, by: (torch.randn(rows, cols, device=where.dev) * by).to(s.dtype)
    w = {"a": draw(s.L + s.R + s.P, s.d, s.d ** -0.5), "q_b": draw(h * (s.N + s.P), s.L or s.d, (s.L or s.d) ** -0.5),
         "kv_b": draw(h * (s.N + s.V), s.R, s.R ** -0.5), "o": draw(s.d, h * s.V, (s.heads * s.V) ** -0.5)}
    gain = lambda n: (1 + 0.1 * torch.randn(n, device=where.dev)).to(s.dtype)
    return {**w, "q_gain": gain(s.L) if s.L and s.norms else None, "kv_gain": gain(s.R) if s.norms else None}


class Model:
    """A rank's layer and its reference."""

    def __init__(self, s, weights=None, rank=0, fused=True):
        self.s, self.w, self.rank, self.fused, self.memory, self.layer = s, weights or weights_of(s), rank, fused, Memory(), None
        self.own, self.wide = None, None
        self.table = rope_table(s.rows, s.P, s.base, s.yarn) if s.P and s.style != "unrotated" else None
        if self.table is not None and s.table16:
            self.table = self.table.to(s.dtype)

    def build(self):
        s, w, put = self.s, self.w, self.memory
        named = {"kv_b_proj.weight": w["kv_b"], "o_proj.weight": w["o"], ("q_b_proj" if s.L else "q_proj") + ".weight": w["q_b"]}
        if self.fused and not s.eight:
            named[("fused_qkv_a_proj_with_mqa" if s.L else "kv_a_proj_with_mqa") + ".weight"] = w["a"]
        else:
            named["kv_a_proj_with_mqa.weight"] = w["a"][s.L:]
            if s.L:
                named["q_a_proj.weight"] = w["a"][:s.L]
        self.exact = {}
        if s.eight:
            for name in [n for n in named if n != "kv_b_proj.weight"]:
                codes, scale, self.exact[name] = narrow(named[name])
                named[name], named[name + "_scale_inv"] = codes, scale
        for name, gain in (("q_a_layernorm.weight", w["q_gain"]), ("kv_a_layernorm.weight", w["kv_gain"])):
            if gain is not None:
                named[name] = gain
        self.named = named
        self.layer = mlaforge.Layer({"model.layers.0.self_attn." + k: put(t) for k, t in named.items()}, **self.options())
        return self

    def options(self):
        s = self.s
        more = dict(q_scale_beta=s.beta, q_scale_original=8192) if s.beta else {}
        return dict(heads=s.heads, cos_sin_cache=self.memory(self.table), scale=s.of_scale(), rank=s.R, rope=s.P, nope=s.N, v=s.V, style=s.style, norms=s.norms,
                    rope_on_read=s.ror, residual=s.residual, split_cache=s.split, tp_rank=self.rank, tp_size=s.tp, page_size=s.page, batch=s.batch,
                    q_lens=s.q_lens, kv_len=(512, 512), table_width=-(-70000 // s.page) if s.chunk > 60000 else 2048 // min(s.page, 16),
                    prefill_tokens=s.prefill, prefill_chunk=s.chunk, ctx=where.ctx, **more)

    def real(self):
        """This rank's weights in fp64."""
        if self.wide is None:
            s, w, h = self.s, self.w, self.s.h
            at = slice(self.rank * h, self.rank * h + h) if s.whole else slice(0, h)
            heads = w["q_b"].shape[0] // (s.N + s.P)
            e = {n.split(".")[0]: t for n, t in self.exact.items()}
            a = torch.cat(([e["q_a_proj"]] if s.L else []) + [e["kv_a_proj_with_mqa"]]) if e else w["a"].to(WIDE)
            q_b, o = e.get("q_b_proj", e.get("q_proj", w["q_b"])), e.get("o_proj", w["o"])
            self.wide = {"a": a, "q_b": q_b.view(heads, s.N + s.P, -1)[at].reshape(h * (s.N + s.P), -1).to(WIDE),
                         "kv_b": w["kv_b"].view(heads, s.N + s.V, s.R)[at].to(WIDE), "o": o.view(s.d, heads, s.V)[:, at].reshape(s.d, h * s.V).to(WIDE),
                         **{n: None if w[n] is None else w[n].to(WIDE) for n in ("q_gain", "kv_gain")}}
        return self.wide

    def turn(self, x, at):
        return x if self.table is None else turned(x, self.table[at], self.s.style)

    def heads(self, r, x, past, at, kept):
        """(q_nope [T, H, N], q_pe, what is cached of new tokens [T, R+P], latent and turned columns of all rows). kept: None, or
        which tokens have no slot, and what is cached in their place."""
        s, w = self.s, self.real()
        c = r(x.to(WIDE) @ w["a"].T)
        low = r(normed(c[:, :s.L], w["q_gain"])) if s.L and s.norms else c[:, :s.L] if s.L else x.to(WIDE)
        q = r(low @ w["q_b"].T).view(-1, s.h, s.N + s.P)
        if s.beta:
            q = r(q * (1 + s.beta * torch.log(1 + (at // 8192).to(WIDE)))[:, None, None])
        latent, pe = c[:, s.L:s.L + s.R], c[:, s.L + s.R:]
        latent = r(normed(latent, w["kv_gain"])) if s.norms else latent
        pe = pe if s.ror or self.table is None else r(self.turn(pe, at))
        new = torch.cat([latent, pe], -1)
        rows = torch.cat([past.to(WIDE), new if kept is None else torch.where(kept[0][:, None], kept[1].to(WIDE), new)])
        k_pe = rows[:, s.R:]
        if s.ror:
            k_pe = r(self.turn(k_pe, torch.arange(len(rows), device=where.dev)))
        q_pe = q[..., s.N:] if self.table is None else r(self.turn(q[..., s.N:], at))
        return q[..., :s.N], q_pe, new, rows[:, :s.R], k_pe

    def chain(self, r, x, past, at, absorbed, residual, kept):
        s, w = self.s, self.real()
        q_nope, q_pe, new, latent, k_pe = self.heads(r, x, past, at, kept)
        scores = torch.einsum("thp,sp->hts", q_pe, k_pe)
        if absorbed:
            scores += torch.einsum("thr,sr->hts", r(torch.einsum("thn,hnr->thr", q_nope, w["kv_b"][:, :s.N])), latent)
        else:
            kv = r(torch.einsum("sr,hcr->hsc", latent, w["kv_b"]))
            scores += torch.einsum("thn,hsn->hts", q_nope, kv[..., :s.N])
        hidden = torch.arange(len(latent), device=where.dev)[None] > (len(past) + torch.arange(len(x), device=where.dev))[:, None]
        scores = (scores * s.of_scale()).masked_fill_(hidden, -math.inf)
        p = (scores - scores.max(-1, keepdim=True).values).exp_()
        total = p.sum(-1, keepdim=True)
        if absorbed:
            o = r(torch.einsum("htr,hvr->htv", r(r(p) @ latent / total), w["kv_b"][:, s.N:]))
        else:
            o = r(r(p) @ kv[..., s.N:] / total)
        y = o.transpose(0, 1).reshape(len(x), -1) @ w["o"].T
        return r(y if residual is None else y + residual.to(WIDE)), new, (q_nope, q_pe, latent, k_pe, p / total, o)

    def expect(self, x, past, at, residual=None, kept=None):
        """(y, appended rows, relative bound of each token) of a request's new tokens."""
        s, moved = self.s, Moved(self.s.dtype)
        absorbed = len(past) > 20000
        y, new, (q_nope, q_pe, latent, k_pe, p, o) = self.chain(Exact(), x, past, at, absorbed, residual, kept)
        size = y.pow(2).sum(-1)
        mean = None
        for form in ((True,) if absorbed else (False, True)):
            drawn = sum((self.chain(moved, x, past, at, form, residual, kept)[0] - y).pow(2).sum(-1) for _ in range(REPLICAS)) / REPLICAS / size
            mean = drawn if mean is None else torch.maximum(mean, drawn)
        if absorbed:  # so many keys that none counts
            squares = largest = torch.zeros_like(mean)
        else:
            kv = torch.einsum("sr,hcr->hsc", latent, self.real()["kv_b"])
            q = torch.cat([q_nope, q_pe], -1).transpose(0, 1)
            k = torch.cat([kv[..., :s.N], k_pe.expand(s.h, *k_pe.shape)], -1)
            w = key_parts(p, q, k, kv[..., s.N:], o, s.of_scale(), s.dtype)
            squares, largest = w.pow(2).sum((0, 2)), w.amax((0, 2))
        # Few numbers decide an output of few heads, too: VALUES roundings, each a part for each number of o, and the last one of y.
        gain = s.d / (s.heads * s.V)
        o_parts, y_parts = o.pow(2) * round_of(s.dtype) ** 2, y.pow(2) * round_of(s.dtype) ** 2 / gain
        squares = squares + VALUES * o_parts.pow(2).sum((0, 2)) + y_parts.pow(2).sum(-1)
        largest = torch.maximum(torch.maximum(largest, o_parts.amax((0, 2))), y_parts.amax(-1))
        return y, new, most(mean, gain / size, squares, largest, math.log(OUTPUTS / CHANCE), REPLICAS)


# --- caches and requests ---
class Cache:
    """Pages of random rows between guards; gap: elements between rows."""

    def __init__(self, s, pages, gap=0, fill=True):
        make = (lambda c: torch.randn(pages + 2, s.page, c + gap, device=where.dev).to(s.dtype)) if fill else \
            (lambda c: torch.zeros(pages + 2, s.page, c + gap, device=where.dev, dtype=s.dtype))
        self.s, self.pages, self.bases = s, pages, [make(c) for c in ((s.R, s.P) if s.split else (s.R + s.P,))]
        self.parts = [b[1:-1, :, :b.shape[2] - gap] for b in self.bases]
        self.big = sum(b.numel() for b in self.bases) > 1e9

    def clone(self):
        other = object.__new__(Cache)
        other.s, other.pages, other.big, other.bases = self.s, self.pages, self.big, [b.clone() for b in self.bases]
        other.parts = [b[1:-1, :, :p.shape[2]] for b, p in zip(other.bases, self.parts)]
        return other

    def tensor(self):
        return tuple(self.parts) if self.s.split else self.parts[0]

    def at(self, slots):
        return torch.cat([p[slots // self.s.page, slots % self.s.page] for p in self.parts], -1)

    def put(self, slots, rows):
        for p, part in zip(self.parts, rows.split([p.shape[2] for p in self.parts], -1)):
            p[slots // self.s.page, slots % self.s.page] = part

    def state(self, slots):
        """To be compared: all bits but those of these rows; of a large one sums of each page."""
        kept = self.at(slots).clone()
        zero = torch.zeros_like(kept)
        self.put(slots, zero)
        state = [torch.stack([b[i:i + 4096].contiguous().view(torch.int32).sum((1, 2), dtype=torch.int64).sum() for i in range(0, len(b), 4096)]) if self.big
                 else bits(b).clone() for b in self.bases]
        self.put(slots, kept)
        return state


class Requests:
    """Pages of requests that grow to these lengths, in a cache of their own or in pages that are named."""

    def __init__(self, model, lengths, cache=None, pages=None, gap=0):
        s = self.s = model.s
        need = [max(1, -(-n // s.page)) for n in lengths]
        self.cache = cache or Cache(s, sum(need) + 2, gap)
        order = pages if pages is not None else torch.randperm(self.cache.pages)[:sum(need)].tolist()
        self.pages, at = [], 0
        for n in need:
            self.pages.append(ints(order[at:at + n], torch.int64))
            at += n
        self.table = torch.zeros(len(need), max(need), device=where.dev, dtype=torch.int32)
        for i, p in enumerate(self.pages):
            self.table[i, :len(p)] = p.to(torch.int32)

    def slots(self, b, first, count):
        t = torch.arange(first, first + count, device=where.dev)
        return self.pages[b][t // self.s.page] * self.s.page + t % self.s.page

    def over(self, cache):
        other = object.__new__(Requests)
        other.s, other.pages, other.table, other.cache = self.s, self.pages, self.table, cache
        return other
