"""8-bit caches by mla_decode_fwd and flash_mla_with_kvcache over the emulator with plain buffers, against plain Python."""
import math
import random
import struct
import unittest

import mlaforge
from buffers import Buffer, attention, bf16, e4m3, values, wide

HEADS, RANK, ROPE, PAGE = 3, 64, 32, 16
COLS, DS_ROW, LENGTHS, PAGES = RANK + ROPE, RANK + 16 + 2 * ROPE, (37, 0, 1, 16), (3, 0, 1, 1)
SCALE = 1 / math.sqrt(COLS)


class CacheTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ctx, rng = mlaforge.Context(device="emu:gfx942"), random.Random(3)
        total, batch = sum(PAGES), len(LENGTHS)
        bits = [bf16(rng.gauss(0, 1)) for _ in range(batch * HEADS * COLS)]
        cls.q = [[wide(b) for b in bits[COLS * i:COLS * i + COLS]] for i in range(batch * HEADS)]
        cls.flat_q, cls.rows_q = (Buffer(cls.ctx, (batch, *more, HEADS, COLS), "bfloat16", bits) for more in ((), (1,)))
        cls.codes = [[rng.choice((0, 128)) | rng.randrange(40, 72) for _ in range(COLS)] for _ in range(total * PAGE)]
        cls.order = rng.sample(range(total), total)
        cls.starts = [sum(PAGES[:b]) for b in range(batch + 1)]
        last = [n - (p - 1) * PAGE if p else 0 for n, p in zip(LENGTHS, PAGES)]
        cls.tables = [Buffer(cls.ctx, (len(x),), "int32", x) for x in (range(batch + 1), cls.starts, cls.order, last)]
        width = max(PAGES)
        cls.block_table = Buffer(cls.ctx, (batch, width), "int32", sum(
            ([*cls.order[a:b], *[-1] * (width - b + a)] for a, b in zip(cls.starts, cls.starts[1:])), []))
        cls.lengths = Buffer(cls.ctx, (batch,), "int32", LENGTHS)
        cls.scales = [struct.unpack("f", struct.pack("f", rng.uniform(0.01, 3)))[0] for _ in range(total * PAGE)]
        ropes = [[bf16(rng.gauss(0, 1)) for _ in range(ROPE)] for _ in range(total * PAGE)]
        cls.rope_bits = ropes
        cls.own = [[s * e4m3(c) for c in codes[:RANK]] + [wide(b) for b in rope] for s, codes, rope in zip(cls.scales, cls.codes, ropes)]
        cls.own_bytes = b"".join(bytes(codes[:RANK]) + struct.pack("4f", s, 7, math.nan, 7) + struct.pack(f"{ROPE}H", *rope)
                                 for s, codes, rope in zip(cls.scales, cls.codes, ropes))
        cls.own_cache = Buffer(cls.ctx, (total, PAGE, 1, DS_ROW), "uint8", list(cls.own_bytes))

    @classmethod
    def tearDownClass(cls):
        cls.ctx.close()

    def cache(self, dtype):
        return Buffer(self.ctx, (sum(PAGES), PAGE, 1, COLS), dtype, sum(self.codes, []))

    def keys(self, rows, request):
        pages = self.order[self.starts[request]:self.starts[request + 1]]
        return [rows[pages[t // PAGE] * PAGE + t % PAGE] for t in range(LENGTHS[request])]

    def compare(self, got, rows, scale, keys=None, q=None):
        for r, q in enumerate(q or self.q):
            want = attention(q, self.keys(rows, r // HEADS) if keys is None else keys[r // HEADS], scale, RANK)[0]
            have = [wide(b) for b in got[RANK * r:RANK * r + RANK]]
            size = math.sqrt(sum(x * x for x in want))
            self.assertLessEqual(math.sqrt(sum((a - b) ** 2 for a, b in zip(have, want))), 4e-3 * size, r)

    def decode(self, cache, **more):
        o = Buffer(self.ctx, (len(LENGTHS), HEADS, RANK), "bfloat16", [0x7fff] * (len(LENGTHS) * HEADS * RANK))
        mlaforge.mla_decode_fwd(self.flat_q, cache, o, *self.tables, 1, ctx=self.ctx, **more)
        return values(o)

    def number(self, x):
        return Buffer(self.ctx, (1,), "float32", [x])

    def test_one_scale_for_all(self):
        for dtype, bias in (("float8_e4m3fn", 7), ("float8_e4m3fnuz", 8), ("uint8", 8)):
            for kv_scale in (None, 0.3125):
                rows = [[(kv_scale or 1) * e4m3(c, bias) for c in codes] for codes in self.codes]
                got = self.decode(self.cache(dtype), kv_scale=None if kv_scale is None else self.number(kv_scale))
                self.compare(got, rows, SCALE)
        rows = [[0.3125 * e4m3(c) for c in codes] for codes in self.codes]
        self.compare(self.decode(self.cache("float8_e4m3fn"), kv_scale=Buffer(self.ctx, (), "float32", [0.3125])), rows, SCALE)
        rows = [[e4m3(c) for c in codes] for codes in self.codes]
        self.compare(self.decode(self.cache("float8_e4m3fn"), q_scale=0.5), rows, SCALE / 2)
        self.compare(self.decode(self.cache("float8_e4m3fn"), sm_scale=0.25, q_scale=0.5), rows, 0.125)

    def queries_of_bytes(self, dtype, bias, scale):
        """Q of 8 bits, and its values in place of those of 16."""
        rng = random.Random(7)
        codes = [rng.choice((0, 128)) | rng.randrange(40, 72) for _ in range(len(self.q) * COLS)]
        wide_q = [scale * e4m3(c, bias) for c in codes]
        q = [Buffer(self.ctx, (len(LENGTHS), *more, HEADS, COLS), dtype, codes) for more in ((), (1,))]
        return q, [wide_q[COLS * i:COLS * i + COLS] for i in range(len(self.q))]

    def test_queries_of_bytes(self):
        for dtype, bias in (("float8_e4m3fn", 7), ("float8_e4m3fnuz", 8), ("uint8", 8)):
            (flat, rows_q), wide_q = self.queries_of_bytes(dtype, bias, 0.75)
            rows = [[0.3125 * e4m3(c, bias) for c in codes] for codes in self.codes]
            o = Buffer(self.ctx, (len(LENGTHS), HEADS, RANK), "bfloat16", [0x7fff] * (len(LENGTHS) * HEADS * RANK))
            mlaforge.mla_decode_fwd(flat, self.cache(dtype), o, *self.tables, 1, q_scale=self.number(0.75), kv_scale=self.number(0.3125), ctx=self.ctx)
            self.compare(values(o), rows, SCALE, q=wide_q)
            made, _ = mlaforge.mla_decode_fwd(flat, self.cache(dtype), None, *self.tables, 1, q_scale=self.number(0.75), kv_scale=self.number(0.3125),
                                              head_dim_v=RANK, ctx=self.ctx)
            self.assertEqual((made.dtype, values(made)), ("bfloat16", values(o)))
            out, lse = mlaforge.flash_mla_with_kvcache(rows_q, self.cache(dtype), self.block_table, self.lengths, RANK, descale_q=self.number(0.75),
                                                       descale_k=self.number(0.3125), ctx=self.ctx)
            self.assertEqual(out.dtype, "bfloat16")
            self.compare(values(out), rows, SCALE, q=wide_q)
            lists = [[self.order[0] * PAGE + 3, -1, self.order[0] * PAGE] for _ in LENGTHS]
            out, lse = mlaforge.flash_mla_with_kvcache(rows_q, self.cache(dtype), None, None, RANK, descale_q=self.number(0.75), descale_k=self.number(0.3125),
                                                       indices=Buffer(self.ctx, (len(LENGTHS), 1, 3), "int32", sum(lists, [])), ctx=self.ctx)
            self.compare(values(out), None, SCALE, [[rows[i] for i in one if i >= 0] for one in lists], q=wide_q)

    def test_queries_of_bytes_that_are_refused(self):
        (flat, rows_q), _ = self.queries_of_bytes("float8_e4m3fn", 7, 1)
        o = Buffer(self.ctx, (len(LENGTHS), HEADS, RANK), "bfloat16")
        one = self.number(1)
        for text, q, cache, more in (
                ("q is float8_e4m3fn, must be float8_e4m3fnuz, as its cache is", flat, self.cache("float8_e4m3fnuz"), {"q_scale": one}),
                ("q is float8_e4m3fn; bfloat16 and float16 are accepted", flat, self.own_cache, {"q_scale": one}),
                ("q_scale is int32, must be float32", flat, self.cache("float8_e4m3fn"), {"q_scale": Buffer(self.ctx, (1,), "int32", [1])}),
                ("q_scale has 2 numbers", flat, self.cache("float8_e4m3fn"), {"q_scale": Buffer(self.ctx, (2,), "float32", [1, 1])})):
            with self.assertRaisesRegex(mlaforge.MlafError, text):
                mlaforge.mla_decode_fwd(q, cache, o, *self.tables, 1, ctx=self.ctx, **more)
        with self.assertRaisesRegex(mlaforge.MlafError, "descale_q is int32, must be float32"):
            mlaforge.flash_mla_with_kvcache(rows_q, self.cache("float8_e4m3fn"), self.block_table, self.lengths, RANK, descale_k=one,
                                            descale_q=Buffer(self.ctx, (1,), "int32", [1]), ctx=self.ctx)
        for text, q, more in (("both are wanted", rows_q, {"descale_q": one}), ("q has 16 bits", self.rows_q, {"descale_q": one, "descale_k": one}),
                              ("is_fp8_kvcache is True", rows_q, {"descale_q": one, "descale_k": one, "is_fp8_kvcache": True})):
            with self.assertRaisesRegex(mlaforge.MlafError, text):
                mlaforge.flash_mla_with_kvcache(q, self.own_cache, self.block_table, self.lengths, RANK, ctx=self.ctx, **more)

    def test_scales_of_tokens(self):
        self.compare(self.decode(self.own_cache), self.own, SCALE)
        for dtype in ("uint8", "float8_e4m3fn"):
            cache = Buffer(self.ctx, (sum(PAGES), PAGE, 1, DS_ROW), dtype, list(self.own_bytes))
            out, lse = mlaforge.flash_mla_with_kvcache(self.rows_q, cache, self.block_table, self.lengths, RANK, is_fp8_kvcache=True, ctx=self.ctx)
            self.compare(values(out), self.own, SCALE)

    def pair(self, dtype, spare=0):
        """A cache of two tensors, codes and rope columns of 16 bits; so many bytes and columns lie between rows."""
        total = sum(PAGES) * PAGE
        codes = sum((c[:RANK] + [0x7f] * spare for c in self.codes), [])
        ropes = sum((r + [0x7fff] * spare for r in self.rope_bits), [])
        return tuple(Buffer(self.ctx, (sum(PAGES), PAGE, n), kind, data[:(total - 1) * (n + spare) + n], ((n + spare) * PAGE, n + spare, 1))
                     for n, kind, data in ((RANK, dtype, codes), (ROPE, "bfloat16", ropes)))

    def test_rope_columns_of_16_bits_in_another_tensor(self):
        for dtype, kv_scale, spare in (("float8_e4m3fn", None, 0), ("uint8", 0.3125, 16), ("float8_e4m3fn", 0.3125, 16)):
            rows = [[(kv_scale or 1) * e4m3(c) for c in codes[:RANK]] + [wide(b) for b in rope] for codes, rope in zip(self.codes, self.rope_bits)]
            got = self.decode(self.pair(dtype, spare), kv_scale=None if kv_scale is None else self.number(kv_scale))
            self.compare(got, rows, SCALE)
            made, _ = mlaforge.mla_decode_fwd(self.flat_q, self.pair(dtype, spare), None, *self.tables, 1, ctx=self.ctx,
                                              kv_scale=None if kv_scale is None else self.number(kv_scale))
            self.assertEqual(values(made), got)
        codes, ropes = self.pair("float8_e4m3fn")
        for text, pair in (("kv_buffer has rows of 63 bytes, of kpe16 with", (Buffer(self.ctx, (sum(PAGES), PAGE, 63), "uint8"), ropes)),
                           ("kv_buffer's kpe is float16, must be bfloat16", (codes, Buffer(self.ctx, (sum(PAGES), PAGE, ROPE), "float16"))),
                           ("kv_buffer is float8_e4m3fnuz, must be bfloat16", (Buffer(self.ctx, (sum(PAGES), PAGE, RANK), "float8_e4m3fnuz"), ropes))):
            with self.assertRaisesRegex(mlaforge.MlafError, text):
                self.decode(pair)

    def test_scales_in_another_tensor(self):
        """Queries without rope columns; 16 spare bytes lie between rows of both tensors."""
        spare = 16
        codes = sum((c[:RANK] + [0x7f] * spare for c in self.codes), [])
        scales = sum(([s, 7, math.nan, 7, math.nan, math.nan, math.nan, math.nan] for s in self.scales), [])
        pair = (Buffer(self.ctx, (sum(PAGES), PAGE, RANK), "float8_e4m3fn", codes[:-spare], ((RANK + spare) * PAGE, RANK + spare, 1)),
                Buffer(self.ctx, (sum(PAGES), PAGE, 4), "float32", scales[:-4], (8 * PAGE, 8, 1)))
        q = [row[:RANK] for row in self.q]
        flat = Buffer(self.ctx, (len(LENGTHS), HEADS, RANK), "bfloat16", [bf16(x) for row in q for x in row])
        o = Buffer(self.ctx, (len(LENGTHS), HEADS, RANK), "bfloat16", [0x7fff] * (len(LENGTHS) * HEADS * RANK))
        mlaforge.mla_decode_fwd(flat, pair, o, *self.tables, 1, ctx=self.ctx)
        self.compare(values(o), [row[:RANK] for row in self.own], 1 / math.sqrt(RANK), q=q)
        for text, given, more in (("kv_scale is .*, must be NULL: tokens of the problem's cache hold their scales", flat, {"kv_scale": self.number(1)}),
                                  ("kv_buffer is fp8_scales, whose tokens have no rope columns: the problem needs p0", self.flat_q, {})):
            with self.assertRaisesRegex(mlaforge.MlafError, text):
                mlaforge.mla_decode_fwd(given, pair, o, *self.tables, 1, ctx=self.ctx, **more)

    def planar(self, page):
        """The bytes of own_cache in pages of so many tokens: all codes, all scales, all rope columns, and what pads a page to whole rows."""
        rows = [self.own_bytes[i:i + DS_ROW] for i in range(0, len(self.own_bytes), DS_ROW)]
        size, out = -(-page * DS_ROW // RANK) * RANK, b""
        for first in range(0, len(rows), page):
            parts = [b"".join(row[a:b] for row in rows[first:first + page]) for a, b in ((0, RANK), (RANK, RANK + 16), (RANK + 16, DS_ROW))]
            out += b"".join(parts) + bytes([0x7f] * (size - page * DS_ROW))
        last = size - page * DS_ROW  # a tensor ends with its last token
        return Buffer(self.ctx, (len(rows) // page, page, 1, DS_ROW), "uint8", list(out)[:len(out) - last], (size, DS_ROW, DS_ROW, 1))

    def test_parts_of_tokens_in_rows_of_their_page(self):
        out, _ = mlaforge.flash_mla_with_kvcache(self.rows_q, self.planar(PAGE), self.block_table, self.lengths, RANK, is_fp8_kvcache="fp8_planar",
                                                 ctx=self.ctx)
        self.compare(values(out), self.own, SCALE)
        made, _ = mlaforge.mla_decode_fwd(self.flat_q, self.planar(PAGE), None, *self.tables, 1, head_dim_v=RANK, cache_format="fp8_planar", ctx=self.ctx)
        self.assertEqual(values(made), values(out))
        usual, _ = mlaforge.mla_decode_fwd(self.flat_q, self.planar(PAGE), None, *self.tables, 1, head_dim_v=RANK, ctx=self.ctx)
        self.assertNotEqual(values(usual), values(out))
        tight = Buffer(self.ctx, (sum(PAGES), 3, 1, DS_ROW), "uint8")
        for text, cache, word in (("k_cache's page stride is 432, must be a multiple of 64 from 448 on: pages of 3 tokens of fp8_planar", tight, "fp8_planar"),
                                  ("is_fp8_kvcache is 'planar'; accepted are None, .*'fp8_planar', .*'fp8_planar_fnuz'", self.own_cache, "planar")):
            with self.assertRaisesRegex(mlaforge.MlafError, text):
                mlaforge.flash_mla_with_kvcache(self.rows_q, cache, self.block_table, self.lengths, RANK, is_fp8_kvcache=word, ctx=self.ctx)

    def test_parts_of_tokens_of_the_other_encoding(self):
        """Codes of e4m3fnuz: each value is half of e4m3fn's, dense and by lists."""
        halves = [[x / 2 for x in row[:RANK]] + row[RANK:] for row in self.own]
        made, _ = mlaforge.mla_decode_fwd(self.flat_q, self.planar(PAGE), None, *self.tables, 1, head_dim_v=RANK, cache_format="fp8_planar_fnuz", ctx=self.ctx)
        self.compare(values(made), halves, SCALE)
        lists = [[(7 * r + 3 * i) % len(halves) if i % 4 else -1 for i in range(20)] for r in range(len(LENGTHS))]
        for page in (PAGE, 5):
            out, _ = mlaforge.flash_mla_with_kvcache(self.rows_q, self.planar(page), None, None, RANK, is_fp8_kvcache="fp8_planar_fnuz",
                                                     indices=Buffer(self.ctx, (len(LENGTHS), 1, 20), "int32", sum(lists, [])), ctx=self.ctx)
            self.compare(values(out), None, SCALE, [[halves[i] for i in one if i >= 0] for one in lists])

    def test_parts_of_tokens_in_rows_of_their_page_by_lists(self):
        rng, topk = random.Random(7), 20
        lists = [[rng.choice((-1, len(self.own), rng.randrange(len(self.own)), rng.randrange(len(self.own)))) for _ in range(topk)] for _ in LENGTHS]
        indices = Buffer(self.ctx, (len(LENGTHS), 1, topk), "int32", sum(lists, []))
        for page in (PAGE, 1, 5):
            out, _ = mlaforge.flash_mla_with_kvcache(self.rows_q, self.planar(page), None, None, RANK, is_fp8_kvcache="fp8_planar", indices=indices,
                                                     ctx=self.ctx)
            self.compare(values(out), None, SCALE, [[self.own[i] for i in one if 0 <= i < len(self.own)] for one in lists])
        with self.assertRaisesRegex(mlaforge.MlafError, "a second pool is given, which is read beside a cache of fp8_v4: k_cache is fp8_planar"):
            mlaforge.flash_mla_with_kvcache(self.rows_q, self.planar(PAGE), None, None, RANK, is_fp8_kvcache="fp8_planar", indices=indices,
                                            extra_k_cache=self.planar(PAGE), extra_indices_in_kvcache=indices, ctx=self.ctx)

    def test_an_infinite_scale(self):
        usual, token = self.decode(self.own_cache), (self.order[0] * PAGE + 5) * DS_ROW + RANK
        spoilt = self.own_bytes[:token] + struct.pack("f", math.inf) + self.own_bytes[token + 4:]
        got = self.decode(Buffer(self.ctx, (sum(PAGES), PAGE, 1, DS_ROW), "uint8", list(spoilt)))
        self.assertTrue(all(not math.isfinite(wide(x)) for x in got[:HEADS * RANK]))
        self.assertEqual(got[HEADS * RANK:], usual[HEADS * RANK:])

    def test_scales_of_tokens_by_lists(self):
        rng, topk = random.Random(5), 20
        lists = [[rng.choice((-1, rng.randrange(len(self.own)), rng.randrange(len(self.own)))) for _ in range(topk)] for _ in LENGTHS]
        indices = Buffer(self.ctx, (len(LENGTHS), 1, topk), "int32", sum(lists, []))
        out, lse = mlaforge.flash_mla_with_kvcache(self.rows_q, self.own_cache, None, None, RANK, is_fp8_kvcache=True, indices=indices, ctx=self.ctx)
        self.compare(values(out), None, SCALE, [[self.own[i] for i in one if i >= 0] for one in lists])

    def test_warm_up(self):
        shape = dict(heads=HEADS, rank=RANK, rope=ROPE, page_size=PAGE, batch=(1, 1), kv_len=(16, 32), block_tables=False)
        self.assertGreater(self.ctx.warm_up(**shape, cache_format="e4m3fn")["plans"], 0)
        self.assertGreater(self.ctx.warm_up(**shape, cache_format="e4m3fn", fp8_q=True)["plans"], 0)
        self.assertGreater(self.ctx.warm_up(**shape, cache_format="kpe16")["plans"], 0)
        with self.assertRaisesRegex(mlaforge.MlafError, "cache_format is 'fp8'; accepted are None, 'fp8_ds_mla', 'e4m3fn', 'e4m3fnuz', 'fp8_v4', 'fp8_planar', 'kpe16', 'fp8_scales', 'fp8_planar_fnuz'"):
            self.ctx.warm_up(**shape, cache_format="fp8")

    def test_what_is_not_read_is_named(self):
        flat = self.cache("float8_e4m3fn")

        def refused(text, cache, **more):
            with self.assertRaisesRegex(mlaforge.MlafError, text):
                self.decode(cache, **more)

        def rows(columns, dtype):
            return Buffer(self.ctx, (sum(PAGES), PAGE, 1, columns), dtype)
        refused("kv_scale is 0.5, must be a tensor of one float32", flat, kv_scale=0.5)
        refused("kv_scale has 2 numbers, must have one", flat, kv_scale=Buffer(self.ctx, (2,), "float32", [1, 1]))
        for shape in ((1,), ()):
            refused("kv_scale is int32, must be float32", flat, kv_scale=Buffer(self.ctx, shape, "int32", [1]))
        refused("kv_scale is .*, must be NULL: tokens of the problem's cache hold their scales", self.own_cache, kv_scale=self.number(1))
        refused("kv_scale is .*, must be NULL: the problem has a cache of 16 bits", rows(COLS, "bfloat16"), kv_scale=self.number(1))
        refused("kv_scale is given and kv_buffer is a pair of tensors", (rows(RANK, "bfloat16"), rows(ROPE, "bfloat16")), kv_scale=self.number(1))
        refused("keys of an 8-bit cache are rotated already when they are written", flat, rope_style="pairs",
                rope_table=Buffer(self.ctx, (64, ROPE), "float32", [1] * (64 * ROPE)))
        refused("q_scale is a tensor, must be a number", flat, q_scale=self.number(1))
        refused("kv_buffer is fp8_v4, whose tokens have 512 columns that are K and V alike.*: the problem needs r512,p0,bf16", rows(584, "uint8"))
        refused(r"kv_buffer is uint8 with rows of 64 bytes; of 64 \+ 32 columns they have 144 \(fp8_ds_mla\), 96 \(e4m3fn\), 96 \(e4m3fnuz\)",
                rows(RANK, "uint8"))
        refused("kv_buffer is float8_e4m3fnuz with rows of 144 bytes", rows(DS_ROW, "float8_e4m3fnuz"))
        for cache, text in ((flat, "k_cache has rows of 96 numbers, must be uint8 or float8_e4m3fn with rows of 144 or 584 bytes"),
                            (rows(COLS, "bfloat16"), "k_cache has rows of 96 numbers, must be uint8"), (None, "k_cache is one tensor of bytes")):
            with self.assertRaisesRegex(mlaforge.MlafError, "is_fp8_kvcache is True.*" + text):
                mlaforge.flash_mla_with_kvcache(self.rows_q, cache, self.block_table, self.lengths, RANK, is_fp8_kvcache=True, ctx=self.ctx)
        with self.assertRaisesRegex(mlaforge.MlafError, "k_cache is uint8, must be bfloat16: an 8-bit cache is read where the call says its format"):
            mlaforge.flash_mla_with_kvcache(self.rows_q, self.own_cache, self.block_table, self.lengths, RANK, ctx=self.ctx)


class CacheTestByCtypes(CacheTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.ctx.use(None)
