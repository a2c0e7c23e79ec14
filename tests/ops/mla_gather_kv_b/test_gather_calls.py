"""The entry points of gathering over the emulator with plain buffers, against plain Python."""
import math
import random
import struct
import unittest

import mlaforge
from buffers import FAR, Buffer, EmulatorTest, bf16, far, values, wide

HEADS, NOPE, ROPE, VDIM, RANK = 2, 32, 32, 16, 64
PAGE, PAGES, ROW = 4, 7, RANK + ROPE


class GatherTest(EmulatorTest):
    def setUp(self):
        rng = random.Random(3)
        out = HEADS * (NOPE + VDIM)
        self.w = [[bf16(rng.gauss(0, 0.2)) for _ in range(RANK)] for _ in range(out)]
        self.weight = Buffer(self.ctx, (out, RANK), "bfloat16", [x for row in self.w for x in row])
        self.rows = [[bf16(rng.gauss(0, 1)) for _ in range(ROW)] for _ in range(PAGES * PAGE)]
        self.codes = [[rng.randrange(40, 90) | rng.randrange(2) << 7 for _ in range(ROW)] for _ in range(PAGES * PAGE)]
        # Requests: pages, first position, tokens.
        self.requests = [([5, 0, 3], 3, 6), ([], 0, 0), ([6], 0, 4)]

    def ints(self, data):
        return Buffer(self.ctx, (len(data),), "int32", data)

    def tokens(self, from_start=False):
        return [pages[p // PAGE] * PAGE + p % PAGE for pages, start, n in self.requests
                for p in range(0 if from_start else start, start + n)]

    def cu(self, from_start=False):
        sums = [0]
        for _, start, n in self.requests:
            sums.append(sums[-1] + n + (start if from_start else 0))
        return self.ints(sums)

    @staticmethod
    def fnuz(code):
        exponent, mantissa = code >> 3 & 15, code & 7
        return (-1) ** (code >> 7) * (2 ** (exponent - 8) * (1 + mantissa / 8) if exponent else mantissa * 2 ** -10)

    def near(self, got, want, what):
        self.assertLessEqual(abs(wide(got) - want), 2 ** -8 * abs(want) + 1e-4, what)

    def check(self, rows, k, v, k_at, v_at, pe, pe_at):
        """rows: of floats. *_at(t, h): the first element of a row in the buffers' values."""
        for t, row in enumerate(rows):
            for h in range(HEADS):
                for i in range(NOPE + VDIM):
                    want = sum(wide(a) * b for a, b in zip(self.w[h * (NOPE + VDIM) + i], row))
                    got = k[k_at(t, h) + i] if i < NOPE else v[v_at(t, h) + i - NOPE]
                    self.near(got, want, f"token {t}, head {h}, output {i}")
                for i in range(ROPE):
                    self.near(pe[pe_at(t, h) + i], row[RANK + i], f"token {t}, head {h}, rope {i}")

    def table(self, width=3):
        """The requests' pages as a block table, and where each request starts."""
        listed = [p for pages, _, _ in self.requests for p in pages + [-1] * (width - len(pages))]
        return Buffer(self.ctx, (len(self.requests), width), "int32", listed), self.ints([start for _, start, _ in self.requests])

    def outputs(self):
        """Zeroed K and V side by side, and k_pe, of all the requests' tokens."""
        tokens, out = len(self.tokens()), NOPE + VDIM
        return (Buffer(self.ctx, (tokens, HEADS, out), "bfloat16", [0] * (tokens * HEADS * out)),
                Buffer(self.ctx, (tokens, ROPE), "bfloat16", [0] * (tokens * ROPE)))

    def check_outputs(self, rows, kv, k_pe):
        got, out = values(kv), NOPE + VDIM
        self.check(rows, got, got, lambda t, h: (t * HEADS + h) * out, lambda t, h: (t * HEADS + h) * out + NOPE, values(k_pe),
                   lambda t, h: t * ROPE)

    def columns_of(self, cache, rank, rope, columns, slots, page, *scale, **how):
        """Gathers the tokens at `slots`, a request each, by a head that makes each output one column of a token: outputs and k_pe."""
        weight = Buffer(self.ctx, (len(columns), rank), "bfloat16", [0x3f80 if c == k else 0 for k in columns for c in range(rank)])
        kv, k_pe = Buffer(self.ctx, (5, 1, len(columns)), "bfloat16"), Buffer(self.ctx, (5, rope), "bfloat16")
        table, starts = Buffer(self.ctx, (5, 1), "int32", [slot // page for slot in slots]), self.ints([slot % page for slot in slots])
        mlaforge.mla_gather_kv_b(cache, table, self.ints(range(6)), starts, weight, kv, k_pe, *scale, ctx=self.ctx, **how)
        return [wide(x) for x in values(kv)], list(values(k_pe))

    def columns_are_near(self, got, latent, columns, bound, what):
        """bound: by a column's number and the token's, how far it may be off."""
        for t in range(5):
            for i, column in enumerate(columns):
                x = wide(latent[t][column])
                self.assertLessEqual(abs(got[t * len(columns) + i] - x), bound(x, t, column), (what, t, column))

    def test_gather_kv_b_proj(self):
        cache = Buffer(self.ctx, (PAGES, PAGE, ROW), "bfloat16", [x for row in self.rows for x in row])
        tokens = self.tokens(from_start=True)
        T, qk = len(tokens), NOPE + ROPE
        k = Buffer(self.ctx, (T, HEADS, qk), "bfloat16", [0] * (T * HEADS * qk))
        v = Buffer(self.ctx, (T, HEADS, VDIM), "bfloat16", [0] * (T * HEADS * VDIM))
        indptr = [0]
        for pages, _, _ in self.requests:
            indptr.append(indptr[-1] + len(pages))
        indices = self.ints([p for pages, _, _ in self.requests for p in pages])
        call = (cache, None, self.ints(indptr), indices, self.cu(from_start=True), self.weight)
        mlaforge.gather_kv_b_proj(*call, None, k, v, ctx=self.ctx)
        got = values(k)
        self.check([[wide(x) for x in self.rows[i]] for i in tokens], got, values(v), lambda t, h: (t * HEADS + h) * qk,
                   lambda t, h: (t * HEADS + h) * VDIM, got, lambda t, h: (t * HEADS + h) * qk + NOPE)
        for wrong in ({"weight_preshuffle": True}, {"shuffled_kv_cache": True}):
            with self.assertRaisesRegex(mlaforge.MlafError, next(iter(wrong))):
                mlaforge.gather_kv_b_proj(*call, None, k, v, **wrong, ctx=self.ctx)
        with self.assertRaisesRegex(mlaforge.MlafError, "kv_indices " + FAR):
            mlaforge.gather_kv_b_proj(*call[:3], far(self.ints([0])), *call[4:], None, k, v, ctx=self.ctx)
        with self.assertRaisesRegex(mlaforge.MlafError, "k_buffer is NoneType"):
            mlaforge.gather_kv_b_proj(None, *call[1:], None, k, v, ctx=self.ctx)
        none = Buffer(self.ctx, (T, 0, VDIM), "bfloat16")
        with self.assertRaisesRegex(mlaforge.MlafError, "v_prefix has the shape"):
            mlaforge.gather_kv_b_proj(*call, None, k, none, ctx=self.ctx)
        with self.assertRaisesRegex(mlaforge.MlafError, "rows for 0 heads"):
            mlaforge.gather_kv_b_proj(*call, None, none, none, ctx=self.ctx)
        with self.assertRaisesRegex(mlaforge.MlafError, "kv_proj_scale"):
            mlaforge.gather_kv_b_proj(*call, v, k, v, ctx=self.ctx)
        # A table for a cache that is not rotated; the last position is not in it.
        last = max(start + n for _, start, n in self.requests) - 1
        angles = [[p * 3 ** -i for i in range(ROPE // 2)] for p in range(last)]
        table = Buffer(self.ctx, (last, ROPE), "float32", [f(x) for row in angles for f in (math.cos, math.sin) for x in row])
        mlaforge.gather_kv_b_proj(*call, None, k, v, rope_style="pairs", rope_table=table, ctx=self.ctx)
        got, at = values(k), 0
        for r, (_, start, n) in enumerate(self.requests):
            for position in range(start + n):
                row, turned = [wide(x) for x in self.rows[tokens[at]][RANK:]], got[at * HEADS * qk + NOPE:][:ROPE]
                for i, angle in enumerate(angles[position] if position < last else [math.nan] * (ROPE // 2)):
                    x, y, c, s = row[2 * i], row[2 * i + 1], math.cos(angle), math.sin(angle)
                    for j, want in enumerate((x * c - y * s, y * c + x * s)):
                        if position < last:
                            self.near(turned[2 * i + j], want, f"request {r}, position {position}, column {2 * i + j}")
                        else:
                            self.assertTrue(math.isnan(wide(turned[2 * i + j])))
                at += 1
        half = Buffer(self.ctx, (last, ROPE // 2), "float32", [0] * (last * ROPE // 2))
        for wrong, says in (({"rope_style": "pairs"}, "rope_table None"), ({"rope_table": table}, "rope_style is None"),
                            ({"rope_style": "wheels", "rope_table": table}, "wheels"), ({"rope_style": "halves", "rope_table": half}, "rope_table has")):
            with self.assertRaisesRegex(mlaforge.MlafError, says):
                mlaforge.gather_kv_b_proj(*call, None, k, v, **wrong, ctx=self.ctx)

    def test_chunks_of_fp8(self):
        cache = Buffer(self.ctx, (PAGES, PAGE, ROW), "uint8", [x for row in self.codes for x in row])
        (kv, k_pe), (table, starts) = self.outputs(), self.table(4)
        scale = Buffer(self.ctx, (1,), "float32", [0.125])
        mlaforge.mla_gather_kv_b(cache, table, self.cu(), starts, self.weight, kv, k_pe, scale, vdim=VDIM, ctx=self.ctx)
        self.check_outputs([[self.fnuz(c) / 8 for c in self.codes[i]] for i in self.tokens()], kv, k_pe)
        with self.assertRaisesRegex(mlaforge.MlafError, "rows of 96"):
            half = Buffer(self.ctx, (PAGES, PAGE, ROW), "float16", [0] * (PAGES * PAGE * ROW))
            mlaforge.mla_gather_kv_b(half, table, self.cu(), starts, self.weight, kv, k_pe, vdim=VDIM, ctx=self.ctx)

    def test_rows_with_scales(self):
        row = RANK + 16 + 2 * ROPE
        raw = [bytes(code[:RANK]) + struct.pack("4f", 0.25, 0, 0, 0) + struct.pack(f"{ROPE}H", *wide_row[RANK:])
               for code, wide_row in zip(self.codes, self.rows)]
        cache = Buffer(self.ctx, (PAGES, PAGE, row), "uint8", b"".join(raw))
        (kv, k_pe), (table, starts) = self.outputs(), self.table()
        mlaforge.mla_gather_kv_b(cache, table, self.cu(), starts, self.weight, kv, k_pe, vdim=VDIM, ctx=self.ctx)
        # e4m3fn on every target: twice what the byte means as e4m3fnuz.
        self.check_outputs([[self.fnuz(c) / 2 for c in self.codes[i][:RANK]] + [wide(x) for x in self.rows[i][RANK:]] for i in self.tokens()],
                           kv, k_pe)

    def test_what_append_wrote_of_fp8_v4(self):
        """Tokens of DeepSeek-V4's pages, from one operation to the other: each output is one column of a token."""
        rank, rope, outputs = 448, 64, 64
        for page, stride in ((1, 1152), (3, 2304), (16, 9792)):
            latent = [[bf16(random.gauss(0, 1) * 4.0 ** (c // 64 - 3)) for c in range(rank)] for _ in range(5)]
            pe = [[bf16(random.gauss(0, 1)) for _ in range(rope)] for _ in range(5)]
            flat = [Buffer(self.ctx, (5, len(x[0])), "bfloat16", sum(x, [])) for x in (latent, pe)]
            pages = -(-12 // page)
            cache = Buffer(self.ctx, (pages, page, 1, 584), "uint8", [0x7f] * (stride * (pages - 1) + page * 584), (stride, 584, 584, 1))
            slots = [7, 2, 11, 0, 8]
            mlaforge.concat_and_cache_mla(*flat, cache, Buffer(self.ctx, (5,), "int64", slots), "fp8_v4", None, ctx=self.ctx)
            columns = [i * 7 % rank for i in range(outputs)]
            got, got_pe = self.columns_of(cache, rank, rope, columns, slots, page)
            self.assertEqual(got_pe, sum(pe, []))
            most = [[max(abs(wide(y)) for y in row[g:g + 64]) for g in range(0, rank, 64)] for row in latent]
            self.columns_are_near(got, latent, columns, lambda x, t, c: max(2 ** -4 * abs(x), most[t][c // 64] * 2 ** -17), page)
        near = Buffer(self.ctx, (2, 2, 584), "uint8")
        with self.assertRaisesRegex(mlaforge.MlafError, "cache_page_stride is 1168, must be 0 or a multiple of 576 from 1728 on"):
            self.columns_of(near, rank, rope, columns, slots, page)

    def test_what_append_wrote_of_kpe16(self):
        """Tokens whose rope columns lie in another tensor, whose rows and pages lie apart: each output is one column of a token."""
        rank, rope, outputs, scale = 64, 32, 32, 0.0625
        for page, spare in ((1, 0), (3, 16), (16, 32)):
            latent = [[bf16(random.gauss(0, 1)) for _ in range(rank)] for _ in range(5)]
            pe = [[bf16(random.gauss(0, 1)) for _ in range(rope)] for _ in range(5)]
            flat = [Buffer(self.ctx, (5, len(x[0])), "bfloat16", sum(x, [])) for x in (latent, pe)]
            pages, cache = -(-12 // page), []
            for n, dtype, fill in ((rank, "uint8", 0x7f), (rope, "bfloat16", 0x7fff)):
                row = n + spare
                apart = (page + (spare > 0)) * row
                cache.append(Buffer(self.ctx, (pages, page, n), dtype, [fill] * (apart * (pages - 1) + row * (page - 1) + n), (apart, row, 1)))
            slots = [7, 2, 11, 0, 8]
            mlaforge.concat_and_cache_mla(*flat, cache, Buffer(self.ctx, (5,), "int64", slots), "kpe16" if spare else "auto", scale, ctx=self.ctx)
            columns = [i * 7 % rank for i in range(outputs)]
            got, got_pe = self.columns_of(cache, rank, rope, columns, slots, page, scale)
            self.assertEqual(got_pe, sum(pe, []))
            self.columns_are_near(got, latent, columns, lambda x, t, c: max(2 ** -3.9 * abs(x), scale * 2 ** -9), page)
        with self.assertRaisesRegex(mlaforge.MlafError, "kv_cache_dtype is 'fp8_ds_mla' and kv_cache 2 tensors; accepted are 'auto' with two"):
            mlaforge.concat_and_cache_mla(*flat, cache, Buffer(self.ctx, (5,), "int64", slots), "fp8_ds_mla", scale, ctx=self.ctx)

    def test_what_append_wrote_of_fp8_planar(self):
        for name, most in (("fp8_planar", 448), ("fp8_planar_fnuz", 240)):
            self.what_append_wrote_in_parts(name, most)

    def what_append_wrote_in_parts(self, name, largest):
        """Pages of all codes, all scales, all rope columns: each output is one column of a token. largest: that a code can say."""
        rank, rope, outputs = 256, 32, 32
        row, slots = rank + 16 + 2 * rope, [7, 2, 11, 0, 8]
        latent = [[bf16(random.gauss(0, 1) * (1 if c < 128 else 40)) for c in range(rank)] for _ in range(5)]
        pe = [[bf16(random.gauss(0, 1)) for _ in range(rope)] for _ in range(5)]
        for page, spare in ((1, 0), (4, 1), (16, 0)):
            pages, size = -(-12 // page), (-(-page * row // rank) + spare) * rank
            cache = Buffer(self.ctx, (pages, page, row), "uint8", [0x7f] * (size * (pages - 1) + page * row), (size, row, 1))
            mlaforge.concat_and_cache_mla(*(Buffer(self.ctx, (5, len(x[0])), "bfloat16", sum(x, [])) for x in (latent, pe)), cache,
                                          Buffer(self.ctx, (5,), "int64", slots), name, None, ctx=self.ctx)
            data = bytes(values(cache))
            written = set()
            for t, slot in enumerate(slots):
                first, place = slot // page * size, slot % page
                scales_at, rope_at = first + page * rank + place * 16, first + page * (rank + 16) + place * 2 * rope
                self.assertEqual(list(struct.unpack(f"{rope}H", data[rope_at:rope_at + 2 * rope])), pe[t], (page, t))
                most = [max(abs(wide(x)) for x in latent[t][c:c + 128]) for c in (0, 128)]
                self.assertEqual(list(struct.unpack("4f", data[scales_at:scales_at + 16])), [2.0 ** math.ceil(math.log2(m / largest)) for m in most] + [0, 0])
                for at, n in ((first + place * rank, rank), (scales_at, 16), (rope_at, 2 * rope)):
                    written.update(range(at, at + n))
            self.assertTrue(all(b == 0x7f for i, b in enumerate(data) if i not in written), page)
            columns = [i * 7 % rank for i in range(outputs)]
            got, got_pe = self.columns_of(cache, rank, rope, columns, slots, page, cache_format=name)
            self.assertEqual(got_pe, sum(pe, []))
            self.columns_are_near(got, latent, columns, lambda x, t, c: max(2 ** -3.9 * abs(x), 40 * 2 ** -9), page)

    def test_what_append_wrote_of_fp8_scales(self):
        """Tokens without rope columns, whose scales lie in another tensor: each output is one column of a token."""
        rank, outputs, page = 256, 32, 3
        latent = [[bf16(random.gauss(0, 1) * (1 if c < 128 else 40)) for c in range(rank)] for _ in range(5)]
        cache = (Buffer(self.ctx, (4, page, rank), "uint8", [0x7f] * (4 * page * rank)), Buffer(self.ctx, (4, page, 4), "float32", [math.nan] * (16 * page)))
        slots = [7, 2, 11, 0, 8]
        for powers in (True, False):
            mlaforge.concat_and_cache_mla(Buffer(self.ctx, (5, rank), "bfloat16", sum(latent, [])), None, cache, Buffer(self.ctx, (5,), "int64", slots),
                                          "fp8_scales", None, power_of_two_scales=powers, ctx=self.ctx)
            scales = values(cache[1])
            for t, slot in enumerate(slots):
                most = [max(abs(wide(x)) for x in latent[t][c:c + 128]) for c in (0, 128)]
                exact = [2.0 ** math.ceil(math.log2(m / 448)) if powers else m / 448 for m in most] + [0, 0]
                self.assertLess(max(abs(a - b) for a, b in zip(scales[4 * slot:4 * slot + 4], exact)), 1e-6)
            columns = [i * 8 % rank + i % 3 for i in range(outputs)]
            got, _ = self.columns_of(cache, rank, 0, columns, slots, page)
            self.columns_are_near(got, latent, columns,
                                  lambda x, t, c: max(2 ** -3.9 * abs(x), 448 * scales[4 * slots[t] + c // 128] * 2 ** -17), powers)

    def test_a_split_cache(self):
        """Rows of the pair lie at different distances; pages have a spare row each."""
        spare, columns = PAGE + 1, ROPE + 8
        latent = [x for p in range(PAGES) for row in self.rows[p * PAGE:(p + 1) * PAGE] + [[0] * ROW] for x in row[:RANK]]
        rope = [x for p in range(PAGES) for row in self.rows[p * PAGE:(p + 1) * PAGE] + [[0] * ROW] for x in row[RANK:] + [0] * 8]
        pair = [Buffer(self.ctx, (PAGES, PAGE, RANK), "bfloat16", latent[:-RANK], strides=(spare * RANK, RANK, 1)),
                Buffer(self.ctx, (PAGES, PAGE, ROPE), "bfloat16", rope[:-columns - 8], strides=(spare * columns, columns, 1))]
        (kv, k_pe), (table, starts) = self.outputs(), self.table()
        mlaforge.mla_gather_kv_b(pair, table, self.cu(), starts, self.weight, kv, k_pe, vdim=VDIM, ctx=self.ctx)
        self.check_outputs([[wide(x) for x in self.rows[i]] for i in self.tokens()], kv, k_pe)
        # The same as pages of a token each, which are a row's distance apart, and have a spare row between.
        apart = [[self.rows[i][c] if c < ROW else 0 for c in range(ROW + 8)] for i in range(PAGES * PAGE)]
        ones = [Buffer(self.ctx, (PAGES * PAGE, 1, n), "bfloat16", [x for row in apart for x in row[at:] + row[:at]][:(PAGES * PAGE - 1) * (ROW + 8) + n],
                       strides=(ROW + 8, 3, 1)) for at, n in ((0, RANK), (RANK, ROPE))]
        table_1 = [p * PAGE + o if p >= 0 else -1 for p in values(table) for o in range(PAGE)]
        table_1 = Buffer(self.ctx, (len(self.requests), 3 * PAGE), "int32", table_1)
        kv_1, k_pe_1 = self.outputs()
        mlaforge.mla_gather_kv_b(ones, table_1, self.cu(), starts, self.weight, kv_1, k_pe_1, vdim=VDIM, ctx=self.ctx)
        self.assertEqual((values(kv_1), values(k_pe_1)), (values(kv), values(k_pe)))
        rope = rope[:PAGES * PAGE * columns - 8]
        pair[1] = Buffer(self.ctx, (PAGES, PAGE, ROPE), "bfloat16", rope, strides=(PAGE * columns, columns, 1))
        with self.assertRaisesRegex(mlaforge.MlafError, "both must have as many rows"):
            mlaforge.mla_gather_kv_b(pair, table, self.cu(), starts, self.weight, kv, k_pe, vdim=VDIM, ctx=self.ctx)
