"""FlashInfer's wrapper over the emulator, against double precision. Skips only where torch is missing."""
import inspect
import itertools
import math
import unittest

try:
    import torch
except ImportError:
    torch = None

import mlaforge
from buffers import EmulatorTest
from mlaforge.mla_append import joined_q

H, R, P = 4, 64, 32
SCALE = 0.1


def reference(q, rows, causal):
    """One request: q [n, H, R + P] over rows [L, R + P]: out [n, H, R], lse [n, H] to the base 2."""
    scores = torch.einsum("nhc,tc->nht", q.double(), rows.double()) * SCALE
    n, length = q.shape[0], rows.shape[0]
    if causal:
        hidden = torch.arange(length)[None] > torch.arange(n)[:, None] + length - n
        scores = scores.masked_fill(hidden[:, None], -math.inf)
    lse = scores.logsumexp(-1)
    return torch.einsum("nht,tr->nhr", (scores - lse[..., None]).exp().nan_to_num(0.0), rows[:, :R].double()), lse / math.log(2)


@unittest.skipIf(torch is None, "torch is not installed")
class Wrapper(EmulatorTest):
    def case(self, queries, lengths, page, spare=0):
        """Tables with `spare` pages more than lengths need, and tensors whose unused parts are NaN."""
        self.random = torch.Generator().manual_seed(page + sum(lengths))
        pages = [-(-n // page) + spare for n in lengths]
        total = sum(pages)
        order = torch.randperm(total + 2, generator=self.random)[:total].int()
        cache = torch.full((total + 2, page, R + P), math.nan).bfloat16()
        first = list(itertools.accumulate(pages, initial=0))
        for b, n in enumerate(lengths):
            rows = torch.randn(n, R + P, generator=self.random).bfloat16()
            for i, at in enumerate(range(0, n, page)):
                cache[order[first[b] + i], :min(page, n - at)] = rows[at:at + page]
        q = torch.randn(sum(queries), H, R + P, generator=self.random).bfloat16()
        ints = lambda values: torch.tensor(values, dtype=torch.int32)
        return q, cache, ints(list(itertools.accumulate(queries, initial=0))), ints(first), order, ints(lengths)

    def check(self, out, lse, q, cache, qo, kv, order, lengths, causal, bound=1e-3):
        for b, n in enumerate(lengths.tolist()):
            x = q[qo[b]:qo[b + 1]]
            rows = cache[order[kv[b]:kv[b + 1]].long()].reshape(-1, R + P)[:n]
            want, want_lse = reference(x, rows, causal)
            got, got_lse = out[qo[b]:qo[b + 1]].double(), lse[qo[b]:qo[b + 1]].double()
            if x.shape[0] and n:
                self.assertLess(float((got - want).norm() / want.norm()), 5e-3)
            self.assertTrue(torch.equal(got_lse.isinf(), want_lse.isinf()))
            self.assertLess(float((got_lse - want_lse)[want_lse.isfinite()].abs().max()) if want_lse.isfinite().any() else 0.0, bound)

    def plan(self, wrapper, qo, kv, order, lengths, page, causal):
        wrapper.plan(qo, kv, order, lengths, H, R, P, page, causal, SCALE, torch.bfloat16, torch.bfloat16)

    def wrapper(self, **how):
        from mlaforge.flashinfer import BatchMLAPagedAttentionWrapper
        return BatchMLAPagedAttentionWrapper(torch.empty(16), ctx=self.ctx, **how)

    def test_decode_and_ragged_queries(self):
        for queries, lengths, page, causal, spare in (([1, 1, 1], [5, 16, 40], 16, False, 0), ([1, 3, 2], [9, 17, 33], 1, True, 0),
                                                      ([2, 2], [40, 7], 16, False, 2), ([1, 1], [0, 20], 16, True, 1), ([20, 37], [50, 37], 16, True, 0)):
            with self.subTest(queries=queries, lengths=lengths, page=page, causal=causal):
                q, cache, *lists = self.case(queries, lengths, page, spare)
                made = self.wrapper()
                self.plan(made, *lists, page, causal)
                ckv, kpe = cache[..., :R].contiguous(), cache[..., R:].contiguous()
                out, lse = made.run(q[..., :R], q[..., R:], ckv, kpe, return_lse=True)
                self.check(out, lse, q, cache, *lists, causal)
                apart, lse_e = made.run(q[..., :R].contiguous(), q[..., R:].contiguous(), ckv, kpe, return_lse=True, return_lse_base_on_e=True)
                self.assertTrue(torch.equal(apart, out))
                self.assertTrue(torch.equal(lse_e * math.log2(math.e), lse))

    def test_kernels_of_few_numbers_of_query_tokens(self):
        made, numbers = self.wrapper(), []
        for queries in ([1, 1], [1, 0], [0, 0], [2, 1], [3, 3], [16, 1], [20, 5]):
            _, _, *lists = self.case(queries, [24, 24], 16)
            self.plan(made, *lists, 16, True)
            numbers.append(made._plan["max_seqlen_q"])
        self.assertEqual(numbers, [1, 1, 1, 2, 4, 16, 16])

    def test_queries_that_are_columns_of_one_tensor_are_not_copied(self):
        q = torch.zeros(3, H, R + P)
        self.assertEqual(joined_q(q[..., :R], q[..., R:]).data_ptr(), q.data_ptr())
        self.assertIs(joined_q(q, q[..., :0]), q)

    def test_a_graphs_tensors_are_written_in_place(self):
        q, cache, qo, kv, order, lengths = self.case([1, 1], [5, 40], 16)
        held = [torch.empty_like(qo), torch.empty_like(kv), torch.full((64,), -1, dtype=torch.int32), torch.empty_like(lengths)]
        made = self.wrapper(use_cuda_graph=True, qo_indptr=held[0], kv_indptr=held[1], kv_indices=held[2], kv_len_arr=held[3])
        self.plan(made, qo, kv, order, lengths, 16, False)
        self.assertTrue(torch.equal(held[2][:len(order)], order))
        addresses = [x.data_ptr() for x in made._lists]
        q2, cache2, *lists = self.case([1, 1], [30, 2], 16)
        self.plan(made, *lists, 16, False)
        self.assertEqual([x.data_ptr() for x in made._lists], addresses)
        out, lse = made.run(q2[..., :R], q2[..., R:], cache2[..., :R].contiguous(), cache2[..., R:].contiguous(), return_lse=True)
        self.check(out, lse, q2, cache2, *lists, False)
        with self.assertRaisesRegex(mlaforge.MlafError, "qo_indptr of the constructor has 3 entries, and this plan 4"):
            self.plan(made, *self.case([1, 1, 1], [4, 4, 4], 16)[2:], 16, False)

    def test_long_queries_are_several_requests_in_graphs(self):
        q, cache, qo, kv, order, lengths = self.case([20, 37], [50, 40], 16)
        made = self.wrapper(use_cuda_graph=True, qo_indptr=qo.clone(), kv_indptr=kv.clone(), kv_indices=torch.zeros(64, dtype=torch.int32),
                            kv_len_arr=lengths.clone())
        self.plan(made, qo, kv, order, lengths, 16, True)
        addresses = [x.data_ptr() for x in made._lists]
        for queries, lens in (([20, 37], [50, 40]), ([3, 17], [20, 33])):
            q, cache, *lists = self.case(queries, lens, 16)
            self.plan(made, *lists, 16, True)
            self.assertEqual([x.data_ptr() for x in made._lists], addresses)
            out, lse = made.run(q[..., :R], q[..., R:], cache[..., :R].contiguous(), cache[..., R:].contiguous(), return_lse=True)
            self.check(out, lse, q, cache, *lists, True)
        with self.assertRaisesRegex(mlaforge.MlafError, "this plan has 8 entries of qo_indptr, and the first one, for which graphs were made, 6"):
            self.plan(made, *self.case([50, 37], [60, 40], 16)[2:], 16, True)

    def test_a_cache_without_pages(self):
        ints = lambda *values: torch.tensor(values, dtype=torch.int32)
        made = self.wrapper()
        self.plan(made, ints(0, 1, 3), ints(0, 0, 0), ints(), ints(0, 0), 16, False)
        out, lse = made.run(torch.randn(3, H, R).bfloat16(), torch.randn(3, H, P).bfloat16(), torch.empty(0, 16, R).bfloat16(),
                            torch.empty(0, 16, P).bfloat16(), return_lse=True)
        self.assertEqual((float(out.abs().max()), set(lse.flatten().tolist())), (0.0, {-math.inf}))

    def test_outputs_of_the_caller_and_a_table_of_pages(self):
        q, cache, *lists = self.case([1, 1, 1], [5, 16, 40], 16)
        made = self.wrapper()
        self.plan(made, *lists, 16, False)
        tensors = q[..., :R], q[..., R:], cache[..., :R].contiguous(), cache[..., R:].contiguous()
        out, lse = made.run(*tensors, return_lse=True)
        given = torch.empty_like(out), torch.empty_like(lse)
        self.assertIs(made.run(*tensors, out=given[0], lse=given[1]), given[0])
        self.assertTrue(torch.equal(given[0], out) and torch.equal(given[1], lse))
        table = torch.zeros(3, 3, dtype=torch.int32)
        for b in range(3):
            table[b, :lists[1][b + 1] - lists[1][b]] = lists[2][lists[1][b]:lists[1][b + 1]]
        made.plan(*lists, H, R, P, 16, False, 192 ** -0.5, torch.bfloat16, torch.bfloat16)
        want = made.run(*tensors, return_lse=True)
        for halves in (tensors[:2], [x.contiguous() for x in tensors[:2]]):
            got = self.wrapper().run(*halves, *tensors[2:], return_lse=True, kv_len=lists[3], page_table=table)
            self.assertTrue(all(torch.equal(x, y) for x, y in zip(got, want)))

    def of_bytes(self, cache, *scales):
        """The parts of a cache as 8 bits by these scales, and the cache that they stand for."""
        parts = [(x.float() / scale).to(torch.float8_e4m3fn) for x, scale in zip((cache[..., :R], cache[..., R:]), scales)]
        return parts, torch.cat([x.float() * scale for x, scale in zip(parts, scales)], -1)

    def plan_bytes(self, wrapper, lists, page, causal, rope=P, rank=R):
        wrapper.plan(*lists, H, rank, rope, page, causal, SCALE, torch.bfloat16, torch.float8_e4m3fn)

    def test_caches_of_8_bits_with_two_scales(self):
        for queries, lengths, page, causal in (([1, 1, 1], [5, 16, 40], 16, False), ([1, 3, 2], [9, 17, 33], 16, True)):
            q, cache, *lists = self.case(queries, lengths, page)
            parts, stands_for = self.of_bytes(cache, 0.02, 0.05)
            made = self.wrapper()
            self.plan_bytes(made, lists, page, causal)
            out, lse = made.run(q[..., :R], q[..., R:], *parts, return_lse=True, ckv_scale=0.02, kpe_scale=0.05)
            self.check(out, lse, q, stands_for, *lists, causal, 4e-3)  # q_pe times its scale is rounded once more
            one = torch.cat([x.view(torch.uint8) for x in parts], -1).view(torch.float8_e4m3fn)  # both parts in one tensor's rows
            for same in (False, True):
                scales = (0.02, 0.02) if same else (0.02, 0.05)
                views, want = self.of_bytes(cache, *scales)
                one[..., :R], one[..., R:] = views
                made._kpe = None
                out, lse = made.run(q[..., :R], q[..., R:], one[..., :R], one[..., R:], return_lse=True, ckv_scale=scales[0], kpe_scale=scales[1])
                self.assertIsNone(made._kpe)  # nothing was made of the cache
                self.check(out, lse, q, want, *lists, causal, 1e-3 if same else 4e-3)

    def test_scales_of_graphs_stay_where_they_are(self):
        q, cache, qo, kv, order, lengths = self.case([1, 1], [5, 40], 16)
        made = self.wrapper(use_cuda_graph=True, qo_indptr=qo.clone(), kv_indptr=kv.clone(), kv_indices=order.clone(), kv_len_arr=lengths.clone())
        self.plan_bytes(made, (qo, kv, order, lengths), 16, False)
        held = made._scale
        self.plan(made, qo, kv, order, lengths, 16, False)
        self.plan_bytes(made, (qo, kv, order, lengths), 16, False)
        self.assertIs(made._scale, held)

    def test_caches_of_8_bits_without_rope_columns(self):
        q, cache, *lists = self.case([1, 2], [5, 40], 16)
        q, rows = torch.randn(3, H, 512, generator=self.random).bfloat16(), torch.randn(*cache.shape[:2], 512, generator=self.random)
        groups = rows.view(*rows.shape[:2], 4, 128).abs().amax(-1) / 448
        for scale, given in ((groups.repeat_interleave(128, -1), dict(ckv_scale_arr=groups)), (0.01, dict(ckv_scale=0.01))):
            bytes_ = (rows / scale).to(torch.float8_e4m3fn)
            made = self.wrapper()
            self.plan_bytes(made, lists, 16, True, rope=0, rank=512)
            out = made.run(q, q[..., :0], bytes_, bytes_[..., :0], **given)
            for b in range(2):
                keys = (bytes_.float() * scale)[lists[2][lists[1][b]:lists[1][b + 1]].long()].reshape(-1, 512)[:lists[3][b]].double()
                x = q[lists[0][b]:lists[0][b + 1]].double()
                scores = torch.einsum("nhc,tc->nht", x, keys) * SCALE
                hidden = torch.arange(len(keys))[None] > torch.arange(len(x))[:, None] + len(keys) - len(x)
                want = scores.masked_fill(hidden[:, None], -math.inf).softmax(-1) @ keys
                self.assertLess(float((out[lists[0][b]:lists[0][b + 1]].double() - want).norm() / want.norm()), 5e-3)

    def test_what_of_8_bits_is_refused(self):
        q, cache, *lists = self.case([1], [5], 16)
        parts, _ = self.of_bytes(cache, 1.0, 1.0)
        shorter = torch.zeros(*cache.shape, dtype=torch.uint8).view(torch.float8_e4m3fn)
        made, halves = self.wrapper(), (q[..., :R], q[..., R:])
        with self.assertRaisesRegex(ValueError, "q_data_type=torch.bfloat16"):
            made.plan(*lists, H, R, P, 16, False, SCALE, torch.float16, torch.float8_e4m3fn)
        self.plan_bytes(made, lists, 16, False)
        for text, tensors, scales in (("Exactly one of ckv_scale or ckv_scale_arr", (*halves, *parts), {}),
                                      ("Exactly one of ckv_scale or ckv_scale_arr", (*halves, *parts), dict(ckv_scale=1.0, ckv_scale_arr=torch.ones(1), kpe_scale=1.0)),
                                      ("kpe_scale is None", (*halves, *parts), dict(ckv_scale=1.0)),
                                      ("ckv_scale has the shape \\(2,\\), must be a number", (*halves, *parts), dict(ckv_scale=torch.ones(2), kpe_scale=1.0)),
                                      ("kpe_scale is 'a', must be a number", (*halves, *parts), dict(ckv_scale=1.0, kpe_scale="a")),
                                      ("ckv_scale is 0.0, must be a finite number other than 0", (*halves, *parts), dict(ckv_scale=0.0, kpe_scale=1.0)),
                                      ("ckv_scale_arr is torch.float64, must be a tensor of float32", (*halves, *parts), dict(ckv_scale_arr=torch.ones(1, 16, 0).double(), kpe_scale=1.0)),
                                      ("ckv_scale_arr is list, must be a tensor of float32", (*halves, *parts), dict(ckv_scale_arr=[1.0], kpe_scale=1.0)),
                                      ("ckv_cache has 48 columns and kpe_cache 32, must be 64 and 32", (*halves, shorter[..., :48], shorter[..., 48:80]), dict(ckv_scale=1.0, kpe_scale=1.0)),
                                      ("Invalid shape of ckv_scale_arr", (*halves, *parts), dict(ckv_scale_arr=torch.ones(1, 16, 7), kpe_scale=1.0)),
                                      ("q_nope.dtype is torch.float16", (halves[0].half(), halves[1], *parts), dict(ckv_scale=1.0, kpe_scale=1.0)),
                                      ("must be 512 with ckv_scale_arr", (*halves, parts[0], parts[1][..., :0]), dict(ckv_scale_arr=torch.ones(*cache.shape[:2], 0))),
                                      ("kpe_cache.dtype is torch.bfloat16", (*halves, parts[0], parts[1].bfloat16()), dict(ckv_scale=1.0, kpe_scale=1.0))):
            with self.subTest(text), self.assertRaisesRegex(ValueError, text):
                made.run(*tensors, **scales)

    def test_refusals_name_the_argument(self):
        q, cache, *lists = self.case([1], [5], 16)
        made = self.wrapper()
        with self.assertRaisesRegex(mlaforge.MlafError, r"plan\(\) was not called"):
            made.run(q[..., :R], q[..., R:], cache[..., :R], cache[..., R:])
        with self.assertRaisesRegex(mlaforge.MlafError, "kv_data_type is torch.float8_e5m2, must be torch.bfloat16"):
            made.plan(*lists, H, R, P, 16, False, SCALE, torch.bfloat16, torch.float8_e5m2)
        with self.assertRaisesRegex(mlaforge.MlafError, "request 0 has 1 query tokens, 5 cached tokens and 1 pages of 4"):
            self.plan(made, *lists, 4, False)
        self.plan(made, *lists, 16, False)
        with self.assertRaisesRegex(mlaforge.MlafError, "told 1 query tokens of 64 columns"):
            made.run(q.repeat(2, 1, 1)[..., :R], q.repeat(2, 1, 1)[..., R:], cache[..., :R], cache[..., R:])
        with self.assertRaisesRegex(mlaforge.MlafError, "ckv_scale is given, must be None: the cache has 16 bits"):
            made.run(q[..., :R], q[..., R:], cache[..., :R], cache[..., R:], ckv_scale=0.5)
        with self.assertRaisesRegex(mlaforge.MlafError, "kv_len and page_table come together"):
            made.run(q[..., :R], q[..., R:], cache[..., :R], cache[..., R:], kv_len=lists[3])
        with self.assertRaisesRegex(mlaforge.MlafError, "use_cuda_graph is True, and one of"):
            self.wrapper(use_cuda_graph=True)

    def test_silly_values_are_named(self):
        q, cache, qo, kv, order, lengths = self.case((1, 2), (5, 9), 4)
        wrapper = mlaforge.flashinfer.BatchMLAPagedAttentionWrapper(torch.empty(1), ctx=self.ctx)
        plan = dict(qo_indptr=qo, kv_indptr=kv, kv_indices=order, kv_len_arr=lengths, num_heads=H, head_dim_ckv=R, head_dim_kpe=P, page_size=4, causal=True, sm_scale=SCALE,
                    q_data_type=torch.bfloat16, kv_data_type=torch.bfloat16)
        run = dict(q_nope=q[..., :R], q_pe=q[..., R:], ckv_cache=cache[..., :R], kpe_cache=cache[..., R:], out=torch.empty(3, H, R).bfloat16(), lse=torch.empty(3, H))
        wrapper.plan(**plan)
        for call, good in ((wrapper.plan, plan), (wrapper.run, run)):
            for name in good:
                for bad in ("x", len, [len], {}, math.nan, -1, torch.zeros(2, 2, 2, 2, 2)):
                    # Anything but a tensor has a truth value, and a scale may be negative.
                    if name in ("q_data_type", "kv_data_type") or name == "causal" and not torch.is_tensor(bad) or name == "sm_scale" and bad.__class__ is int:
                        continue
                    with self.subTest(call=call.__name__, name=name, bad=type(bad).__name__), self.assertRaises((mlaforge.MlafError, ValueError, TypeError)) as said:
                        call(**{**good, name: bad})
                        wrapper.run(**run)
                    self.assertRegex(str(said.exception), rf"\b{name}\b")
                    wrapper.plan(**plan)

    def test_scales_are_named(self):
        """As FlashInfer has them: by keyword alone."""
        kinds = {name: p.kind for name, p in inspect.signature(mlaforge.flashinfer.BatchMLAPagedAttentionWrapper.run).parameters.items()}
        self.assertEqual({kinds[name] for name in ("ckv_scale", "ckv_scale_arr", "kpe_scale")}, {inspect.Parameter.KEYWORD_ONLY})
