"""The projections from Python, over the emulator with plain buffers, against plain Python."""
import math
import struct
import unittest

import mlaforge
from buffers import FAR, Buffer, EmulatorTest, far, values, wide

H, N, P, R, V, D, TOKENS = 2, 32, 32, 64, 32, 128, 3


class ProjectionTest(EmulatorTest):
    SEED = 11

    def empty(self, *shape):
        return Buffer(self.ctx, shape, "bfloat16", [0] * math.prod(shape))

    def near(self, buffer, want):
        got = [wide(b) for b in values(buffer)]
        self.assertEqual(len(got), len(want))
        off = math.sqrt(sum((g - w) ** 2 for g, w in zip(got, want)) / sum(w * w for w in want))
        self.assertLess(off, 2.5e-3)

    @staticmethod
    def dot(a, b):
        return sum(x * y for x, y in zip(a, b))

    def test_v_out_reads_the_last_rows_of_kv_b(self):
        u, u_row = self.tensor((TOKENS, H, R), (H * R + 8, R, 1))
        kv_b, w_row = self.tensor((H, N + V, R))
        y = self.empty(TOKENS, H, V)
        self.assertIs(mlaforge.mla_v_out(u, kv_b, v=V, out=y, ctx=self.ctx), y)
        self.near(y, [self.dot(u_row(t, h), w_row(h, N + v)) for t in range(TOKENS) for h in range(H) for v in range(V)])

    def test_q_absorb_turns_the_rope_columns(self):
        q, q_row = self.tensor((TOKENS, H, N + P))
        kv_b, w_row = self.tensor((H, N + V, R))
        code = f"{5 * P}f"
        flat = struct.unpack(code, struct.pack(code, *(self.rng.uniform(-1, 1) for _ in range(5 * P))))
        table, positions = Buffer(self.ctx, (5, P), "float32", flat), [4, 0, 2]
        at = Buffer(self.ctx, (TOKENS,), "int64", positions)
        for style in ("pairs", "halves", "unrotated"):
            y, want = self.empty(TOKENS, H, R + P), []
            mlaforge.mla_q_absorb(q, kv_b, at, table, nope=N, style=style, out=y, ctx=self.ctx)
            for t in range(TOKENS):
                cos, sin = flat[positions[t] * P:][:P // 2], flat[positions[t] * P + P // 2:][:P // 2]
                for h in range(H):
                    row = q_row(t, h)
                    want += [sum(row[n] * w_row(h, n)[r] for n in range(N)) for r in range(R)]
                    rope = row[N:]
                    for i in range(P // 2 if style != "unrotated" else 0):
                        a, b = (i, i + P // 2) if style == "halves" else (2 * i, 2 * i + 1)
                        rope[a], rope[b] = rope[a] * cos[i] - rope[b] * sin[i], rope[b] * cos[i] + rope[a] * sin[i]
                    want += rope
            self.near(y, want)

    def test_flat_projections(self):
        x, x_row = self.tensor((TOKENS, D), (D + 16, 1))
        w, w_row = self.tensor((R + P + 32, D))
        y = self.empty(TOKENS, R + P + 32)
        mlaforge.mla_qkv_a(x, w, rank=R, rope=P, out=y, ctx=self.ctx)
        self.near(y, [self.dot(x_row(t), w_row(o)) for t in range(TOKENS) for o in range(R + P + 32)])
        g, g_row = self.tensor((D,))
        b, b_row = self.tensor((H * (N + P), D))
        y, want = self.empty(TOKENS, H * (N + P)), []
        mlaforge.mla_q_b(x, b, nope=N, rope=P, norm_weight=g, eps=1e-3, out=y, ctx=self.ctx)
        for t in range(TOKENS):
            factor = 1 / math.sqrt(self.dot(x_row(t), x_row(t)) / D + 1e-3)
            normed = [v * factor * w for v, w in zip(x_row(t), g_row())]
            want += [self.dot(normed, b_row(o)) for o in range(H * (N + P))]
        self.near(y, want)
        o, o_row = self.tensor((TOKENS, H * V))
        wo, wo_row = self.tensor((D, H * V))
        y = self.empty(TOKENS, D)
        mlaforge.mla_o_proj(o, wo, v=V, residual=x, out=y, ctx=self.ctx)
        self.near(y, [self.dot(o_row(t), wo_row(i)) + x_row(t)[i] for t in range(TOKENS) for i in range(D)])

    def test_q_b_appends_beside_its_product(self):
        """c [T, L+R+P] as mla_qkv_a writes it; the second token has no slot."""
        L = 64
        c, c_row = self.tensor((TOKENS, L + R + P))
        step = L + R + P

        def part(first, columns):
            slice_of = Buffer(self.ctx, (TOKENS, columns), "bfloat16", [0] * ((TOKENS - 1) * step + columns), (step, 1))
            slice_of.data_ptr = lambda: c.data_ptr() + 2 * first
            return slice_of
        b, b_row = self.tensor((H * (N + P), L))
        g, g_row = self.tensor((R,))
        cache, slots = self.empty(2, 2, R + P), Buffer(self.ctx, (TOKENS,), "int64", [3, -1, 0])
        y = self.empty(TOKENS, H * (N + P))
        mlaforge.mla_q_b_append(part(0, L), b, part(L, R), part(L + R, P), cache, slots, nope=N, kv_norm_weight=g, eps=1e-3,
                                style="unrotated", out=y, ctx=self.ctx)
        self.near(y, [self.dot(c_row(t)[:L], b_row(o)) for t in range(TOKENS) for o in range(H * (N + P))])
        want = [0.0] * (4 * (R + P))
        for t, slot in ((0, 3), (2, 0)):
            row = c_row(t)[L:L + R]
            factor = 1 / math.sqrt(self.dot(row, row) / R + 1e-3)
            want[slot * (R + P):(slot + 1) * (R + P)] = [v * factor * w for v, w in zip(row, g_row())] + c_row(t)[L + R:]
        self.near(cache, want)
        self.assertTrue(all(v == 0 for v in values(cache)[R + P:3 * (R + P)]))

    def narrow(self, heads, rows, columns, dtype="float8_e4m3fn"):
        """[heads, rows, columns] of bytes with a scale for each 128 x 128 of all heads' rows: tensor, scales, rows as floats."""
        across = -(-columns // 128)
        codes = [self.rng.choice((0x00, 0x01, 0x2f, 0x38, 0x3c, 0x7e, 0xb5, 0xc1, 0xfe)) for _ in range(heads * rows * columns)]
        scales = [2.0 ** self.rng.randrange(-4, 4) for _ in range(-(-heads * rows // 128) * across)]
        shape = (heads, rows, columns) if heads > 1 else (rows, columns)

        def value(code):
            exponent, mantissa, bias = code >> 3 & 15, code & 7, 8 if dtype.endswith("uz") else 7
            size = (8 + mantissa) * 2.0 ** (exponent - bias - 3) if exponent else mantissa * 2.0 ** (-bias - 2)
            return -size if code & 0x80 else size

        def row(h, r=None):
            r = h if r is None else h * rows + r
            return [value(codes[r * columns + c]) * scales[r // 128 * across + c // 128] for c in range(columns)]
        return (Buffer(self.ctx, shape, dtype, codes), Buffer(self.ctx, (len(scales) // across, across), "float32", scales), row)

    def test_weights_of_8_bits_have_scales(self):
        u, u_row = self.tensor((TOKENS, H, R))
        kv_b, scale, w_row = self.narrow(H, 96 + V, R)  # heads are a block each, and W_UV begins within
        y = self.empty(TOKENS, H, V)
        mlaforge.mla_v_out(u, kv_b, v=V, kv_b_scale=scale, out=y, ctx=self.ctx)
        self.near(y, [self.dot(u_row(t, h), w_row(h, 96 + v)) for t in range(TOKENS) for h in range(H) for v in range(V)])
        x, x_row = self.tensor((TOKENS, 192))
        w, scale, w_row = self.narrow(1, 160, 192, "float8_e4m3fnuz")
        y = self.empty(TOKENS, 160)
        mlaforge.mla_qkv_a(x, w, rank=64, rope=32, w_scale=scale, out=y, ctx=self.ctx)
        self.near(y, [self.dot(x_row(t), w_row(o)) for t in range(TOKENS) for o in range(160)])
        missing = "w is float8_e4m3fnuz, and its scales are missing: hand over w_scale"
        for wrong, why in (({"w_scale": None}, missing), ({"w_scale": x}, "w_scale is bfloat16")):
            with self.assertRaisesRegex(Exception, why):
                mlaforge.mla_qkv_a(x, w, rank=64, rope=32, out=y, ctx=self.ctx, **wrong)
        with self.assertRaisesRegex(Exception, "and w_scale is given"):
            mlaforge.mla_qkv_a(x, x, rank=0, rope=0, w_scale=scale, out=y, ctx=self.ctx)

    def test_what_does_not_fit_is_named(self):
        u, _ = self.tensor((TOKENS, H, R))
        kv_b, _ = self.tensor((H, N + V, R))
        narrow, _ = self.tensor((H, N + V, R - 32))
        y = self.empty(TOKENS, H, V)
        with self.assertRaisesRegex(Exception, "kv_b has the shape"):
            mlaforge.mla_v_out(u, narrow, v=V, out=y, ctx=self.ctx)
        with self.assertRaisesRegex(Exception, "out has the shape"):
            mlaforge.mla_v_out(u, kv_b, v=N // 2, out=y, ctx=self.ctx)
        short, _ = self.tensor((H, V - 16, R))
        with self.assertRaisesRegex(Exception, f"kv_b has {V - 16} rows a head, must have at least v {V}"):  # before its first
            mlaforge.mla_v_out(u, short, v=V, out=y, ctx=self.ctx)
        with self.assertRaisesRegex(Exception, "kv_b " + FAR):
            mlaforge.mla_v_out(u, far(self.tensor((H, N + V, R))[0]), v=V, out=y, ctx=self.ctx)
        with self.assertRaisesRegex(Exception, "fewer than nope"):
            mlaforge.mla_q_absorb(u, kv_b, nope=R + 32, out=y, ctx=self.ctx)
