"""The entry point of dequantising weights over the emulator with plain buffers, against plain Python."""
import math
import random
import unittest

import mlaforge
from buffers import FAR, Buffer, EmulatorTest, bf16, far, values, wide

ROWS, R = 131, 160  # neither fills blocks of scales
NAN = 0x7FC0


def decode(code):
    """A byte of e4m3fnuz."""
    if code == 0x80:
        return math.nan
    exponent, mantissa = code >> 3 & 15, code & 7
    size = math.ldexp(8 + mantissa, exponent - 11) if exponent else math.ldexp(mantissa, -10)
    return -size if code & 0x80 else size


class DequantTest(EmulatorTest):
    def setUp(self):
        rng = random.Random(5)
        self.codes = [rng.randrange(256) for _ in range(ROWS * R)]
        self.scales = [rng.randrange(1, 16) / 256 for _ in range(2 * 2)]  # four bits: products are bf16, exactly
        self.w = Buffer(self.ctx, (ROWS, R), "float8_e4m3fnuz", self.codes)
        self.w_scale = Buffer(self.ctx, (2, 2), "float32", self.scales)

    def out(self, gap=0):
        return Buffer(self.ctx, (ROWS, R), "bfloat16", [NAN] * (ROWS * (R + gap) - gap), (R + gap, 1))

    def test_each(self):
        for gap in (0, 8):
            y = self.out(gap)
            self.assertIs(mlaforge.mla_dequant(self.w, self.w_scale, y, ctx=self.ctx), y)
            got = values(y)
            for r in range(ROWS):
                for c in range(R):
                    want, bits = decode(self.codes[r * R + c]) * self.scales[r // 128 * 2 + c // 128], got[r * (R + gap) + c]
                    if math.isnan(want):
                        self.assertTrue(math.isnan(wide(bits)))
                    else:
                        self.assertEqual(bits, bf16(want))
            self.assertTrue(all(math.isnan(wide(x)) for r in range(ROWS - 1) for x in got[r * (R + gap) + R:(r + 1) * (R + gap)]))

    def test_wrong_arguments(self):
        short = Buffer(self.ctx, (1, 2), "float32", [1.0, 1.0])
        for wrong, word in ((dict(w=self.out()), "w is bfloat16"), (dict(w_scale=short), "w_scale has the shape"),
                            (dict(w_scale=self.out()), "w_scale is bfloat16"), (dict(out=self.w_scale), "out is float32"),
                            (dict(out=Buffer(self.ctx, (1, R), "bfloat16", [0] * R)), "out has the shape"), (dict(out=far(self.out())), "out " + FAR),
                            (dict(out=self.out(4)), "out's row stride is 164")):
            with self.assertRaisesRegex(mlaforge.MlafError, word):
                mlaforge.mla_dequant(**{"w": self.w, "w_scale": self.w_scale, "out": self.out(), **wrong}, ctx=self.ctx)
