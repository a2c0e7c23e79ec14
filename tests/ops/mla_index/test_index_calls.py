"""mla_index: the rows that it selects, beside a selection in plain Python."""
import random
import struct
import unittest

import mlaforge
from buffers import EmulatorTest

H, PAGE, PAGES, WIDTH, TOPK = 32, 16, 11, 4, 20
CODES = {x: code for x, code in zip(range(-4, 5), (0xc8, 0xc4, 0xc0, 0xb8, 0x00, 0x38, 0x40, 0x44, 0x48))}  # of e4m3fn


class Index(EmulatorTest):
    def bytes_of(self, rng, n):
        values = [rng.randrange(-4, 5) for _ in range(n)]
        return values, bytes(CODES[x] for x in values)

    def buffer(self, shape, dtype, data):
        return mlaforge.Buffer(self.ctx, shape, dtype, bytes(data))

    def floats(self, shape, values):
        return self.buffer(shape, "float32", struct.pack(f"{len(values)}f", *values))

    def ints(self, shape, values):
        return self.buffer(shape, "int32", struct.pack(f"{len(values)}i", *values))

    def read(self, buffer, n):
        return list(struct.unpack(f"{n}i", self.ctx.read(buffer.data_ptr(), 4 * n)))

    def make(self, lengths, table):
        """Arguments of a call with two requests, and the logit of each token of the cache for each query token."""
        rng, tokens = random.Random(5), len(lengths)
        q = [self.bytes_of(rng, 128) for _ in range(tokens * H)]
        w = [rng.randrange(-3, 8) for _ in range(tokens * H)]
        keys = [[self.bytes_of(rng, 128) for _ in range(PAGE)] for _ in range(PAGES)]
        scales = [[2.0 ** -rng.randrange(3) for _ in range(PAGE)] for _ in range(PAGES)]
        cache = b"".join(b"".join(code for _, code in page) + struct.pack(f"{PAGE}f", *scale) for page, scale in zip(keys, scales))

        def logit(t, row):
            key, scale = keys[row // PAGE][row % PAGE][0], scales[row // PAGE][row % PAGE]
            products = (sum(a * b for a, b in zip(q[t * H + h][0], key)) for h in range(H))
            return scale * sum(w[t * H + h] * max(0, x) for h, x in enumerate(products))
        return dict(q=self.buffer((tokens, H, 128), "float8_e4m3fn", b"".join(code for _, code in q)), weights=self.floats((tokens, H), w),
                    cache=self.buffer((PAGES, PAGE, 132), "uint8", cache), block_table=self.ints((2, WIDTH), sum(table, [])),
                    lengths=self.ints((tokens,), lengths), topk=TOPK), logit

    def test_selects_the_largest(self):
        lengths, table = [64, 19, 20, 0, 33, 47], [[3, 0, 10, 7], [1, PAGES, 2, 5]]  # a page of the second request is not there
        arguments, logit = self.make(lengths, table)
        out = mlaforge.mla_index(ctx=self.ctx, **arguments)
        got = self.read(out, len(lengths) * TOPK)
        for t, n in enumerate(lengths):
            pages = table[t // 3]
            rows = [pages[i // PAGE] * PAGE + i % PAGE for i in range(n) if pages[i // PAGE] < PAGES]
            best = set(sorted(range(len(rows)), key=lambda i: (-logit(t, rows[i]), i))[:TOPK])
            want = [row for i, row in enumerate(rows) if i in best]
            self.assertEqual(got[t * TOPK:(t + 1) * TOPK], want + [-1] * (TOPK - len(want)), f"token {t}")

    def test_wrong_arguments_are_named(self):
        arguments, _ = self.make([64, 19], [[3, 0, 10, 7], [1, 4, 2, 5]])
        for change, says in ((dict(topk=0), "topk is 0"), (dict(q=arguments["weights"]), "q is float32"),
                             (dict(cache=self.buffer((PAGES, PAGE, 128), "uint8", PAGES * PAGE * 128)), "cache has the shape"),
                             (dict(block_table=self.ints((3, 2), [0] * 6)), "block_table has 3 rows for 2"),
                             (dict(block_table=mlaforge.Buffer(self.ctx, (2, 0), "int32")), r"block_table has the shape \(2, 0\): a row has one page"),
                             (dict(cache=mlaforge.Buffer(self.ctx, (2, 5, 132), "uint8", bytes(1320))), "cache has pages 660 bytes apart, must be a multiple of "
                              "16 from 672 on: a page of 5 tokens has 660 bytes"),
                             (dict(max_length=1 << 25), "max_length is 33554432")):
            with self.assertRaisesRegex(mlaforge.MlafError, says):
                mlaforge.mla_index(ctx=self.ctx, **dict(arguments, **change))

    def test_no_query_token(self):
        arguments, _ = self.make([64, 19], [[3, 0, 10, 7], [1, 4, 2, 5]])
        arguments.update(q=mlaforge.Buffer(self.ctx, (0, H, 128), "float8_e4m3fn"), weights=mlaforge.Buffer(self.ctx, (0, H), "float32"),
                         lengths=mlaforge.Buffer(self.ctx, (0,), "int32"))
        self.assertEqual(mlaforge.mla_index(ctx=self.ctx, **arguments).shape, (0, TOPK))
        arguments["block_table"] = mlaforge.Buffer(self.ctx, (0, 4), "int32")  # and no request
        self.assertEqual(mlaforge.mla_index(ctx=self.ctx, **arguments).shape, (0, TOPK))
