"""The batches that are measured, by set. Pure Python: a seed gives the same cases everywhere."""
import math
import os
import random
import re
from dataclasses import dataclass, field

ROW_BYTES = 2 * 576  # one cached token: rank 512 and rope 64 in 16 bits
RAGGED_HEADS = (16, 24, 56, 64, 112, 128)


@dataclass
class Case:
    set: str
    name: str
    heads: int
    q_len: int
    page: int
    lengths: list = field(repr=False)

    @property
    def batch(self):
        return len(self.lengths)

    @property
    def tokens(self):
        return sum(self.lengths)

    def problem(self):
        """The problem that mla_decode_fwd asks its context for: the mean is that of the tables' sizes."""
        mean = sum(-(-n // self.page) for n in self.lengths) * self.page // self.batch
        return self.heads, 512, 64, self.q_len, int(self.q_len > 1), 0, self.page, self.batch, max(1, min(mean, 1 << 24))


# --- lengths of one batch: `n` requests, `size` says how long, `least` is the shortest one that is not empty ---
def equal(rng, n, size, least):
    return [max(size, least)] * n


def zipf(rng, n, size, least):
    """The longest has `size` tokens, the i-th size / i, in any order."""
    out = [max(least, size // (i + 1)) for i in range(n)]
    rng.shuffle(out)
    return out


def lognormal(rng, n, size, least):
    """Sigma 1 and mean `size`, none above 16 times that."""
    return [min(16 * size, max(least, round(size * rng.lognormvariate(-0.5, 1.0)))) for _ in range(n)]


def uniform(rng, n, size, least):
    return [max(least, rng.randint(size, 2 * size)) for _ in range(n)]


def one_long(rng, n, size, least):
    """One of `size` tokens, anywhere among n - 1 of 300 to 2000."""
    out = [max(least, rng.randint(300, 2000)) for _ in range(n)]
    out[rng.randrange(n)] = size
    return out


def empties(rng, n, size, least):
    """Lognormal, and three in ten have no cache at all; never all of them."""
    out = [0 if rng.random() < 0.3 else x for x in lognormal(rng, n, size, least)]
    out[rng.randrange(n)] = max(size, least)
    return out


KINDS = {f.__name__: f for f in (equal, zipf, lognormal, uniform, one_long, empties)}

# kind, heads, requests, query tokens, size
RAGGED = (
    ("zipf", 16, 96, 1, 65536), ("zipf", 128, 96, 1, 32768), ("zipf", 64, 384, 1, 65536), ("zipf", 24, 48, 2, 32768),
    ("lognormal", 16, 128, 1, 4096), ("lognormal", 128, 64, 1, 4096), ("lognormal", 56, 32, 1, 8192),
    ("lognormal", 112, 192, 1, 2048), ("lognormal", 64, 96, 2, 3000), ("lognormal", 16, 384, 2, 1500),
    ("uniform", 16, 64, 1, 4096), ("uniform", 24, 384, 1, 1500), ("uniform", 128, 16, 1, 6000), ("uniform", 64, 6, 1, 16000),
    ("uniform", 112, 48, 2, 3000),
    ("one_long", 16, 6, 1, 65536), ("one_long", 128, 6, 1, 65536), ("one_long", 64, 24, 1, 100000), ("one_long", 24, 24, 2, 65536),
    ("one_long", 128, 48, 1, 65536), ("one_long", 56, 48, 1, 131072), ("one_long", 16, 48, 1, 131072),
    ("empties", 16, 64, 1, 4096), ("empties", 128, 48, 1, 4096), ("empties", 112, 128, 2, 2048), ("empties", 56, 24, 1, 8192))

# heads, requests, query tokens, tokens each: between the powers of two
OFF_GRID = (
    (128, 96, 1, 5000), (128, 6, 1, 24000), (120, 96, 1, 3000), (48, 192, 1, 500), (72, 96, 1, 1500), (24, 48, 3, 1500),
    (16, 48, 1, 12000), (16, 3, 1, 50000), (64, 24, 2, 7000), (8, 100, 1, 3000), (128, 384, 1, 700), (16, 384, 1, 5000))


def log_between(rng, low, high):
    return min(high, max(low, round(math.exp(rng.uniform(math.log(low), math.log(high))))))


def make(set_name, kind, heads, n, q_len, size, page, rng, suffix=""):
    name = f"{kind} h{heads} {n}x{size}" + (f" q{q_len}" if q_len > 1 else "") + suffix
    return Case(set_name, name, heads, q_len, page, KINDS[kind](rng, n, size, q_len))


def ragged(seed):
    """Seed 0: RAGGED. Another one draws as many others of the same kinds."""
    rng = random.Random(f"ragged {seed}")
    shapes = RAGGED
    if seed:
        shapes = []
        for kind, *_ in RAGGED:
            n = rng.choice((6, 24, 48)) if kind == "one_long" else log_between(rng, 6, 384)
            most = {"zipf": 131072, "one_long": 131072}.get(kind, min(20000, 1500000 // n))
            size = log_between(rng, 32768 if kind in ("zipf", "one_long") else 500, max(most, 1000))
            shapes.append((kind, rng.choice(RAGGED_HEADS), n, rng.choice((1, 1, 2)), size))
    return [make("ragged", *shape, 64, rng) for shape in shapes]


def off_grid(seed, pool_bytes, count=40):
    """Equal lengths that nobody tuned for; seed 0 starts with OFF_GRID."""
    rng, out = random.Random(f"off grid {seed}"), []
    shapes = [] if seed else list(OFF_GRID)
    while len(shapes) < count:
        heads = rng.choice((4, 8, 12, 16, 20, 24, 32, 40, 48, 56, 64, 72, 80, 96, 112, 120, 128))
        n, ctx = log_between(rng, 2, 384), log_between(rng, 300, 65536)
        if n * ctx * ROW_BYTES <= pool_bytes:
            shapes.append((heads, n, rng.choice((1, 1, 2, 3, 4)), ctx))
    for heads, n, q_len, ctx in shapes:
        out.append(make("offgrid", "equal", heads, n, q_len, ctx, 64, rng))
    return out


def pages(seed):
    rng = random.Random(f"pages {seed}")
    return [make("pages", "equal", heads, 48, q_len, 3000, page, rng, f" page {page}")
            for heads in (8, 16, 32, 56, 64, 128) for q_len in (1, 2) for page in (1, 16)]


def tuned(path, pool_bytes, count=24):
    """Shapes of a text of problems that a peer of rank 512, rope 64 and page 64 has, too; every n-th of them."""
    pattern = re.compile(r"mla_decode:h(\d+),r512,p64,q(\d+),(?:causal,)?bf16,page64,b(\d+),s(\d+)$")
    found = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            cells = line.split("\t")
            match = pattern.match(cells[1]) if len(cells) > 2 else None
            if match:
                heads, q_len, n, ctx = (int(x) for x in match.groups())
                if n * ctx * ROW_BYTES <= pool_bytes:
                    found.append((heads, n, q_len, ctx))
    found = sorted(set(found))
    if not found:
        raise ValueError(f"{path} has no problem of rank 512, rope 64, bf16 and page 64")
    step = max(1.0, len(found) / count)
    rng = random.Random("equal")
    return [make("equal", "equal", h, n, q, ctx, 64, rng) for h, n, q, ctx in
            (found[int(i * step)] for i in range(min(count, len(found))))]


def build(names, seed, pool_bytes, root):
    """Cases of the sets named, in that order."""
    makers = {"ragged": lambda: ragged(seed), "offgrid": lambda: off_grid(seed, pool_bytes), "pages": lambda: pages(seed),
              "equal": lambda: tuned(os.path.join(root, "tuning", "peer-sets.tsv"), pool_bytes)}
    return [case for name in names if name in makers for case in makers[name]()]


# --- what a server's steps look like ---
def server_steps(seed, count, most_tokens):
    """(lengths, q_len) of each step: 1 to 256 requests, mean 200 to 32768 tokens, one step in five with two query tokens."""
    rng = random.Random(f"steps {seed}")
    for _ in range(count):
        n = log_between(rng, 1, 256)
        size = log_between(rng, 200, max(201, min(32768, most_tokens // (2 * n))))
        q_len = 2 if rng.random() < 0.2 else 1
        lengths = rng.choice((equal, lognormal, uniform))(rng, n, size, q_len)
        while sum(lengths) > most_tokens:
            lengths = [max(q_len, x // 2) for x in lengths]
        yield lengths, q_len
