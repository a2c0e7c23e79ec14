"""mla_index_append: keys and queries that it makes, beside plain Python, and the rows that mla_index then selects."""
import math
import random
import struct
import unittest

import mlaforge
from buffers import EmulatorTest, e4m3

T, H, PAGE, PAGES, POSITIONS = 4, 32, 16, 3, 9
SLOTS, AT, LENS = [17, 40, -1, 3], [8, 0, 5, 3], [40, 7]


def bf16(x):
    """x as the nearest bfloat16 has it."""
    bits = struct.unpack("I", struct.pack("f", x))[0]
    return struct.unpack("f", struct.pack("I", (bits + 0x7fff + (bits >> 16 & 1)) >> 16 << 16))[0]


def rotated(row, angles, style):
    out = list(row)
    for i in range(32):
        a, b = (2 * i, 2 * i + 1) if style == "pairs" else (i, i + 32)
        c, s = angles[i], angles[32 + i]
        out[a], out[b] = row[a] * c - row[b] * s, row[b] * c + row[a] * s
    return out


def layer_norm(row, gain, bias):
    mean = sum(row) / 128
    factor = 1 / math.sqrt(sum((x - mean) ** 2 for x in row) / 128 + 1e-6)
    return [(x - mean) * factor * g + b for x, g, b in zip(row, gain, bias)]


def hadamard(row):
    return [sum(-x if bin(i & k).count("1") % 2 else x for k, x in enumerate(row)) / math.sqrt(128) for i in range(128)]


class IndexAppend(EmulatorTest):
    def buffer(self, shape, dtype, code, values):
        data = b"".join(struct.pack("f", x)[2:] for x in values) if code == "bf16" else struct.pack(f"{len(values)}{code}", *values)
        return mlaforge.Buffer(self.ctx, shape, dtype, data)

    def read(self, buffer, code, n, at=0):
        return struct.unpack(f"{n}{code}", self.ctx.read(buffer.data_ptr() + at, n * struct.calcsize(code)))

    def arguments(self):
        rng = random.Random(3)
        self.k, self.q = ([[bf16(rng.gauss(0, 1)) for _ in range(128)] for _ in range(n)] for n in (T, T * H))
        self.w = [bf16(rng.gauss(0, 1)) for _ in range(T * H)]
        self.gain, self.bias = ([rng.gauss(m, 0.25) for _ in range(128)] for m in (1, 0))
        self.table = [[f(p / 50 ** (i / 32)) for f in (math.cos, math.sin) for i in range(32)] for p in range(POSITIONS)]
        floats, words = lambda n, x: self.buffer((n,), "float32", "f", x), lambda x: self.buffer((T,), "int64", "q", x)
        self.cache = mlaforge.Buffer(self.ctx, (PAGES, PAGE, 132), "uint8", b"\x5a" * (PAGES * PAGE * 132))
        return dict(k=self.buffer((T, 128), "bfloat16", "bf16", sum(self.k, [])), norm_weight=floats(128, self.gain), norm_bias=floats(128, self.bias),
                    slots=words(SLOTS), positions=words(AT), cos_sin_cache=self.buffer((POSITIONS, 64), "float32", "f", sum(self.table, [])),
                    cache=self.cache, q=self.buffer((T, H, 128), "bfloat16", "bf16", sum(self.q, [])),
                    weights=self.buffer((T, H), "bfloat16", "bf16", self.w), seq_lens=self.buffer((2,), "int32", "i", LENS))

    def same(self, codes, scale, want, power_of_two):
        """Codes of a row and their scale are those of `want`."""
        plain = max(map(abs, want)) / 448
        right = 2.0 ** math.ceil(math.log2(plain)) if power_of_two else plain
        self.assertAlmostEqual(scale / right, 1, delta=1e-6)
        for code, x in zip(codes, want):
            self.assertLessEqual(abs(e4m3(code) - x / scale), 1e-4 + abs(x / scale) / 16 + 2 ** -10)

    def check(self, style, turn, power_of_two):
        arguments = self.arguments()
        q8, w8, lengths = mlaforge.mla_index_append(**arguments, style=style, hadamard=turn, power_of_two=power_of_two, ctx=self.ctx)
        finish = hadamard if turn else list
        codes, weights = self.read(q8, "B", T * H * 128), self.read(w8, "f", T * H)
        for i in range(0, T * H, 7):
            scale = weights[i] / self.w[i] * math.sqrt(128 * H)
            self.same(codes[128 * i:128 * i + 128], scale, finish(rotated(self.q[i], self.table[AT[i // H]], style)), power_of_two)
        for t, slot in enumerate(SLOTS):
            if slot < 0:
                continue
            page = slot // PAGE * PAGE * 132
            key = self.read(self.cache, "B", 128, page + 128 * (slot % PAGE))
            scale, = self.read(self.cache, "f", 1, page + 128 * PAGE + 4 * (slot % PAGE))
            self.same(key, scale, finish(rotated(layer_norm(self.k[t], self.gain, self.bias), self.table[AT[t]], style)), power_of_two)
        written = sum(x != 0x5a for x in self.read(self.cache, "B", PAGES * PAGE * 132))
        self.assertLessEqual(written, 3 * 132)
        self.assertEqual(list(self.read(lengths, "i", T)), [39, 40, 6, 7])

    def test_beside_plain_python(self):
        self.check("halves", False, True)
        self.check("pairs", True, False)

    def test_what_it_makes_is_selected(self):
        arguments = self.arguments()
        q8, w8, lengths = mlaforge.mla_index_append(**arguments, ctx=self.ctx)
        table = self.buffer((2, PAGES), "int32", "i", [1, 2, 0, 0, 1, 2])
        out = mlaforge.mla_index(q8, w8, self.cache, table, lengths, 40, ctx=self.ctx)
        rows = [16 + i for i in range(32)] + list(range(16))
        self.assertEqual(list(self.read(out, "i", 40)), rows[:39] + [-1])

    def test_keys_alone(self):
        arguments = self.arguments()
        for name in ("q", "weights", "seq_lens"):
            del arguments[name]
        self.assertEqual(mlaforge.mla_index_append(**arguments, ctx=self.ctx), (None, None, None))
        self.assertNotEqual(self.read(self.cache, "B", 128, 128 * 3), (0x5a,) * 128)

    def test_no_request(self):
        arguments = {**self.arguments(), **{name: mlaforge.Buffer(self.ctx, shape, dtype) for name, shape, dtype in (
            ("k", (0, 128), "bfloat16"), ("q", (0, H, 128), "bfloat16"), ("weights", (0, H), "bfloat16"), ("slots", (0,), "int64"),
            ("positions", (0,), "int64"), ("seq_lens", (0,), "int32"))}}
        self.assertEqual([x.shape for x in mlaforge.mla_index_append(**arguments, ctx=self.ctx)], [(0, H, 128), (0, H), (0,)])

    def test_wrong_arguments_are_named(self):
        def wrong(text, **change):
            with self.assertRaisesRegex(mlaforge.MlafError, text):
                mlaforge.mla_index_append(**{**self.arguments(), **change}, ctx=self.ctx)
        wrong("q and weights come together", q=None)
        wrong("seq_lens has 3 requests for 4 tokens", seq_lens=self.buffer((3,), "int32", "i", [1, 2, 3]))
        wrong("cache has the shape", cache=mlaforge.Buffer(self.ctx, (PAGES, PAGE, 128), "uint8", b"\0" * (PAGES * PAGE * 128)))
        wrong("cos_sin_cache", cos_sin_cache=self.buffer((POSITIONS, 32), "float32", "f", [0.0] * (POSITIONS * 32)))
        wrong("style is 'both'", style="both")
        cache = lambda strides: mlaforge.Buffer(self.ctx, (2, 5, 132), "uint8", None, strides)
        wrong("cache has pages 660 bytes apart, must be a multiple of 16 from 672 on", cache=cache((660, 132, 1)))
        wrong("cache has pages 512 bytes apart, must be a multiple of 16 from 672 on", cache=cache((512, 132, 1)))  # they would overlap
        wrong("cos_sin_cache has the shape .0, 64.: it must have a row", cos_sin_cache=mlaforge.Buffer(self.ctx, (0, 64), "float32"))
        wrong("weights_scale is 'x', must be a number", weights_scale="x")
        wrong("weights_scale is nan", weights_scale=math.nan)
        none, made = dict(q=None, weights=None), lambda *shape: mlaforge.Buffer(self.ctx, shape, "float32")
        wrong("w8 is given, and q is None", **none, w8=made(T, H))
        wrong("lengths is given, and seq_lens is None", seq_lens=None, lengths=made(T))
        wrong("k is float32", k=self.buffer((T, 128), "float32", "f", [0.0] * (T * 128)))
