"""concat_mla_q over the emulator: the bits of q_nope and q_pe side by side, of any strides."""
import unittest

import mlaforge
from buffers import Buffer, EmulatorTest, values


class ConcatQ(EmulatorTest):
    def case(self, tokens, heads, rank, rope, nope_strides=None, pe_strides=None, kind="bfloat16"):
        bits = lambda n: [self.rng.randrange(1 << 16) for _ in range(n)]  # NaN and infinities, too
        sizes = [1 + sum((n - 1) * s for n, s in zip((tokens, heads, c), strides or (heads * c, c, 1)))
                 for c, strides in ((rank, nope_strides), (rope, pe_strides))]
        nope, pe = bits(sizes[0]), bits(sizes[1])
        out = mlaforge.concat_mla_q(Buffer(self.ctx, (tokens, heads, rank), kind, nope, nope_strides),
                                    Buffer(self.ctx, (tokens, heads, rope), kind, pe, pe_strides), ctx=self.ctx)
        self.assertEqual(tuple(out.shape), (tokens, heads, rank + rope))
        at = lambda data, strides, c, t, h: data[t * strides[0] + h * strides[1]:][:c]
        want = [x for t in range(tokens) for h in range(heads)
                for x in (*at(nope, nope_strides or (heads * rank, rank, 1), rank, t, h), *at(pe, pe_strides or (heads * rope, rope, 1), rope, t, h))]
        self.assertEqual(list(values(out)), want)

    def test_bits_are_kept_whatever_the_strides(self):
        self.case(3, 4, 512, 64)
        self.case(3, 4, 512, 64, (512, 3 * 512, 1), (4 * 192, 192, 1))  # as a batched product leaves them, and columns of projected queries
        self.case(1, 1, 64, 32, kind="float16")
        self.case(70, 2, 64, 32, (64, 70 * 64, 1))

    def test_refusals_name_the_argument(self):
        new = lambda *shape, kind="bfloat16": Buffer(self.ctx, shape, kind, [0] * (shape[0] * shape[1] * shape[2]))
        for call, said in ((lambda: mlaforge.concat_mla_q(new(2, 3, 64), new(1, 3, 32), ctx=self.ctx), r"q_pe has the shape \(1, 3, 32\), must be \(2, 3, 32\)"),
                           (lambda: mlaforge.concat_mla_q(new(2, 3, 64), new(2, 3, 32), new(2, 3, 64), ctx=self.ctx), "out has the shape"),
                           (lambda: mlaforge.concat_mla_q(new(2, 3, 64, kind="float32"), new(2, 3, 32), ctx=self.ctx), "q_nope is float32; accepted are"),
                           (lambda: mlaforge.concat_mla_q(new(2, 3, 64), new(2, 3, 32, kind="float16"), ctx=self.ctx), "q_pe is float16, must be bfloat16")):
            with self.subTest(said), self.assertRaisesRegex(mlaforge.MlafError, "^MLAF_E_ARG: " + said):
                call()
