"""Layers over caches of 8 bits, over the emulator: the rows they append, and attention over what the bytes say."""
import math
import random
import struct
import unittest

import mlaforge
from buffers import Buffer, bf16, values, wide
from test_layer_calls import D, H, L, N, P, PAGE, PAGES, POSITIONS, V

R, ROW = 512, {"e4m3fn": 512 + P, "e4m3fnuz": 512 + P, "fp8_ds_mla": 512 + 16 + 2 * P, "kpe16": 512 + 2 * P, "fp8_scales": 512 + 16}
ROW["fp8_planar"] = ROW["fp8_planar_fnuz"] = ROW["fp8_ds_mla"]
SECOND = {"kpe16": ("bfloat16", "H"), "fp8_scales": ("float32", "f")}  # the second tensor of a pair: its type, and that of struct
IN_PARTS = ("fp8_planar", "fp8_planar_fnuz")
OWN_SCALES = ("fp8_ds_mla", "fp8_scales", *IN_PARTS)
PARTS = ((0, R), (R, R + 16), (R + 16, R + 16 + 2 * P))  # of a token of fp8_planar, whose pages are whole rows of R bytes
PLANAR = -(-PAGE * ROW["fp8_planar"] // R) * R
TOKENS, PAST, SCALE = 3, 20, 0.0625


def number(code, fnuz):
    exponent, mantissa, bias = code >> 3 & 15, code & 7, 8 if fnuz else 7
    size = math.ldexp(8 + mantissa, exponent - bias - 3) if exponent else math.ldexp(mantissa, -bias - 2)
    return -size if code & 128 else size


class Cases(unittest.TestCase):
    rope = P

    @classmethod
    def setUpClass(cls):
        cls.ctx, cls.rng = mlaforge.Context(device="emu:gfx942"), random.Random(9)
        cls.weights = {}
        shapes = {"q_a_proj": (L, D), "q_a_layernorm": (L,), "q_b_proj": (H * (N + cls.rope), L), "kv_a_proj_with_mqa": (R + cls.rope, D),
                  "kv_a_layernorm": (R,), "kv_b_proj": (H * (N + V), R), "o_proj": (D, H * V)}
        for name, shape in shapes.items():
            bits = [bf16(cls.rng.uniform(0.8, 1.2) if len(shape) == 1 else cls.rng.gauss(0, shape[1] ** -0.5)) for _ in range(math.prod(shape))]
            cls.weights[f"layers.0.self_attn.{name}.weight"] = Buffer(cls.ctx, shape, "bfloat16", bits)
        table = [f(t * 10000 ** (-2 * i / P)) for t in range(POSITIONS) for f in (math.cos, math.sin) for i in range(P // 2)]
        cls.rotations = Buffer(cls.ctx, (POSITIONS, P), "float32", table)

    @classmethod
    def tearDownClass(cls):
        cls.ctx.close()

    def layer(self, **more):
        made = mlaforge.Layer(self.weights, heads=H, rank=R, rope=self.rope, nope=N, v=V, cos_sin_cache=self.rotations if self.rope else None, scale=0.1,
                              batch=TOKENS, page_size=PAGE, kv_len=(64, 64), ctx=self.ctx, **more)
        self.addCleanup(made.close)
        return made

    def ints(self, kind, numbers, *shape):
        return Buffer(self.ctx, shape or (len(numbers),), kind, numbers)

    def decoded(self, kind, row):
        """The numbers of a token's bytes."""
        fnuz = kind.endswith("fnuz")
        if kind == "kpe16":
            return [number(code, fnuz) * SCALE for code in row[:R]] + [wide(x) for x in struct.unpack(f"{P}H", row[R:])]
        if kind not in OWN_SCALES:
            return [number(code, fnuz) * SCALE for code in row]
        scales = struct.unpack("4f", row[R:R + 16])
        return [number(code, fnuz) * scales[c // 128] for c, code in enumerate(row[:R])] + \
            [wide(x) for x in struct.unpack(f"{self.rope}H", row[R + 16:])]

    def row(self, kind):
        nan = (0x80,) if kind.endswith("fnuz") else (0x7F, 0xFF)
        codes = [c for c in (self.rng.randrange(256) for _ in range(4 * (R + P))) if c not in nan and abs(number(c, kind.endswith("fnuz"))) < 60]
        rope = struct.pack(f"{self.rope}H", *(bf16(self.rng.gauss(0, 1)) for _ in range(self.rope)))
        if kind == "kpe16":
            return bytes(codes[:R]) + rope
        if kind not in OWN_SCALES:
            return bytes(codes[:R + P])
        scales = [2.0 ** -self.rng.randrange(3, 7) for _ in range(4)]
        return bytes(codes[:R]) + struct.pack("4f", *scales) + rope

    def cache(self, kind, rows):
        """Rows of tokens as the layer takes them: of some formats two tensors."""
        if kind in IN_PARTS:
            pages = [b"".join(row[a:b] for a, b in PARTS for row in rows[i:i + PAGE]).ljust(PLANAR, b"\x7f") for i in range(0, PAGES * PAGE, PAGE)]
            return Buffer(self.ctx, (PAGES, PAGE, ROW[kind]), "uint8", b"".join(pages)[:PLANAR * (PAGES - 1) + PAGE * ROW[kind]], (PLANAR, ROW[kind], 1))
        if kind not in SECOND:
            return Buffer(self.ctx, (PAGES, PAGE, ROW[kind]), "uint8", b"".join(rows))
        dtype, word = SECOND[kind]
        second = [struct.unpack(f"{len(row[R:]) // struct.calcsize(word)}{word}", row[R:]) for row in rows]
        return (Buffer(self.ctx, (PAGES, PAGE, R), "float8_e4m3fn", b"".join(row[:R] for row in rows)),
                Buffer(self.ctx, (PAGES, PAGE, len(second[0])), dtype, [x for row in second for x in row]))

    def rows(self, kind, cache):
        def cut(tensor, size):
            data = tensor.read()
            return [data[i * size:(i + 1) * size] for i in range(PAGES * PAGE)]
        if kind in IN_PARTS:
            data = cache.read()
            return [b"".join(data[page * PLANAR + PAGE * a + slot * (b - a):][:b - a] for a, b in PARTS) for page in range(PAGES) for slot in range(PAGE)]
        if kind not in SECOND:
            return cut(cache, ROW[kind])
        return [a + b for a, b in zip(cut(cache[0], R), cut(cache[1], ROW[kind] - R))]

    def check(self, kind):
        """An 8-bit layer's output is that of a 16-bit layer which appends nothing, over the numbers of the bytes: those that were there, and
        those that the 8-bit layer wrote. What it wrote is what a 16-bit layer writes, rounded to 8 bits."""
        flat, columns = kind.startswith("e4m3"), R + self.rope
        scale = None if kind in OWN_SCALES else Buffer(self.ctx, (1,), "float32", [SCALE])
        eight, plain = self.layer(cache=kind, cache_scale=scale), self.layer()
        rows = [self.row(kind) for _ in range(PAGES * PAGE)]
        cache = self.cache(kind, rows)
        pages = [[0, 5], [3, 1], [7, 2]]
        slots = [table[(PAST + t) // PAGE] * PAGE + (PAST + t) % PAGE for t, table in enumerate(pages)]
        hidden = Buffer(self.ctx, (TOKENS, D), "bfloat16", [bf16(self.rng.gauss(0, 1)) for _ in range(TOKENS * D)])
        tables = self.ints("int32", [PAST + t + 1 for t in range(TOKENS)]), self.ints("int32", sum(pages, []), TOKENS, 2)
        positions = self.ints("int64", [PAST + t for t in range(TOKENS)])
        y = eight(hidden, positions, self.ints("int64", slots), cache, *tables)
        now = self.rows(kind, cache)
        self.assertEqual([i for i in range(PAGES * PAGE) if now[i] != rows[i]], sorted(slots))
        said = [self.decoded(kind, row) for row in now]
        wide_cache = Buffer(self.ctx, (PAGES, PAGE, columns), "bfloat16", [bf16(x) for row in said for x in row])
        want = plain(hidden, positions, self.ints("int64", [-1] * TOKENS), wide_cache, *tables)
        a, b = ([wide(x) for x in values(t)] for t in (y, want))
        self.assertLess(math.dist(a, b) / math.hypot(*b), 6e-3)
        plain(hidden, positions, self.ints("int64", slots), wide_cache, *tables)
        written = values(wide_cache)
        for slot in slots:
            row = [wide(x) for x in written[slot * columns:(slot + 1) * columns]]
            self.assertLess(math.dist(row[:R], said[slot][:R]) / math.hypot(*row[:R]), 0.04)
            self.assertLessEqual(math.dist(row[R:], said[slot][R:]), (0.04 if flat else 1e-6) * math.hypot(*row[R:]))

    def prefill(self, kind):
        """Rows of the cache become keys and values, those of new tokens once they are written."""
        scale = None if kind in OWN_SCALES else Buffer(self.ctx, (1,), "float32", [SCALE])
        eight, plain = self.layer(cache=kind, cache_scale=scale, prefill_tokens=16), self.layer(prefill_tokens=16)
        rows, n = [self.row(kind) for _ in range(PAGES * PAGE)], 5
        cache = self.cache(kind, rows)
        hidden = Buffer(self.ctx, (n, D), "bfloat16", [bf16(self.rng.gauss(0, 1)) for _ in range(n * D)])
        positions, table = self.ints("int64", range(PAST, PAST + n)), self.ints("int32", [4, 6, 1], 1, 3)

        def call(layer, of, slots):
            y = layer(hidden, positions, self.ints("int64", slots), of, block_table=table, schedule=layer.schedule([n], [PAST]))
            return [wide(x) for x in values(y)]
        got = call(eight, cache, [6 * PAGE + (PAST + t) % PAGE for t in range(n)])
        said = [x for row in self.rows(kind, cache) for x in self.decoded(kind, row)]
        want = call(plain, Buffer(self.ctx, (PAGES, PAGE, R + self.rope), "bfloat16", [bf16(x) for x in said]), range(n))  # a page that nobody reads
        self.assertLess(math.dist(got, want) / math.hypot(*want), 6e-3)


class WithoutPositions(Cases):
    rope = 0

    def test_scales_in_another_tensor(self):
        self.check("fp8_scales")
        self.prefill("fp8_scales")


class Cache8(Cases):
    def test_e4m3fn(self):
        self.check("e4m3fn")

    def test_e4m3fnuz(self):
        self.check("e4m3fnuz")

    def test_tokens_with_scales(self):
        self.check("fp8_ds_mla")

    def test_parts_of_tokens_in_rows_of_their_page(self):
        for kind in IN_PARTS:
            self.check(kind)

    def test_rope_columns_in_another_tensor(self):
        self.check("kpe16")

    def test_prefill(self):
        for kind in ("e4m3fn", "fp8_ds_mla", "kpe16", *IN_PARTS):
            self.prefill(kind)

    def test_refused_by_name(self):
        for text, more in (("cache is 'fp8_v4', must be None or one of e4m3fn, e4m3fnuz, fp8_ds_mla, fp8_planar, fp8_planar_fnuz, fp8_scales, kpe16: its tokens have columns of their own", dict(cache="fp8_v4")),
                           ("cache is 'int4'", dict(cache="int4")), ("fp8_scales, whose tokens have no rope columns: the problem needs p0", dict(cache="fp8_scales")),
                           ("MLAF_LAYER_SPLIT_CACHE", dict(cache="e4m3fn", split_cache=True)),
                           ("MLAF_LAYER_SPLIT_CACHE", dict(cache="kpe16", split_cache=True)),
                           ("MLAF_LAYER_ROPE_ON_READ", dict(cache="e4m3fn", rope_on_read=True)),
                           ("cache_scale is 0x.*must be NULL: tokens", dict(cache="fp8_ds_mla", cache_scale=Buffer(self.ctx, (1,), "float32", [1.0]))),
                           ("cache_scale is float, must be a tensor", dict(cache="e4m3fn", cache_scale=1.0)),
                           ("cache_scale is int32", dict(cache="e4m3fn", cache_scale=self.ints("int32", [1])))):
            with self.assertRaisesRegex(mlaforge.MlafError, text):
                self.layer(**more)
        with self.assertRaisesRegex(mlaforge.MlafError, "cache must be a pair of tensors where split_cache is set or its format is kpe16 or fp8_scales, else"):
            self.layer(cache="kpe16")(Buffer(self.ctx, (1, D), "bfloat16", [0] * D), self.ints("int64", [0]), self.ints("int64", [0]),
                                      Buffer(self.ctx, (PAGES, PAGE, ROW["kpe16"]), "uint8"), self.ints("int32", [1]), self.ints("int32", [0], 1, 1))
        layer, hidden = self.layer(cache="e4m3fn"), Buffer(self.ctx, (1, D), "bfloat16", [0] * D)
        for dtype, columns, text in (("bfloat16", R + P, "cache is bfloat16, must be float8_e4m3fn"), ("uint8", ROW["fp8_ds_mla"], "cache has the shape"),
                                     ("float8_e4m3fnuz", R + P, "cache is float8_e4m3fnuz, must be float8_e4m3fn")):
            with self.assertRaisesRegex(mlaforge.MlafError, text):
                layer(hidden, self.ints("int64", [0]), self.ints("int64", [0]), Buffer(self.ctx, (PAGES, PAGE, columns), dtype), self.ints("int32", [1]),
                      self.ints("int32", [0], 1, 1))
