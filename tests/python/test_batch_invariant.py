"""Batch invariance over the emulator: what is computed of a request has the same bits alone and in any batch, at any place in it."""
import itertools
import math
import threading
import unittest
import unittest.mock

from buffers import Buffer, EmulatorTest, bf16, values

R, P, PAGE = 64, 32, 16


class BatchInvarianceTest(EmulatorTest):
    SEED = 37

    def bits(self, n, scale=1.0):
        some = [bf16(self.rng.gauss(0, scale)) for _ in range(997)]
        return self.rng.choices(some, k=n)

    def make(self, shape, scale=1.0):
        return Buffer(self.ctx, shape, "bfloat16", self.bits(math.prod(shape), scale))

    def ints(self, numbers, kind="int32", shape=None):
        return Buffer(self.ctx, shape or (len(numbers),), kind, numbers)

    def empty(self, shape, kind="bfloat16"):
        return Buffer(self.ctx, shape, kind, [0] * math.prod(shape))


class DecodeTest(BatchInvarianceTest):
    # One part, a part's end, several parts, pages that end early, nothing cached, and more parts than the first step has.
    LENGTHS = [250, 512, 700, 1025, 0, 3, 1600]

    def decode(self, q, rows, lengths, pages, heads, q_len, **more):
        """O and LSE of requests, each its own rows of q and pages of the cache, by the order of `rows`."""
        import mlaforge
        size = heads * (R + P)
        chosen = [self.q_bits[i][:n * size] for i, n in rows]
        q = Buffer(self.ctx, (sum(n for _, n in rows), heads, R + P), "bfloat16", itertools.chain.from_iterable(chosen))
        o, lse = self.empty((q.shape[0], heads, R)), self.empty((q.shape[0], heads), "float32")
        tables = [list(itertools.accumulate((n for _, n in rows), initial=0)),
                  list(itertools.accumulate((len(pages[i]) for i, _ in rows), initial=0)),
                  [p for i, _ in rows for p in pages[i]] or [0], [(lengths[i] - 1) % PAGE + 1 if lengths[i] else 0 for i, _ in rows]]
        mlaforge.mla_decode_fwd(q, self.cache, o, *map(self.ints, tables), q_len, 0.1, lse=lse, batch_invariant=True, ctx=self.ctx, **more)
        o, lse, out, at = o.read(), lse.read(), [], 0
        for _, n in rows:
            out.append((o[2 * at * heads * R:2 * (at + n) * heads * R], lse[4 * at * heads:4 * (at + n) * heads]))
            at += n
        return out

    def check(self, heads, q_len, turns=range(7)):
        lengths, first, pages = self.LENGTHS, 0, []
        for n in lengths:
            count = -(-n // PAGE)
            pages.append(list(range(first, first + count)))
            first += count
        order = list(range(first))
        self.rng.shuffle(order)
        pages = [[order[p] for p in some] for some in pages]
        self.cache = self.make((first, PAGE, 1, R + P))
        self.q_bits = [self.bits(q_len * heads * (R + P)) for _ in lengths]
        whole = [(i, q_len) for i in range(len(lengths))]
        alone = [self.decode(None, [one], lengths, pages, heads, q_len)[0] for one in whole]
        for turn in turns:  # each request at each place of a batch
            rows = whole[turn:] + whole[:turn]
            for (i, _), got in zip(rows, self.decode(None, rows, lengths, pages, heads, q_len, mean_kv_len=1 + 999 * turn)):
                self.assertEqual(got, alone[i], f"request {i} of {lengths[i]} tokens, batch {turn}")
        if heads > 16:
            return
        many = [whole[self.rng.randrange(len(whole))] for _ in range(66)]
        for (i, _), got in zip(many, self.decode(None, many, lengths, pages, heads, q_len)):
            self.assertEqual(got, alone[i], f"request {i} of {lengths[i]} tokens, one of 66")
        self.assertNotEqual(alone[2], alone[3])

    def test_few_heads(self):
        self.check(16, 1)

    def test_drafts(self):
        self.check(4, 2)

    def test_many_heads(self):
        self.check(128, 1, turns=(2,))

class ProjectionTest(BatchInvarianceTest):
    """The rows of T tokens are the last ones of the most tokens' rows, whatever T is."""
    TOKENS = [1, 3, 8, 17, 64, 129]
    H, N, P, R, V, D, L = 2, 32, 32, 64, 32, 256, 192

    def rows(self, bits, columns, tokens):
        return bits[(self.TOKENS[-1] - tokens) * columns:]

    def check(self, columns, out_columns, call):
        """call(x, tokens) of x [tokens, columns] gives a tensor with out_columns a token."""
        bits, whole = self.bits(self.TOKENS[-1] * columns), None
        for tokens in reversed(self.TOKENS):
            x = self.rows(bits, columns, tokens)
            got = call(x, tokens).read()
            whole = got if whole is None else whole
            self.assertEqual(got, whole[-2 * tokens * out_columns:], f"{tokens} tokens")

    def test_flat(self):
        import mlaforge
        w, b, o = self.make((self.L + self.R + self.P, self.D)), self.make((self.H * (self.N + self.P), self.L)), self.make((self.D, self.H * self.V))
        gain, rest = self.make((self.L,)), self.bits(self.TOKENS[-1] * self.D)

        def flat(function, columns, outer, **more):
            def call(bits, tokens):
                x, y = Buffer(self.ctx, (tokens, columns), "bfloat16", bits), self.empty((tokens, outer))
                given = {name: of(tokens) if callable(of) else of for name, of in more.items()}
                return function(x, out=y, batch_invariant=True, ctx=self.ctx, **given)
            return call

        self.check(self.D, w.shape[0], flat(mlaforge.mla_qkv_a, self.D, w.shape[0], w=w, rank=self.R, rope=self.P))
        for norm in (None, gain):
            self.check(self.L, b.shape[0], flat(mlaforge.mla_q_b, self.L, b.shape[0], w=b, nope=self.N, rope=self.P, norm_weight=norm))
        residual = lambda tokens: Buffer(self.ctx, (tokens, self.D), "bfloat16", self.rows(rest, self.D, tokens))
        self.check(self.H * self.V, self.D, flat(mlaforge.mla_o_proj, self.H * self.V, self.D, w=o, v=self.V, residual=residual))

    def test_by_head(self):
        import mlaforge
        kv_b, table = self.make((self.H, self.N + self.V, self.R)), Buffer(self.ctx, (256, self.P), "float32", [0.5] * (256 * self.P))

        def by_head(function, columns, outer, **more):
            def call(bits, tokens):
                x, y = Buffer(self.ctx, (tokens, self.H, columns), "bfloat16", bits), self.empty((tokens, self.H, outer))
                given = {name: of(tokens) if callable(of) else of for name, of in more.items()}
                return function(x, kv_b, out=y, batch_invariant=True, ctx=self.ctx, **given)
            return call

        at = lambda tokens: self.ints(range(self.TOKENS[-1] - tokens, self.TOKENS[-1]), "int64")
        self.check(self.H * (self.N + self.P), self.H * (self.R + self.P),
                   by_head(mlaforge.mla_q_absorb, self.N + self.P, self.R + self.P, positions=at, cos_sin_cache=table, nope=self.N))
        self.check(self.H * self.R, self.H * self.V, by_head(mlaforge.mla_v_out, self.R, self.V, v=self.V))

class PrefillTest(BatchInvarianceTest):
    H, N, P, V = 2, 64, 32, 64
    LENGTHS = [(130, 130), (64, 64), (1, 1), (40, 77), (0, 9), (5, 300), (200, 200)]  # new tokens and keys

    def prefill(self, which, causal, tokens=None):
        """O and LSE of requests by their numbers; tokens: only so many of the first one's."""
        import mlaforge
        pairs = [(tokens, tokens) if tokens else self.LENGTHS[i] for i in which]
        tq, tk = (sum(p[j] for p in pairs) for j in (0, 1))
        sides = [[], [], [], []]
        for i, (n, keys) in zip(which, pairs):
            for side, bits, columns, rows in zip(sides, self.inputs[i], (self.H * (self.N + self.P), self.H * self.N, self.P, self.H * self.V), (n, keys, keys, keys)):
                side += bits[:rows * columns]
        q, k, k_pe, v = (Buffer(self.ctx, shape, "bfloat16", side) for shape, side in zip(
            ((tq, self.H, self.N + self.P), (tk, self.H, self.N), (tk, self.P), (tk, self.H, self.V)), sides))
        sums = [self.ints(list(itertools.accumulate((p[j] for p in pairs), initial=0))) for j in (0, 1)]
        o, lse = self.empty((tq, self.H, self.V)), Buffer(self.ctx, (self.H, tq), "float32", [0.0] * (self.H * tq), (1, self.H))
        mlaforge.mla_prefill_varlen(q, k, k_pe, v, *sums, max(p[0] for p in pairs), max(p[1] for p in pairs), 0.9, causal, o, lse,
                                    batch_invariant=True, ctx=self.ctx)
        o, lse, out, at = o.read(), lse.read(), [], 0
        for n, _ in pairs:
            out.append((o[2 * self.H * self.V * at:2 * self.H * self.V * (at + n)], lse[4 * self.H * at:4 * self.H * (at + n)]))
            at += n
        return out

    def test_requests_and_prefixes(self):
        self.inputs = [[self.bits(rows * columns) for rows, columns in (
            (n, self.H * (self.N + self.P)), (keys, self.H * self.N), (keys, self.P), (keys, self.H * self.V))] for n, keys in self.LENGTHS]
        whole = list(range(len(self.LENGTHS)))
        for causal in (True, False):
            alone = [self.prefill([i], causal)[0] for i in whole]
            for turn in range(len(whole)):
                order = whole[turn:] + whole[:turn]
                for i, got in zip(order, self.prefill(order, causal)):
                    self.assertEqual(got, alone[i], f"request {i}, batch {turn}, causal {causal}")
        o, lse = self.prefill([6], True)[0]
        for tokens in (1, 3, 40, 64, 65, 128, 190):
            short, short_lse = self.prefill([6], True, tokens)[0]
            self.assertEqual(short, o[:len(short)], f"the first {tokens} of 200 tokens")
            self.assertEqual(short_lse, lse[:len(short_lse)])

class LayerTest(BatchInvarianceTest):
    D, H, L, R, P, N, V, PAGES = 128, 4, 96, 64, 32, 32, 64, 256
    CACHED = [400, 0, 17, 700, 255, 64, 129] + [0] * 125

    def setUp(self):
        import mlaforge
        super().setUp()
        shapes = {"q_a_proj": (self.L, self.D), "q_a_layernorm": (self.L,), "q_b_proj": (self.H * (self.N + self.P), self.L),
                  "kv_a_proj_with_mqa": (self.R + self.P, self.D), "kv_a_layernorm": (self.R,),
                  "kv_b_proj": (self.H * (self.N + self.V), self.R), "o_proj": (self.D, self.H * self.V)}
        weights = {f"self_attn.{name}.weight": self.make(shape, shape[-1] ** -0.5) for name, shape in shapes.items()}
        table = Buffer(self.ctx, (2048, self.P), "float32", [math.cos(0.1 * i) for i in range(2048 * self.P)])
        self.layer = mlaforge.Layer(weights, heads=self.H, rank=self.R, rope=self.P, nope=self.N, v=self.V, cos_sin_cache=table, scale=0.1,
                                    batch=len(self.CACHED), q_lens=(1, 2), kv_len=(64, 2048), page_size=PAGE, table_width=128,
                                    prefill_tokens=512, prefill_chunk=256, batch_invariant=True, ctx=self.ctx)
        self.addCleanup(self.layer.close)
        self.pages, first = [], 0
        for i, n in enumerate(self.CACHED):
            count = -(-(n + 48) // PAGE) if i < 7 else 1
            self.pages.append(list(range(first, first + count)))
            first += count
        self.rows = self.bits(first * PAGE * (self.R + self.P))
        self.new = [self.bits(48 * self.D) for _ in self.CACHED]
        self.shape = (first, PAGE, self.R + self.P)

    def table(self, which):
        width = max(len(self.pages[i]) for i in which)
        flat = [p for i in which for p in (self.pages[i] + [0] * width)[:width]]
        return self.ints(flat, shape=(len(which), width))

    def step(self, which, q_len, fresh=None):
        """Hidden states of requests' new tokens; fresh: a prefill of so many each."""
        n = fresh or q_len
        places = [[self.CACHED[i] + t for t in range(n)] for i in which]
        slots = [self.pages[i][at // PAGE] * PAGE + at % PAGE for i, some in zip(which, places) for at in some]
        x = Buffer(self.ctx, (len(which) * n, self.D), "bfloat16", [b for i in which for b in self.new[i][:n * self.D]])
        cache = Buffer(self.ctx, self.shape, "bfloat16", self.rows)
        positions = self.ints([at for some in places for at in some], "int64")
        given = {"schedule": self.layer.schedule([n] * len(which), [self.CACHED[i] for i in which])} if fresh else {
            "seq_lens": self.ints([self.CACHED[i] + n for i in which]), "q_len": n}
        y = self.layer(x, positions, self.ints(slots, "int64"), cache, block_table=self.table(which), **given).read()
        return [y[2 * self.D * n * k:2 * self.D * n * (k + 1)] for k in range(len(which))]

    def test_steps(self):
        some = list(range(7))
        for q_len in (1, 2):
            alone = [self.step([i], q_len)[0] for i in some]
            for which in (some, some[3:] + some[:3], some[::-1], list(range(len(self.CACHED)))):
                for i, got in zip(which, self.step(which, q_len)):
                    if i in some:
                        self.assertEqual(got, alone[i], f"request {i} of {self.CACHED[i]} tokens among {len(which)}, q_len {q_len}")

    def test_prefills(self):
        some = list(range(5))
        alone = [self.step([i], 1, fresh=33)[0] for i in some]
        for which in (some, some[2:] + some[:2], some[::-1]):
            for i, got in zip(which, self.step(which, 1, fresh=33)):
                self.assertEqual(got, alone[i], f"request {i} of {self.CACHED[i]} cached tokens")

class Layer8Test(BatchInvarianceTest):
    """Weights of 8 bits, also with copies of 16 bits, which are faster for many tokens alone."""
    D, H, R, P, N, V = 128, 4, 64, 32, 32, 32

    def step(self, layer, batch):
        x, y = Buffer(self.ctx, (batch, self.D), "bfloat16", self.hidden[:batch * self.D]), self.empty((batch, self.D))
        cache = Buffer(self.ctx, (2, PAGE, self.R + self.P), "bfloat16", self.rows)
        layer(x, self.ints([PAGE] * batch, "int64"), self.ints([-1] * batch, "int64"), cache, self.ints([PAGE + 1] * batch),
              self.ints([0, 1] * batch, shape=(batch, 2)), out=y)
        return y.read()

    def test_few_and_many(self):
        import mlaforge
        shapes = {"q_proj": (self.H * (self.N + self.P), self.D), "kv_a_proj_with_mqa": (self.R + self.P, self.D),
                  "kv_b_proj": (self.H * (self.N + self.V), self.R), "o_proj": (self.D, self.H * self.V)}
        weights = {}
        for name, shape in shapes.items():
            codes = [self.rng.randrange(0x10, 0x40) | self.rng.randrange(2) << 7 for _ in range(math.prod(shape))]
            blocks = tuple(-(-n // 128) for n in shape)
            weights[f"{name}.weight"] = Buffer(self.ctx, shape, "float8_e4m3fnuz", codes)
            weights[f"{name}.weight_scale_inv"] = Buffer(self.ctx, blocks, "float32", [0.07] * math.prod(blocks))
        weights["kv_a_layernorm.weight"] = self.make((self.R,))
        table = Buffer(self.ctx, (64, self.P), "float32", [0.6, 0.8] * (32 * self.P))
        self.hidden, self.rows = self.bits(130 * self.D), self.bits(2 * PAGE * (self.R + self.P))
        for keep_16 in (False, True):
            layer = mlaforge.Layer(weights, heads=self.H, rank=self.R, rope=self.P, nope=self.N, v=self.V, cos_sin_cache=table, scale=0.1,
                                   batch=130, kv_len=(32, 32), page_size=PAGE, keep_16=keep_16, batch_invariant=True, ctx=self.ctx)
            self.addCleanup(layer.close)
            many = self.step(layer, 130)
            for batch in (1, 3, 128):
                self.assertEqual(self.step(layer, batch), many[:2 * self.D * batch], f"{batch} of 130 tokens, keep_16 {keep_16}")

class ContextTest(BatchInvarianceTest):
    """Context(batch_invariant=True) speaks for what is made on it, too."""
    H, N, P, V, R, NEW, CACHED = 2, 32, 32, 32, 64, [3, 8], [40, 77]

    def prefill(self, chunked, which):
        new = [self.NEW[i] for i in which]
        q, k, k_pe, v = (Buffer(self.ctx, (sum(new), *shape), "bfloat16", [b for i in which for b in self.fresh[i][:self.NEW[i] * math.prod(shape)]])
                         for shape in ((self.H, self.N + self.P), (self.H, self.N), (self.P,), (self.H, self.V)))
        table, out = self.ints([t for i in which for t in range(5 * i, 5 * i + 5)], shape=(len(which), 5)), self.empty((sum(new), self.H, self.V))
        chunked(chunked.schedule(new, [self.CACHED[i] for i in which]), q, k, k_pe, v, self.cache, table, self.w, 0.1, out=out)
        return out.read()

    def test_chunked_prefill(self):
        import mlaforge
        with mlaforge.Context(device="emu:gfx942", batch_invariant=True) as self.ctx:
            self.cache, self.w = self.make((10, PAGE, self.R + self.P)), self.make((self.H * (self.N + self.V), self.R))
            self.fresh = [self.bits(n * self.H * (self.N + self.P)) for n in self.NEW]
            with mlaforge.ChunkedPrefill(self.H, self.N, self.P, self.V, self.R, page_tokens=PAGE, chunk_tokens=32, ctx=self.ctx) as chunked:
                self.assertEqual(self.prefill(chunked, [0, 1]), self.prefill(chunked, [0]) + self.prefill(chunked, [1]))
                schedule, rows = chunked.schedule([1], [0]), self.cache
            for call in (lambda: chunked.schedule([1], [0]), lambda: chunked(schedule, rows, rows, self.w, rows, rows, self.w, self.w)):
                with self.assertRaisesRegex(mlaforge.MlafError, "this is closed"):
                    call()

    def test_one_for_all_threads(self):
        import mlaforge
        with mlaforge.Context(device="emu:gfx942") as ctx:
            found, begin, make = [], threading.Barrier(4), mlaforge.context._BatchInvariant.__init__

            def slowly(self, of):
                begin.wait()
                make(self, of)
            with unittest.mock.patch.object(mlaforge.context._BatchInvariant, "__init__", slowly):
                threads = [threading.Thread(target=lambda: found.append(ctx.with_batch_invariance())) for _ in range(4)]
                for t in threads:
                    t.start()
                for t in threads:
                    t.join()
            self.assertEqual({id(c) for c in found}, {id(ctx.with_batch_invariance())})
            ctx.use(None)
            self.assertIs(found[0]._run, ctx._run)
        self.assertEqual([c._address for c in found], [None] * 4)

class RefusedTest(BatchInvarianceTest):
    def test_what_there_is_not_is_named(self):
        import mlaforge
        x, w = self.make((1, 64)), self.make((96, 64))
        with mlaforge.Context(device="emu:gfx942", effort="measure") as ctx:
            with self.assertRaisesRegex(mlaforge.MlafError, "MEASURE and BATCH_INVARIANT exclude each other"):
                mlaforge.mla_qkv_a(x, w, rank=32, rope=32, out=self.empty((1, 96)), batch_invariant=True, ctx=ctx)
        plan, bytes_in = "mla_prefill:h2,n64,p32,v64,bf16,e4m3fnuz,causal,b1,t64,s64", self.ctx.with_batch_invariance()
        with self.assertRaisesRegex(mlaforge.MlafError, "MLAF_E_NOT_TUNED.*no batch-invariant kernel for mla_prefill"):
            bytes_in.plan_for(plan)
        with mlaforge.Context(device="emu:gfx942", batch_invariant=True) as ctx:  # for all of its calls
            self.assertIs(ctx.with_batch_invariance(), ctx)
            self.assertIn("_invariant:", ctx.plan_info((16, 64, 32, 1, 0, 0, 16, 3, 100))["variant"])
        self.assertNotIn("_invariant:", self.ctx.plan_info((16, 64, 32, 1, 0, 0, 16, 3, 100))["variant"])
