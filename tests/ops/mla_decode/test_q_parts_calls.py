"""Q in two tensors: mla_decode_fwd reads them as they lie, and joins them where kernels do not."""
import math
import random
import unittest
import unittest.mock

import mlaforge
from buffers import Buffer, EmulatorTest, bf16, values, wide
from mlaforge import mla_append
from mlaforge.mla_append import parts_or_joined
from mlaforge.q_parts import JOINED

HEADS, RANK, ROPE, PAGE, LENGTHS = 3, 64, 32, 16, (20, 5)


class QParts(EmulatorTest):
    def setUp(self):
        self.rng = random.Random(11)
        draw = lambda n: [bf16(self.rng.gauss(0, 1)) for _ in range(n)]
        self.rows = [(draw(RANK), draw(ROPE)) for _ in range(len(LENGTHS) * HEADS)]  # of each token and head
        self.cache = Buffer(self.ctx, (3, PAGE, 1, RANK + ROPE), "bfloat16", draw(3 * PAGE * (RANK + ROPE)))
        self.tables = tuple(Buffer(self.ctx, (len(x),), "int32", list(x)) for x in ((0, 1, 2), (0, 2, 3), (2, 0, 1), (4, 5)))
        self.want = self.call(Buffer(self.ctx, (2, HEADS, RANK + ROPE), "bfloat16", sum((a + b for a, b in self.rows), [])))

    def call(self, q, **more):
        o = Buffer(self.ctx, (2, HEADS, RANK), "bfloat16", [0x7fff] * (2 * HEADS * RANK))
        mlaforge.mla_decode_fwd(q, self.cache, o, *self.tables, 1, ctx=self.ctx, **more)
        return values(o)

    def part(self, which, columns, token, head):
        """One of both tensors with these strides; what lies between its rows is NaN."""
        data = [0x7fff] * (token + (HEADS - 1) * head + columns)
        for r, row in enumerate(self.rows):
            at = r // HEADS * token + r % HEADS * head
            data[at:at + columns] = row[which]
        return Buffer(self.ctx, (2, HEADS, columns), "bfloat16", data, (token, head, 1))

    def test_read_as_they_lie(self):
        for nope, pe in (((HEADS * RANK, RANK), (HEADS * ROPE, ROPE)), ((RANK, 2 * RANK), (HEADS * 48, 48)), ((1000, 72), (ROPE, 2 * ROPE))):
            q = self.part(0, RANK, *nope), self.part(1, ROPE, *pe)
            self.assertIsInstance(parts_or_joined(q, ctx=self.ctx), tuple)
            self.assertEqual(self.call(q), self.want)
            self.assertEqual(self.call(list(q)), self.want)
            made, lse = mlaforge.mla_decode_fwd(q, self.cache, None, *self.tables, 1, lse=True, head_dim_v=RANK, ctx=self.ctx)
            self.assertEqual(values(made), self.want)

    def test_joined_where_kernels_do_not_read_them(self):
        q = self.part(0, RANK, HEADS * (RANK + 8), RANK + 8), self.part(1, ROPE, HEADS * 40, 40)
        table = Buffer(self.ctx, (64, ROPE), "float32", [math.cos(i) for i in range(64 * ROPE)])
        whole = Buffer(self.ctx, (2, HEADS, RANK + ROPE), "bfloat16", sum((a + b for a, b in self.rows), []))
        turned = dict(rope_style="pairs", rope_table=table)
        self.assertEqual(self.call(q, **turned), self.call(whole, **turned))

    def test_joined_where_that_was_measured_to_be_faster(self):
        """tuning/q-parts.tsv, by target and heads; another target's numbers say nothing here."""
        q = self.part(0, RANK, HEADS * (RANK + 8), RANK + 8), self.part(1, ROPE, HEADS * 40, 40)
        for joined, target, heads in ((False, "sm_90a", HEADS), (False, self.ctx.target, HEADS + 1), (True, self.ctx.target, HEADS)):
            with unittest.mock.patch.dict(mla_append.JOINED, {target: (heads,)}):
                made = parts_or_joined(q, ctx=self.ctx)
                self.assertEqual(isinstance(made, tuple), not joined)
                self.assertEqual(self.call(q), self.want)
        self.assertEqual(tuple(made.shape), (2, HEADS, RANK + ROPE))
        self.assertIn(20, JOINED["sm_90a"])

    def test_refused_by_name(self):
        nope, pe = self.part(0, RANK, HEADS * RANK, RANK), self.part(1, ROPE, HEADS * ROPE, ROPE)
        few = Buffer(self.ctx, (1, HEADS, ROPE), "bfloat16")
        for text, q in (("q is 3 tensors, must be one, or two: q_nope and q_pe", (nope, pe, pe)), (r"q_pe \(shape \(1, 3, 32\).* must have the rows of q", (nope, few)),
                        ("q_pe is float16, must be bfloat16", (nope, Buffer(self.ctx, (2, HEADS, ROPE), "float16"))),
                        ("do not fit together", (pe, nope))):
            with self.assertRaisesRegex(mlaforge.MlafError, text):
                self.call(q)

    def test_warm_up(self):
        shape = dict(heads=HEADS, rank=RANK, rope=ROPE, page_size=PAGE, batch=(2, 2), kv_len=(16, 32), block_tables=False, q_parts=True)
        self.assertGreater(self.ctx.warm_up(**shape)["plans"], 0)

    def test_caches_of_8_bits(self):
        codes = Buffer(self.ctx, (3, PAGE, 1, RANK + ROPE), "float8_e4m3fn", [self.rng.randrange(0, 112) for _ in range(3 * PAGE * (RANK + ROPE))])
        q = self.part(0, RANK, RANK, 2 * RANK), self.part(1, ROPE, HEADS * ROPE, ROPE)
        self.cache = codes
        whole = Buffer(self.ctx, (2, HEADS, RANK + ROPE), "bfloat16", sum((a + b for a, b in self.rows), []))
        got = self.call(q, kv_scale=Buffer(self.ctx, (1,), "float32", [0.5]))
        self.assertEqual(got, self.call(whole, kv_scale=Buffer(self.ctx, (1,), "float32", [0.5])))
        self.assertTrue(all(math.isfinite(wide(x)) for x in got))
