"""Merging N parts over the emulator with plain buffers, against plain Python; lengths and places on ranks by brute force."""
import math
import random
import unittest

import mlaforge
from buffers import FAR, Buffer, EmulatorTest, bf16, far, values, wide
from mlaforge import shard_lengths, shard_tokens

TOKENS, HEADS, VDIM = 6, 3, 64
NAN, INF = 0x7FC0, math.inf


class MergePartsTest(EmulatorTest):
    def setUp(self):
        rng = random.Random(5)
        # A token each: three parts, all with a say, one or two empty by either sign, all empty, one far above the others.
        self.logs = [(1.5, 2.0, -1.0), (-INF, 3.0, 1.0), (4.0, INF, -INF), (INF, -INF, -INF), (90.0, -40.0, 3.0), (0.25, 0.25, 0.25)]
        self.rows = [[[[NAN if math.isinf(log) else bf16(rng.gauss(0, 1)) for _ in range(VDIM)] for _ in range(HEADS)]
                      for log in logs] for logs in self.logs]

    def parts(self, n=3, gap=0):
        """[n, T, H, V] and [n, T, H], `gap` elements between parts."""
        each = TOKENS * HEADS * VDIM
        flat = [x for i in range(n) for t in range(TOKENS) for h in range(HEADS) for x in self.rows[t][i][h]]
        spread = [x for i in range(n) for x in flat[i * each:(i + 1) * each] + [NAN] * (gap if i < n - 1 else 0)]
        o = Buffer(self.ctx, (n, TOKENS, HEADS, VDIM), "bfloat16", spread, (each + gap, HEADS * VDIM, VDIM, 1))
        return o, Buffer(self.ctx, (n, TOKENS, HEADS), "float32", [logs[i] for i in range(n) for logs in self.logs for _ in range(HEADS)])

    def output(self):
        return (Buffer(self.ctx, (TOKENS, HEADS, VDIM), "bfloat16", [NAN] * (TOKENS * HEADS * VDIM)),
                Buffer(self.ctx, (TOKENS, HEADS), "float32", [0] * (TOKENS * HEADS)))

    def check(self, out, lse, n=3, e=1.0, out_e=1.0):
        got, logs = values(out), values(lse)
        for t in range(TOKENS):
            mine = self.logs[t][:n]
            finite = [x for x in mine if not math.isinf(x)]
            w = [0 if math.isinf(x) else math.exp((x - max(finite)) * e) for x in mine]
            for h in range(HEADS):
                row = [wide(x) for x in got[(t * HEADS + h) * VDIM:][:VDIM]]
                for c in range(VDIM):
                    want = sum(w[i] / sum(w) * wide(self.rows[t][i][h][c]) for i in range(n) if w[i])
                    self.assertLessEqual(abs(row[c] - want), 2 ** -8 * abs(want) + 1e-6, f"token {t}, head {h}, column {c}")
                want = (max(finite) * e + math.log(sum(w))) / out_e if finite else -INF
                have = logs[t * HEADS + h]
                self.assertTrue(have == want or abs(have - want) < 1e-4, f"{have} is not {want}")

    def test_merge_attn_parts(self):
        for n, gap in ((1, 0), (2, 8), (3, 0), (3, 64)):
            (out, lse), (parts, logs) = self.output(), self.parts(n, gap)
            mlaforge.merge_attn_parts(out, parts, logs, lse, ctx=self.ctx)
            self.check(out, lse, n)

    def test_bases(self):
        for base, out_base in ((True, False), (False, True), (True, True)):
            (out, lse), (parts, logs) = self.output(), self.parts()
            mlaforge.merge_attn_parts(out, parts, logs, lse, in_base_2=base, out_base_2=out_base, ctx=self.ctx)
            self.check(out, lse, 3, math.log(2) if base else 1, math.log(2) if out_base else 1)

    def test_wrong_tensors(self):
        (out, lse), (parts, logs) = self.output(), self.parts()
        short = Buffer(self.ctx, (2, TOKENS, HEADS), "float32", [0] * (2 * TOKENS * HEADS))
        many = Buffer(self.ctx, (17, 1, 1, 8), "bfloat16"), Buffer(self.ctx, (17, 1, 1), "float32")
        for wrong, word in ((dict(parts_lse=short), "parts_lse has the shape"), (dict(parts=logs), "parts is float32"),
                            (dict(parts=many[0], parts_lse=many[1], output=Buffer(self.ctx, (1, 1, 8), "bfloat16"), output_lse=None), "parts is 17, must be 1..16"),
                            (dict(output=lse), "output is float32"), (dict(parts_lse=far(self.parts()[1])), "parts_lse " + FAR),
                            (dict(output=None), "output is NoneType")):
            args = {"output": out, "parts": parts, "parts_lse": logs, "output_lse": lse}
            with self.assertRaisesRegex(mlaforge.MlafError, word):
                mlaforge.merge_attn_parts(**{**args, **wrong}, ctx=self.ctx)


class ShardsTest(unittest.TestCase):
    def test_brute_force(self):
        rng = random.Random(39)
        for _ in range(500):
            ranks, interleave, q_len, causal = rng.randint(1, 9), rng.choice((1, 2, 3, 16, 64)), rng.randint(1, 4), rng.random() < 0.5
            lengths, rank = [rng.choice((rng.randint(0, 5), rng.randint(0, 400))) for _ in range(3)], rng.randrange(ranks)
            mine = [i for i in range(400) if i // interleave % ranks == rank]
            want = [sum(i < n - (q_len - 1 - k if causal else 0) for i in mine) for n in lengths for k in range(q_len)]
            self.assertEqual(shard_lengths(lengths, ranks, rank, interleave, q_len, causal), want)
            self.assertEqual(shard_tokens(range(400), ranks, rank, interleave), [mine.index(i) if i in mine else -1 for i in range(400)])

    def test_errors(self):
        for args, word in (((0, 0), "ranks is 0"), ((2, 2), "rank is 2, must be 0..1"), ((2, 0, 0), "interleave is 0"),
                           ((2, 0, 1, 0), "q_len is 0"), ((1 << 20, 0, 1 << 20), "interleave is")):
            with self.assertRaisesRegex(mlaforge.MlafError, word):
                shard_lengths([5], *args)
        with self.assertRaisesRegex(mlaforge.MlafError, "must be a list of numbers or a PyTorch tensor"):
            shard_lengths(type("Tensor", (), {"data_ptr": None, "shape": (1,)})(), 2, 0)
