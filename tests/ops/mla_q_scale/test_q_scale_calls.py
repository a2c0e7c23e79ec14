"""The entry point of scaling queries over the emulator with plain buffers, against plain Python."""
import math
import random
import unittest

import mlaforge
from buffers import FAR, Buffer, EmulatorTest, bf16, far, values, wide

HEADS, COLUMNS = 3, 64
POSITIONS = [0, 8191, 8192, 16383, 16384, 100000, -1]
NAN = 0x7FC0


class QScaleTest(EmulatorTest):
    def setUp(self):
        rng = random.Random(5)
        self.rows = [[[bf16(rng.gauss(0, 1)) for _ in range(COLUMNS)] for _ in range(HEADS)] for _ in POSITIONS]
        self.positions = Buffer(self.ctx, (len(POSITIONS),), "int64", POSITIONS)

    def queries(self, gap=0):
        """Heads with NaN between them."""
        head = COLUMNS + gap
        flat = [x for token in self.rows for row in token for x in row + [NAN] * gap]
        return Buffer(self.ctx, (len(POSITIONS), HEADS, COLUMNS), "bfloat16", flat[:len(flat) - gap], (HEADS * head, head, 1))

    def check(self, got, gap=0, beta=0.1, original=8192):
        got, head = values(got), COLUMNS + gap
        for t, position in enumerate(POSITIONS):
            by = 1 + beta * math.log(1 + max(position, 0) // original)
            for h in range(HEADS):
                row = got[(t * HEADS + h) * head:][:COLUMNS]
                if by == 1:
                    self.assertEqual(list(row), self.rows[t][h])
                for x, y in zip(self.rows[t][h], row):
                    self.assertLessEqual(abs(wide(y) - by * wide(x)), 2 ** -8 * abs(by * wide(x)) + 1e-6)

    def test_apart(self):
        out = Buffer(self.ctx, (len(POSITIONS), HEADS, COLUMNS), "bfloat16", [NAN] * (len(POSITIONS) * HEADS * COLUMNS))
        self.assertIs(mlaforge.mla_q_scale(self.queries(16), self.positions, out=out, ctx=self.ctx), out)
        self.check(out)

    def test_in_place(self):
        for more in ({}, {"beta": 0.5, "original": 100}):
            q = self.queries(8)
            self.assertIs(mlaforge.mla_q_scale(q, self.positions, **more, ctx=self.ctx), q)
            self.check(q, 8, **more)

    def test_wrong_arguments(self):
        q = self.queries()
        short = Buffer(self.ctx, (2,), "int64", [0, 1])
        for wrong, word in ((dict(q=self.positions), "q is int64"), (dict(positions=short), "positions has the shape"),
                            (dict(positions=q), "positions is bfloat16"), (dict(out=self.positions), "out is int64"),
                            (dict(q=far(self.queries())), "q " + FAR), (dict(original=0), "original is 0"),
                            (dict(beta=math.inf), "beta is inf")):
            with self.assertRaisesRegex(mlaforge.MlafError, word):
                mlaforge.mla_q_scale(**{"q": q, "positions": self.positions, **wrong}, ctx=self.ctx)
