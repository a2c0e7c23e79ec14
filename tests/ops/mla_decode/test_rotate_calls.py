"""A cache whose rope columns are not rotated, by mla_decode_fwd over the emulator with plain buffers, against plain Python."""
import math
import random
import struct
import unittest

import mlaforge
from buffers import Buffer, attention, bf16, values, wide

HEADS, RANK, ROPE, PAGE = 3, 64, 32, 16
COLS, HALF, LENGTHS, PAGES = RANK + ROPE, ROPE // 2, (37, 0, 1, 16), (3, 0, 1, 1)


def rounded(x):
    return wide(bf16(x))


def table(positions):
    """The chain of the AMD challenge of 2025: frequency, angle, cosine and sine are each rounded to bf16."""
    theta = [rounded(10000 ** -rounded(2 * i / ROPE)) for i in range(HALF)]
    rows = [[rounded(rounded(p) * t) for t in theta] for p in range(positions)]
    return [[rounded(math.cos(x)) for x in row] + [rounded(math.sin(x)) for x in row] for row in rows]


def turned(key, angles, style):
    """A key's columns, rotated and rounded to bf16."""
    out, rope = list(key), key[RANK:]
    for i in range(HALF):
        a, b = (i, i + HALF) if style == "halves" else (2 * i, 2 * i + 1)
        c, s = angles[i], angles[HALF + i]
        out[RANK + a], out[RANK + b] = rounded(rope[a] * c - rope[b] * s), rounded(rope[b] * c + rope[a] * s)
    return out


class RotateTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ctx, rng = mlaforge.Context(device="emu:gfx942"), random.Random(3)
        total, batch = sum(PAGES), len(LENGTHS)
        cls.q_bits = [bf16(rng.gauss(0, 1)) for _ in range(batch * HEADS * COLS)]
        cls.kv_bits = [bf16(rng.gauss(0, 1)) for _ in range(total * PAGE * COLS)]
        cls.q = Buffer(cls.ctx, (batch, HEADS, COLS), "bfloat16", cls.q_bits)
        cls.kv = Buffer(cls.ctx, (total, PAGE, 1, COLS), "bfloat16", cls.kv_bits)
        cls.order = rng.sample(range(total), total)
        starts = [sum(PAGES[:b]) for b in range(batch + 1)]
        last = [n - (p - 1) * PAGE if p else 0 for n, p in zip(LENGTHS, PAGES)]
        cls.tables = [Buffer(cls.ctx, (len(x),), "int32", x) for x in (range(batch + 1), starts, cls.order, last)]
        cls.starts, cls.angles = starts, table(max(LENGTHS))

    @classmethod
    def tearDownClass(cls):
        cls.ctx.close()

    def floats(self, rows):
        return Buffer(self.ctx, (len(rows), ROPE), "float32", [x for row in rows for x in row])

    def call(self, **options):
        o = Buffer(self.ctx, (len(LENGTHS), HEADS, RANK), "bfloat16")
        mlaforge.mla_decode_fwd(self.q, self.kv, o, *self.tables, 1, ctx=self.ctx, **options)
        self.ctx.sync()
        got = [wide(h) for h in values(o)]
        return [got[i:i + RANK] for i in range(0, len(got), RANK)]

    def test_against_plain_python(self):
        for style in ("halves", "pairs"):
            got = self.call(rope_style=style, rope_table=self.floats(self.angles))
            for b, n in enumerate(LENGTHS):
                rows = [self.order[self.starts[b] + t // PAGE] * PAGE + t % PAGE for t in range(n)]
                keys = [turned([wide(h) for h in self.kv_bits[r * COLS:(r + 1) * COLS]], self.angles[t], style)
                        for t, r in enumerate(rows)]
                for h in range(HEADS):
                    q = [wide(x) for x in self.q_bits[(b * HEADS + h) * COLS:(b * HEADS + h + 1) * COLS]]
                    want, have = attention(q, keys, COLS ** -0.5, RANK)[0], got[b * HEADS + h]
                    off = math.sqrt(sum((x - y) ** 2 for x, y in zip(want, have)))
                    self.assertLessEqual(off, 5e-3 * math.sqrt(sum(x * x for x in want)), (style, b, h))

    def test_a_short_table_makes_longer_requests_nan(self):
        got = self.call(rope_style="halves", rope_table=self.floats(self.angles[:16]))
        for b, n in enumerate(LENGTHS):
            for row in got[b * HEADS:(b + 1) * HEADS]:
                self.assertEqual([math.isnan(x) for x in row], [n > 16] * RANK)

    def test_style_and_table_come_together(self):
        angles = self.floats(self.angles)
        for says, options in (("rope_table None.*wants both", {"rope_style": "halves"}), ("rope_style is None", {"rope_table": angles}),
                              ("must be .positions, rope dim., contiguous",
                               {"rope_style": "halves", "rope_table": Buffer(self.ctx, (4, HALF), "float32")}),
                              ("must be float32", {"rope_style": "halves", "rope_table": Buffer(self.ctx, (4, ROPE), "bfloat16")})):
            with self.assertRaisesRegex(mlaforge.MlafError, says):
                self.call(**options)
        with self.assertRaisesRegex(mlaforge.MlafError, "rope_style is 'quads'; accepted are 'pairs'.*'halves'"):
            self.call(rope_style="quads", rope_table=angles)
