"""DeepSeek-V4's caches by flash_mla_with_kvcache over the emulator with plain buffers, one pool and two, against plain Python."""
import math
import random
import unittest

import mlaforge
from buffers import Buffer, EmulatorTest, bf16, values, wide
from test_cache_calls import e4m3

HEADS, COLUMNS, CODES, ROW, NAN = 3, 512, 448, 576, 0xFF


class Pool:
    """Pages of `page` tokens, the second half of which are NaN, as are pads and rows that no token has; and lists over the first half."""

    def __init__(self, ctx, rng, batch, q_len, pages, page, topk, lengths=None, spare=0):
        stride = -(-page * 584 // ROW) * ROW + spare * ROW
        memory, self.tokens, good = bytearray([NAN] * (stride * (pages - 1) + page * 584)), [], pages * page // 2
        for i in range(good):
            codes = [rng.choice((0, 128)) | rng.randrange(40, 72) for _ in range(CODES)]
            last, powers = [bf16(rng.gauss(0, 1)) for _ in range(64)], [rng.choice((124, 126, 127, 129)) for _ in range(7)]
            row, scales = i // page * stride + i % page * ROW, i // page * stride + page * ROW + i % page * 8
            memory[row:row + ROW] = bytes(codes) + b"".join(x.to_bytes(2, "little") for x in last)
            memory[scales:scales + 7] = bytes(powers)
            self.tokens.append([e4m3(c) * 2.0 ** (powers[k // 64] - 127) for k, c in enumerate(codes)] + [wide(x) for x in last])
        self.cache = Buffer(ctx, (pages, page, 1, 584), "uint8", memory, (stride, 584, 584, 1))
        absent, self.lists = (-1, pages * page, 2 ** 31 - 1, -2 ** 31), []
        for t in range(batch * q_len):
            counts = topk if lengths is None else max(0, min(topk, lengths[t // q_len]))
            self.lists.append([rng.choice(absent) if rng.random() < 0.3 else rng.randrange(good) for _ in range(counts)])
        flat = [x for entries in self.lists for x in entries + [good] * (topk - len(entries))]
        self.indices = Buffer(ctx, (batch, q_len, topk), "int32", flat)
        self.lengths = None if lengths is None else Buffer(ctx, (batch,), "int32", lengths)

    def seen(self, t):
        return [self.tokens[i] for i in self.lists[t] if 0 <= i < len(self.tokens)]


class Odd(Buffer):
    """Begins 8 bytes behind its memory."""

    def data_ptr(self):
        return super().data_ptr() + 8


class Pools(EmulatorTest):
    def setUp(self):
        rng = random.Random(11)
        self.rng, self.q_values = rng, [bf16(rng.gauss(0, 1)) for _ in range(4 * HEADS * COLUMNS)]
        self.q = Buffer(self.ctx, (2, 2, HEADS, COLUMNS), "bfloat16", self.q_values)
        self.first = Pool(self.ctx, rng, 2, 2, 3, 16, 21, [21, 9])
        self.extra = Pool(self.ctx, rng, 2, 2, 5, 2, 7, [0, 40], spare=2)

    def decode(self, **how):
        given = dict(indices=self.first.indices, topk_length=self.first.lengths, is_fp8_kvcache=True, ctx=self.ctx)
        return mlaforge.flash_mla_with_kvcache(self.q, self.first.cache, None, None, COLUMNS, **{**given, **how})

    def compare(self, out, lse, pools, sinks=None):
        got, lses, off, size = [wide(x) for x in values(out)], values(lse), 0.0, 0.0
        for row in range(4 * HEADS):
            keys = [key for pool in pools for key in pool.seen(row // HEADS)]
            q = [wide(x) for x in self.q_values[row * COLUMNS:(row + 1) * COLUMNS]]
            scores = [sum(a * b for a, b in zip(q, k)) / math.sqrt(COLUMNS) for k in keys]
            if not keys:
                self.assertEqual((lses[row], got[row * COLUMNS:(row + 1) * COLUMNS]), (math.inf, [0.0] * COLUMNS))
                continue
            weights = [math.exp(s - max(scores)) for s in scores]
            want_lse = max(scores) + math.log(sum(weights))
            by = 1 if sinks is None else 1 / (1 + math.exp(sinks[row % HEADS] - want_lse))
            want = [by * sum(w * k[c] for w, k in zip(weights, keys)) / sum(weights) for c in range(COLUMNS)]
            self.assertAlmostEqual(lses[row], want_lse, places=3)
            off += sum((x - y) ** 2 for x, y in zip(got[row * COLUMNS:], want))
            size += sum(y * y for y in want)
        self.assertLess(math.sqrt(off / size), 4e-3)

    def second(self, **how):
        return dict(extra_k_cache=self.extra.cache, extra_indices_in_kvcache=self.extra.indices, extra_topk_length=self.extra.lengths, **how)

    def test_one_pool(self):
        self.compare(*self.decode(), [self.first])

    def test_two_pools(self):
        self.compare(*self.decode(**self.second()), [self.first, self.extra])

    def test_two_pools_and_a_sink(self):
        sinks = [0.5, -3.0, 2.0]
        self.compare(*self.decode(**self.second(attn_sink=Buffer(self.ctx, (HEADS,), "float32", sinks))), [self.first, self.extra], sinks)

    def test_dense(self):
        table, lengths = Buffer(self.ctx, (2, 2), "int32", [1, -1, 0, 1]), Buffer(self.ctx, (2,), "int32", [5, 20])
        out, lse = mlaforge.flash_mla_with_kvcache(self.q, self.first.cache, table, lengths, COLUMNS, is_fp8_kvcache=True, ctx=self.ctx)
        self.first.lists = [[16, 17, 18, 19, 20]] * 2 + [list(range(20))] * 2
        self.compare(out, lse, [self.first])

    def test_warm_up(self):
        with mlaforge.Context(device="emu:gfx942") as ctx:
            shape = dict(heads=HEADS, rank=COLUMNS, rope=0, batch=(4, 4), kv_len=(28, 28), block_tables=False, cache_format="fp8_v4")
            made = ctx.warm_up(page_size=1, pools=True, **shape)
            self.assertGreater(made["workspace"], 4 * 4 * 28)
            self.assertEqual(ctx.warm_up(page_size=1, pools=True, **shape)["compiles"], 0)
            with self.assertRaisesRegex(mlaforge.MlafError, "pools is True, page_size 64 and q_len 1: both must be 1"):
                ctx.warm_up(pools=True, **shape)

    def test_refused_by_name(self):
        for text, how in (
                ("extra_k_cache and extra_indices_in_kvcache are a second pool: both are wanted", dict(extra_k_cache=self.extra.cache)),
                ("extra_k_cache has rows of 512 bytes, of fp8_v4", self.second() | dict(extra_k_cache=Buffer(self.ctx, (2, 2, 1, 512), "uint8"))),
                ("extra_k_cache is int32, must be float8_e4m3fn or uint8", self.second() | dict(extra_k_cache=Buffer(self.ctx, (2, 2, 1, 584), "int32"))),
                ("extra_k_cache .* must have the bytes of a page side by side",
                 self.second() | dict(extra_k_cache=Buffer(self.ctx, (2, 2, 1, 584), "uint8", None, (1728, 592, 592, 1)))),
                ("extra_k_cache's page stride is 1168, must be a multiple of 576 from 1728 on",
                 self.second() | dict(extra_k_cache=Buffer(self.ctx, (2, 2, 1, 584), "uint8"))),
                ("extra_k_cache .* must have its pages apart",
                 self.second() | dict(extra_k_cache=Buffer(self.ctx, (2, 2, 1, 584), "uint8", None, (0, 584, 584, 1)))),
                ("extra_k_cache is 0x.*, must be 16-byte aligned", self.second() | dict(extra_k_cache=Odd(self.ctx, (1, 2, 1, 584), "uint8"))),
                ("extra_indices_in_kvcache .*must be .query tokens of q, topk",
                 self.second() | dict(extra_indices_in_kvcache=Buffer(self.ctx, (3, 2, 7), "int32", [0] * 42))),
                ("extra_topk_length has 4 entries and topk_length 2", self.second() | dict(extra_topk_length=Buffer(self.ctx, (4,), "int32", [1] * 4))),
                ("indices is None, and topk_length is given: it comes with lists", dict(indices=None)),
                ("indices is None, and extra_k_cache is given", self.second() | dict(indices=None, topk_length=None))):
            with self.assertRaisesRegex(mlaforge.MlafError, text):
                self.decode(**how)
        narrow = Buffer(self.ctx, (2, 2, HEADS, 576), "bfloat16")
        with self.assertRaisesRegex(mlaforge.MlafError, "k_cache is fp8_v4, whose tokens have 512 columns .*: the problem needs r512,p0,bf16"):
            mlaforge.flash_mla_with_kvcache(narrow, self.first.cache, None, None, 512, is_fp8_kvcache=True, indices=self.first.indices, ctx=self.ctx)


class PoolsByCtypes(Pools):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.ctx.use(None)
