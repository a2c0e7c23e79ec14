"""Sparse attention by index lists, over the emulator, with plain buffers, against plain Python in double precision."""
import math
import random
import unittest

import mlaforge
from buffers import Buffer, EmulatorTest, attention, bf16, values, wide
from test_wrappers import COLS, HEADS, RANK, Case

PAGES, PAGE, TOPK = 6, 16, 37
NAN = 0x7FFF


class Lists:
    """A cache whose last page is NaN, and lists over the others; what lies behind a list's length names that page."""

    def __init__(self, ctx, batch, q_len, topk=TOPK, pad=0, page_rows=PAGE, lengths=None, seed=5):
        rng = random.Random(seed)
        self.ctx, self.batch, self.q_len, self.topk, self.lengths, self.scale = ctx, batch, q_len, topk, lengths, COLS ** -0.5
        tokens, good = batch * q_len, (PAGES - 1) * PAGE
        self.q_values = [bf16(rng.gauss(0, 1)) for _ in range(tokens * HEADS * COLS)]
        self.rows = [[bf16(rng.gauss(0, 1)) for _ in range(COLS)] for _ in range(good)]
        memory = [NAN] * (((PAGES - 1) * page_rows + PAGE) * COLS)
        for i, row in enumerate(self.rows):
            at = (i // PAGE * page_rows + i % PAGE) * COLS
            memory[at:at + COLS] = row
        self.kv = Buffer(ctx, (PAGES, PAGE, 1, COLS), "bfloat16", memory, (page_rows * COLS, COLS, COLS, 1))
        self.q = Buffer(ctx, (batch, q_len, HEADS, COLS), "bfloat16", self.q_values)
        self.lists = []
        for t in range(tokens):
            counts = topk if lengths is None else max(0, min(topk, lengths[t * len(lengths) // tokens]))
            odd = [-1, good + PAGE, (1 << 31) - 1, -(1 << 31)]
            entries = [rng.choice(odd) if t % 4 == 2 or rng.random() < 0.3 else rng.randrange(good) for _ in range(counts)]
            self.lists.append(entries + [good + rng.randrange(PAGE) for _ in range(topk - counts)])
        stride = topk + pad
        flat = [x for entries in self.lists for x in entries + [good] * pad]
        flat = flat[:len(flat) - pad]
        self.indices = Buffer(ctx, (batch, q_len, topk), "int32", flat, (q_len * stride, stride, 1))
        self.topk_length = None if lengths is None else Buffer(ctx, (len(lengths),), "int32", lengths)
        self.expected_of = lengths

    def expected(self, t, h, sink=None):
        counts = self.topk if self.lengths is None else max(0, min(self.topk, self.lengths[t * len(self.lengths) // (self.batch * self.q_len)]))
        keys = [[wide(x) for x in self.rows[i]] for i in self.lists[t][:counts] if 0 <= i < len(self.rows)]
        row = (t * HEADS + h) * COLS
        o, lse = attention([wide(x) for x in self.q_values[row:row + COLS]], keys, self.scale, RANK)
        by = 1 if sink is None or not keys else 1 / (1 + math.exp(min(sink - lse, 700)))
        return [x * by for x in o], lse


class Sparse(EmulatorTest):
    def compare(self, case, out, lse, sinks=None, empty=math.inf):
        got, lses, tokens = [wide(x) for x in values(out)], values(lse), case.batch * case.q_len
        off = size = 0.0
        for t in range(tokens):
            for h in range(HEADS):
                want, want_lse = case.expected(t, h, sinks and sinks[h])
                row = t * HEADS + h
                off += sum((x - y) ** 2 for x, y in zip(got[row * RANK:(row + 1) * RANK], want))
                size += sum(y * y for y in want)
                if math.isinf(want_lse):
                    self.assertEqual(lses[row], empty)
                    self.assertEqual(got[row * RANK:(row + 1) * RANK], [0.0] * RANK)
                else:
                    self.assertAlmostEqual(lses[row], want_lse, places=3)
        self.assertLess(math.sqrt(off / size), 5e-3)

    def decode(self, case, **how):
        return mlaforge.flash_mla_with_kvcache(case.q, case.kv, None, None, RANK, None, indices=case.indices, topk_length=case.topk_length,
                                               ctx=self.ctx, **how)

    def test_lists(self):
        case = Lists(self.ctx, 4, 1)
        self.compare(case, *self.decode(case))

    def test_drafts_lengths_strides_and_gaps(self):
        case = Lists(self.ctx, 3, 2, pad=3, page_rows=PAGE + 5, lengths=[0, TOPK + 9, 20])
        self.compare(case, *self.decode(case))
        case = Lists(self.ctx, 3, 2, lengths=[1, -4, 36, 37, 5, 0], seed=6)
        self.compare(case, *self.decode(case, empty_lse=-math.inf), empty=-math.inf)

    def test_a_list_of_one(self):
        case = Lists(self.ctx, 5, 1, topk=1)
        self.compare(case, *self.decode(case))

    def test_sinks(self):
        case, sinks = Lists(self.ctx, 4, 1), [0.5, math.inf, -math.inf]
        sink = Buffer(self.ctx, (HEADS,), "float32", sinks)
        self.compare(case, *self.decode(case, attn_sink=sink), sinks=sinks)

    def test_prefill_entry(self):
        case = Lists(self.ctx, 6, 1, lengths=[5, 0, 37, 36, 2, 9])
        q = Buffer(self.ctx, (6, HEADS, COLS), "bfloat16", case.q_values)
        memory = [x for row in case.rows for x in row] + [NAN] * (PAGE * COLS)
        kv = Buffer(self.ctx, (PAGES * PAGE, 1, COLS), "bfloat16", memory)
        flat = [x for entries in case.lists for x in entries]
        for shape in ((6, 1, TOPK), (6, TOPK)):
            indices = Buffer(self.ctx, shape, "int32", flat)
            out, logits, lse = mlaforge.flash_mla_sparse_fwd(q, kv, indices, case.scale, RANK, topk_length=case.topk_length, ctx=self.ctx)
            self.assertIsNone(logits)
            self.compare(case, out, lse)

    def test_nothing(self):
        q = Buffer(self.ctx, (0, 1, HEADS, COLS), "bfloat16", [])
        case = Lists(self.ctx, 1, 1)
        out, lse = mlaforge.flash_mla_with_kvcache(q, case.kv, None, None, RANK, indices=Buffer(self.ctx, (0, 1, TOPK), "int32", []),
                                                   ctx=self.ctx)
        self.assertEqual((out.shape[0], lse.shape[0]), (0, 0))

    def test_nothing_with_outputs_of_any_strides(self):
        """NumPy's empty arrays have other strides than PyTorch's."""
        q, case = Buffer(self.ctx, (0, 2, HEADS, COLS), "bfloat16", []), Lists(self.ctx, 1, 1)
        lse = Buffer(self.ctx, (0, HEADS, 2), "float32", [], (HEADS * 2, 2, 1))
        out, given = mlaforge.flash_mla_with_kvcache(q, case.kv, None, None, RANK, indices=Buffer(self.ctx, (0, 2, TOPK), "int32", []), lse=lse,
                                                     ctx=self.ctx)
        self.assertEqual((out.shape, given.shape), ((0, 2, HEADS, RANK), (0, HEADS, 2)))

    def test_warm_up(self):
        made = self.ctx.warm_up(heads=HEADS, rank=RANK, rope=COLS - RANK, page_size=1, batch=(4, 4), kv_len=(TOPK, TOPK), lists=True)
        self.assertGreater(made["workspace"], 4 * 4 * TOPK)
        with self.assertRaisesRegex(mlaforge.MlafError, "lists is True, page_size 64 and q_len 1: both must be 1"):
            self.ctx.warm_up(heads=HEADS, lists=True)

    def refused(self, text, case, **how):
        arguments = dict(q=case.q, k_cache=case.kv, block_table=None, cache_seqlens=None, head_dim_v=RANK, indices=case.indices, ctx=self.ctx)
        with self.assertRaisesRegex(mlaforge.MlafError, text):
            mlaforge.flash_mla_with_kvcache(**{**arguments, **how})

    def test_refused_by_name(self):
        case, ints = Lists(self.ctx, 2, 1), lambda *shape: Buffer(self.ctx, shape, "int32", [0] * math.prod(shape))
        self.refused("causal is True with indices", case, causal=True)
        self.refused("indices is None, and topk_length", case, indices=None, topk_length=ints(2))
        self.refused("indices .*must be .query tokens of q, topk", case, indices=ints(3, 1, TOPK))
        self.refused("indices .*must be .query tokens of q, topk", case, indices=ints(2, 2, TOPK))
        self.refused("indices is float32, must be int32", case, indices=Buffer(self.ctx, (2, 1, TOPK), "float32", [0.0] * 2 * TOPK))
        self.refused("indices is int64, must be int32", case, indices=Buffer(self.ctx, (2, 1, TOPK), "int64", [0] * 2 * TOPK))
        self.refused("indices.s last dimension is 0, must be 1", case, indices=ints(2, 1, 0))
        self.refused("topk_length has 3 entries, must be 2", case, topk_length=ints(3))
        self.refused("attn_sink .*must be .heads", case, attn_sink=Buffer(self.ctx, (HEADS + 1,), "float32", [0.0] * (HEADS + 1)))
        self.refused("attn_sink is int32, must be float32", case, attn_sink=ints(HEADS))
        q, kv = Buffer(self.ctx, (2, HEADS, COLS), "bfloat16"), Buffer(self.ctx, (8, 2, COLS), "bfloat16")
        with self.assertRaisesRegex(mlaforge.MlafError, "kv has 2 KV heads, must have 1"):
            mlaforge.flash_mla_sparse_fwd(q, kv, ints(2, 1, TOPK), 0.1, RANK, ctx=self.ctx)
        self.refused("head_dim_v is 64, out .*they do not fit", case, out=Buffer(self.ctx, (2, 1, HEADS, RANK - 32), "bfloat16"))
        self.refused("q is None, must be a tensor", case, q=None, is_fp8_kvcache=True)
        self.refused("a second pool", case, extra_k_cache=case.kv)
        self.refused("block_table and cache_seqlens are wanted", case, indices=None)
