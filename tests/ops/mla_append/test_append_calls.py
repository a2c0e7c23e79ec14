"""The entry points of vLLM and AITER that append to a cache, over the emulator with plain buffers, against plain Python."""
import math
import struct
import unittest

import mlaforge
from buffers import FAR, Buffer, EmulatorTest, bf16, e4m3, far, values, wide

RANK, ROPE, BLOCK, POSITIONS = 128, 32, 4, 11
ROW, DS_ROW = RANK + ROPE, RANK + 16 + 2 * ROPE


def turned(row, cos, sin, halves):
    out, half = list(row), len(row) // 2
    for i in range(half):
        a, b = (i, i + half) if halves else (2 * i, 2 * i + 1)
        out[a], out[b] = row[a] * cos[i] - row[b] * sin[i], row[b] * cos[i] + row[a] * sin[i]
    return out


class AppendTest(EmulatorTest):
    def ints(self, numbers):
        return Buffer(self.ctx, (len(numbers),), "int64", numbers)

    def table(self, columns):
        code = f"{POSITIONS * columns}f"
        flat = struct.unpack(code, struct.pack(code, *(self.rng.uniform(-1, 1) for _ in range(POSITIONS * columns))))
        return Buffer(self.ctx, (POSITIONS, columns), "float32", flat), [flat[i * columns:(i + 1) * columns] for i in range(POSITIONS)]

    def near(self, got, want, what):
        for i, (a, b) in enumerate(zip(got, want)):
            self.assertLessEqual(abs(a - b), 2 ** -8 * abs(b) + 1e-6, f"{what}, column {i}: {a}, not {b}")

    def rows(self, cache):
        width, data = cache.shape[-1], values(cache)
        return [data[i:i + width] for i in range(0, len(data), width)]

    def test_concat(self):
        ckv, latent = self.tensor((5, RANK), (ROW + 8, 1))  # slices of a wider row
        kpe, rope = self.tensor((5, ROPE), (ROW, 1))
        cache = Buffer(self.ctx, (3, BLOCK, ROW), "bfloat16", [0x4242] * (3 * BLOCK * ROW))
        slots = [9, -1, 0, 11, 4]
        mlaforge.concat_and_cache_mla(ckv, kpe, cache, self.ints(slots), "auto", None, ctx=self.ctx)
        rows = self.rows(cache)
        for t, slot in enumerate(slots):
            if slot >= 0:
                self.assertEqual([wide(b) for b in rows[slot]], latent(t) + rope(t))
        for slot in set(range(3 * BLOCK)) - set(slots):
            self.assertEqual(set(rows[slot]), {0x4242})

    def test_concat_in_blocks_that_lie_apart(self):
        ckv, latent = self.tensor((2, RANK))
        kpe, rope = self.tensor((2, ROPE))
        page = BLOCK * ROW + 16
        cache = Buffer(self.ctx, (2, BLOCK, 1, ROW), "bfloat16", [0] * (page + BLOCK * ROW), (page, ROW, ROW, 1))
        mlaforge.concat_and_cache_mla(ckv, kpe, cache, self.ints([6, 1]), "auto", None, ctx=self.ctx)
        data = values(cache)
        self.assertEqual([wide(b) for b in data[page + 2 * ROW:page + 3 * ROW]], latent(0) + rope(0))
        self.assertEqual([wide(b) for b in data[ROW:2 * ROW]], latent(1) + rope(1))

    def test_fp8(self):
        ckv, latent = self.tensor((3, RANK))
        kpe, rope = self.tensor((3, ROPE))
        scale = Buffer(self.ctx, (1,), "float32", [0.25])
        for dtype, bias, name in (("float8_e4m3fn", 7, "fp8"), ("float8_e4m3fnuz", 8, "fp8_e4m3"), ("uint8", 8, "fp8")):
            cache = Buffer(self.ctx, (1, BLOCK, ROW), dtype, [0] * (BLOCK * ROW))
            mlaforge.concat_and_cache_mla(ckv, kpe, cache, self.ints([2, 0, 3]), name, scale, ctx=self.ctx)
            rows = self.rows(cache)
            for t, slot in enumerate((2, 0, 3)):
                for byte, x in zip(rows[slot], latent(t) + rope(t)):
                    self.assertLessEqual(abs(0.25 * e4m3(byte, bias) - x), 2 ** -4 * abs(x) + 2 ** -12)

    def test_fp8_ds_mla(self):
        ckv, latent = self.tensor((2, RANK))
        kpe, rope = self.tensor((2, ROPE))
        for power_of_two in (True, False):
            cache = Buffer(self.ctx, (1, BLOCK, DS_ROW), "uint8", [7] * (BLOCK * DS_ROW))
            mlaforge.concat_and_cache_mla(ckv, kpe, cache, self.ints([3, 1]), "fp8_ds_mla", None, power_of_two_scales=power_of_two,
                                          ctx=self.ctx)
            for t, slot in enumerate((3, 1)):
                row = bytes(self.rows(cache)[slot])
                scale, = struct.unpack("f", row[RANK:RANK + 4])
                exact = max(map(abs, latent(t))) / 448
                self.assertAlmostEqual(scale / (2 ** math.ceil(math.log2(exact)) if power_of_two else exact), 1, places=5)
                for byte, x in zip(row, latent(t)):
                    self.assertLessEqual(abs(scale * e4m3(byte) - x), 2 ** -4 * abs(x) + scale * 2 ** -10)
                self.assertEqual([wide(b) for b in struct.unpack(f"{ROPE}H", row[RANK + 16:])], rope(t))

    def test_fp8_v4(self):
        """Pages of DeepSeek-V4 beside flash_mla_with_kvcache: tiles that are large, small, zero, with NaN, with an infinity."""
        times = (3e3, 1e-6, 0, 1, 448.0, 1, 1)  # of each tile of the first token
        for block, stride in ((1, 1152), (3, 2304), (16, 9792)):
            latent = [bf16(self.rng.gauss(0, 1) * (times[i // 64] if t == 0 else 1)) for t in range(3) for i in range(448)]
            latent[4 * 64] = bf16(448.0 * 4)  # a tile whose largest value is 448 times a power of two
            for i in range(4 * 64 + 1, 5 * 64):
                latent[i] = bf16(self.rng.uniform(-1, 1))
            latent[5 * 64 + 9], latent[6 * 64 + 9] = 0x7fc0, 0xff80
            rope = [bf16(self.rng.gauss(0, 1)) for _ in range(3 * 64)]
            ckv, kpe = Buffer(self.ctx, (3, 448), "bfloat16", latent), Buffer(self.ctx, (3, 64), "bfloat16", rope)
            pages = -(-10 // block)
            size = stride * (pages - 1) + block * 584
            cache = Buffer(self.ctx, (pages, block, 1, 584), "uint8", [0x5a] * size, (stride, 584, 584, 1))
            slots, written = [9, 2, 4], set()
            mlaforge.concat_and_cache_mla(ckv, kpe, cache, self.ints(slots), "fp8_v4", None, ctx=self.ctx)
            data = bytes(values(cache))
            for t, slot in enumerate(slots):
                row = slot // block * stride + slot % block * 576
                powers = slot // block * stride + block * 576 + slot % block * 8
                written |= set(range(row, row + 576)) | set(range(powers, powers + 8))
                self.assertEqual(data[powers + 7], 0)
                self.assertEqual(list(struct.unpack("64H", data[row + 448:row + 576])), rope[64 * t:64 * t + 64])
                for tile in range(7):
                    own = [wide(x) for x in latent[448 * t + 64 * tile:448 * t + 64 * tile + 64]]
                    codes, power = data[row + 64 * tile:row + 64 * tile + 64], data[powers + tile]
                    if t == 0 and tile == 6:
                        self.assertEqual((power, {c & 0x7f for c in codes}), (255, {0x7f}), "a tile with an infinity")
                        continue
                    most = max([1e-4] + [abs(x) for x in own if x == x])
                    self.assertEqual(power - 127, math.ceil(math.log2(most / 448)), f"block {block}, token {t}, tile {tile}")
                    for i, (code, x) in enumerate(zip(codes, own)):
                        if x != x:
                            self.assertEqual(code & 0x7f, 0x7f)
                            continue
                        exact = x * 2.0 ** (127 - power)
                        self.assertLessEqual(abs(e4m3(code) - exact), max(2 ** -4 * abs(exact), 2 ** -10), (t, tile, i))
            self.assertEqual({data[i] for i in range(size) if i not in written}, {0x5a}, "what no token has")

    def test_fp8_v4_that_fits_no_page_is_refused(self):
        ckv, kpe = Buffer(self.ctx, (1, 448), "bfloat16"), Buffer(self.ctx, (1, 64), "bfloat16")
        wide_ckv = Buffer(self.ctx, (1, 512), "bfloat16")
        good = Buffer(self.ctx, (2, 2, 584), "uint8", None, (1728, 584, 1))
        for text, kv_c, cache in (
                ("cache_page_stride is 1168, must be 0 or a multiple of 576 from 1728 on", ckv, Buffer(self.ctx, (2, 2, 584), "uint8")),
                ("cache_page_stride is 1744, must be 0 or a multiple of 576", ckv, Buffer(self.ctx, (2, 2, 584), "uint8", None, (1744, 584, 1))),
                ("kv_cache has rows 592 bytes apart, must be 584", ckv, Buffer(self.ctx, (2, 2, 584), "uint8", None, (1728, 592, 1))),
                ("kv_cache is fp8_v4, whose tokens have 448 columns as codes and 64 of bf16: the problem needs r448,p64,bf16$", wide_ckv, good)):
            with self.assertRaisesRegex(mlaforge.MlafError, text):
                mlaforge.concat_and_cache_mla(kv_c, kpe, cache, self.ints([0]), "fp8_v4", None, ctx=self.ctx)

    def test_what_no_fp8_cache_can_hold_is_nan(self):
        """An infinity, in its place or in all of its tile; a row whose scale on the device is not a positive normal number."""
        latent, rope = [0x3f80] * RANK, [0x3f80] * ROPE
        latent[3], rope[5] = 0x7f80, 0xff80
        ckv, kpe = Buffer(self.ctx, (1, RANK), "bfloat16", latent), Buffer(self.ctx, (1, ROPE), "bfloat16", rope)
        for dtype, nan in (("float8_e4m3fn", (0x7f, 0xff)), ("float8_e4m3fnuz", (0x80,))):
            for scale in (0.25, 1e-3, 0.0, -1.0, 1e-40, math.inf, math.nan):
                cache = Buffer(self.ctx, (1, BLOCK, ROW), dtype, [0] * (BLOCK * ROW))
                mlaforge.concat_and_cache_mla(ckv, kpe, cache, self.ints([1]), "fp8", Buffer(self.ctx, (1,), "float32", [scale]), ctx=self.ctx)
                found = [i for i, byte in enumerate(self.rows(cache)[1]) if byte in nan]
                self.assertEqual(found, [3, RANK + 5] if 0 < scale < 1 and scale > 1e-38 else list(range(ROW)), (dtype, scale))
        for power_of_two in (True, False):
            cache = Buffer(self.ctx, (1, BLOCK, DS_ROW), "uint8", [7] * (BLOCK * DS_ROW))
            mlaforge.concat_and_cache_mla(ckv, kpe, cache, self.ints([1]), "fp8_ds_mla", None, power_of_two_scales=power_of_two, ctx=self.ctx)
            row = bytes(self.rows(cache)[1])
            self.assertEqual(struct.unpack("f", row[RANK:RANK + 4]), (math.inf,))
            self.assertEqual({byte & 0x7f for byte in row[:RANK]}, {0x7f})
            self.assertEqual(list(struct.unpack(f"{ROPE}H", row[RANK + 16:])), rope)

    def test_rope_fused_in_place(self):
        for is_neox in (False, True):
            q, q_row = self.tensor((3, 2, ROPE), (2 * ROW + 8, ROW, 1))
            ckv, latent = self.tensor((3, RANK))
            kpe, rope = self.tensor((3, ROPE))
            table, rows = self.table(ROPE)
            cache = Buffer(self.ctx, (2, BLOCK, ROW), "bfloat16", [0] * (2 * BLOCK * ROW))
            slots, positions = [5, -1, 2], [POSITIONS - 1, 3, 0]
            mlaforge.concat_and_cache_mla_rope_fused(self.ints(positions), q, kpe, ckv, table, is_neox, self.ints(slots), cache, "auto",
                                                     None, ctx=self.ctx)
            got, step = values(q), q.stride()
            angles = [(rows[p][:ROPE // 2], rows[p][ROPE // 2:]) for p in positions]
            for t in range(3):
                for h in range(2):  # q also where there is no slot
                    first = t * step[0] + h * step[1]
                    self.near([wide(b) for b in got[first:first + ROPE]], turned(q_row(t, h), *angles[t], is_neox), f"q {t} {h}")
                want = turned(rope(t), *angles[t], is_neox) if slots[t] >= 0 else rope(t)
                self.near([wide(b) for b in values(kpe)[t * ROPE:(t + 1) * ROPE]], want, f"k {t}")
                if slots[t] >= 0:
                    row = [wide(b) for b in self.rows(cache)[slots[t]]]
                    self.assertEqual(row[:RANK], latent(t))
                    self.near(row[RANK:], want, f"cache {t}")

    def test_qk_rope_concat(self):
        q_nope, nope = self.tensor((4, 3, RANK))
        q_pe, pe = self.tensor((4, 3, ROPE))
        ckv, latent = self.tensor((4, 1, RANK))
        kpe, rope = self.tensor((4, 1, ROPE))
        (cos, c), (sin, s) = self.table(ROPE // 2), self.table(ROPE // 2)
        slots, positions = [1, 0, -1, 7], [2, 10, 1 << 40, 5]
        for every in (False, True):
            positions[2] = 4 if every else 1 << 40
            cache = Buffer(self.ctx, (8, 1, ROW), "bfloat16", [0] * (8 * ROW))
            out = Buffer(self.ctx, (4, 3, ROW), "bfloat16", [0x3131] * (12 * ROW))
            mlaforge.fused_qk_rope_concat_and_cache_mla(q_nope, q_pe, ckv, kpe, cache, out, self.ints(slots), None, None,
                                                        self.ints(positions), cos, sin, False, True, every, ctx=self.ctx)
            rows = self.rows(out)
            for t in range(4):
                angles = (c[positions[t]], s[positions[t]]) if positions[t] < POSITIONS else None
                for h in range(3):
                    row = rows[3 * t + h]
                    if slots[t] < 0 and not every:
                        self.assertEqual(set(row), {0x3131})
                        continue
                    self.assertEqual([wide(b) for b in row[:RANK]], nope(t, h))
                    self.near([wide(b) for b in row[RANK:]], turned(pe(t, h), *angles, False), f"q {t} {h}")
                if slots[t] >= 0:
                    row = [wide(b) for b in self.rows(cache)[slots[t]]]
                    self.assertEqual(row[:RANK], latent(t, 0))
                    self.near(row[RANK:], turned(rope(t, 0), *angles, False), f"k {t}")

    def test_any_number_of_tokens_and_none(self):
        cache = Buffer(self.ctx, (1, 16, ROW), "bfloat16", [0] * (16 * ROW))
        empty = [Buffer(self.ctx, (0, n), "bfloat16") for n in (RANK, ROPE)]
        mlaforge.concat_and_cache_mla(*empty, cache, Buffer(self.ctx, (0,), "int64"), "auto", None, ctx=self.ctx)
        self.assertEqual(set(values(cache)), {0})
        for n in (1, 3, 16):
            ckv, latent = self.tensor((n, RANK))
            kpe, rope = self.tensor((n, ROPE))
            mlaforge.concat_and_cache_mla(ckv, kpe, cache, self.ints(range(n)), "auto", None, ctx=self.ctx)
            for t in range(n):
                self.assertEqual([wide(b) for b in self.rows(cache)[t]], latent(t) + rope(t))

    def test_what_is_refused(self):
        ckv, kpe = self.tensor((2, RANK))[0], self.tensor((2, ROPE))[0]
        cache, slots = Buffer(self.ctx, (1, BLOCK, ROW), "bfloat16"), self.ints([0, 1])
        narrow, wrong = Buffer(self.ctx, (1, BLOCK, ROW - 8), "bfloat16"), Buffer(self.ctx, (2,), "int32", [0, 1])
        for text, arguments in {
            "kv_cache_dtype is 'fp8'": (ckv, kpe, cache, slots, "fp8", None),
            "slot_mapping is int32": (ckv, kpe, cache, wrong, "auto", None),
            "kv_cache has the shape (1, 4, 152)": (ckv, kpe, narrow, slots, "auto", None),
            "k_pe has 1 rows for 2 tokens": (ckv, self.tensor((1, ROPE))[0], cache, slots, "auto", None),
            "ckv_row_stride is 129": (self.tensor((2, RANK), (RANK + 1, 1))[0], kpe, cache, slots, "auto", None),
            "slot_mapping lies on device 3": (ckv, kpe, cache, far(Buffer(self.ctx, (2,), "int64", [0, 1])), "auto", None),
            "stride 0": (self.tensor((2, RANK), (0, 1))[0], kpe, cache, slots, "auto", None),
        }.items():
            with self.assertRaises(mlaforge.MlafError) as why:
                mlaforge.concat_and_cache_mla(*arguments, ctx=self.ctx)
            self.assertIn(text, str(why.exception))
        out, cos = Buffer(self.ctx, (2, 1, ROW), "float8_e4m3fn"), self.table(ROPE // 2)[0]
        q, pe = self.tensor((2, 1, RANK))[0], self.tensor((2, 1, ROPE))[0]
        with self.assertRaisesRegex(mlaforge.MlafError, "scale " + FAR):
            mlaforge.concat_and_cache_mla(ckv, kpe, Buffer(self.ctx, (1, BLOCK, ROW), "uint8"), slots, "fp8", far(Buffer(self.ctx, (1,), "float32", [1])),
                                          ctx=self.ctx)
        sin = far(Buffer(self.ctx, cos.shape, cos.dtype))
        with self.assertRaisesRegex(mlaforge.MlafError, "sin_cache " + FAR):
            mlaforge.fused_qk_rope_concat_and_cache_mla(q, pe, ckv, kpe, cache, Buffer(self.ctx, (2, 1, ROW), "bfloat16"), slots, None, None, slots, cos,
                                                        sin, False, True, ctx=self.ctx)
        with self.assertRaisesRegex(mlaforge.MlafError, "q_out is float8_e4m3fn, must be bfloat16"):
            mlaforge.fused_qk_rope_concat_and_cache_mla(q, pe, ckv, kpe, cache, out, slots, None, None, slots, cos, cos, False, True,
                                                        ctx=self.ctx)
