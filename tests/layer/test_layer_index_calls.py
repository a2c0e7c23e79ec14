"""Layers with an indexer, over the emulator: the rows that they attend to, the keys that they append."""
import bisect
import math
import random
import struct
import unittest

import mlaforge
from buffers import Buffer, bf16, e4m3, values, wide

D, H, L, N, P, V, R, I, PAGE, PAGES, WIDTH, POSITIONS, TOPK = 128, 4, 64, 64, 64, 64, 512, 32, 16, 9, 4, 64, 11
LENS, TABLE = [50, 37], [[3, 0, 7, 5], [1, 8, 2, 0]]  # two tokens of each are new
SHAPES = {"q_a_proj": (L, D), "q_a_layernorm": (L,), "q_b_proj": (H * (N + P), L), "kv_a_proj_with_mqa": (R + P, D), "kv_a_layernorm": (R,),
          "kv_b_proj": (H * (N + V), R), "o_proj": (D, H * V), "indexer.wq_b": (I * 128, L), "indexer.wk": (128, D), "indexer.weights_proj": (I, D)}


POSITIVE = [e4m3(code) for code in range(127)]
MIDDLES = [(a + b) / 2 for a, b in zip(POSITIVE, POSITIVE[1:])]


def encoded(row):
    """A row's codes and its scale, a power of two."""
    scale = 2.0 ** math.ceil(math.log2(max(map(abs, row)) / 448))
    return bytes(bisect.bisect(MIDDLES, abs(x) / scale) | (128 if x < 0 else 0) for x in row), scale


class Indexer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ctx, cls.rng = mlaforge.Context(device="emu:gfx942"), random.Random(11)
        cls.numbers, cls.weights = {}, {}
        for name, shape in SHAPES.items():
            bits = [bf16(cls.rng.uniform(0.8, 1.2) if len(shape) == 1 else cls.rng.gauss(0, shape[1] ** -0.5)) for _ in range(math.prod(shape))]
            if name.endswith("weights_proj"):  # hidden states begin with 4: all weights are positive
                bits = [bf16(0.5 if i % D == 0 else wide(x) / 8) for i, x in enumerate(bits)]
            cls.add(name, shape, bits)
        for word, middle in (("weight", 1), ("bias", 0)):
            cls.numbers[word] = [cls.rng.gauss(middle, 0.25) for _ in range(128)]
            cls.weights[f"layers.0.self_attn.indexer.k_norm.{word}"] = Buffer(cls.ctx, (128,), "float32", cls.numbers[word])
        cls.angles = [[f(t * 10000 ** (-2 * i / P)) for f in (math.cos, math.sin) for i in range(P // 2)] for t in range(POSITIONS)]
        cls.rotations = Buffer(cls.ctx, (POSITIONS, P), "float32", sum(cls.angles, []))

    @classmethod
    def add(cls, name, shape, bits):
        cls.numbers[name] = [wide(x) for x in bits]
        cls.weights[f"layers.0.self_attn.{name}.weight"] = Buffer(cls.ctx, shape, "bfloat16", bits)

    @classmethod
    def tearDownClass(cls):
        cls.ctx.close()

    def layer(self, **more):
        made = mlaforge.Layer(self.weights, **{**dict(heads=H, rank=R, rope=P, nope=N, v=V, cos_sin_cache=self.rotations, scale=0.1, batch=4,
                                                      q_lens=(1, 2), page_size=PAGE, kv_len=(64, 64), ctx=self.ctx), **more})
        self.addCleanup(made.close)
        return made

    def times(self, name, x):
        w, n = self.numbers[name], len(x)
        return [sum(map(float.__mul__, w[i:i + n], x)) for i in range(0, len(w), n)]

    def rotated(self, row, position, style):
        out, angles = list(row), self.angles[position]
        for i in range(32):
            a, b = (2 * i, 2 * i + 1) if style == "pairs" else (i, i + 32)
            c, s = angles[i], angles[32 + i]
            out[a], out[b] = row[a] * c - row[b] * s, row[b] * c + row[a] * s
        return out

    def queries(self, x, position, style):
        """The sum of the indexer's queries of a token."""
        low = self.times("q_a_proj", x)
        by = 1 / math.sqrt(sum(v * v for v in low) / L + 1e-6)
        q = self.times("indexer.wq_b", [v * by * g for v, g in zip(low, self.numbers["q_a_layernorm"])])
        heads = [self.rotated(q[128 * h:128 * h + 128], position, style) for h in range(I)]
        return [sum(column) for column in zip(*heads)]

    def key(self, x, position, style):
        k = self.times("indexer.wk", x)
        mean = sum(k) / 128
        by = 1 / math.sqrt(sum((v - mean) ** 2 for v in k) / 128 + 1e-6)
        return self.rotated([(v - mean) * by * g + b for v, g, b in zip(k, self.numbers["weight"], self.numbers["bias"])], position, style)

    def ints(self, kind, numbers, *shape):
        return Buffer(self.ctx, shape or (len(numbers),), kind, numbers)

    def row_of(self, request, position):
        return TABLE[request][position // PAGE] * PAGE + position % PAGE

    def step(self, style):
        """Inputs of a step of two requests with two new tokens each. Keys that are to be selected lie along the sum of the queries; others do in
        half of their columns alone, and against it in the rotated or in the other half."""
        self.x = [[4.0] + [wide(bf16(self.rng.gauss(0, 1))) for _ in range(D - 1)] for _ in range(4)]
        self.positions = [LENS[t // 2] - 2 + t % 2 for t in range(4)]
        pages = [[(bytes(self.rng.choice((0x7f, 0x30)) for _ in range(128)), 1.0) for _ in range(PAGE)] for _ in range(PAGES)]
        self.chosen = []
        for b in range(2):
            sums = [self.queries(self.x[2 * b + i], self.positions[2 * b + i], style) for i in range(2)]
            along = [9 * (p / math.hypot(*sums[0]) + q / math.hypot(*sums[1])) for p, q in zip(*sums)]  # beyond keys of new tokens
            best = sorted(self.rng.sample(range(LENS[b] - 2), TOPK))
            self.chosen.append([self.row_of(b, n) for n in best])
            for n in range(LENS[b] - 2):
                signs = (1, 1) if n in best else self.rng.choice(((-1, 1), (1, -1)))
                row = [x * signs[c >= 64] + self.rng.gauss(0, 0.01) for c, x in enumerate(along)]
                pages[TABLE[b][n // PAGE]][n % PAGE] = encoded(row)
        self.planar = b"".join(b"".join(k for k, _ in page) + struct.pack(f"{PAGE}f", *(s for _, s in page)) for page in pages)
        self.slots = [self.row_of(t // 2, self.positions[t]) for t in range(4)]
        self.rows = [bf16(self.rng.gauss(0, 1)) for _ in range(PAGES * PAGE * (R + P))]

    def call(self, layer, slots, table, lens, cache, **more):
        hidden = Buffer(self.ctx, (4, D), "bfloat16", [bf16(v) for x in self.x for v in x])
        return layer(hidden, self.ints("int64", self.positions), self.ints("int64", slots), cache, self.ints("int32", lens),
                     self.ints("int32", sum(table, []), len(table), len(table[0])), **more)

    def cache(self, page):
        return Buffer(self.ctx, (PAGES * PAGE // page, page, R + P), "bfloat16", self.rows)

    def close_to(self, y, want):
        a, b = ([wide(x) for x in values(t)] for t in (y, want))
        self.assertLess(math.dist(a, b) / math.hypot(*b), 6e-3)

    def check(self, style):
        """The output is that of a layer without an indexer over pages of one token, those that are to be selected."""
        self.step(style)
        cache, index = self.cache(PAGE), Buffer(self.ctx, (PAGES, PAGE, 132), "uint8", self.planar)
        layer = self.layer(index_topk=TOPK, index_style=style)
        y = self.call(layer, self.slots, TABLE, LENS, cache, q_len=2, index_cache=index)
        layer.use(None)  # by ctypes, over the same again
        other = Buffer(self.ctx, (PAGES, PAGE, 1, 132), "uint8", self.planar)
        self.assertEqual(values(y), values(self.call(layer, self.slots, TABLE, LENS, self.cache(PAGE), q_len=2, index_cache=other)))
        self.assertEqual(index.read(), other.read())
        want = self.call(self.layer(page_size=1, rows_anywhere=True), [-1] * 4, [self.chosen[t // 2] for t in range(4)], [TOPK] * 4, self.cache(1))
        self.close_to(y, want)
        now, key_bytes, changed = index.read(), 132 * PAGE, set()
        for i, (a, b) in enumerate(zip(now, self.planar)):
            at = i % key_bytes
            if a != b:
                changed.add(i // key_bytes * PAGE + (at // 128 if at < 128 * PAGE else (at - 128 * PAGE) // 4))
        self.assertEqual(sorted(changed), sorted(self.slots))
        for t, slot in enumerate(self.slots):
            first = slot // PAGE * key_bytes
            scale, = struct.unpack_from("f", now, first + 128 * PAGE + 4 * (slot % PAGE))
            got = [e4m3(code) * scale for code in now[first + 128 * (slot % PAGE):first + 128 * (slot % PAGE) + 128]]
            right = self.key(self.x[t], self.positions[t], style)
            self.assertLess(math.dist(got, right) / math.hypot(*right), 0.04)

    def test_halves_as_deepseek(self):
        self.check("halves")

    def test_pairs_as_glm(self):
        self.check("pairs")

    def test_short_requests_attend_to_all(self):
        self.step("halves")
        index = Buffer(self.ctx, (PAGES, PAGE, 132), "uint8", self.planar)
        for more in (dict(), dict(index_hadamard=True, index_power_of_two=False)):
            y = self.call(self.layer(index_topk=64, **more), self.slots, TABLE, LENS, self.cache(PAGE), q_len=2, index_cache=index)
            self.close_to(y, self.call(self.layer(), self.slots, TABLE, LENS, self.cache(PAGE), q_len=2))

    def test_lists_of_another_layer(self):
        """A layer without an indexer attends to what the one before it selected, with a block table and without one."""
        self.step("halves")
        lists, index = Buffer(self.ctx, (4, TOPK), "int32"), Buffer(self.ctx, (PAGES, PAGE, 132), "uint8", self.planar)
        first, shared = self.layer(index_topk=TOPK), self.layer(index_topk=TOPK, index_shared=True)
        self.assertFalse(any(stage["name"].startswith("index") for stage in shared.stages()))
        alone = self.call(first, self.slots, TABLE, LENS, self.cache(PAGE), q_len=2, index_cache=index)
        self.assertEqual(values(self.call(first, self.slots, TABLE, LENS, self.cache(PAGE), q_len=2, index_cache=index, indices=lists)), values(alone))
        self.assertEqual(list(struct.unpack(f"{4 * TOPK}i", lists.read())), sum((self.chosen[t // 2] for t in range(4)), []))
        self.rows = [bf16(self.rng.gauss(0, 1)) for _ in self.rows]  # another layer's cache
        y = self.call(shared, self.slots, TABLE, LENS, self.cache(PAGE), q_len=2, indices=lists)
        want = self.call(self.layer(page_size=1, rows_anywhere=True), [-1] * 4, [self.chosen[t // 2] for t in range(4)], [TOPK] * 4, self.cache(1))
        self.close_to(y, want)
        hidden = Buffer(self.ctx, (4, D), "bfloat16", [bf16(v) for x in self.x for v in x])
        for by in (shared._fast, None):
            shared.use(None) if by is None else None
            lean = shared(hidden, self.ints("int64", self.positions), self.ints("int64", self.slots), self.cache(PAGE), self.ints("int32", LENS), q_len=2,
                          indices=lists)
            self.assertEqual(values(lean), values(y))
        narrow, apart = Buffer(self.ctx, (4, TOPK - 1), "int32"), Buffer(self.ctx, (4, TOPK), "int32", None, (TOPK + 1, 1))
        for layer, text, more in ((shared, "indices is missing", {}), (shared, r"indices has the shape \(4, 10\)", dict(indices=narrow)),
                                  (shared, "rows of indices are 12 elements apart", dict(indices=apart)),
                                  (shared, "the layer has no indexer", dict(indices=lists, index_cache=index)),
                                  (self.layer(), "attends to all cached tokens", dict(indices=lists))):
            with self.assertRaisesRegex(mlaforge.MlafError, text):
                self.call(layer, self.slots, TABLE, LENS, self.cache(PAGE), q_len=2, **more)
        with self.assertRaisesRegex(mlaforge.MlafError, "index_topk is 0, and index_shared is set"):
            self.layer(index_shared=True)

    def test_pages_may_lie_apart(self):
        """Gaps behind pages of both caches, with NaN in them, change nothing."""
        self.step("halves")
        layer, row, page, apart = self.layer(index_topk=TOPK), R + P, 132 * PAGE, 132 * PAGE + 48
        want = self.call(layer, self.slots, TABLE, LENS, self.cache(PAGE), q_len=2, index_cache=Buffer(self.ctx, (PAGES, PAGE, 132), "uint8", self.planar))
        pages = [self.rows[i:i + PAGE * row] for i in range(0, len(self.rows), PAGE * row)]
        cache = Buffer(self.ctx, (PAGES, PAGE, row), "bfloat16", sum((x + [0x7fff] * (PAGE * row) for x in pages), [])[:-PAGE * row], (2 * PAGE * row, row, 1))
        keys = b"".join(self.planar[i:i + page] + b"\xff" * 48 for i in range(0, len(self.planar), page))
        y = self.call(layer, self.slots, TABLE, LENS, cache, q_len=2, index_cache=Buffer(self.ctx, (PAGES, PAGE, 132), "uint8", keys[:-48], (apart, 132, 1)))
        self.assertEqual(values(y), values(want))

    def test_batch_invariant(self):
        """A request's output has the same bits alone and beside another one."""
        self.step("halves")
        layer = self.layer(index_topk=TOPK, batch_invariant=True)

        def outputs(requests):
            tokens = [t for b in requests for t in (2 * b, 2 * b + 1)]
            words = [self.ints("int64", [x[t] for t in tokens]) for x in (self.positions, self.slots)]
            y = layer(Buffer(self.ctx, (len(tokens), D), "bfloat16", [bf16(v) for t in tokens for v in self.x[t]]), *words, self.cache(PAGE),
                      self.ints("int32", [LENS[b] for b in requests]), self.ints("int32", sum((TABLE[b] for b in requests), []), len(requests), WIDTH),
                      q_len=2, index_cache=Buffer(self.ctx, (PAGES, PAGE, 132), "uint8", self.planar))
            bits = values(y)
            return {b: bits[2 * D * i:2 * D * (i + 1)] for i, b in enumerate(requests)}
        both = outputs([1, 0])
        self.assertEqual(both, {**outputs([0]), **outputs([1])})

    def test_cache_of_8_bits(self):
        """Over 656 bytes a token lists select what they select over 16 bits; all rows that count are the call's own or zero."""
        self.step("halves")
        self.rows = [0] * len(self.rows)
        index = Buffer(self.ctx, (PAGES, PAGE, 132), "uint8", self.planar)
        cache = Buffer(self.ctx, (PAGES, PAGE, 656), "uint8", bytes(PAGES * PAGE * 656))
        y = self.call(self.layer(index_topk=64, cache="fp8_ds_mla"), self.slots, TABLE, LENS, cache, q_len=2, index_cache=index)
        want = self.call(self.layer(), self.slots, TABLE, LENS, self.cache(PAGE), q_len=2)
        a, b = ([wide(x) for x in values(t)] for t in (y, want))
        self.assertLess(math.dist(a, b) / math.hypot(*b), 0.05)

    def test_what_does_not_fit_is_named(self):
        def wrong(text, **change):
            with self.assertRaisesRegex(mlaforge.MlafError, text):
                self.layer(**{**dict(index_topk=TOPK), **change})
        wrong("prefill_tokens is 64, must be 0 with index_topk 11", prefill_tokens=64)
        wrong("rope columns", rope_on_read=True)
        wrong("MLAF_LAYER_ROPE_ON_READ", rope_on_read=True, index_shared=True)
        wrong("index_style is 'both'", index_style="both")
        wrong("index_topk is 'x', must be a whole number", index_topk="x")
        for shape, dtype, text in (((), "bfloat16", r"weights_proj.weight has the shape \(\)"), ((I, D), "float32", "weights_proj.weight is float32")):
            wrong_weights = {**self.weights, "layers.0.self_attn.indexer.weights_proj.weight": Buffer(self.ctx, shape, dtype)}
            with self.assertRaisesRegex(mlaforge.MlafError, text):
                mlaforge.Layer(wrong_weights, heads=H, rank=R, rope=P, nope=N, v=V, cos_sin_cache=self.rotations, scale=0.1, page_size=PAGE,
                               index_topk=4, ctx=self.ctx)
        wrong_weights = {**self.weights, "layers.0.self_attn.indexer.wq_b.weight": Buffer(self.ctx, SHAPES["indexer.wq_b"], "float16")}
        with self.assertRaisesRegex(mlaforge.MlafError, "wq_b.weight is float16, must be bfloat16"):
            mlaforge.Layer(wrong_weights, heads=H, rank=R, rope=P, nope=N, v=V, cos_sin_cache=self.rotations, scale=0.1, page_size=PAGE,
                           index_topk=4, ctx=self.ctx)
        weights = dict(self.weights)
        del weights["layers.0.self_attn.indexer.k_norm.bias"]
        with self.assertRaisesRegex(mlaforge.MlafError, "k_norm.bias is missing"):
            mlaforge.Layer(weights, heads=H, rank=R, rope=P, nope=N, v=V, cos_sin_cache=self.rotations, scale=0.1, page_size=PAGE, index_topk=4,
                           ctx=self.ctx)
        self.step("halves")
        layer, plain = self.layer(index_topk=TOPK), self.layer()
        index = Buffer(self.ctx, (PAGES, PAGE, 132), "uint8", self.planar)
        for layer, text, more in ((layer, "index_cache is missing", {}), (plain, "the layer has no indexer", dict(index_cache=index)),
                                  (layer, "index_cache has 8 pages, cache has 9",
                                   dict(index_cache=Buffer(self.ctx, (8, PAGE, 132), "uint8", self.planar[:8 * 132 * PAGE])))):
            with self.assertRaisesRegex(mlaforge.MlafError, text):
                self.call(layer, self.slots, TABLE, LENS, self.cache(PAGE), q_len=2, **more)
        layer = self.layer(index_topk=TOPK)
        expanded = Buffer(self.ctx, (PAGES, PAGE, 132), "uint8", None, (0, 132, 1))
        for by in (layer._fast, None):  # pages that lie on each other are refused, by the compiled module, too
            layer.use(None) if by is None else None
            with self.assertRaisesRegex(mlaforge.MlafError, "index_cache has a dimension of 9 with the stride 0"):
                self.call(layer, self.slots, TABLE, LENS, self.cache(PAGE), q_len=2, index_cache=expanded)
            with self.assertRaisesRegex(mlaforge.MlafError, "a layer with an indexer takes a block table and no qo_indptr"):
                self.call(layer, self.slots, TABLE, LENS, self.cache(PAGE), q_len=2, index_cache=index, qo_indptr=self.ints("int32", [0, 1, 4]))


class Weights8(Indexer):
    """Matrices of 8 bits, the indexer's among them but for weights_proj."""
    test_batch_invariant = test_cache_of_8_bits = test_lists_of_another_layer = test_pages_may_lie_apart = test_what_does_not_fit_is_named = test_pairs_as_glm = None

    @classmethod
    def add(cls, name, shape, bits):
        if len(shape) == 1 or name.endswith("weights_proj"):
            return super().add(name, shape, bits)
        codes, scale = encoded([wide(x) for x in bits])
        blocks = [-(-n // 128) for n in shape]
        cls.numbers[name] = [e4m3(code) * scale for code in codes]
        cls.weights[f"layers.0.self_attn.{name}.weight"] = Buffer(cls.ctx, shape, "float8_e4m3fn", codes)
        cls.weights[f"layers.0.self_attn.{name}.weight_scale_inv"] = Buffer(cls.ctx, tuple(blocks), "float32", [scale] * math.prod(blocks))

    def test_indexer_of_16_bits(self):
        """Its matrices may have 16 bits beside others of 8: numbers that are equal select alike."""
        self.step("halves")
        ys = []
        for wide_index in (False, True):
            weights = dict(self.weights)
            for name in ("indexer.wq_b", "indexer.wk") if wide_index else ():
                weights[f"layers.0.self_attn.{name}.weight"] = Buffer(self.ctx, SHAPES[name], "bfloat16", [bf16(x) for x in self.numbers[name]])
                del weights[f"layers.0.self_attn.{name}.weight_scale_inv"]
            layer = mlaforge.Layer(weights, heads=H, rank=R, rope=P, nope=N, v=V, cos_sin_cache=self.rotations, scale=0.1, batch=4, q_lens=(1, 2),
                                   page_size=PAGE, kv_len=(64, 64), index_topk=TOPK, ctx=self.ctx)
            self.addCleanup(layer.close)
            ys.append(self.call(layer, self.slots, TABLE, LENS, self.cache(PAGE), q_len=2, index_cache=Buffer(self.ctx, (PAGES, PAGE, 132), "uint8", self.planar)))
        self.close_to(*ys)
