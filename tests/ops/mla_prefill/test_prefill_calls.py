"""The entry points of prefill over the emulator with plain buffers, against plain Python."""
import math
import unittest

import mlaforge
from mlaforge import aiter
from mlaforge.mla_prefill import _planned
from buffers import FAR, Buffer, EmulatorTest, bf16, far, values, wide

HEADS, NOPE, ROPE, VDIM = 2, 64, 64, 48
QK = NOPE + ROPE


def expected(q, k, v, lengths, scale, causal):
    """q[t][h], k[t][h] and v[t][h] are lists of numbers; (o, lse) likewise."""
    out, sums, first_q, first_k = [], [], 0, 0
    for n, s in lengths:
        for t in range(n):
            seen = s - (n - 1 - t) if causal else s
            row, logs = [], []
            for h in range(HEADS):
                keys = range(first_k, first_k + max(seen, 0))
                score = [scale * sum(a * b for a, b in zip(q[first_q + t][h], k[j][h])) for j in keys]
                top = max(score, default=0)
                p = [math.exp(x - top) for x in score]
                row.append([sum(w * v[j][h][c] for w, j in zip(p, keys)) / sum(p) if p else 0.0 for c in range(VDIM)])
                logs.append(top + math.log(sum(p)) if p else -math.inf)
            out.append(row)
            sums.append(logs)
        first_q, first_k = first_q + n, first_k + s
    return out, sums


class PrefillTest(EmulatorTest):
    def tensor(self, shape, strides=None):
        """A buffer of bf16, and its rows as floats: [token][head], or [token]."""
        buffer, row = super().tensor(shape, strides)
        if len(shape) == 2:
            return buffer, [row(t) for t in range(shape[0])]
        return buffer, [[row(t, h) for h in range(shape[1])] for t in range(shape[0])]

    def lengths(self, pairs):
        cu = [[sum(p[i] for p in pairs[:n]) for n in range(len(pairs) + 1)] for i in (0, 1)]
        return cu[0][-1], cu[1][-1], *(Buffer(self.ctx, (len(c),), "int32", c) for c in cu)

    def near(self, out, lse, want, sums, most=5e-3):
        o, size = values(out), len(want)
        for t in range(size):
            for h in range(HEADS):
                got = [wide(b) for b in o[(t * HEADS + h) * VDIM:][:VDIM]]
                off = math.dist(got, want[t][h])
                self.assertLessEqual(off, most * math.hypot(*want[t][h]), f"token {t}, head {h}")
                if lse is not None and sums[t][h] == -math.inf:
                    self.assertEqual(values(lse)[h * size + t], -math.inf)
                elif lse is not None:
                    self.assertAlmostEqual(values(lse)[h * size + t], sums[t][h], places=4)

    def test_what_is_planned(self):
        """The mean request; where one has most of the products, requests of its length as far as the others leave it."""
        for given, want in (((1024, 1024, 16384, 16384, 16), (16, 1024, 1024)), ((3407, 3407, 16384, 16384, 32), (32, 512, 512)),
                            ((8192, 8192, 16384, 16384, 32), (4, 4096, 4096)), ((10000, 40000, 16000, 80000, 20), (3, 6250, 36250)),
                            ((1 << 20, 1 << 20, 64, 32768, 1), (1, 64, 32768)), ((0, 0, 0, 0, 1), (1, 0, 0))):
            self.assertEqual(_planned(*given), want, given)

    def test_two_sources(self):
        pairs = [(5, 9), (0, 3), (2, 1), (3, 0)]
        tq, tk, cu_q, cu_k = self.lengths(pairs)
        q, q_rows = self.tensor((tq, HEADS, QK))
        row = NOPE + VDIM
        k, k_rows = self.tensor((tk, HEADS, NOPE), (HEADS * row, row, 1))
        v, v_rows = self.tensor((tk, HEADS, VDIM), (HEADS * row, row, 1))
        k_pe, pe_rows = self.tensor((tk, ROPE), (ROPE + 8, 1))
        for causal in (True, False):
            out = Buffer(self.ctx, (tq, HEADS, VDIM), "bfloat16", [0] * (tq * HEADS * VDIM))
            lse = Buffer(self.ctx, (HEADS, tq), "float32", [0] * (tq * HEADS))
            mlaforge.mla_prefill_varlen(q, k, k_pe, v, cu_q, cu_k, 5, 9, 0.07, causal, out, lse, ctx=self.ctx)
            keys = [[k_rows[j][h] + pe_rows[j] for h in range(HEADS)] for j in range(tk)]
            self.near(out, lse, *expected(q_rows, keys, v_rows, pairs, 0.07, causal))

    def test_flash_attn_varlen_func(self):
        pairs = [(4, 4), (7, 7)]
        tq, tk, cu_q, cu_k = self.lengths(pairs)
        (q, q_rows), (k, k_rows), (v, v_rows) = (self.tensor((tq, HEADS, width)) for width in (QK, QK, VDIM))
        out = Buffer(self.ctx, (tq, HEADS, VDIM), "bfloat16", [0] * (tq * HEADS * VDIM))
        _, lse = mlaforge.flash_attn_varlen_func(q, k, v, cu_q, cu_k, 7, 7, causal=True, return_lse=True, out=out, ctx=self.ctx)
        self.near(out, lse, *expected(q_rows, k_rows, v_rows, pairs, QK ** -0.5, True))
        for wrong in ({"dropout_p": 0.1}, {"window_size": (3, 0)}, {"softcap": 1.0}, {"return_attn_probs": True}):
            with self.assertRaisesRegex(mlaforge.MlafError, next(iter(wrong))):
                mlaforge.flash_attn_varlen_func(q, k, v, cu_q, cu_k, 7, 7, **wrong, out=out, ctx=self.ctx)

    def test_fp8(self):
        """Random bytes, NaN and -240 left out: their own values, halves of eight powers of two, are the expectation."""
        pairs = [(4, 6), (3, 3)]
        tq, tk, cu_q, cu_k = self.lengths(pairs)
        scales = [0.05, 0.3, 0.7]

        def tensor(tokens, width, scale):
            codes = [self.rng.choice((0, 128)) + self.rng.randrange(33, 72) for _ in range(tokens * HEADS * width)]
            rows = [[[(1 - c // 128 * 2) * (8 + c % 8) * 2.0 ** ((c % 128) // 8 - 11) * scale for c in codes[(t * HEADS + h) * width:][:width]]
                     for h in range(HEADS)] for t in range(tokens)]
            return Buffer(self.ctx, (tokens, HEADS, width), "float8_e4m3fnuz", codes), rows
        (q, q_rows), (k, k_rows), (v, v_rows) = (tensor(n, w, s) for n, w, s in zip((tq, tk, tk), (QK, QK, VDIM), scales))
        descale = {f"{name}_descale": Buffer(self.ctx, (2, HEADS), "float32", [s], (0, 0)) for name, s in zip("qkv", scales)}
        scale = 2.0
        out = mlaforge.flash_attn_varlen_func(q, k, v, cu_q, cu_k, 4, 6, softmax_scale=scale, causal=True, **descale, ctx=self.ctx)
        self.assertEqual(str(out.dtype), "bfloat16")
        self.near(out, None, *expected(q_rows, k_rows, v_rows, pairs, scale, True), most=8e-2)

        def rescaled(**new):
            new = {f"{name}_descale": Buffer(self.ctx, (1,), "float32", [s]) for name, s in new.items()}
            return mlaforge.flash_attn_varlen_func(q, k, v, cu_q, cu_k, 4, 6, softmax_scale=scale, causal=True, **{**descale, **new},
                                                   return_lse=True, ctx=self.ctx)
        nothing = [[[0.0] * QK] * HEADS] * tk  # scores are 0: O is the mean of V
        for tiny in ({"q": 0.0}, {"k": 0.0}, {"q": 1e-25, "k": 1e-20}):
            out, lse = rescaled(**tiny)
            self.near(out, lse, *expected(q_rows, nothing, v_rows, pairs, scale, True), most=1e-2)
        for negative in ({"q": -0.05}, {"k": -0.3}, {"v": -0.7}, {"q": -0.05, "k": -0.3}):
            out, lse = rescaled(**negative)
            self.assertTrue(all(math.isnan(wide(b)) for b in values(out)), negative)
            self.assertEqual(all(math.isnan(x) for x in values(lse)), "v" not in negative)
        out, _ = rescaled(v=0.0)
        self.assertEqual({wide(b) for b in values(out)}, {0.0})
        two, half = Buffer(self.ctx, (2,), "float32", [1.0, 2.0]), Buffer(self.ctx, (1,), "float16", [0])
        for wrong, word in ((two, "more than one scale"), (half, "must be float32"), (0.3, "k_descale is float")):
            with self.assertRaisesRegex(mlaforge.MlafError, word):
                mlaforge.flash_attn_varlen_func(q, k, v, cu_q, cu_k, 4, 6, **{**descale, "k_descale": wrong}, ctx=self.ctx)

    def test_aiters_order(self):
        tq, tk, cu_q, cu_k = self.lengths([(3, 5), (0, 2), (2, 2)])
        (q, _), (k, _), (v, _) = (self.tensor((rows, HEADS, width)) for rows, width in ((tq, QK), (tk, QK), (tk, VDIM)))
        want, sums = mlaforge.flash_attn_varlen_func(q, k, v, cu_q, cu_k, 3, 5, 0.0, 0.09, True, return_lse=True, ctx=self.ctx)
        call = (q, k, v, cu_q, cu_k, 3, 5, 0, 0.0, 0.09, 0.0, True, (-1, -1, 0), None, None, False, True)
        out, lse = aiter.flash_attn_varlen_func(*call, False, 1, None, ctx=self.ctx)
        self.assertEqual((values(out), values(lse)), (values(want), values(sums)))
        for wrong in ({"logits_soft_cap": 30.0}, {"bias": v}, {"sink_ptr": v}, {"block_table": v}, {"dropout_p": 0.1}):
            with self.assertRaisesRegex(mlaforge.MlafError, next(iter(wrong)) + " is set"):
                aiter.flash_attn_varlen_func(*call[:7], **wrong, ctx=self.ctx)

    def test_wrong_tensors(self):
        tq, tk, cu_q, cu_k = self.lengths([(2, 2)])
        (q, _), (k, _), (v, _) = (self.tensor((2, HEADS, width)) for width in (QK, QK, VDIM))
        out = Buffer(self.ctx, (2, HEADS, VDIM), "bfloat16", [0] * (2 * HEADS * VDIM))
        expanded, _ = self.tensor((2, HEADS, QK), (QK, 0, 1))
        apart = far(self.tensor((2, HEADS, VDIM))[0])
        flat, _ = self.tensor((2, QK))
        for wrong, word in (({"k": v}, "k has the shape"), ({"out": q}, "out has the shape"), ({"cu_seqlens_q": v}, "cu_seqlens_q"),
                            ({"k": expanded}, "k has a dimension of 2 with the stride 0"), ({"q": flat}, "q has the shape"),
                            ({"v": None}, "v is NoneType"), ({"q": 5}, "q is int"),
                            ({"v": apart}, "v " + FAR), ({"max_seqlen_q": None}, "max_seqlen_q"), ({"max_seqlen_q": math.inf}, "max_seqlen_q")):
            args = {"q": q, "k": k, "v": v, "cu_seqlens_q": cu_q, "cu_seqlens_k": cu_k, "max_seqlen_q": 2, "max_seqlen_k": 2, "out": out}
            with self.assertRaisesRegex(mlaforge.MlafError, word):
                mlaforge.flash_attn_varlen_func(**{**args, **wrong}, ctx=self.ctx)
        with self.assertRaisesRegex(mlaforge.MlafError, "window_size is set"):  # a sink
            mlaforge.flash_attn_varlen_func(**args, window_size=(-1, -1, 4), ctx=self.ctx)
        lse = far(Buffer(self.ctx, (HEADS, 2), "float32", [0] * (2 * HEADS)))
        for wrong, word in (({"k_pe": 5}, "k_pe is int"), ({"lse": 5}, "lse is int"), ({"lse": lse}, "lse " + FAR)):
            args = {"q": q, "k_nope": k, "k_pe": None, "v": v, "cu_seqlens_q": cu_q, "cu_seqlens_k": cu_k, "max_seqlen_q": 2, "max_seqlen_k": 2}
            with self.assertRaisesRegex(mlaforge.MlafError, word):
                mlaforge.mla_prefill_varlen(**{**args, **wrong}, out=out, ctx=self.ctx)
