"""Threads that share a context, by hand, on a GPU with PyTorch or on the emulator: each makes one call again and again, with outputs of its
own, on one stream or on one for each thread. Every output must be, to the bit, what the call gives alone. Then what a call costs.

  python3 soak_threads.py [--device cuda] [--threads 8] [--calls 10000] [--only KIND,...] [--seconds 100] [--cost]

A line for each kind of call: calls made, how many were wrong, us a call of all threads together. It ends with status 1 where any was wrong."""
import argparse
import math
import random
import statistics
import struct
import sys
import threading
import time

import mlaforge

HEADS, RANK, ROPE, NOPE, VDIM, HIDDEN, Q_RANK, PAGE, PAGES, POSITIONS = 16, 512, 64, 128, 128, 1024, 256, 64, 96, 4096
WEIGHTS = {"q_a_proj": (Q_RANK, HIDDEN), "q_a_layernorm": (Q_RANK,), "q_b_proj": (HEADS * (NOPE + ROPE), Q_RANK),
           "kv_a_proj_with_mqa": (RANK + ROPE, HIDDEN), "kv_a_layernorm": (RANK,), "kv_b_proj": (HEADS * (NOPE + VDIM), RANK),
           "o_proj": (HIDDEN, HEADS * VDIM)}


class Emulator:
    """Tensors of plain memory. Random ones repeat a short sequence: making them takes longer than the call."""
    def __init__(self, ctx):
        self.ctx, self.rng = ctx, random.Random(1)

    def tensor(self, *shape):
        some = struct.pack("1021H", *(struct.unpack("I", struct.pack("f", self.rng.gauss(0, 0.1)))[0] >> 16 for _ in range(1021)))
        size = 2 * math.prod(shape)
        return mlaforge.Buffer(self.ctx, shape, "bfloat16", (some * (size // len(some) + 1))[:size])

    def numbers(self, values, dtype="int32", shape=None):
        code = {"int32": "i", "int64": "q", "float32": "f"}[dtype]
        return mlaforge.Buffer(self.ctx, shape or (len(values),), dtype, struct.pack(f"{len(values)}{code}", *values))

    def keep(self, out):
        return out.read()

    def counter(self):
        return [0]

    def compare(self, out, want, counter):
        counter[0] += out.read() != want

    def wrong(self, counter):
        return counter[0]

    def plain(self, tensor):
        return tensor

    def sync(self):
        pass

    def streams(self, n):
        return [0x100 * (i + 1) for i in range(n)]


class Plain:
    """A tensor that does not say it is PyTorch's: its calls take the context's workspace."""
    def __init__(self, tensor):
        self._tensor, self.shape, self.dtype = tensor, tuple(tensor.shape), tensor.dtype
        self.data_ptr, self.stride, self.get_device = tensor.data_ptr, tensor.stride, tensor.get_device


class Torch:
    def __init__(self, ctx):
        import torch
        self.ctx, self.torch = ctx, torch
        torch.manual_seed(1)

    def tensor(self, *shape):
        return self.torch.randn(shape, device="cuda").mul_(0.1).to(self.torch.bfloat16)

    def numbers(self, values, dtype="int32", shape=None):
        return self.torch.tensor(values, dtype=getattr(self.torch, dtype), device="cuda").reshape(shape or (len(values),))

    def keep(self, out):
        self.torch.cuda.synchronize()
        return out.clone()

    def counter(self):
        return self.torch.zeros((), dtype=self.torch.int64, device="cuda")

    def compare(self, out, want, counter):
        """Compares in the order of the stream, so that no thread waits for the device."""
        counter.add_(self.torch.ne(out.view(self.torch.int16), want.view(self.torch.int16)).any())

    def wrong(self, counter):
        return int(counter)

    def plain(self, tensor):
        return Plain(tensor)

    def sync(self):
        self.torch.cuda.synchronize()

    def streams(self, n):
        return [self.torch.cuda.Stream() for _ in range(n)]


class Calls:
    """Makes calls: functions of a stream that return their output, each with tensors of its own."""
    def __init__(self, lab, ctx):
        self.lab, self.ctx = lab, ctx
        weights = {f"model.layers.0.self_attn.{name}.weight": lab.tensor(*shape) for name, shape in WEIGHTS.items()}
        table = lab.numbers([0.8, 0.6] * (POSITIONS * ROPE // 2), "float32", (POSITIONS, ROPE))
        self.layer = mlaforge.Layer(weights, heads=HEADS, cos_sin_cache=table, scale=0.07, rank=RANK, rope=ROPE, nope=NOPE, v=VDIM, page_size=PAGE,
                                    batch=2, kv_len=(4096, 4096), prefill_tokens=64, prefill_chunk=1024, ctx=ctx)
        self.chunked = mlaforge.ChunkedPrefill(HEADS, NOPE, ROPE, VDIM, RANK, page_tokens=PAGE, chunk_tokens=1024, batch=2, tokens=64, ctx=ctx)

    def lengths(self, i):
        return [[3000, 2000], [40, 2500], [1700, 90], [2900, 2999]][i % 4]

    def pages(self, lens):
        return [[(48 * r + 7 * k) % PAGES for k in range(-(-n // PAGE))] for r, n in enumerate(lens)]

    def block_table(self, lens):
        rows = self.pages(lens)
        width = max(map(len, rows))
        return self.lab.numbers(sum((row + [0] * (width - len(row)) for row in rows), []), "int32", (len(rows), width))

    def decode_lists(self, i):
        lens, lab = self.lengths(i), self.lab
        rows = self.pages(lens)
        lists = [lab.numbers(x) for x in ([0, 1, 2], [0, len(rows[0]), len(rows[0]) + len(rows[1])], sum(rows, []),
                                          [(n - 1) % PAGE + 1 for n in lens])]
        q, cache, o = lab.tensor(2, HEADS, RANK + ROPE), lab.tensor(PAGES, PAGE, 1, RANK + ROPE), lab.tensor(2, HEADS, RANK)
        return lambda stream: mlaforge.mla_decode_fwd(q, cache, o, *lists, 1, 0.07, ctx=self.ctx, stream=stream)[0]

    def decode_table(self, i):
        lens, lab = self.lengths(i), self.lab
        q, cache, o = lab.tensor(2, 1, HEADS, RANK + ROPE), lab.tensor(PAGES, PAGE, 1, RANK + ROPE), lab.tensor(2, 1, HEADS, RANK)
        table, lens = self.block_table(lens), lab.numbers(lens)
        return lambda stream: mlaforge.flash_mla_with_kvcache(q, cache, table, lens, RANK, softmax_scale=0.07, out=o, ctx=self.ctx,
                                                              stream=stream)[0]

    def step(self, i, plain=True):
        lens, lab = self.lengths(i), self.lab
        wrap = lab.plain if plain else lambda tensor: tensor
        rows = self.pages(lens)
        slots = [row[(n - 1) // PAGE] * PAGE + (n - 1) % PAGE for row, n in zip(rows, lens)]
        y, tensors = lab.tensor(2, HIDDEN), (lab.tensor(2, HIDDEN), lab.numbers([n - 1 for n in lens], "int64"), lab.numbers(slots, "int64"),
                                             lab.tensor(PAGES, PAGE, RANK + ROPE), lab.numbers(lens), self.block_table(lens))
        wrapped, out = [wrap(t) for t in tensors], wrap(y)

        def call(stream):
            self.layer(*wrapped, out=out, stream=stream)
            return y
        call.holds = tensors
        return call

    def step_torch(self, i):
        return self.step(i, plain=False)

    def prefill(self, i):
        lab, new, past = self.lab, [20, 12], [n // 2 for n in self.lengths(i)]
        rows = self.pages([p + n for p, n in zip(past, new)])
        at = [(r, p + k) for r, (p, n) in enumerate(zip(past, new)) for k in range(n)]
        schedule = self.layer.schedule(new, past)
        y, tensors = lab.tensor(32, HIDDEN), (lab.tensor(32, HIDDEN), lab.numbers([t for _, t in at], "int64"),
                                              lab.numbers([rows[r][t // PAGE] * PAGE + t % PAGE for r, t in at], "int64"),
                                              lab.tensor(PAGES, PAGE, RANK + ROPE))
        table = self.block_table([p + n for p, n in zip(past, new)])
        wrapped, out, pages = [lab.plain(t) for t in tensors], lab.plain(y), lab.plain(table)

        def call(stream):
            self.layer(*wrapped, block_table=pages, schedule=schedule, out=out, stream=stream)
            return y
        call.holds = tensors, table
        return call

    def chunked_prefill(self, i):
        lab, new, past = self.lab, [20, 12], [n // 2 for n in self.lengths(i)]
        schedule = self.chunked.schedule(new, past)
        y, tensors = lab.tensor(32, HEADS, VDIM), (lab.tensor(32, HEADS, NOPE + ROPE), lab.tensor(32, HEADS, NOPE), lab.tensor(32, ROPE),
                                                   lab.tensor(32, HEADS, VDIM), lab.tensor(PAGES, PAGE, RANK + ROPE), self.block_table(past),
                                                   lab.tensor(HEADS * (NOPE + VDIM), RANK))
        wrapped, out = [lab.plain(t) for t in tensors], lab.plain(y)

        def call(stream):
            self.chunked(schedule, *wrapped, 0.07, out=out, stream=stream)
            return y
        call.holds = tensors
        return call


KINDS = {"decode lists": ("decode_lists", 1), "decode table": ("decode_table", 1), "layer": ("step", 1), "layer, PyTorch's memory": ("step_torch", 1),
         "layer prefill": ("prefill", 10), "chunked prefill": ("chunked_prefill", 10)}  # and what part of the calls is made of it


def soak(lab, calls, count, deadline, own_streams):
    """(calls made, wrong ones, errors, seconds) of a thread for each of `calls`."""
    streams = lab.streams(len(calls)) if own_streams else [None] * len(calls)
    wants = [lab.keep(call(None)) for call in calls]
    made, counters, errors, begin = [0] * len(calls), [lab.counter() for _ in calls], [], threading.Barrier(len(calls) + 1)
    lab.sync()

    def again_and_again(i):
        stream, ahead = streams[i], hasattr(streams[i], "synchronize")

        def go():
            for n in range(count):
                if time.monotonic() > deadline:
                    break
                lab.compare(calls[i](stream), wants[i], counters[i])
                made[i] = n + 1
                if n % 64 == 63 and isinstance(lab, Torch):
                    stream.synchronize() if ahead else lab.torch.cuda.current_stream().synchronize()
        begin.wait()
        try:
            if ahead:
                with lab.torch.cuda.stream(stream):
                    go()
            else:
                go()
        except Exception as e:  # reported with the counts
            errors.append(e)
    threads = [threading.Thread(target=again_and_again, args=(i,)) for i in range(len(calls))]
    for t in threads:
        t.start()
    begin.wait()
    start = time.monotonic()
    for t in threads:
        t.join()
    lab.sync()
    return sum(made), sum(map(lab.wrong, counters)), errors, time.monotonic() - start


def cost(lab, call, rounds=200, burst=16):
    """Median us of the calling thread a call, in bursts on a stream with nothing to do."""
    times = []
    for _ in range(rounds):
        lab.sync()
        start = time.perf_counter()
        for _ in range(burst):
            call(None)
        times.append((time.perf_counter() - start) / burst)
    lab.sync()
    return 1e6 * statistics.median(times)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--device", default="cuda")
    p.add_argument("--threads", type=int, default=8)
    p.add_argument("--calls", type=int, default=10000)
    p.add_argument("--seconds", type=float, default=100, help="for all kinds together; what is left of a kind's calls is not made")
    p.add_argument("--only", default="", help="kinds: " + "; ".join(KINDS))
    p.add_argument("--cost", action="store_true", help="nothing but what a call costs")
    p.add_argument("--rounds", type=int, default=200, help="bursts that a cost is the median of")
    o = p.parse_args()
    ctx = mlaforge.Context(device=o.device)
    lab = (Emulator if o.device.startswith("emu:") else Torch)(ctx)
    make, deadline, bad = Calls(lab, ctx), time.monotonic() + o.seconds, 0
    kinds = [k for k in KINDS if not o.only or k in o.only.split(";")]
    if o.cost:
        for kind in kinds:
            print(f"cost\t{kind}\t{cost(lab, getattr(make, KINDS[kind][0])(0), o.rounds):.2f}", flush=True)
        return 0
    runs = [(kind, [kind] * o.threads, own) for own in (False, True) for kind in kinds]
    if len(kinds) > 1:
        runs.append(("all kinds at once", [kinds[i % len(kinds)] for i in range(o.threads)], False))
    for name, of, own in runs:
        if time.monotonic() > deadline:
            print(f"soak\t{name}\tnot run: the time is up", flush=True)
            continue
        calls = [getattr(make, KINDS[kind][0])(i) for i, kind in enumerate(of)]
        count = max(1, min(o.calls // KINDS[kind][1] for kind in of) // (10 if own else 1))
        made, wrong, errors, seconds = soak(lab, calls, count, deadline, own)
        bad += wrong + len(errors)
        print(f"soak\t{name}\t{o.threads} threads, {'streams of their own' if own else 'one stream'}\t{made} of {o.threads * count} calls\t{wrong} wrong"
              f"\t{1e6 * seconds / max(made, 1):.1f} us a call{''.join(f' {e!r}' for e in errors[:2])}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
