"""A layer from Python, over the emulator with plain buffers, against plain Python."""
import math
import random
import unittest

import mlaforge
from buffers import FAR, Buffer, bf16, far, values, wide

D, H, L, R, P, N, V, PAGE, PAGES, POSITIONS = 128, 4, 96, 64, 32, 32, 64, 16, 8, 40
ROUND = 2 ** -8 * math.sqrt(3 / (8 * math.log(2)) / 3)
BOUND = ROUND * math.sqrt(5 + 6 * 0.1 ** 2 * (N + P) * (1 + 3 * math.sqrt(2 / H)))  # mlaf_form_bound of runtime/layer/forms.c
SHAPES = {"q_a_proj": (L, D), "q_a_layernorm": (L,), "q_b_proj": (H * (N + P), L), "kv_a_proj_with_mqa": (R + P, D),
          "kv_a_layernorm": (R,), "kv_b_proj": (H * (N + V), R), "o_proj": (D, H * V)}


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def normed(x, gain):
    factor = 1 / math.sqrt(dot(x, x) / len(x) + 1e-6)
    return [v * factor * g for v, g in zip(x, gain)]


class LayerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ctx = mlaforge.Context(device="emu:gfx942")
        cls.rng = random.Random(5)
        cls.rows, weights = {}, {}
        for name, shape in SHAPES.items():
            norm = len(shape) == 1
            bits = [bf16(cls.rng.uniform(0.8, 1.2) if norm else cls.rng.gauss(0, shape[1] ** -0.5)) for _ in range(math.prod(shape))]
            weights[f"model.layers.0.self_attn.{name}.weight"] = Buffer(cls.ctx, shape, "bfloat16", bits)
            flat = [wide(b) for b in bits]
            cls.rows[name] = flat if norm else [flat[i:i + shape[1]] for i in range(0, len(flat), shape[1])]
        cls.table = [[f(t * 10000 ** (-2 * i / P)) for f in (math.cos, math.sin) for i in range(P // 2)] for t in range(POSITIONS)]
        cls.weights, flat = weights, [x for row in cls.table for x in row]
        cls.rotations = Buffer(cls.ctx, (POSITIONS, P), "float32", flat)
        cls.layer = cls.make(weights)

    @classmethod
    def make(cls, weights, **more):
        more = {"cos_sin_cache": cls.rotations, "scale": 0.1, "batch": 2, "page_size": PAGE, **more}
        return mlaforge.Layer(weights, heads=H, rank=R, rope=P, nope=N, v=V, kv_len=(64, 64), ctx=cls.ctx, **more)

    @classmethod
    def tearDownClass(cls):
        cls.layer.close()
        cls.ctx.close()

    def turned(self, row, position):
        table, out = self.table[position], list(row)
        for i in range(P // 2):
            c, s, a, b = table[i], table[P // 2 + i], row[2 * i], row[2 * i + 1]
            out[2 * i], out[2 * i + 1] = a * c - b * s, b * c + a * s
        return out

    def reference(self, x, cache, position, by=1):
        """y of a token whose request has `cache`, rows of the tokens before it; appends to it. by: what its queries are multiplied by."""
        w = self.rows
        low = normed([dot(row, x) for row in w["q_a_proj"]], w["q_a_layernorm"])
        q = [dot(row, low) for row in w["q_b_proj"]]
        kv = [dot(row, x) for row in w["kv_a_proj_with_mqa"]]
        cache.append(normed(kv[:R], w["kv_a_layernorm"]) + self.turned(kv[R:], position))
        o = []
        for h in range(H):
            head, kv_b = q[h * (N + P):(h + 1) * (N + P)], w["kv_b_proj"][h * (N + V):(h + 1) * (N + V)]
            qout = [sum(head[n] * kv_b[n][r] for n in range(N)) for r in range(R)] + self.turned(head[N:], position)
            p = [math.exp(0.1 * by * dot(qout, row)) for row in cache]
            u = [sum(a * row[r] for a, row in zip(p, cache)) / sum(p) for r in range(R)]
            o += [dot(row, u) for row in kv_b[N:]]
        return [dot(row, o) for row in w["o_proj"]]

    def ints(self, kind, numbers, *shape):
        return Buffer(self.ctx, shape or (len(numbers),), kind, numbers)

    def off(self, buffer, want):
        got = [wide(b) for b in values(buffer)]
        return math.sqrt(sum((g - w) ** 2 for g, w in zip(got, want)) / sum(w * w for w in want))

    def near(self, buffer, want):
        self.assertLess(self.off(buffer, want), BOUND)

    def test_steps_of_two_requests(self):
        cache = Buffer(self.ctx, (PAGES, PAGE, R + P), "bfloat16", [0] * (PAGES * PAGE * (R + P)))
        table, past, pages = self.ints("int32", [5, 2, 7, 1], 2, 2), [[], []], [[5, 2], [7, 1]]
        lists = [self.ints("int32", x) for x in ([0, 1, 2], [0, 1, 2], [5, 7])]
        for t in range(2):
            bits = [bf16(self.rng.gauss(0, 1)) for _ in range(2 * D)]
            slots = self.ints("int64", [page[0] * PAGE + t for page in pages])
            hidden, positions = Buffer(self.ctx, (2, D), "bfloat16", bits), self.ints("int64", [t, t])
            if t:
                room = Buffer(self.ctx, (self.layer.workspace_size(),), "uint8")
                y = self.layer(hidden, positions, slots, cache, self.ints("int32", [t + 1] * 2), table, workspace=room)
                other = self.layer(hidden, positions, slots, cache, self.ints("int32", [0] * 2), self.ints("int32", [3, 6, 4, 8], 2, 2),
                                   workspace=room, same_tables=True)  # the tables of the call before are taken, not these
                self.assertEqual(other.read(), y.read())
                with self.assertRaisesRegex(Exception, "workspace="):
                    self.layer(hidden, positions, slots, cache, self.ints("int32", [t + 1] * 2), table, same_tables=True)
            else:
                y = self.layer.forward(hidden, positions, slots, cache, qo_indptr=lists[0], kv_indptr=lists[1], kv_indices=lists[2],
                                       kv_last_page_lens=self.ints("int32", [1, 1]))
            x = [wide(b) for b in bits]
            self.near(y, [v for b in range(2) for v in self.reference(x[b * D:(b + 1) * D], past[b], t)])

    def test_scale(self):
        self.make(self.weights, scale=None).close()
        for scale in (0, 0.0, -0.1, math.nan):
            with self.assertRaisesRegex(mlaforge.MlafError, f"scale is {scale}, must be positive, or None"):
                self.make(self.weights, scale=scale)

    def test_pages_of_one_token_may_lie_apart(self):
        """Then a page's distance is a row's, whatever the tensor says of rows of one page."""
        gap, layer = 32, self.make(self.weights, page_size=1, batch=1)
        cache = Buffer(self.ctx, (PAGES, 1, R + P), "bfloat16", [7] * (PAGES * (R + P + gap) - gap), strides=(R + P + gap, 5, 1))
        table, past = self.ints("int32", [5, 2, 7], 1, 3), []
        for t, slot in enumerate((5, 2, 7)):
            bits = [bf16(self.rng.gauss(0, 1)) for _ in range(D)]
            y = layer(Buffer(self.ctx, (1, D), "bfloat16", bits), self.ints("int64", [t]), self.ints("int64", [slot]), cache, self.ints("int32", [t + 1]),
                      table)
            self.near(y, self.reference([wide(b) for b in bits], past, t))
        layer.close()

    def test_prefill(self):
        """Two requests of 3 and 1 new tokens, over an empty cache."""
        cache = Buffer(self.ctx, (PAGES, PAGE, R + P), "bfloat16", [0] * (PAGES * PAGE * (R + P)))
        bits = [bf16(self.rng.gauss(0, 1)) for _ in range(4 * D)]
        x, layer = [wide(b) for b in bits], self.make(self.weights, prefill_tokens=4)
        mine = self.make(self.weights, prefill_tokens=4, prefill_crossover=77)
        self.assertEqual(mine.prefill_crossover(4096), 77)
        slots, positions = self.ints("int64", [5 * PAGE, 5 * PAGE + 1, 5 * PAGE + 2, 7 * PAGE]), self.ints("int64", [0, 1, 2, 0])
        want, past = [], []
        y = layer(Buffer(self.ctx, (4, D), "bfloat16", bits), positions, slots, cache, block_table=self.ints("int32", [5, 2, 7, 1], 2, 2),
                  schedule=layer.schedule([3, 1], [0, 0]))
        self.assertGreater(layer.prefill_crossover(4096), 128)
        for t, position in enumerate((0, 1, 2, 0)):
            past = past if position else []
            want += self.reference(x[t * D:(t + 1) * D], past, position)
        self.near(y, want)
        layer.close()

    def test_scaled_queries(self):
        """A prefill across three steps of the factor, and its last token again as a step."""
        steps = {"q_scale_beta": 0.5, "q_scale_original": 3}
        layer = self.make(self.weights, prefill_tokens=8, **steps)
        self.assertEqual([s["name"] for s in layer.stages()], ["q_a", "kv_a", "q_b", "q_scale", "q_absorb", "decode", "v_out", "o_proj"])
        cache = Buffer(self.ctx, (PAGES, PAGE, R + P), "bfloat16", [0] * (PAGES * PAGE * (R + P)))
        bits, table = [bf16(self.rng.gauss(0, 1)) for _ in range(8 * D)], self.ints("int32", [5, 2], 1, 2)
        x, at = [wide(b) for b in bits], list(range(8))
        y = layer(Buffer(self.ctx, (8, D), "bfloat16", bits), self.ints("int64", at), self.ints("int64", [5 * PAGE + t for t in at]), cache,
                  block_table=table, schedule=layer.schedule([8], [0]))
        past, plain, want, without = [], [], [], []
        for t in at:
            want += self.reference(x[t * D:(t + 1) * D], past, t, 1 + 0.5 * math.log(1 + t // 3))
            without += self.reference(x[t * D:(t + 1) * D], plain, t)
        self.near(y, want)
        self.assertGreater(self.off(y, without), 5 * BOUND)
        last = layer(Buffer(self.ctx, (1, D), "bfloat16", bits[7 * D:]), self.ints("int64", [7]), self.ints("int64", [5 * PAGE + 7]), cache,
                     self.ints("int32", [8]), table)
        self.near(last, want[7 * D:])
        self.near(last, [wide(b) for b in values(y)[7 * D:]])
        layer.close()
        for wrong, word in (({"q_scale_beta": -1.0}, "q_scale_beta is -1"), ({"q_scale_beta": 0.1}, "q_scale_original is 0"),
                            ({"q_scale_original": -1}, "q_scale_original is -1")):
            with self.assertRaisesRegex(mlaforge.MlafError, word):
                self.make(self.weights, **wrong)

    def of_8_bits(self, *names):
        """Weights, and their rows, with these matrices of random codes."""
        weights, rows = dict(self.weights), dict(self.rows)
        values_of = {0: 0.0, 0x40: 1.0, 0xc0: -1.0, 0x44: 1.5, 0xbc: -0.75, 0x38: 0.5}  # e4m3fnuz
        for name in names:
            n, m = SHAPES[name]
            codes = [self.rng.choice(list(values_of)) for _ in range(n * m)]
            across, scale = -(-m // 128), m ** -0.5
            scales = [scale * (1 + i) for i in range(-(-n // 128) * across)]
            prefix = f"model.layers.0.self_attn.{name}.weight"
            weights[prefix] = Buffer(self.ctx, (n, m), "float8_e4m3fnuz", codes)
            weights[prefix + "_scale_inv"] = Buffer(self.ctx, (len(scales) // across, across), "float32", scales)
            rows[name] = [[values_of[codes[r * m + c]] * scales[r // 128 * across + c // 128] for c in range(m)] for r in range(n)]
        return weights, rows

    def test_prefill_by_8_bits(self):
        """All matrices of 8 bits: a prefill over what another one cached, in two chunks, and its last token again as a step."""
        weights, rows = self.of_8_bits("q_a_proj", "kv_a_proj_with_mqa", "q_b_proj", "kv_b_proj", "o_proj")
        layer, kept = self.make(weights, batch=1, prefill_tokens=4, prefill_chunk=2), self.rows
        self.assertIn(",e4m3fnuz,", next(s["problem"] for s in layer.stages() if s["name"] == "v_out"))
        cache = Buffer(self.ctx, (PAGES, PAGE, R + P), "bfloat16", [0] * (PAGES * PAGE * (R + P)))
        bits, table = [bf16(self.rng.gauss(0, 1)) for _ in range(7 * D)], self.ints("int32", [5, 2], 1, 2)
        x, past, want = [wide(b) for b in bits], [], []

        def call(first, n, **more):
            at = list(range(first, first + n))
            return layer(Buffer(self.ctx, (n, D), "bfloat16", bits[first * D:(first + n) * D]), self.ints("int64", at),
                         self.ints("int64", [5 * PAGE + t for t in at]), cache, block_table=table, **more)

        got = [call(first, n, schedule=layer.schedule([n], [first])) for first, n in ((0, 4), (4, 3))]
        try:
            type(self).rows = rows
            for t in range(7):
                want += self.reference(x[t * D:(t + 1) * D], past, t)
        finally:
            type(self).rows = kept
        self.near(got[0], want[:4 * D])
        self.near(got[1], want[4 * D:])
        self.near(call(6, 1, seq_lens=self.ints("int32", [7])), want[6 * D:])
        layer.close()

    def test_matrices_of_8_bits(self):
        """All but kv_b_proj, of random codes; one scale each, as none is larger than 128 x 256."""
        weights, rows = self.of_8_bits("q_a_proj", "kv_a_proj_with_mqa", "q_b_proj", "o_proj")
        layer, kept = self.make(weights, batch=1), self.rows
        self.assertEqual([s["name"] for s in layer.stages() if ",e4m3fnuz," in s["problem"]], ["q_a", "kv_a", "q_b", "o_proj"])
        bits = [bf16(self.rng.gauss(0, 1)) for _ in range(D)]
        cache = Buffer(self.ctx, (PAGES, PAGE, R + P), "bfloat16", [0] * (PAGES * PAGE * (R + P)))
        zero, one = self.ints("int64", [0]), self.ints("int32", [1])
        y = layer(Buffer(self.ctx, (1, D), "bfloat16", bits), zero, zero, cache, one, self.ints("int32", [0], 1, 1))
        try:
            type(self).rows = rows
            self.near(y, self.reference([wide(b) for b in bits], [], 0))
        finally:
            type(self).rows = kept
        layer.close()
        layer = self.make(weights, batch=1, keep_16=True)  # of one token, too, where estimates say so
        args = (Buffer(self.ctx, (1, D), "bfloat16", bits), zero, zero, cache, one, self.ints("int32", [0], 1, 1))
        again = layer(*args)
        try:
            type(self).rows = rows
            self.near(again, self.reference([wide(b) for b in bits], [], 0))
        finally:
            type(self).rows = kept
        self.assertEqual(len({",e4m3fnuz," in s["problem"] for s in layer.stages() if s["name"] in ("q_a", "kv_a", "q_b", "o_proj")}), 1)
        self.assertEqual(layer.copies_size, 2 * sum(math.prod(SHAPES[name]) for name in ("q_a_proj", "kv_a_proj_with_mqa", "q_b_proj", "o_proj")))
        layer.close()
        with self.assertRaisesRegex(mlaforge.MlafError, "closed"):
            layer.weights_changed()
        with self.assertRaisesRegex(mlaforge.MlafError, "MLAF_LAYER_DEQUANT_NEVER"):
            self.make(weights, batch=1, keep_16=True, dequant_many=False)
        layer = self.make(weights, batch=1, keep_16=False)  # keeps nothing, and may dequantise
        self.assertEqual(values(layer(*args)), values(y))
        layer.close()
        for missing, why in (("o_proj.weight_scale_inv", "o_proj.weight_scale_inv is missing"), ("o_proj.weight", "is missing among")):
            with self.assertRaisesRegex(Exception, why):
                self.make({k: w for k, w in weights.items() if not k.endswith(missing)}, batch=1)

    def test_weights_changed_in_place(self):
        """Copies of 16 bits are of the weights as they were until the layer is told. Batch-invariant calls always go by copies."""
        self.rng = random.Random(8)  # the others keep their draws
        matrices = "q_a_proj", "kv_a_proj_with_mqa", "q_b_proj", "kv_b_proj", "o_proj"
        layers, cache = [], Buffer(self.ctx, (PAGES, PAGE, R + P), "bfloat16", [0] * (PAGES * PAGE * (R + P)))
        drawn = [self.of_8_bits(*matrices)[0] for _ in range(2)]
        for weights in drawn:
            layers.append(self.make(weights, batch=1, keep_16=True, batch_invariant=True))
        zero, one = self.ints("int64", [0]), self.ints("int32", [1])
        args = Buffer(self.ctx, (1, D), "bfloat16", [bf16(self.rng.gauss(0, 1)) for _ in range(D)]), zero, zero, cache, one, self.ints("int32", [0], 1, 1)
        old, want = (values(layer(*args)) for layer in layers)
        for name, tensor in drawn[0].items():
            self.ctx.write(tensor.data_ptr(), drawn[1][name].read())
        self.assertEqual(values(layers[0](*args)), old)
        layers[0].weights_changed()
        self.assertEqual(values(layers[0](*args)), want)
        self.assertNotEqual(old, want)
        for layer in layers:
            layer.close()
        self.layer.weights_changed()  # of 16 bits: nothing is copied
        self.assertEqual(self.layer.copies_size, 0)

    def test_dtype_where_no_weight_says_it(self):
        self.rng = random.Random(6)  # the others keep their draws
        weights, _ = self.of_8_bits("q_a_proj", "kv_a_proj_with_mqa", "q_b_proj", "kv_b_proj", "o_proj")
        bare = {k: w for k, w in weights.items() if "layernorm" not in k}
        for dtype, word in ((None, ",bf16"), ("bfloat16", ",bf16"), ("torch.float16", ",f16")):
            layer = self.make(bare, norms=False, dtype=dtype)
            self.assertTrue(all(word in s["problem"] for s in layer.stages()))
            layer.close()
        for dtype, of in (("float32", bare), ("float16", self.weights)):
            with self.assertRaisesRegex(mlaforge.MlafError, f"dtype is {dtype}, o_proj.weight"):
                self.make(of, norms="layernorm" in "".join(of), dtype=dtype)
        with self.assertRaisesRegex(mlaforge.MlafError, "must be float16"):
            self.make(weights, dtype="float16")

    def test_stages_say_what_they_are(self):
        stages = self.layer.stages(batch=2)
        self.assertEqual([s["name"] for s in stages], ["q_a", "kv_a", "q_b", "q_absorb", "decode", "v_out", "o_proj"])
        self.assertTrue(all(s["problem"].startswith(s["operation"]) and s["bytes"] > 0 for s in stages))
        self.assertGreater(self.layer.workspace_size(), 0)

    def test_what_does_not_fit_is_named(self):
        def wrong(text, **more):
            with self.assertRaisesRegex(Exception, text):
                self.make(**{"weights": self.weights, **more})
        wrong("kv_b_proj.weight is missing", weights={k: w for k, w in self.weights.items() if "kv_b" not in k})
        wrong("o_proj.weight is missing", weights={})
        wrong("style is 'both'", style="both")
        wrong("cos_sin_cache is int32", cos_sin_cache=self.ints("int32", [0] * P, 1, P))
        wrong("tp_rank is 2", tp_rank=2, tp_size=2)
        one = self.ints("int64", [0])
        cache = Buffer(self.ctx, (PAGES, PAGE, R + P), "bfloat16", [0] * (PAGES * PAGE * (R + P)))
        hidden, lengths, table = Buffer(self.ctx, (1, D), "bfloat16", [0] * D), self.ints("int32", [1]), self.ints("int32", [0], 1, 1)
        with self.assertRaisesRegex(Exception, "slots has the shape"):
            self.layer(hidden, one, self.ints("int64", [0, 1]), cache, lengths, table)
        with self.assertRaisesRegex(Exception, "cache must be a pair|cache has the shape"):
            self.layer(hidden, one, one, (cache, cache), lengths, table)
        with self.assertRaisesRegex(Exception, "q_len is 2, must be 1..1"):
            self.layer(hidden, one, one, cache, lengths, table, q_len=2)
        with self.assertRaisesRegex(Exception, "residual is 0x"):
            self.layer(hidden, one, one, cache, lengths, table, residual=hidden)
        with self.assertRaisesRegex(Exception, "hidden " + FAR):
            self.layer(far(hidden), one, one, cache, lengths, table)
        hidden = Buffer(self.ctx, (1, D), "bfloat16", [0] * D)
        with self.assertRaisesRegex(Exception, "workspace " + FAR):
            self.layer(hidden, one, one, cache, lengths, table, workspace=far(Buffer(self.ctx, (self.layer.workspace_size(),), "uint8")))
        for args, text in (((None, one, one, cache, lengths, table), "hidden is NoneType"), ((hidden, one, one, None, lengths, table), "cache is NoneType"),
                           ((hidden, one, one, cache, 1, table), "seq_lens is int")):
            with self.assertRaisesRegex(mlaforge.MlafError, text):
                self.layer(*args)
        norm = Buffer(self.ctx, (R,), "bfloat16", [0] * R)
        wrong("kv_a_layernorm.weight " + FAR, weights={**self.weights, "kv_a_layernorm.weight": far(norm)})
