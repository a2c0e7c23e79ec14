"""Prefill over a cached context from Python, with plain buffers on the emulator, against plain Python."""
import math
import random
import unittest

import mlaforge
from buffers import FAR, Buffer, EmulatorTest, bf16, far, values, wide

HEADS, NOPE, ROPE, VDIM, RANK, PAGE = 2, 32, 32, 64, 64, 16
OUT, QK, ROW = NOPE + VDIM, NOPE + ROPE, RANK + ROPE
FRESH, CACHED, TABLE = [3, 0, 2], [20, 5, 0], [[4, 1], [0, -1], [-1, -1]]


class ChunkedPrefillTest(EmulatorTest):
    def tensor(self, *shape, size=1.0):
        bits = [bf16(self.rng.gauss(0, size)) for _ in range(math.prod(shape))]
        return Buffer(self.ctx, shape, "bfloat16", bits), [wide(b) for b in bits]

    def expected(self, q, kv, k_pe, w, cache, scale):
        """o[t][h] as lists."""
        first, out = 0, []
        for r, n in enumerate(FRESH):
            cached = []
            for j in range(CACHED[r]):
                row = cache[(TABLE[r][j // PAGE] * PAGE + j % PAGE) * ROW:][:ROW]
                made = [wide(bf16(sum(a * b for a, b in zip(w[i * RANK:], row[:RANK])))) for i in range(HEADS * OUT)]
                cached.append((made, row[RANK:]))
            for t in range(first, first + n):
                own = [(kv[i * HEADS * OUT:][:HEADS * OUT], k_pe[i * ROPE:][:ROPE]) for i in range(first, t + 1)]
                for h in range(HEADS):
                    keys = [(made[h * OUT:h * OUT + NOPE] + pe, made[h * OUT + NOPE:(h + 1) * OUT]) for made, pe in cached + own]
                    query = q[(t * HEADS + h) * QK:][:QK]
                    scores = [scale * sum(a * b for a, b in zip(query, k)) for k, _ in keys]
                    p = [math.exp(s - max(scores)) for s in scores]
                    out.append([sum(x * v[c] for x, (_, v) in zip(p, keys)) / sum(p) for c in range(VDIM)])
            first += n
        return out

    def test_chunks(self):
        self.rng = random.Random(2)
        tokens = sum(FRESH)
        (q, q_rows), (kv, kv_rows), (k_pe, pe_rows) = self.tensor(tokens, HEADS, QK), self.tensor(tokens, HEADS, OUT), self.tensor(tokens, ROPE)
        (w, w_rows), (cache, cache_rows) = self.tensor(HEADS * OUT, RANK, size=0.125), self.tensor(6, PAGE, ROW)
        table = Buffer(self.ctx, (3, 2), "int32", [page for row in TABLE for page in row])
        k = View(kv, (tokens, HEADS, NOPE), 0)
        v = View(kv, (tokens, HEADS, VDIM), NOPE)
        want = self.expected(q_rows, kv_rows, pe_rows, w_rows, cache_rows, 0.1)
        with mlaforge.ChunkedPrefill(HEADS, NOPE, ROPE, VDIM, RANK, page_tokens=PAGE, chunk_tokens=16, batch=2, tokens=4, ctx=self.ctx) as c:
            schedule = c.schedule(FRESH, CACHED)
            self.assertEqual(schedule.chunks, 2)
            out = Buffer(self.ctx, (tokens, HEADS, VDIM), "bfloat16", [0xffff] * (tokens * HEADS * VDIM))
            c(schedule, q, k, k_pe, v, cache, table, w, 0.1, out=out)
            got = [wide(b) for b in values(out)]
            for i, row in enumerate(want):
                self.assertLessEqual(math.dist(got[i * VDIM:][:VDIM], row), 1e-2 * math.hypot(*row), f"row {i}")
            turns = Buffer(self.ctx, (32, ROPE), "float32", [0.0] * (32 * ROPE))
            with self.assertRaisesRegex(mlaforge.MlafError, "rope_style is None"):
                c(schedule, q, k, k_pe, v, cache, table, w, 0.1, out=out, rope_table=turns)
            with self.assertRaisesRegex(mlaforge.MlafError, r"context_tokens\[0\] is -1, must be 0"):
                c.schedule([1], [-1])
            with self.assertRaisesRegex(mlaforge.MlafError, "page_tokens is 16, kv_cache's shape says 32"):
                c(schedule, q, k, k_pe, v, Buffer(self.ctx, (3, 2 * PAGE, ROW), "bfloat16", [0] * (6 * PAGE * ROW)), table, w, out=out)
            with self.assertRaisesRegex(mlaforge.MlafError, "q has the shape"):
                c(schedule, k, k, k_pe, v, cache, table, w, out=out)
            with self.assertRaisesRegex(mlaforge.MlafError, "schedule is list"):
                c(FRESH, q, k, k_pe, v, cache, table, w, out=out)
            torn = c.schedule(FRESH, CACHED)
            torn.host[0] += 1
            with self.assertRaisesRegex(mlaforge.MlafError, "schedule is none that"):
                c(torn, q, k, k_pe, v, cache, table, w, out=out)
            sums, room = Buffer(self.ctx, (HEADS, tokens), "float32", [0] * (HEADS * tokens)), Buffer(self.ctx, (1 << 20,), "uint8")
            c(schedule, q, k, k_pe, v, cache, table, w, 0.1, out=out, lse=sums, workspace=room)
            self.assertEqual([wide(b) for b in values(out)], got)
            small, gaps = Buffer(self.ctx, (16,), "float32"), Buffer(self.ctx, (1 << 19,), "uint8", strides=(2,))
            for wrong, word in (({"lse": far(sums)}, "lse " + FAR), ({"workspace": small}, "workspace is 0x[0-9a-f]+ of 64 bytes"), ({"workspace": gaps}, "must be dense"),
                                ({"workspace": far(room)}, "workspace " + FAR)):
                with self.assertRaisesRegex(mlaforge.MlafError, word):
                    c(schedule, q, k, k_pe, v, cache, table, w, 0.1, out=out, **wrong)

        # A cache that is not rotated: quarter turns, position by position, move and negate columns and round nothing.
        quarter = [(1, 0), (0, 1), (-1, 0), (0, -1)]
        turns = Buffer(self.ctx, (32, ROPE), "float32", [float(quarter[(p + i) % 4][part]) for p in range(32) for part in (0, 1) for i in range(ROPE // 2)])
        back, half = list(values(cache)), ROPE // 2
        for r, pages in enumerate(TABLE):
            for j in range(CACHED[r]):
                at = (pages[j // PAGE] * PAGE + j % PAGE) * ROW + RANK
                for i in range(half):
                    (cos, sin), x, y = quarter[(j + i) % 4], cache_rows[at + i], cache_rows[at + half + i]
                    back[at + i], back[at + half + i] = bf16(x * cos + y * sin), bf16(y * cos - x * sin)
        cache = Buffer(self.ctx, (6, PAGE, ROW), "bfloat16", back)
        with mlaforge.ChunkedPrefill(HEADS, NOPE, ROPE, VDIM, RANK, page_tokens=PAGE, chunk_tokens=16, batch=2, tokens=4, rope_style="halves",
                                     ctx=self.ctx) as c:
            c(c.schedule(FRESH, CACHED), q, k, k_pe, v, cache, table, w, 0.1, out=out, rope_table=turns)
            self.assertEqual([wide(b) for b in values(out)], got)
            with self.assertRaisesRegex(mlaforge.MlafError, "q " + FAR):
                c(c.schedule(FRESH, CACHED), far(q), k, k_pe, v, cache, table, w, out=out, rope_table=turns)

    def test_planar(self):
        """Tokens of 656 bytes in pages of codes, then scales, then rope columns: the same outputs as of whole tokens."""
        self.rng, rank, tokens, held = random.Random(3), 512, sum(FRESH), sum(CACHED)
        row, outs = rank + 16 + 2 * ROPE, []
        (q, _), (k, _), (k_pe, _) = self.tensor(tokens, HEADS, QK), self.tensor(tokens, HEADS, NOPE), self.tensor(tokens, ROPE)
        (v, _), (w, _) = self.tensor(tokens, HEADS, VDIM), self.tensor(HEADS * OUT, rank, size=0.125)
        (latent, _), (rope, _) = self.tensor(held, rank), self.tensor(held, ROPE)
        slots = [TABLE[r][j // PAGE] * PAGE + j % PAGE for r, n in enumerate(CACHED) for j in range(n)]
        table, slots = Buffer(self.ctx, (3, 2), "int32", [p for r in TABLE for p in r]), Buffer(self.ctx, (held,), "int64", slots)
        for layout in ("fp8_ds_mla", "fp8_planar", "fp8_planar_fnuz"):
            page = -(-PAGE * row // rank) * rank if layout != "fp8_ds_mla" else PAGE * row
            cache = Buffer(self.ctx, (6, PAGE, row), "uint8", [0] * (5 * page + PAGE * row), strides=(page, row, 1))
            mlaforge.concat_and_cache_mla(latent, rope, cache, slots, layout, None, ctx=self.ctx)
            with mlaforge.ChunkedPrefill(HEADS, NOPE, ROPE, VDIM, rank, layout=layout, page_tokens=PAGE, chunk_tokens=16, batch=2, tokens=4,
                                         ctx=self.ctx) as c:
                outs.append(Buffer(self.ctx, (tokens, HEADS, VDIM), "bfloat16", [0xffff] * (tokens * HEADS * VDIM)))
                c(c.schedule(FRESH, CACHED), q, k, k_pe, v, cache, table, w, 0.1, out=outs[-1])
        self.assertEqual(list(values(outs[0])), list(values(outs[1])))
        same, other = ([wide(x) for x in values(outs[i])] for i in (0, 2))  # the other encoding rounds otherwise where numbers are small
        self.assertLess(math.dist(same, other), 0.03 * math.hypot(*same))
        self.assertNotIn(0xffff, list(values(outs[0])))

    def test_crossover(self):
        self.assertEqual(mlaforge.prefill_crossover(512, 128, 128, 512), 128)


class View:
    """Columns of a buffer's rows."""

    def __init__(self, buffer, shape, first):
        self._buffer, self.shape, self.dtype, self._first = buffer, shape, buffer.dtype, first

    def data_ptr(self):
        return self._buffer.data_ptr() + 2 * self._first

    def stride(self):
        return self._buffer.stride()
