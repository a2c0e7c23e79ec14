"""Requests with more query tokens than the call's max_seqlen_q, and some behind all rows of Q: they become NaN with LSE NaN, all others
keep their values, and nothing else is written. Batches that a launch leaves whole and batches that it cuts, with pads behind them.
Values, not bits: a merge kernel shares out its rows by how many there are, and so may add a row's pieces up in another order.

    PYTHONPATH=... python3 tests/python/long_requests.py [--device D] [--heads 16,64,128] [--scale N]

--scale: all lengths are divided by it, for emulators. Prints a line for each batch; exit code 1 when one is wrong."""
import argparse
import array
import random
import struct

import mlaforge
from mlaforge import Buffer, mla_decode_fwd

RANK, ROPE, PAGE, GUARD = 512, 64, 64, 3  # GUARD: rows of O around it
COLS = RANK + ROPE
BATCHES = {"alike": [1500] * 8, "many alike": [700] * 150, "cut": [30000, 100, 37, 0, 512, 2000, 64, 5000], "one long": [40000, 90, 90, 90],
           "short": [40, 0, 1, 65, 129, 64]}


class Part:
    """Rows of a buffer from one on."""

    def __init__(self, whole, first, shape):
        self.whole, self.first, self.shape, self.dtype = whole, first, tuple(shape), whole.dtype

    def data_ptr(self):
        return self.whole.data_ptr() + self.first * mlaforge.buffers.size_of(self.dtype)

    def stride(self):
        strides, n = [], 1
        for size in reversed(self.shape):
            strides.insert(0, n)
            n *= size
        return tuple(strides)

    def get_device(self):
        return self.whole.get_device()


def bf16(n, seed):
    rng = random.Random(seed)
    values = array.array("f", (rng.gauss(0, 1) for _ in range(n)))
    return array.array("H", (x >> 16 for x in array.array("I", values.tobytes()))).tobytes()


def int32(ctx, values):
    return Buffer(ctx, (len(values),), "int32", struct.pack(f"{len(values)}i", *values))


def sums(values):
    total = [0]
    for x in values:
        total.append(total[-1] + x)
    return total


def repeated(block, n):
    return (block * (n // len(block) + 1))[:n]


class Batch:
    def __init__(self, ctx, heads, q_len, lengths):
        self.ctx, self.heads, self.q_len, self.lengths = ctx, heads, q_len, lengths
        pages = [(n + PAGE - 1) // PAGE for n in lengths]
        self.pages = sum(pages) + 1
        order = list(range(self.pages - 1))
        random.Random(7).shuffle(order)
        self.kv_indptr, self.kv_indices = int32(ctx, sums(pages)), int32(ctx, order or [0])
        self.last = int32(ctx, [(n - 1) % PAGE + 1 if n else 0 for n in lengths])
        self.cache = Buffer(ctx, (self.pages, PAGE, 1, COLS), "bfloat16", repeated(bf16(61 * COLS, 1), self.pages * PAGE * COLS * 2))
        self.row = bf16(13 * heads * COLS, 2)  # query tokens of a request, each request the same ones

    def run(self, q_lens, told):
        """O and LSE of `told` tokens as bytes a token, and what is around them."""
        ctx, heads = self.ctx, self.heads
        token, width = heads * COLS * 2, heads * RANK
        q = b"".join(repeated(self.row, n * token) for n in q_lens)[:told * token]
        around_o, around_lse = b"\x42" * (GUARD * width * 2), b"\x42" * (GUARD * heads * 4)
        o = Buffer(ctx, ((told + 2 * GUARD) * width,), "bfloat16", around_o + b"\x11" * (told * width * 2) + around_o)
        lse = Buffer(ctx, ((told + 2 * GUARD) * heads,), "float32", around_lse + b"\x11" * (told * heads * 4) + around_lse)
        mla_decode_fwd(Buffer(ctx, (told, heads, COLS), "bfloat16", q), self.cache, Part(o, GUARD * width, (told, heads, RANK)),
                       int32(ctx, sums(q_lens)), self.kv_indptr, self.kv_indices, self.last, self.q_len,
                       lse=Part(lse, GUARD * heads, (told, heads)), ctx=ctx)
        ctx.sync()
        o, lse = o.read(), lse.read()
        kept = o[:len(around_o)] == around_o == o[-len(around_o):] and lse[:len(around_lse)] == around_lse == lse[-len(around_lse):]
        o, lse = o[len(around_o):-len(around_o)], lse[len(around_lse):-len(around_lse)]
        return [(o[t * width * 2:(t + 1) * width * 2], lse[t * heads * 4:(t + 1) * heads * 4]) for t in range(told)], kept


def is_nan(rows):
    o, lse = rows
    return all((x & 0x7fff) > 0x7f80 for x in array.array("H", o)) and all((x & 0x7fffffff) > 0x7f800000 for x in array.array("I", lse))


def floats(data, kind):
    if kind == "f":
        return array.array("f", data)
    return array.array("f", array.array("I", (x << 16 for x in array.array("H", data))).tobytes())


def unlike(rows, others):
    """Compares tokens as bytes: None where O and LSE are the same but for one rounding to bf16; else how far apart they are."""
    for (o, lse), (want_o, want_lse) in zip(rows, others):
        a, b = floats(o, "h"), floats(want_o, "h")
        off = max((abs(x - y) - 2 ** -7 * max(abs(x), abs(y)) for x, y in zip(a, b)), default=0.0)
        most = max(map(abs, b), default=0.0)
        apart = max((abs(x - y) for x, y in zip(floats(lse, "f"), floats(want_lse, "f")) if x != y), default=0.0)
        if not off <= 1e-4 * most or not apart <= 1e-5:
            return f"O by {off:.1e} beyond a rounding, LSE by {apart:.1e}"
    return None


def check(batch, long, behind):
    """long: { request: its tokens }. behind: tokens of the last request that has some which the call does not tell of."""
    good = [batch.q_len] * (len(batch.lengths) - PADS) + [0] * PADS
    q_lens = [long.get(i, n) for i, n in enumerate(good)]
    last = max(i for i, n in enumerate(q_lens) if n)
    refused = set(long) | ({last} if behind else set())
    told = sum(q_lens) - behind
    want, kept = batch.run(good, sum(good))
    got, kept_too = batch.run(q_lens, told)
    at, was = sums(q_lens), sums(good)
    wrong = [] if kept and kept_too else ["memory around O or LSE"]
    for i, n in enumerate(q_lens):
        rows = got[at[i]:min(at[i + 1], told)]
        if i in refused and not all(is_nan(x) for x in rows):
            wrong.append(f"request {i} of {n} tokens is no NaN")
        others = want[was[i]:was[i + 1]]
        off = unlike(rows, others) if i not in refused and rows != others else None
        if off:
            wrong.append(f"request {i} is another one: {off}")
    return wrong


PADS = 40  # requests without tokens: a host is told of B max_seqlen_q tokens at most


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--device", default=None)
    p.add_argument("--heads", default="16,64,128")
    p.add_argument("--scale", type=int, default=1)
    p.add_argument("--only", default="")
    args = p.parse_args()
    ctx = mlaforge.Context(device=args.device) if args.device else mlaforge.default_context()
    bad = 0
    for heads in map(int, args.heads.split(",")):
        for q_len in (1, 2):
            for name, lengths in BATCHES.items():
                if args.only and name != args.only:
                    continue
                lengths = [(n + args.scale - 1) // args.scale for n in lengths]
                batch = Batch(ctx, heads, q_len, lengths + [0] * PADS)
                wrong = []
                for long, behind in (({0: q_len + 1}, 0), ({1: q_len + 5, len(lengths) - 1: q_len + 2}, 0), ({2: 2 * q_len + 3}, 1)):
                    wrong += check(batch, long, behind)
                bad += bool(wrong)
                print(f"{heads:4} heads, q_len {q_len}, {name:10}: {'; '.join(wrong[:4]) or 'ok'}", flush=True)
    print("WRONG" if bad else "all right")
    return bad > 0


if __name__ == "__main__":
    raise SystemExit(main())
