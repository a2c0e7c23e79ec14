"""AITER's and FlashMLA's entry points over the emulator, with plain buffers, against plain Python in double precision."""
import math
import gc
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest

import mlaforge
from mlaforge.library import fast
from buffers import Buffer, Foreign, attention, bf16, values, wide

HEADS, RANK, ROPE, PAGE = 3, 64, 32, 16
COLS = RANK + ROPE


def rows_of(values, columns, stride=None):
    stride = stride or columns
    return [[wide(h) for h in values[at:at + columns]] for at in range(0, len(values) - columns + 1, stride)]


class Case:
    """A ragged batch in a shuffled cache."""

    def __init__(self, ctx, lengths, q_len, seed=1, stride=COLS, page_rows=PAGE):
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
        self.page_rows = page_rows  # rows from one page to the next
        count = ((self.total_pages - 1) * page_rows + PAGE - 1) * stride + COLS
        self.kv_values = [bf16(rng.gauss(0, 1)) for _ in range(count)]
        self.q = Buffer(ctx, (len(lengths) * q_len, HEADS, COLS), "bfloat16", self.q_values)
        self.kv = Buffer(ctx, (self.total_pages, PAGE, 1, COLS), "bfloat16", self.kv_values,
                         (page_rows * stride, stride, COLS, 1))
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
        return [self.ints(x) for x in (qo, kv, flat, last)]

    def expected(self, b, i, h, causal):
        row = ((b * self.q_len) + i) * HEADS + h
        q = [wide(x) for x in self.q_values[row * COLS:(row + 1) * COLS]]
        n = self.lengths[b] - (self.q_len - 1 - i if causal else 0)
        return attention(q, [self.cache[self.tables[b][t // PAGE] * self.page_rows + t % PAGE] for t in range(max(n, 0))], self.scale,
                         RANK)


class Gaps(Foreign):
    """q with room behind each row, from a library that can make it dense."""

    def contiguous(self):
        rows, heads, columns = self.shape
        bits, wide = values(self._buffer), self._buffer.stride()[1]
        return Buffer(self._buffer.ctx, self.shape, "bfloat16",
                      [bits[(r * heads + h) * wide + c] for r in range(rows) for h in range(heads) for c in range(columns)])


class Wrappers(unittest.TestCase):
    compiled = True

    @classmethod
    def setUpClass(cls):
        cls.ctx = mlaforge.Context(device="emu:gfx942", db_path=os.path.join(tempfile.mkdtemp(), "t.db"))
        cls.ctx.use(fast() if cls.compiled else None)

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
                        self.assertEqual(have, -want_lse if flash else want_lse)
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

    def test_aiter_idle_batch(self):
        for page_rows in (PAGE, PAGE + 8):
            case = Case(self.ctx, [0, 0, 0], 1, page_rows=page_rows)
            o = Buffer(self.ctx, (3, HEADS, RANK), "bfloat16", [0x7fff] * (3 * HEADS * RANK))
            lse = case.q.new_empty((3, HEADS), dtype="float32")
            mlaforge.mla_decode_fwd(case.q, case.kv, o, *case.aiter_tables(), 1, case.scale, lse=lse, ctx=self.ctx)
            self.assertEqual((set(values(o)), set(values(lse))), ({0}, {-math.inf}))

    def flash(self, case, metadata=None, causal=False, tensor=lambda buffer: buffer, cache=None, **how):
        batch, most = len(case.lengths), max(len(t) for t in case.tables) + 1
        q = tensor(Buffer(self.ctx, (batch, case.q_len, HEADS, COLS), "bfloat16", case.q_values))
        block_table = tensor(Buffer(self.ctx, (batch, most), "int32",
                                    [x for t in case.tables for x in t + [-1] * (most - len(t))]))
        lengths, cache = tensor(case.ints(case.lengths)), cache or tensor(case.kv)
        metadata = metadata or mlaforge.get_mla_metadata(lengths, case.q_len * HEADS, 1)
        out, lse = mlaforge.flash_mla_with_kvcache(q, cache, block_table, lengths, RANK, *metadata, causal=causal, ctx=self.ctx, **how)
        self.assertEqual(out.shape, (batch, case.q_len, HEADS, RANK))
        self.assertEqual(lse.shape, (batch, HEADS, case.q_len))
        return out, lse

    def test_flashmla(self):
        case = Case(self.ctx, [40, 0, 17], 1, seed=4)
        out, lse = self.flash(case)
        self.compare(case, out, lse, causal=False, flash=True)

    def test_lse_without_keys(self):
        """+inf by FlashMLA's entry, as FlashMLA has it, unless that is not wanted; -inf by all others. Rows that see no key count, too."""
        case = Case(self.ctx, [1, 0, 17], 2, seed=4)
        for how, want in (({}, math.inf), ({"empty_lse": -math.inf}, -math.inf)):
            out, lse = self.flash(case, causal=True, **how)
            self.compare(case, out, lse, causal=True, flash=want > 0)
            self.assertEqual([x for x in values(lse) if math.isinf(x)], [want] * 3 * HEADS)
        o, lse = case.q.new_empty((6, HEADS, RANK)), case.q.new_empty((6, HEADS), dtype="float32")
        mlaforge.mla_decode_fwd(case.q, case.kv, o, *case.aiter_tables(), 2, lse=lse, ctx=self.ctx)
        self.compare(case, o, lse, causal=True)
        with self.assertRaisesRegex(mlaforge.MlafError, "empty_lse is 0, must be math.inf .FlashMLA's. or -math.inf"):
            self.flash(case, empty_lse=0)

    def test_scale_none_is_the_default_and_0_is_0(self):
        case = Case(self.ctx, [40, 3], 1, seed=14)
        o, lse = case.q.new_empty((2, HEADS, RANK)), case.q.new_empty((2, HEADS), dtype="float32")
        for scale in (None, 0, 0.0, -0.05, 0.3):
            case.scale = COLS ** -0.5 if scale is None else scale
            mlaforge.mla_decode_fwd(case.q, case.kv, o, *case.aiter_tables(), 1, scale, lse=lse, ctx=self.ctx)
            self.compare(case, o, lse, causal=False)
            out, sums = self.flash(case, softmax_scale=scale)
            self.compare(case, out, sums, causal=False)
        for scale in (math.nan, math.inf):
            with self.assertRaisesRegex(mlaforge.MlafError, "scale is (nan|inf), must be finite"):
                mlaforge.mla_decode_fwd(case.q, case.kv, o, *case.aiter_tables(), 1, scale, lse=lse, ctx=self.ctx)

    def test_a_cache_of_two_tensors(self):
        """ckv and kpe, with and without a dimension of heads, dense and as views of one tensor."""
        case = Case(self.ctx, [40, 1, 0, 16], 1, seed=13)
        rows = [case.kv_values[i:i + COLS] for i in range(0, len(case.kv_values), COLS)]
        parts = {name: [x for row in rows for x in row[at]] for name, at in (("ckv", slice(0, RANK)), ("kpe", slice(RANK, COLS)))}
        o, lse = case.q.new_empty((4, HEADS, RANK)), case.q.new_empty((4, HEADS), dtype="float32")
        for head in ((), (1,)):
            pair = [Buffer(self.ctx, (case.total_pages, PAGE, *head, n), "bfloat16", parts[name]) for name, n in (("ckv", RANK), ("kpe", ROPE))]
            views = [Foreign(case.kv), Foreign(case.kv)]
            for view, columns in zip(views, (RANK, ROPE)):
                view.shape = (case.total_pages, PAGE, *head, columns)
                view.stride = lambda head=head: (PAGE * COLS, COLS, *([COLS] if head else []), 1)
            views[1].data_ptr = lambda: case.kv.data_ptr() + 2 * RANK
            for cache in (tuple(pair), pair, views):
                mlaforge.mla_decode_fwd(case.q, cache, o, *case.aiter_tables(), 1, page_size=PAGE, lse=lse, ctx=self.ctx)
                self.compare(case, o, lse, causal=False)
                out, sums = self.flash(case, cache=cache)
                self.compare(case, out, sums, causal=False, flash=True)
        fewer, elsewhere = Buffer(self.ctx, (case.total_pages - 1, PAGE, ROPE), "bfloat16"), Foreign(pair[1])
        elsewhere.get_device = lambda: 3
        for cache, says in (((pair[0], fewer), "kv_buffer's kpe .*as many pages"), ((pair[1], pair[0]), "do not fit together"),
                            ((pair[0], case.ints([1])), "kv_buffer's kpe is int32, must be bfloat16"),
                            ((pair[0], elsewhere), "kv_buffer's kpe lies on device 3")):
            with self.assertRaisesRegex(mlaforge.MlafError, says):
                mlaforge.mla_decode_fwd(case.q, cache, o, *case.aiter_tables(), 1, lse=lse, ctx=self.ctx)
        with self.assertRaisesRegex((ValueError, mlaforge.MlafError), "kv_buffer is tuple, must be a tensor .pages, page_size, 1, R.P., or a pair of"):
            mlaforge.mla_decode_fwd(case.q, (*pair, pair[0]), o, *case.aiter_tables(), 1, lse=lse, ctx=self.ctx)

    def test_more_than_one_kv_head(self):
        case = Case(self.ctx, [5], 1)
        two = Foreign(case.kv)
        two.shape, two.stride = (case.total_pages, PAGE // 2, 2, COLS), lambda: (PAGE * COLS, 2 * COLS, COLS, 1)
        says = "(cache|kv_buffer) has 2 KV heads, must have 1: .*more KV heads are not served"
        with self.assertRaisesRegex(mlaforge.MlafError, says):
            self.flash(case, cache=two)
        with self.assertRaisesRegex(mlaforge.MlafError, says):
            mlaforge.mla_decode_fwd(case.q, two, case.q.new_empty((1, HEADS, RANK)), *case.aiter_tables(), 1, ctx=self.ctx)
        with self.assertRaisesRegex(mlaforge.MlafError, "nhead_kv is 2, must be 1: .*more KV heads are not served"):
            mlaforge.mla_decode_fwd(case.q, case.kv, case.q.new_empty((1, HEADS, RANK)), *case.aiter_tables(), 1, nhead_kv=2, ctx=self.ctx)

    def test_flashmla_causal_with_two_tokens(self):
        case = Case(self.ctx, [18, 5], 2, seed=5)
        out, lse = self.flash(case, causal=True)
        self.compare(case, out, lse, causal=True)

    def test_flashmla_reads_lengths_and_tables_at_each_call(self):
        case = Case(self.ctx, [40, 0, 17], 1, seed=7)
        most = 4
        q = Buffer(self.ctx, (3, 1, HEADS, COLS), "bfloat16", case.q_values)
        lengths, metadata = case.ints([0, 0, 0]), mlaforge.get_mla_metadata()
        block_table = Buffer(self.ctx, (3, most), "int32", [0] * 12)
        out, lse = mlaforge.flash_mla_with_kvcache(q, case.kv, block_table, lengths, RANK, *metadata, ctx=self.ctx)
        self.assertTrue(all(x == math.inf for x in values(lse)))
        self.ctx.write(lengths.data_ptr(), struct.pack("3i", *case.lengths))
        self.ctx.write(block_table.data_ptr(), struct.pack("12i", *[x for t in case.tables for x in t + [-1] * (most - len(t))]))
        out, lse = mlaforge.flash_mla_with_kvcache(q, case.kv, block_table, lengths, RANK, metadata[0], causal=True, ctx=self.ctx)
        self.compare(case, out, lse, causal=False, flash=True)

    def test_flashmla_block_table_is_part_of_a_larger_one(self):
        case = Case(self.ctx, [40, 5], 1, seed=8)
        whole = Buffer(self.ctx, (2, 9), "int32", [x for t in case.tables for x in t + [-7] * (9 - len(t))])
        part = Foreign(whole)
        part.shape = (2, 3)
        q = Buffer(self.ctx, (2, 1, HEADS, COLS), "bfloat16", case.q_values)
        out, lse = mlaforge.flash_mla_with_kvcache(q, case.kv, part, case.ints(case.lengths), RANK, ctx=self.ctx)
        self.compare(case, out, lse, causal=False)

    def test_flashmla_a_length_without_room_is_nan(self):
        case = Case(self.ctx, [5, 7], 2, seed=9)
        q = Buffer(self.ctx, (2, 2, HEADS, COLS), "bfloat16", case.q_values)
        table = Buffer(self.ctx, (2, 1), "int32", [t[0] for t in case.tables])
        for bad in (17, -1):
            out, lse = mlaforge.flash_mla_with_kvcache(q, case.kv, table, case.ints([bad, 7]), RANK, causal=True, ctx=self.ctx)
            rows, half = [wide(h) for h in values(out)], 2 * HEADS * RANK
            self.assertTrue(all(math.isnan(x) for x in rows[:half]))
            self.assertFalse(any(math.isnan(x) for x in rows[half:]))

    def test_pages_that_lie_apart(self):
        for page_rows in (2 * PAGE, PAGE + 8, PAGE + 1):  # read as pages of 16, 8 and 1
            case = Case(self.ctx, [40, 1, 0, 16], 1, seed=10, page_rows=page_rows)
            o = case.q.new_empty((4, HEADS, RANK))
            lse = case.q.new_empty((4, HEADS), dtype="float32")
            mlaforge.mla_decode_fwd(case.q, case.kv, o, *case.aiter_tables(), 1, case.scale, lse=lse, ctx=self.ctx)
            self.compare(case, o, lse, causal=False)
            out, lse = self.flash(case)
            self.compare(case, out, lse, causal=False, flash=True)
        case = Case(self.ctx, [5], 1)
        odd = Foreign(case.kv)
        odd.stride = lambda: (PAGE * COLS + 8, COLS, COLS, 1)
        with self.assertRaisesRegex(mlaforge.MlafError, "whole number of rows apart"):
            mlaforge.mla_decode_fwd(case.q, odd, case.q.new_empty((1, HEADS, RANK)), *case.aiter_tables(), 1, ctx=self.ctx)

    def test_q_with_gaps(self):
        case = Case(self.ctx, [18, 5], 1, seed=11)
        wide_q = [b for row in range(2 * HEADS) for b in (case.q_values[row * COLS:(row + 1) * COLS] + [0x7fc0] * 16)]
        buffer = Buffer(self.ctx, (2, HEADS, COLS), "bfloat16", wide_q[:-16], (HEADS * (COLS + 16), COLS + 16, 1))
        o, lse = case.q.new_empty((2, HEADS, RANK)), case.q.new_empty((2, HEADS), dtype="float32")
        mlaforge.mla_decode_fwd(Gaps(buffer), case.kv, o, *case.aiter_tables(), 1, case.scale, lse=lse, ctx=self.ctx)
        self.compare(case, o, lse, causal=False)
        with self.assertRaisesRegex(mlaforge.MlafError, r"q \(shape \(2, 3, 96\), strides \(336, 112, 1\)\) has gaps"):
            mlaforge.mla_decode_fwd(buffer, case.kv, o, *case.aiter_tables(), 1, case.scale, lse=lse, ctx=self.ctx)

    def test_workspaces(self):
        case = Case(self.ctx, [40, 17], 1, seed=12)
        out, lse = self.flash(case)
        small, enough = Buffer(self.ctx, (16,), "uint8"), Buffer(self.ctx, (1 << 22,), "uint8")
        q = Buffer(self.ctx, (2, 1, HEADS, COLS), "bfloat16", case.q_values)
        table = Buffer(self.ctx, (2, 4), "int32", [x for t in case.tables for x in t + [-1] * (4 - len(t))])
        call = lambda w: mlaforge.flash_mla_with_kvcache(q, case.kv, table, case.ints(case.lengths), RANK, workspace=w, ctx=self.ctx)
        with self.assertRaisesRegex(mlaforge.MlafError, "workspace has 16 bytes"):
            call(small)
        out, lse = call(enough)
        self.compare(case, out, lse, causal=False)
        self.ctx.reserve_workspace(1 << 16)
        self.ctx.reserve_workspace(1 << 16, 0)

    def test_flashmla_signature_of_today(self):
        case = Case(self.ctx, [5], 1)
        q = Buffer(self.ctx, (1, 1, HEADS, COLS), "bfloat16", case.q_values)
        table, lengths = Buffer(self.ctx, (1, 1), "int32", case.tables[0]), case.ints([5])
        metadata, none = mlaforge.get_mla_metadata()
        self.assertIsNone(none)
        self.assertIs(mlaforge.get_mla_metadata(lengths, HEADS, 1)[0], metadata)  # as it was called before; nothing of the lengths
        out, lse = mlaforge.flash_mla_with_kvcache(q, case.kv, table, lengths, RANK, metadata, None, case.scale, True, False, ctx=self.ctx)
        self.compare(case, out, lse, causal=False)
        with self.assertRaisesRegex(mlaforge.MlafError, "is_fp8_kvcache"):
            mlaforge.flash_mla_with_kvcache(q, case.kv, table, lengths, RANK, metadata, is_fp8_kvcache=True, ctx=self.ctx)
        wide = Buffer(self.ctx, (1, 1, HEADS, 576), "bfloat16")
        cache = Buffer(self.ctx, (1, 64, 1, 584), "uint8")
        for flag, said in ((True, "k_cache is fp8_v4, whose tokens have 512 columns that are K and V alike"),
                           (False, "k_cache is uint8, must be bfloat16: an 8-bit cache is read where the call says its format")):
            with self.assertRaisesRegex(mlaforge.MlafError, said):
                mlaforge.flash_mla_with_kvcache(wide, cache, table, lengths, 512, metadata, is_fp8_kvcache=flag, ctx=self.ctx)
        with self.assertRaisesRegex(mlaforge.MlafError, "indices .*must be .query tokens of q, topk"):
            mlaforge.flash_mla_with_kvcache(q, case.kv, table, lengths, RANK, metadata, indices=table, ctx=self.ctx)
        with self.assertRaisesRegex(mlaforge.MlafError, "head_dim_v is 97"):
            mlaforge.flash_mla_with_kvcache(q, case.kv, table, lengths, COLS + 1, metadata, ctx=self.ctx)

    def test_tensors_with_what_the_documentation_asks_and_no_more(self):
        case = Case(self.ctx, [18, 5], 2, seed=6)
        o, lse = case.q.new_empty((4, HEADS, RANK)), case.q.new_empty((4, HEADS), dtype="float32")
        tensors = [Foreign(t) for t in (case.q, case.kv, o, *case.aiter_tables())]
        mlaforge.mla_decode_fwd(*tensors, 2, case.scale, lse=Foreign(lse), ctx=self.ctx)
        self.compare(case, o, lse, causal=True)
        out, lse = self.flash(case, causal=True, tensor=Foreign)
        self.assertEqual((type(out), out.dtype, lse.dtype), (mlaforge.Buffer, "bfloat16", "float32"))
        self.compare(case, out, lse, causal=True)

    def test_calls_keep_count_of_none(self):
        """A module made with Python 3.12's headers once took a reference of None away in each call: Pythons before it ended behind some thousand."""
        case = Case(self.ctx, [18, 5], 1, seed=6)
        self.flash(case, causal=True)
        gc.collect()  # other tests' garbage holds references, too
        before = sys.getrefcount(None)
        for _ in range(200):
            self.flash(case, causal=True)
        gc.collect()
        self.assertLess(abs(sys.getrefcount(None) - before), 100)

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
            with self.assertRaisesRegex(ValueError, "data has 5 bytes, 24 bytes are expected"):
                mlaforge.Buffer(ctx, (2, 3), "int32", b"12345")
            left = mlaforge.Buffer(ctx, (1,), "int32")
        del ctx.free, left  # the context is closed: nothing happens

    def test_plans_are_kept(self):
        problem = (HEADS, RANK, ROPE, 1, 0, 0, PAGE, 17, 40)
        first = self.ctx.plan_info(problem)
        second = self.ctx.plan_info((HEADS, RANK, ROPE, 1, 0, 0, PAGE, 18, 64))
        self.assertEqual(first["problem"], second["problem"])  # one plan for both: batch 18, ctx 64
        self.assertIn("b18,s64", first["problem"])

    def test_warm_up_and_what_a_plan_on_the_way_says(self):
        lines = []
        with mlaforge.Context(device="emu:gfx942", db_path=os.path.join(tempfile.mkdtemp(), "t.db"), log_level=2,
                              log=lambda level, line: lines.append((level, line))) as ctx:
            ctx.use(fast() if self.compiled else None)
            made = ctx.warm_up(HEADS, RANK, ROPE, page_size=PAGE, batch=(1, 4), kv_len=(1, 96))
            self.assertEqual(made["plans"], 4 * 3)  # batches 1 to 4, contexts up to 64, 80, 96
            self.assertGreater(made["plans"], made["kernels"])
            self.assertGreater(made["workspace"], 0)
            lines.clear()
            for lengths in ([40, 1, 0], [64], [3, 3, 3, 3]):
                case = Case(ctx, lengths, 1)
                self.ctx, kept = ctx, self.ctx
                try:
                    self.flash(case)
                finally:
                    self.ctx = kept
                o = case.q.new_empty((len(lengths), HEADS, RANK))
                mlaforge.mla_decode_fwd(case.q, case.kv, o, *case.aiter_tables(), 1, ctx=ctx)
            self.assertEqual([line for _, line in lines if "plan made" in line], [])
            case = Case(ctx, [65] * 5, 1)
            o = case.q.new_empty((5, HEADS, RANK))
            for _ in range(2):
                mlaforge.mla_decode_fwd(case.q, case.kv, o, *case.aiter_tables(), 1, ctx=ctx)
            said = [(level, line) for level, line in lines if "plan made" in line]
            self.assertEqual(len(said), 1)
            self.assertEqual(said[0][0], 1)  # a warning: it was told otherwise
            self.assertIn("b5,s80", said[0][1])
            with self.assertRaisesRegex(mlaforge.MlafError, r"batch is \(4, 2\), must be from the least to the most"):
                ctx.warm_up(HEADS, RANK, ROPE, page_size=PAGE, batch=(4, 2))
            del case, o

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
        tables = case.aiter_tables()
        for lse, says in ((case.q.new_empty((1, HEADS)), "lse is bfloat16, must be float32"),
                          (case.q.new_empty((1, HEADS + 1), dtype="float32"), r"lse \(shape \(1, 4\)"),
                          (case.q.new_empty((HEADS,), dtype="float32"), "lse has shape .3.; 2 dimensions")):
            with self.assertRaisesRegex(mlaforge.MlafError, says):
                mlaforge.mla_decode_fwd(case.q, case.kv, o, *tables, 1, lse=lse, ctx=self.ctx)
        elsewhere = Foreign(case.q)
        elsewhere.get_device = lambda: 3
        with self.assertRaisesRegex(mlaforge.MlafError, "q lies on device 3, the context works on device 0"):
            mlaforge.mla_decode_fwd(elsewhere, case.kv, o, *tables, 1, ctx=self.ctx)
        wrong = Foreign(tables[1])
        wrong.dtype = "torch.int64"
        with self.assertRaisesRegex(mlaforge.MlafError, "kv_indptr is int64, must be int32"):
            mlaforge.mla_decode_fwd(case.q, case.kv, o, tables[0], wrong, *tables[2:], 1, ctx=self.ctx)
        q = Buffer(self.ctx, (1, 1, HEADS, COLS), "bfloat16", case.q_values)
        table = Buffer(self.ctx, (1, 1), "int32", [0])
        with self.assertRaisesRegex(mlaforge.MlafError, "block_table has 1 rows, q 2"):
            two = Buffer(self.ctx, (2, 1, HEADS, COLS), "bfloat16", case.q_values * 2)
            mlaforge.flash_mla_with_kvcache(two, case.kv, table, case.ints([1, 1]), RANK, ctx=self.ctx)
        with self.assertRaises(mlaforge.MlafError) as caught:  # the library's own words
            mlaforge.mla_decode_fwd(case.q, case.kv, o, *case.aiter_tables(), 17, ctx=self.ctx)
        self.assertEqual(caught.exception.status, "MLAF_E_PROBLEM")
        self.assertIn("max_seqlen_q is 17, must be 1..16", str(caught.exception))
        with self.assertRaisesRegex(mlaforge.MlafError, "unknown device"):
            mlaforge.Context(device="abacus")

    def test_nothing_is_cut_to_its_field(self):
        """ctypes keeps the low bits of an integer: 2**31 pages would be -2**31, 2**32 + 1 heads one."""
        problem = (HEADS, RANK, ROPE, 1, 0, 0, PAGE, 1, 16)
        for pages in (1 << 31, (1 << 32) + 4):
            with self.assertRaisesRegex(ValueError, f"num_pages is {pages}, must be 0..2147483647"):
                self.ctx.execute(problem, num_pages=pages)
        with self.assertRaisesRegex(ValueError, f"heads is {(1 << 32) + HEADS}"):
            self.ctx.plan_info(((1 << 32) + HEADS, *problem[1:]))
        with self.assertRaisesRegex(ValueError, "a problem has 13 numbers .*heads, rank, rope.*, not 2"):
            self.ctx.plan_info((HEADS, RANK))
        with self.assertRaisesRegex(ValueError, "total_q is 9223372036854775808"):
            self.ctx.execute(problem, total_q=1 << 63)
        with self.assertRaisesRegex(TypeError, "unknown argument num_page; accepted are .*num_pages"):
            self.ctx.execute(problem, num_page=4)
        with self.assertRaisesRegex(ValueError, "heads is 4294967297"):
            self.ctx.warm_up((1 << 32) + 1)
        with self.assertRaisesRegex(mlaforge.MlafError, "batch is 4294967297"):
            self.ctx.warm_up(HEADS, batch=(1, (1 << 32) + 1))
        with self.assertRaisesRegex(ValueError, "size is -1, must be 0.."):
            self.ctx.alloc(-1)
        with self.assertRaisesRegex(ValueError, "log_level is 4294967297"):
            mlaforge.Context(device="emu:gfx942", log_level=(1 << 32) + 1)
        case = Case(self.ctx, [5], 1)
        o = Buffer(self.ctx, (1, HEADS, RANK), "bfloat16")
        mlaforge.mla_decode_fwd(case.q, case.kv, o, *case.aiter_tables(), 1, mean_kv_len=(1 << 32) + 5, ctx=self.ctx)  # but a hint
        with self.assertRaisesRegex(mlaforge.MlafError, "max_seqlen_q is 2147483647"):
            mlaforge.mla_decode_fwd(case.q, case.kv, o, *case.aiter_tables(), (1 << 32) + 1, ctx=self.ctx)

    def test_words_that_are_not_known(self):
        for dtype, error in (("fp8", ValueError), ("float64", ValueError), (7, TypeError), (None, TypeError)):
            with self.assertRaisesRegex(error, "dtype is .*accepted are .*bfloat16.*float16"):
                Buffer(self.ctx, (4,), dtype)
        for dtype, error in (("fp8", ValueError), ("float32", ValueError), (1, ValueError)):
            with self.assertRaisesRegex(error, "dtype is .*accepted are bfloat16, float16"):
                self.ctx.warm_up(HEADS, dtype=dtype)
        for effort, error in (("most", ValueError), (3, TypeError)):
            with self.assertRaisesRegex(error, "effort is .*; accepted are db_only, estimate, measure"):
                mlaforge.Context(device="emu:gfx942", effort=effort)

    def test_a_failing_context_says_one_thing(self):
        """Its destructor runs, too, and has nothing to add."""
        for arguments in ("effort='most'", "device='abacus'", "log_level=2**40", "no_such=1", "device=7"):
            code = f"import mlaforge\ntry:\n    mlaforge.Context({arguments})\nexcept Exception as why:\n    print(type(why).__name__)"
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            self.assertEqual(done.stderr, "", arguments)
            self.assertIn(done.stdout.strip(), ("ValueError", "TypeError", "MlafError", "ArgumentError"))
        code = "import mlaforge; mlaforge.Context()"
        env = {**os.environ, "MLAF_LIBRARY": "/nonexistent"}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
        self.assertNotIn("ignored", done.stderr)
        self.assertIn("MLAF_E_IO", done.stderr)

    def test_no_gpu_is_an_error(self):
        """Never emulated unless asked to by name: a server whose driver broke has to fail."""
        code = ("import mlaforge\ntry:\n    mlaforge.default_context()\n"
                "except mlaforge.MlafError as why:\n    print(why.status, why)")
        env = {**{name: value for name, value in os.environ.items() if name != "MLAF_DEVICE"},
               "MLAF_HIP_LIBRARY": "/nonexistent/hip", "MLAF_CUDA_LIBRARY": "/nonexistent/cuda"}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
        self.assertRegex(done.stdout, "^MLAF_E_NO_DEVICE .*no GPU.*emu:gfx942.*hip: .*/nonexistent/hip.*cuda: .*/nonexistent/cuda")
        self.assertEqual(done.stderr, "")

    def test_a_context_that_lives_to_the_end_of_a_program_ends_without_a_word(self):
        """Modules are cleared before it: what close() needs of them is gone by then. A function keeps the script's names alive as far as that."""
        code = "import mlaforge\nctx = mlaforge.Context(device='emu:gfx942')\nlayers = [ctx]\ndef f():\n    return ctx, layers"
        for torch in ("", "try:\n    import torch\nexcept ImportError:\n    pass\n"):
            done = subprocess.run([sys.executable, "-c", torch + code], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr, done.stdout), (0, "", ""), torch)

    def test_nothing_but_the_standard_library(self):
        code = "import sys, mlaforge; mlaforge.version(); print([m for m in ('torch', 'numpy') if m in sys.modules])"
        self.assertEqual(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip(), "[]")

    def test_no_compile_says_so(self):
        with mlaforge.Context(device="emu:gfx942", db_path=os.path.join(tempfile.mkdtemp(), "t.db"),
                              cache_dir=tempfile.mkdtemp(), no_compile=True) as ctx:
            with self.assertRaises(mlaforge.MlafError) as caught:
                ctx.plan_info((HEADS, RANK, ROPE, 1, 0, 0, PAGE, 1, 16))
            self.assertEqual(caught.exception.status, "MLAF_E_NOT_COMPILED")


class WrappersByCtypes(Wrappers):
    """The same without the compiled module."""
    compiled = False
