"""AITER's and FlashMLA's entry points over the emulator, with plain buffers, against plain Python in double precision."""
import math
import os
import random
import subprocess
import sys
import tempfile
import unittest

import mlaforge
from buffers import Buffer, Foreign, bf16, values, wide

HEADS, RANK, ROPE, PAGE = 3, 64, 32, 16
COLS = RANK + ROPE


def rows_of(values, columns, stride=None):
    stride = stride or columns
    return [[wide(h) for h in values[at:at + columns]] for at in range(0, len(values) - columns + 1, stride)]


def attention(q, keys, scale):
    """(o, lse) of one row over its keys."""
    if not keys:
        return [0.0] * RANK, -math.inf
    scores = [scale * sum(a * b for a, b in zip(q, k)) for k in keys]
    most = max(scores)
    weights = [math.exp(s - most) for s in scores]
    total = sum(weights)
    o = [sum(w * k[c] for w, k in zip(weights, keys)) / total for c in range(RANK)]
    return o, most + math.log(total)


class Case:
    """A ragged batch in a shuffled cache."""

    def __init__(self, ctx, lengths, q_len, seed=1, stride=COLS):
        rng = random.Random(seed)
        self.ctx, self.lengths, self.q_len, self.scale = ctx, lengths, q_len, COLS ** -0.5
        pages = [-(-n // PAGE) for n in lengths]
        self.total_pages = sum(pages) + 2
        order = rng.sample(range(self.total_pages), self.total_pages)
        self.tables, at = [], 0
        for n in pages:
            self.tables.append(order[at:at + n])
            at += n
        self.q_values = [bf16(rng.gauss(0, 1)) for _ in range(len(lengths) * q_len * HEADS * COLS)]
        count = (self.total_pages * PAGE - 1) * stride + COLS
        self.kv_values = [bf16(rng.gauss(0, 1)) for _ in range(count)]
        self.q = Buffer(ctx, (len(lengths) * q_len, HEADS, COLS), "bfloat16", self.q_values)
        self.kv = Buffer(ctx, (self.total_pages, PAGE, 1, COLS), "bfloat16", self.kv_values,
                         (PAGE * stride, stride, COLS, 1))
        self.cache = rows_of(self.kv_values, COLS, stride)

    def ints(self, values):
        return Buffer(self.ctx, (len(values),), "int32", values)

    def aiter_tables(self):
        qo, kv, last = [0], [0], []
        for n, table in zip(self.lengths, self.tables):
            qo.append(qo[-1] + self.q_len)
            kv.append(kv[-1] + len(table))
            last.append(n - (len(table) - 1) * PAGE if table else 0)
        flat = [page for table in self.tables for page in table]
        return [self.ints(x) for x in (qo, kv, flat or [0], last)]

    def expected(self, b, i, h, causal):
        row = ((b * self.q_len) + i) * HEADS + h
        q = [wide(x) for x in self.q_values[row * COLS:(row + 1) * COLS]]
        n = self.lengths[b] - (self.q_len - 1 - i if causal else 0)
        return attention(q, [self.cache[self.tables[b][t // PAGE] * PAGE + t % PAGE] for t in range(max(n, 0))], self.scale)


class Wrappers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ctx = mlaforge.Context(device="emu:gfx942", db_path=os.path.join(tempfile.mkdtemp(), "t.db"))

    @classmethod
    def tearDownClass(cls):
        cls.ctx.close()

    def compare(self, case, o, lse, causal, flash=False):
        off = size = 0.0
        got, lse = [wide(h) for h in values(o)], values(lse)
        for b in range(len(case.lengths)):
            for i in range(case.q_len):
                for h in range(HEADS):
                    want, want_lse = case.expected(b, i, h, causal)
                    row = (b * case.q_len + i) * HEADS + h
                    off += sum((x - y) ** 2 for x, y in zip(got[row * RANK:(row + 1) * RANK], want))
                    size += sum(y * y for y in want)
                    have = lse[row]
                    if math.isinf(want_lse):
                        self.assertEqual(have, want_lse)
                    else:
                        self.assertAlmostEqual(have, want_lse, places=3)
        self.assertLess(math.sqrt(off / size), 5e-3)

    def test_aiter(self):
        case = Case(self.ctx, [40, 1, 0, 16], 1)
        o = case.q.new_empty((4, HEADS, RANK))
        lse = case.q.new_empty((4, HEADS), dtype="float32")
        result, _ = mlaforge.mla_decode_fwd(case.q, case.kv, o, *case.aiter_tables(), 1, lse=lse, ctx=self.ctx)
        self.assertIs(result, o)
        self.compare(case, o, lse, causal=False)

    def test_aiter_several_query_tokens_are_causal(self):
        case = Case(self.ctx, [33, 2], 2, seed=2)
        o = case.q.new_empty((4, HEADS, RANK))
        lse = case.q.new_empty((4, HEADS), dtype="float32")
        mlaforge.mla_decode_fwd(case.q, case.kv, o, *case.aiter_tables(), 2, case.scale, lse=lse, ctx=self.ctx)
        self.compare(case, o, lse, causal=True)

    def test_aiter_padded_rows(self):
        case = Case(self.ctx, [20], 1, seed=3, stride=COLS + 8)
        o = case.q.new_empty((1, HEADS, RANK))
        lse = case.q.new_empty((1, HEADS), dtype="float32")
        mlaforge.mla_decode_fwd(case.q, case.kv, o, *case.aiter_tables(), 1, case.scale, lse=lse, ctx=self.ctx)
        self.compare(case, o, lse, causal=False)

    def flash(self, case, metadata=None, causal=False, tensor=lambda buffer: buffer):
        batch, most = len(case.lengths), max(len(t) for t in case.tables) + 1
        q = tensor(Buffer(self.ctx, (batch, case.q_len, HEADS, COLS), "bfloat16", case.q_values))
        block_table = tensor(Buffer(self.ctx, (batch, most), "int32",
                                    [x for t in case.tables for x in t + [-1] * (most - len(t))]))
        lengths, cache = tensor(case.ints(case.lengths)), tensor(case.kv)
        metadata = metadata or mlaforge.get_mla_metadata(lengths, case.q_len * HEADS, 1)
        out, lse = mlaforge.flash_mla_with_kvcache(q, cache, block_table, lengths, RANK, *metadata, causal=causal, ctx=self.ctx)
        self.assertEqual(out.shape, (batch, case.q_len, HEADS, RANK))
        self.assertEqual(lse.shape, (batch, HEADS, case.q_len))
        return out, lse

    def test_flashmla(self):
        case = Case(self.ctx, [40, 0, 17], 1, seed=4)
        out, lse = self.flash(case)
        self.compare(case, out, lse, causal=False)

    def test_flashmla_causal_with_two_tokens(self):
        case = Case(self.ctx, [18, 5], 2, seed=5)
        out, lse = self.flash(case, causal=True)
        self.compare(case, out, lse, causal=True)

    def test_tensors_with_what_the_documentation_asks_and_no_more(self):
        case = Case(self.ctx, [18, 5], 2, seed=6)
        o, lse = case.q.new_empty((4, HEADS, RANK)), case.q.new_empty((4, HEADS), dtype="float32")
        tensors = [Foreign(t) for t in (case.q, case.kv, o, *case.aiter_tables())]
        mlaforge.mla_decode_fwd(*tensors, 2, case.scale, lse=Foreign(lse), ctx=self.ctx)
        self.compare(case, o, lse, causal=True)
        out, lse = self.flash(case, causal=True, tensor=Foreign)
        self.assertEqual((type(out), out.dtype, lse.dtype), (mlaforge.Buffer, "bfloat16", "float32"))
        self.compare(case, out, lse, causal=True)

    def test_buffers_return_their_memory(self):
        with mlaforge.Context(device="emu:gfx942", db_path=os.path.join(tempfile.mkdtemp(), "t.db")) as ctx:
            a = mlaforge.Buffer(ctx, (2, 3), "int32", bytes(range(24)))
            b = a.transpose(0, 1)
            self.assertEqual((b.shape, b.stride(), b.data_ptr()), ((3, 2), (1, 3), a.data_ptr()))
            freed, ctx.free = [], lambda pointer: freed.append(pointer)
            pointer = a.data_ptr()
            del a
            self.assertEqual((b.read(), freed), (bytes(range(24)), []))  # a view keeps it
            del b
            self.assertEqual(freed, [pointer])
            with self.assertRaisesRegex(ValueError, "24 bytes are expected, 5 were given"):
                mlaforge.Buffer(ctx, (2, 3), "int32", b"12345")
            left = mlaforge.Buffer(ctx, (1,), "int32")
        del ctx.free, left  # the context is closed: nothing happens

    def test_plans_are_kept(self):
        problem = (HEADS, RANK, ROPE, 1, 0, 0, PAGE, 3, 40)
        first = self.ctx.plan_info(problem)
        second = self.ctx.plan_info((HEADS, RANK, ROPE, 1, 0, 0, PAGE, 4, 64))
        self.assertEqual(first["problem"], second["problem"])  # one plan for both: batch 4, ctx 64
        self.assertIn("b4,s64", first["problem"])

    def test_lengths_are_handed_over(self):
        problem = (HEADS, RANK, ROPE, 1, 0, 0, PAGE, 3, 40)
        with mlaforge.Context(device="emu:gfx942", db_path=os.path.join(tempfile.mkdtemp(), "t.db"),
                              lengths="normal:1,0.5") as ctx:
            self.assertIn("lengths normal:1,0.5", ctx.plan_info(problem)["notes"])
        with mlaforge.Context(device="emu:gfx942", lengths="long") as ctx, self.assertRaisesRegex(mlaforge.MlafError, "lengths"):
            ctx.plan_info(problem)

    def test_errors_name_the_cause(self):
        case = Case(self.ctx, [5], 1)
        o = case.q.new_empty((1, HEADS, RANK))
        with self.assertRaisesRegex(mlaforge.MlafError, "logit_cap is 3"):
            mlaforge.mla_decode_fwd(case.q, case.kv, o, *case.aiter_tables(), 1, logit_cap=3, ctx=self.ctx)
        with self.assertRaisesRegex(mlaforge.MlafError, "do not fit together"):
            mlaforge.mla_decode_fwd(case.q, case.kv, case.q.new_empty((2, HEADS, RANK)), *case.aiter_tables(), 1, ctx=self.ctx)
        with self.assertRaisesRegex(mlaforge.MlafError, "qo_indptr is bfloat16"):
            tables = case.aiter_tables()
            tables[0] = case.q
            mlaforge.mla_decode_fwd(case.q, case.kv, o, *tables, 1, ctx=self.ctx)
        with self.assertRaises(mlaforge.MlafError) as caught:  # the library's own words
            mlaforge.mla_decode_fwd(case.q, case.kv, o, *case.aiter_tables(), 9, ctx=self.ctx)
        self.assertEqual(caught.exception.status, "MLAF_E_PROBLEM")
        self.assertIn("q_len", str(caught.exception))
        with self.assertRaisesRegex(mlaforge.MlafError, "room for"):
            lengths = case.ints([999])
            q = Buffer(self.ctx, (1, 1, HEADS, COLS), "bfloat16", case.q_values)
            mlaforge.flash_mla_with_kvcache(q, case.kv, Buffer(self.ctx, (1, 1), "int32", [0]), lengths, RANK, ctx=self.ctx)
        with self.assertRaisesRegex(mlaforge.MlafError, "unknown device"):
            mlaforge.Context(device="abacus")

    def test_nothing_but_the_standard_library(self):
        code = "import sys, mlaforge; mlaforge.version(); print([m for m in ('torch', 'numpy') if m in sys.modules])"
        self.assertEqual(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip(), "[]")

    def test_no_compile_says_so(self):
        with mlaforge.Context(device="emu:gfx942", db_path=os.path.join(tempfile.mkdtemp(), "t.db"),
                              cache_dir=tempfile.mkdtemp(), no_compile=True) as ctx:
            with self.assertRaises(mlaforge.MlafError) as caught:
                ctx.plan_info((HEADS, RANK, ROPE, 1, 0, 0, PAGE, 1, 16))
            self.assertEqual(caught.exception.status, "MLAF_E_NOT_COMPILED")


if __name__ == "__main__":
    unittest.main()
