"""Calls from several Python threads on one context, over the emulator, against what each call gives alone."""
import random
import threading
import unittest

import mlaforge
from mlaforge.library import fast
from buffers import Buffer, EmulatorTest, bf16, values

HEADS, RANK, ROPE, NOPE, VDIM, HIDDEN, Q_RANK, PAGE, PAGES, POSITIONS = 4, 64, 32, 32, 64, 128, 96, 16, 8, 64
CALLS = 2
WEIGHTS = {"q_a_proj": (Q_RANK, HIDDEN), "q_a_layernorm": (Q_RANK,), "q_b_proj": (HEADS * (NOPE + ROPE), Q_RANK),
           "kv_a_proj_with_mqa": (RANK + ROPE, HIDDEN), "kv_a_layernorm": (RANK,), "kv_b_proj": (HEADS * (NOPE + VDIM), RANK),
           "o_proj": (HIDDEN, HEADS * VDIM)}


class ThreadsTest(EmulatorTest):
    SEED = 3

    def tensor(self, *shape):
        n = 1
        for size in shape:
            n *= size
        return Buffer(self.ctx, shape, "bfloat16", [bf16(self.rng.gauss(0, 0.3)) for _ in range(n)])

    def ints(self, kind, numbers, *shape):
        return Buffer(self.ctx, shape or (len(numbers),), kind, numbers)

    # --- calls that a thread makes again and again; each has tensors of its own and returns its output ---
    def decode(self, seed, table):
        lens = [PAGES * PAGE // 2 - 3, 1 + 7 * seed % 60]
        q, cache = self.tensor(2, 1, HEADS, RANK + ROPE), self.tensor(PAGES, PAGE, 1, RANK + ROPE)
        if table:
            pages, seq_lens = self.ints("int32", [0, 3, 6, 1, 4, 7, 2, 5], 2, 4), self.ints("int32", lens)
            return lambda stream: mlaforge.flash_mla_with_kvcache(q, cache, pages, seq_lens, RANK, mean_kv_len=4096, ctx=self.ctx,
                                                                  stream=stream)[0]
        n = [-(-x // PAGE) for x in lens]
        lists = [self.ints("int32", x) for x in ([0, 1, 2], [0, n[0], sum(n)], [i * 3 % PAGES for i in range(sum(n))],
                                                 [x - (k - 1) * PAGE for x, k in zip(lens, n)])]
        q, o = self.tensor(2, HEADS, RANK + ROPE), self.tensor(2, HEADS, RANK)
        return lambda stream: mlaforge.mla_decode_fwd(q, cache, o, *lists, 1, mean_kv_len=4096, ctx=self.ctx, stream=stream)[0]

    def step(self, seed):
        past = [20, 3 * seed % 30]
        pages = [[5, 2], [7, 1]]
        hidden, cache, y = self.tensor(2, HIDDEN), self.tensor(PAGES, PAGE, RANK + ROPE), self.tensor(2, HIDDEN)
        tensors = (self.ints("int64", past), self.ints("int64", [p[n // PAGE] * PAGE + n % PAGE for p, n in zip(pages, past)]), cache,
                   self.ints("int32", [n + 1 for n in past]), self.ints("int32", sum(pages, []), 2, 2))
        return lambda stream: self.layer(hidden, *tensors, out=y, stream=stream)

    def prefill(self, seed):
        schedule = self.layer.schedule([2, 1], [20 + seed % 8, 0])
        first = 20 + seed % 8
        hidden, cache, y = self.tensor(3, HIDDEN), self.tensor(PAGES, PAGE, RANK + ROPE), self.tensor(3, HIDDEN)
        pages = [[5, 2], [7, 1]]
        slots = [pages[r][t // PAGE] * PAGE + t % PAGE for r, t in ((0, first), (0, first + 1), (1, 0))]
        tensors = self.ints("int64", [first, first + 1, 0]), self.ints("int64", slots), cache
        table = self.ints("int32", sum(pages, []), 2, 2)
        return lambda stream: self.layer(hidden, *tensors, block_table=table, schedule=schedule, out=y, stream=stream)

    def chunked_prefill(self, seed):
        schedule = self.chunked.schedule([2, 1], [20 + seed % 8, 5])
        q, k, v, k_pe = (self.tensor(3, HEADS, NOPE + ROPE), self.tensor(3, HEADS, NOPE), self.tensor(3, HEADS, VDIM), self.tensor(3, ROPE))
        cache, table = self.tensor(PAGES, PAGE, RANK + ROPE), self.ints("int32", [5, 2, 7, 1], 2, 2)
        w, out = self.tensor(HEADS * (NOPE + VDIM), RANK), self.tensor(3, HEADS, VDIM)
        return lambda stream: self.chunked(schedule, q, k, k_pe, v, cache, table, w, 0.1, out=out, stream=stream)

    def count_wrong(self, calls, want, streams):
        wrong, errors, begin = [0] * len(calls), [], threading.Barrier(len(calls))

        def work(i):
            try:
                begin.wait()
                for _ in range(CALLS):
                    wrong[i] += values(calls[i](streams[i % len(streams)])) != want[i]
            except Exception as e:  # shown by the assertion
                errors.append(e)
        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(calls))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(errors, [])
        return sum(wrong)

    def test_threads(self):
        self.rng = random.Random(self.SEED)
        weights = {f"model.layers.0.self_attn.{name}.weight": self.tensor(*shape) for name, shape in WEIGHTS.items()}
        table = Buffer(self.ctx, (POSITIONS, ROPE), "float32", [0.8, 0.6] * (POSITIONS * ROPE // 2))
        self.layer = mlaforge.Layer(weights, heads=HEADS, cos_sin_cache=table, scale=0.1, rank=RANK, rope=ROPE, nope=NOPE, v=VDIM,
                                    page_size=PAGE, batch=2, kv_len=(64, 64), prefill_tokens=16, prefill_chunk=16, ctx=self.ctx)
        self.chunked = mlaforge.ChunkedPrefill(HEADS, NOPE, ROPE, VDIM, RANK, page_tokens=PAGE, chunk_tokens=16, batch=2, tokens=4,
                                               ctx=self.ctx)
        make = [lambda s: self.decode(s, False), lambda s: self.decode(s, True), self.step, self.prefill, self.chunked_prefill]
        calls = [make[i // 2 % len(make)](i) for i in range(16)]
        want = [values(call(0)) for call in calls]
        for module, runs in ((fast(), ((2, [0]), (8, [0]), (16, [0]), (8, [0, 0x100, 0x200]))), (None, ((8, [0]),))):
            self.ctx.use(module)
            for n, streams in runs:
                with self.subTest(threads=n, streams=len(streams), compiled=module is not None):
                    self.assertEqual(self.count_wrong(calls[:n], want, streams), 0)
        self.layer.close()
        self.chunked.close()
