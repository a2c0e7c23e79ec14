"""The entry point of merging over the emulator with plain buffers, against plain Python."""
import math
import random
import unittest

import mlaforge
from buffers import FAR, Buffer, EmulatorTest, bf16, far, values, wide

TOKENS, HEADS, VDIM = 6, 3, 64
NAN, INF = 0x7FC0, math.inf


class MergeTest(EmulatorTest):
    def setUp(self):
        rng = random.Random(5)
        # A token each: two parts, either empty by either sign, both empty, and one far above the other.
        self.logs = [[(1.5, 2.0), (-INF, 3.0), (4.0, INF), (INF, -INF), (90.0, -40.0), (0.25, 0.25)][t] for t in range(TOKENS)]
        self.rows = [[[[NAN if math.isinf(log) else bf16(rng.gauss(0, 1)) for _ in range(VDIM)] for _ in range(HEADS)]
                      for log in logs] for logs in self.logs]

    def part(self, i, head_gap=0, by_token=False):
        head = VDIM + head_gap
        flat = [x for t in range(TOKENS) for h in range(HEADS) for x in self.rows[t][i][h] + [NAN] * head_gap]
        flat = flat[:len(flat) - head_gap]
        o = Buffer(self.ctx, (TOKENS, HEADS, VDIM), "bfloat16", flat, (HEADS * head, head, 1))
        logs = [pair[i] for pair in self.logs for _ in range(HEADS)] if by_token else [pair[i] for pair in self.logs] * HEADS
        return o, Buffer(self.ctx, (HEADS, TOKENS), "float32", logs, (1, HEADS) if by_token else None)

    def check(self, out, lse=None):
        got = values(out)
        for t, (a, b) in enumerate(self.logs):
            w = [0 if math.isinf(x) else math.exp(x - max(y for y in (a, b) if not math.isinf(y))) for x in (a, b)]
            for h in range(HEADS):
                row = [wide(x) for x in got[(t * HEADS + h) * VDIM:][:VDIM]]
                for c in range(VDIM):
                    want = sum(w[i] / sum(w) * wide(self.rows[t][i][h][c]) for i in (0, 1) if w[i])
                    self.assertLessEqual(abs(row[c] - want), 2 ** -8 * abs(want) + 1e-6, f"token {t}, head {h}, column {c}")
                if lse is not None:
                    finite = [x for x in (a, b) if not math.isinf(x)]
                    want = max(finite) + math.log(sum(w)) if finite else -INF
                    have = values(lse)[h * TOKENS + t]
                    self.assertTrue(have == want or abs(have - want) < 1e-4, f"{have} is not {want}")

    def test_merge_attn_states(self):
        out = Buffer(self.ctx, (TOKENS, HEADS, VDIM), "bfloat16", [NAN] * (TOKENS * HEADS * VDIM))
        lse = Buffer(self.ctx, (HEADS, TOKENS), "float32", [0] * (HEADS * TOKENS))
        (po, pl), (so, sl) = self.part(0, head_gap=16), self.part(1, by_token=True)
        mlaforge.merge_attn_states(out, po, pl, so, sl, lse, ctx=self.ctx)
        self.check(out, lse)

    def test_over_a_part(self):
        for i in (0, 1):
            parts = [self.part(0), self.part(1)]
            mlaforge.merge_attn_states(parts[i][0], *parts[0], *parts[1], parts[i][1], ctx=self.ctx)
            self.check(*parts[i])

    def test_wrong_tensors(self):
        out = Buffer(self.ctx, (TOKENS, HEADS, VDIM), "bfloat16", [NAN] * (TOKENS * HEADS * VDIM))
        (po, pl), (so, sl) = self.part(0), self.part(1)
        short = Buffer(self.ctx, (HEADS, TOKENS - 1), "float32", [0] * (HEADS * (TOKENS - 1)))
        expanded = Buffer(self.ctx, (HEADS, TOKENS), "float32", [0], (0, 0))
        for wrong, word in ((dict(prefix_lse=short), "prefix_lse has the shape"), (dict(prefix_lse=expanded), "with the stride 0"), (dict(suffix_output=sl), "suffix_output is float32"),
                            (dict(suffix_lse=so), "suffix_lse is bfloat16"), (dict(output=pl), "output is float32"),
                            (dict(suffix_lse=far(self.part(1)[1])), "suffix_lse " + FAR), (dict(output=None), "output is NoneType"),
                            (dict(prefix_lse=[1.0]), "prefix_lse is list")):
            args = {"output": out, "prefix_output": po, "prefix_lse": pl, "suffix_output": so, "suffix_lse": sl}
            with self.assertRaisesRegex(mlaforge.MlafError, word):
                mlaforge.merge_attn_states(**{**args, **wrong}, ctx=self.ctx)
