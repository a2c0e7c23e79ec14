"""Batch invariance over the emulator: what is computed of a request has the same bits alone and in any batch, at any place in it."""
import itertools
import math
import unittest

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
    LENGTHS = [250, 256, 700, 1025, 0, 3, 5000]

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

    def check(self, heads, q_len):
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
        for turn in range(len(whole)):  # each request at each place of a batch
            rows = whole[turn:] + whole[:turn]
            for (i, _), got in zip(rows, self.decode(None, rows, lengths, pages, heads, q_len, mean_kv_len=1 + 999 * turn)):
                self.assertEqual(got, alone[i], f"request {i} of {lengths[i]} tokens, batch {turn}")
        many = [whole[self.rng.randrange(len(whole))] for _ in range(70)]
        for (i, _), got in zip(many, self.decode(None, many, lengths, pages, heads, q_len)):
            self.assertEqual(got, alone[i], f"request {i} of {lengths[i]} tokens, one of 70")
        self.assertNotEqual(alone[2], alone[3])

    def test_few_heads(self):
        self.check(16, 1)

    def test_drafts(self):
        self.check(4, 2)

    def test_many_heads(self):
        self.check(128, 1)


if __name__ == "__main__":
    unittest.main()
