"""Queries of several lengths over a block table, through both entry points, with plain buffers, against plain Python in double precision."""
import math
import unittest

import mlaforge
from mlaforge.library import fast
from buffers import Buffer, EmulatorTest, attention, bf16, values, wide
from test_wrappers import rows_of

H, R, P, PAGE, SCALE = 3, 64, 32, 16, 0.1
C = R + P
NAN = 0x7fff


class Ragged(EmulatorTest):
    def case(self, queries, lengths, spare=2):
        """Tensors whose unused parts are NaN; `spare` query tokens belong to no request."""
        self.queries, self.lengths, width = queries, lengths, 4
        order = self.rng.sample(range(len(lengths) * width + 2), len(lengths) * width)
        self.tables = [order[b * width:(b + 1) * width] for b in range(len(lengths))]
        used = {(page, row) for n, table in zip(lengths, self.tables) for t in range(n) for page, row in [(table[t // PAGE], t % PAGE)]}
        number = lambda: bf16(self.rng.gauss(0, 1))
        cache = [[number() if (page, row) in used else NAN for _ in range(C)] for page in range(len(order) + 2) for row in range(PAGE)]
        self.rows = rows_of([x for row in cache for x in row], C)
        tokens, first = sum(queries), [0]
        for n in queries:
            first.append(first[-1] + n)
        self.first = first
        q = [[number() for _ in range(H * C)] for _ in range(tokens)] + [[NAN] * (H * C)] * spare
        self.q_rows = [rows_of(row, C) for row in q[:tokens]]
        ints = lambda *shape, of: Buffer(self.ctx, shape, "int32", of)
        self.q = Buffer(self.ctx, (tokens + spare, H, C), "bfloat16", [x for row in q for x in row])
        self.cache = Buffer(self.ctx, (len(order) + 2, PAGE, 1, C), "bfloat16", [x for row in cache for x in row])
        self.qo, self.lens = ints(len(first), of=first), ints(len(lengths), of=lengths)
        self.table = ints(len(lengths), width, of=[x for t in self.tables for x in t])
        return dict(block_table=self.table, ctx=self.ctx)

    def check(self, out, lse, causal=True, empty=-math.inf):
        got, logs = [wide(x) for x in values(out)], values(lse)
        for b, n in enumerate(self.lengths):
            for i in range(self.queries[b]):
                seen = n - (self.queries[b] - 1 - i if causal else 0)
                keys = [self.rows[self.tables[b][t // PAGE] * PAGE + t % PAGE] for t in range(max(seen, 0))]
                for h in range(H):
                    at = (self.first[b] + i) * H + h
                    want, log = attention(self.q_rows[self.first[b] + i][h], keys, SCALE, R)
                    off = math.dist(got[at * R:(at + 1) * R], want)
                    self.assertLessEqual(off, 8e-3 * max(math.hypot(*want), 1e-9) if keys else 0.0)
                    self.assertEqual(logs[at], empty) if not keys else self.assertAlmostEqual(logs[at], log, places=3)

    def decode(self, causal=True, most=4, **how):
        return mlaforge.mla_decode_fwd(self.q, self.cache, None, self.qo, None, None, None, most, SCALE, causal=causal, lse=True, seq_lens=self.lens,
                                       head_dim_v=R, **how)

    def flash(self, causal=True, most=4, **how):
        return mlaforge.flash_mla_with_kvcache(self.q, self.cache, how.pop("block_table"), self.lens, R, softmax_scale=SCALE, causal=causal,
                                               cu_seqlens_q=self.qo, max_seqlen_q=most, **how)

    def test_each_entry_point_by_the_compiled_module_and_by_ctypes(self):
        for module in (fast(), None):
            self.ctx.use(module)
            for causal in (True, False):
                with self.subTest(compiled=module is not None, causal=causal):
                    how = self.case([3, 1, 0, 2, 4], [40, 7, 20, 33, 64])
                    self.check(*self.decode(causal, **how), causal)
                    self.check(*self.flash(causal, **how), causal)
        self.ctx.use(fast())

    def test_a_request_without_keys(self):
        how = self.case([2, 1], [1, 0])
        self.check(*self.decode(**how))
        self.check(*self.flash(**how), empty=math.inf)
        self.check(*self.flash(**how, empty_lse=-math.inf))

    def test_outputs_of_the_caller_are_written_and_returned(self):
        how = self.case([1, 3], [17, 30])
        o, lse = Buffer(self.ctx, (6, H, R), "bfloat16", [NAN] * (6 * H * R)), Buffer(self.ctx, (6, H), "float32", [0.0] * (6 * H))
        made = self.flash(**how, out=o, lse=lse)
        self.assertTrue(made[0] is o and made[1] is lse)
        self.check(o, lse)
        made = mlaforge.mla_decode_fwd(self.q, self.cache, o, self.qo, None, None, None, 4, SCALE, lse=lse, seq_lens=self.lens, **how)
        self.assertTrue(made[0] is o and made[1] is lse)
        self.check(o, lse)

    def test_a_length_that_the_table_has_no_room_for_makes_its_request_nan(self):
        how = self.case([1, 2], [20, 20])
        self.lens = Buffer(self.ctx, (2,), "int32", [65, 20])
        out, _ = self.decode(**how)
        got = [wide(x) for x in values(out)]
        self.assertTrue(all(math.isnan(x) for x in got[:H * R]) and not any(math.isnan(x) for x in got[H * R:3 * H * R]))

    def test_refusals_name_the_argument(self):
        how = self.case([3, 1], [40, 7])
        decode = lambda *lists, **more: mlaforge.mla_decode_fwd(self.q, self.cache, None, self.qo, *(lists or (None,) * 3), 4, SCALE,
                                                                **{**how, "seq_lens": self.lens, "head_dim_v": R, **more})
        flash = lambda **more: mlaforge.flash_mla_with_kvcache(**{**dict(q=self.q, k_cache=self.cache, cache_seqlens=self.lens, head_dim_v=R,
                                                                         cu_seqlens_q=self.qo, max_seqlen_q=4), **how, **more})
        ids = Buffer(self.ctx, (2, 1, 4), "int32", [0] * 8)
        for call, said in ((lambda: decode(self.qo, None, None), "kv_indptr is given beside a block table, must be None"),
                           (lambda: decode(seq_lens=None), "seq_lens is None, must be a tensor: a block table comes with seq_lens"),
                           (lambda: decode(block_table=None), "block_table is None, must be a tensor"),
                           (lambda: decode(head_dim_v=None), "o is None, and one tensor holds all columns of the cache: head_dim_v"),
                           (lambda: decode(seq_lens=Buffer(self.ctx, (1,), "int32", [4])), "seq_lens has 1 entries, at least 2 are expected"),
                           (lambda: decode(block_table=Buffer(self.ctx, (1, 4), "int32", [0] * 4)), "block_table has 1 rows, qo_indptr is of 2"),
                           (lambda: flash(max_seqlen_q=None), "cu_seqlens_q and max_seqlen_q are ragged queries: both are wanted"),
                           (lambda: flash(q=Buffer(self.ctx, (1, 1, H, C), "bfloat16", [0] * (H * C))), r"q has shape \(1, 1, 3, 96\); with cu_seqlens_q 3"),
                           (lambda: flash(cu_seqlens_q=Buffer(self.ctx, (3,), "float32", [0.0] * 3)), "cu_seqlens_q is float32, must be int32"),
                           (lambda: flash(head_dim_v=0), r"head_dim_v is 0, q \(6, 3, 96\)"),
                           (lambda: flash(max_seqlen_q=1), "total_q is 6, must be 0..2"),
                           (lambda: flash(indices=ids), "cu_seqlens_q is given with indices, must be None: each query token has a list")):
            with self.subTest(said), self.assertRaisesRegex(mlaforge.MlafError, "^MLAF_E_ARG: " + said):
                call()
