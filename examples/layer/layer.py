"""A toy model of three MLA layers decodes 64 tokens, and every hidden state is compared with the same in double precision.

With PyTorch and a GPU all tensors are PyTorch's; one step is captured in a CUDA graph, and the others replay it while lengths grow: every
hidden state and cache must have the bits that plain calls give. Without, buffers of mlaforge's: MLAF_DEVICE=emu:gfx942 wants no GPU.

The model: h = embedding[token]; h += layer(h), three times; the next token is the largest of head h.

    python3 layer.py [TOKENS]
"""
import math
import operator
import os
import random
import struct
import sys

import mlaforge

LAYERS, TOKENS, WORDS, PAGE = 3, int(sys.argv[1]) if len(sys.argv) > 1 else 64, 50, 16
HIDDEN, HEADS, Q_RANK, RANK, ROPE, NOPE, V, EPS, SCALE = 128, 4, 96, 64, 32, 32, 64, 1e-6, 0.125
PAGES, ROW = 2 + TOKENS // PAGE, RANK + ROPE
BOUND = 1e-2  # of the relative error of h behind three layers
SHAPES = {"q_a_proj": (Q_RANK, HIDDEN), "q_a_layernorm": (Q_RANK,), "q_b_proj": (HEADS * (NOPE + ROPE), Q_RANK),
          "kv_a_proj_with_mqa": (ROW, HIDDEN), "kv_a_layernorm": (RANK,), "kv_b_proj": (HEADS * (NOPE + V), RANK),
          "o_proj": (HIDDEN, HEADS * V)}

try:
    import torch
    with_torch = torch.cuda.is_available() and not os.environ.get("MLAF_DEVICE", "").startswith("emu")
except ImportError:
    with_torch = False


# --- numbers of 16 bits ---

def narrow(x):
    bits, = struct.unpack("I", struct.pack("f", x))
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16


def wide(bits):
    return struct.unpack("f", struct.pack("I", bits << 16))[0]


# --- tensors, of PyTorch or of mlaforge ---

CODES = {"bfloat16": "H", "float32": "f", "int32": "i", "int64": "q"}


def tensor(ctx, shape, dtype, values):
    """Values of bfloat16 are their bits."""
    data = struct.pack(f"{len(values)}{CODES[dtype]}", *values)
    if not with_torch:
        return mlaforge.Buffer(ctx, shape, dtype, data)
    return torch.frombuffer(bytearray(data), dtype=getattr(torch, dtype)).reshape(shape).cuda()


def write(to, dtype, values):
    if with_torch:
        to.copy_(tensor(None, to.shape, dtype, values))
    else:
        to.ctx.write(to.data_ptr(), struct.pack(f"{len(values)}{CODES[dtype]}", *values))


def read(hidden):
    if with_torch:
        return hidden.float().flatten().tolist()
    return [wide(bits) for bits in struct.unpack(f"{hidden.count}H", hidden.read())]


# --- the same in double precision: plain loops over the checkpoint's weights ---

def dot(a, b):
    return math.fsum(map(operator.mul, a, b))


def product(rows, x):
    return [dot(row, x) for row in rows]


def normed(x, gain):
    factor = 1 / math.sqrt(dot(x, x) / len(x) + EPS)
    return [v * factor * g for v, g in zip(x, gain)]


def turned(x, rotation):
    out = []
    for i in range(ROPE // 2):
        c, s, a, b = rotation[i], rotation[ROPE // 2 + i], x[2 * i], x[2 * i + 1]
        out += [a * c - b * s, b * c + a * s]
    return out


def reference(w, rotation, cache, x):
    """Appends the token's row to the cache, and gives the layer's output."""
    c = product(w["kv_a_proj_with_mqa"], x)
    cache.append(normed(c[:RANK], w["kv_a_layernorm"]) + turned(c[RANK:], rotation))
    q, o = product(w["q_b_proj"], normed(product(w["q_a_proj"], x), w["q_a_layernorm"])), []
    for h in range(HEADS):
        head, kv_b = q[h * (NOPE + ROPE):(h + 1) * (NOPE + ROPE)], w["kv_b_proj"][h * (NOPE + V):(h + 1) * (NOPE + V)]
        absorbed = product(list(zip(*kv_b[:NOPE])), head[:NOPE]) + turned(head[NOPE:], rotation)
        scores = [SCALE * s for s in product(cache, absorbed)]
        p = [math.exp(s - max(scores)) for s in scores]
        latent = [u / sum(p) for u in product(list(zip(*cache))[:RANK], p)]
        o += product(kv_b[NOPE:], latent)
    return product(w["o_proj"], o)


# --- the model ---

class Toy:
    """One layer: the kernels', with its cache, and the reference's."""

    def __init__(self, ctx, rng, table):
        self.rows, weights = {}, {}
        for name, shape in SHAPES.items():
            norm = len(shape) == 1
            bits = [narrow(1 + 0.1 * rng.gauss(0, 1) if norm else rng.gauss(0, shape[1] ** -0.5)) for _ in range(math.prod(shape))]
            weights[name + ".weight"], flat = tensor(ctx, shape, "bfloat16", bits), [wide(b) for b in bits]
            self.rows[name] = flat if norm else [flat[i:i + shape[1]] for i in range(0, len(flat), shape[1])]
        self.layer = mlaforge.Layer(weights, heads=HEADS, cos_sin_cache=table, scale=SCALE, rank=RANK, rope=ROPE, nope=NOPE, v=V, eps=EPS,
                                    residual=True, page_size=PAGE, kv_len=(TOKENS, TOKENS), table_width=PAGES, ctx=ctx)
        self.cache = tensor(ctx, (PAGES, PAGE, ROW), "bfloat16", [0] * (PAGES * PAGE * ROW))
        self.reference = []


class Step:
    """A call of all layers: h += layer(h), at the position that `move` says."""

    def __init__(self, ctx, toys, caches, pages):
        self.toys, self.caches, self.pages = toys, caches, pages
        self.hidden = tensor(ctx, (1, HIDDEN), "bfloat16", [0] * HIDDEN)
        self.positions, self.slots = (tensor(ctx, (1,), "int64", [0]) for _ in range(2))
        self.lengths, self.table = tensor(ctx, (1,), "int32", [0]), tensor(ctx, (1, PAGES), "int32", pages)

    def move(self, position, bits):
        write(self.positions, "int64", [position])
        write(self.slots, "int64", [self.pages[position // PAGE] * PAGE + position % PAGE])
        write(self.lengths, "int32", [position + 1])
        write(self.hidden, "bfloat16", bits)

    def run(self):
        for toy, cache in zip(self.toys, self.caches):
            toy.layer(self.hidden, self.positions, self.slots, cache, self.lengths, self.table, residual=self.hidden, out=self.hidden)


def capture(step):
    """A graph of one step; PyTorch wants it run once before, which writes position 0's row."""
    step.run()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step.run()
    return graph


def main():
    ctx, rng = mlaforge.Context(device="cuda") if with_torch else mlaforge.default_context(), random.Random(2026)
    table = [[f(t * 10000 ** (-2 * i / ROPE)) for f in (math.cos, math.sin) for i in range(ROPE // 2)] for t in range(TOKENS)]
    rotations = tensor(ctx, (TOKENS, ROPE), "float32", [x for row in table for x in row])
    toys = [Toy(ctx, rng, rotations) for _ in range(LAYERS)]
    words, head = ([[narrow(rng.gauss(0, 1)) for _ in range(HIDDEN)] for _ in range(WORDS)] for _ in range(2))
    pages = [PAGES - 1 - i for i in range(PAGES)]  # in any order
    step, word, said, worst, same = Step(ctx, toys, [toy.cache for toy in toys], pages), 0, [], 0.0, True
    plain = Step(ctx, toys, [toy.cache.clone() for toy in toys], pages) if with_torch else None
    graph = capture(step) if with_torch else None
    for t in range(TOKENS):
        step.move(t, words[word])
        x = [wide(b) for b in words[word]]
        if graph:
            graph.replay()
            plain.move(t, words[word])
            plain.run()
            same &= torch.equal(step.hidden, plain.hidden)
        else:
            step.run()
        for toy in toys:
            x = list(map(operator.add, x, reference(toy.rows, table[t], toy.reference, x)))
        h = read(step.hidden)
        off = math.sqrt(sum((a - b) ** 2 for a, b in zip(h, x)) / dot(x, x))
        worst = max(worst, off if off == off else math.inf)
        said.append(word := max(range(WORDS), key=lambda w: dot(map(wide, head[w]), h)))
    print(*said)
    if graph:
        same &= all(torch.equal(a, b) for a, b in zip(step.caches, plain.caches))
        print(f"{TOKENS} replays of one graph and plain calls: {'the same bits' if same else 'bits DIFFER'}")
    print(f"mlaforge {mlaforge.version()} on {ctx.device_name}: {TOKENS} tokens through {LAYERS} layers, relative error at most {worst:.2e} "
          f"(bound {BOUND:.1e})")
    for toy in toys:
        toy.layer.close()
    return not (worst <= BOUND and same)


sys.exit(main())
