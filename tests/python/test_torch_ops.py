"""Every entry point as an operator of PyTorch, over the emulator: opcheck, torch.compile, torch.export, gradients. Skips only where torch is missing."""
import copy
import gc
import inspect
import os
import pickle
import subprocess
import sys
import types
import unittest
import unittest.mock
import warnings

try:
    import torch
except ImportError:
    torch = None

import mlaforge
from buffers import EmulatorTest
from mlaforge import flashmla
from mlaforge.library import fast
from test_entries import Entries

NOT_TRACED = ("ctx", "stream", "self")
CHECKS = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")  # PyTorch cannot compare float8 on a CPU, as the first wants to
COMPOSED = ("flash_attn_varlen_func",)  # of another entry point's operator


def outputs(values):
    return [x.clone() for x in values.values() if isinstance(x, torch.Tensor)]


def bits(x):
    return x.contiguous().view(torch.uint8) if x.element_size() == 1 or x.dtype.is_floating_point else x


@unittest.skipIf(torch is None, "torch is not installed")
class Operators(Entries):
    """Arguments of test_entries.py, with random numbers, as PyTorch's tensors on the CPU."""
    FREE = ()
    # Entries' own tests run in test_entries.py.
    test_wrong_arguments_are_named = test_good_arguments_of_the_same_calls = test_what_newcomers_met = None
    test_one_rule_for_page_sizes = test_every_public_callable_has_a_docstring = test_version = test_a_workspace_is_named = None
    test_strides_and_lists_are_of_the_caller_s_tensors = None
    test_exit_with_a_context_of_the_module_is_silent = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        warnings.filterwarnings("ignore", category=UserWarning, module="torch")
        cls.random = torch.Generator().manual_seed(3)  # tests that draw set their own

    def new(self, *shape, dtype="bfloat16", values=None):
        kind = getattr(torch, dtype)
        if values is not None:
            return torch.tensor(values, dtype=kind).reshape(shape)
        if not kind.is_floating_point:
            return torch.zeros(shape, dtype=kind)
        return (torch.randn(shape, generator=self.random) * 0.3).to(kind)

    def entries(self):
        """(name, function or method, good arguments) of all that take tensors."""
        self.random = torch.Generator().manual_seed(5)
        for call, good in self.calls():
            if any(isinstance(x, torch.Tensor) for x in good.values()):
                yield getattr(call, "__qualname__", "?"), call, good

    def context_of(self, call):
        return {"ctx": self.ctx} if "ctx" in inspect.signature(call).parameters else {}

    def recorded(self, call, named):
        """(operator, its arguments) as the traced function makes them: the compiler's part is left out."""
        from mlaforge.torch_ops import OPERATORS
        made, operators = [], [x for operator in OPERATORS for x in (operator, operator.plain) if x is not None]
        for operator in operators:
            operator.call = lambda *values, of=operator: made.append((of.overload, values))
        try:
            traced = getattr(call, "__func__", call)._torchdynamo_inline
            traced(*([call.__self__] if hasattr(call, "__self__") else []), **named)
        finally:
            for operator in operators:
                operator.call = operator.overload
        self.assertEqual(len(made), 1)
        return made[0]

    def test_each_entry_point_has_an_operator_of_its_arguments(self):
        from mlaforge.torch_ops import OPERATORS
        by_function = {operator.function: operator for operator in OPERATORS}
        found = 0
        for name, call, _ in self.entries():
            function = getattr(call, "__func__", call)
            self.assertTrue(hasattr(function, "_torchdynamo_inline") or inspect.isclass(call), name)
            if function in by_function:
                operator = by_function[function]
                wanted = [n for n in inspect.signature(function).parameters if n not in NOT_TRACED]
                has = [n for n in operator.names if n not in ("ctx", operator.owner) and not n.endswith(("_kpe", "_tensor", "_word"))]
                self.assertEqual(set(has), set(wanted), name)
                found += 1
            else:
                self.assertTrue(inspect.isclass(call) or name in COMPOSED, name)
        self.assertEqual(found, len(OPERATORS) + 1)  # flash_mla_with_kvcache comes twice

    def test_opcheck(self):
        with torch.no_grad():
            for name, call, good in self.entries():
                if inspect.isclass(call) or name in COMPOSED:
                    continue
                with self.subTest(name):
                    overload, values = self.recorded(call, {**good, **self.context_of(call)})
                    narrow = any(isinstance(x, torch.Tensor) and x.element_size() == 1 and x.dtype.is_floating_point for x in values)
                    said = torch.library.opcheck(overload, values, test_utils=CHECKS[1 if narrow else 0:])
                    self.assertEqual(set(said.values()), {"SUCCESS"})

    def test_compiled_graphs_give_the_same_bits(self):
        for name, call, good in self.entries():
            if inspect.isclass(call):
                continue
            with self.subTest(name), torch.no_grad():
                self.random = torch.Generator().manual_seed(6)
                copy = {k: v.clone() if isinstance(v, torch.Tensor) else v for k, v in good.items()}
                context = self.context_of(call)
                call(**good, **context)
                compiled = torch.compile(lambda named: (call(**named, **context), 1)[1], fullgraph=True, backend="aot_eager")
                compiled(copy)
                for key in good:
                    if isinstance(good[key], torch.Tensor):
                        self.assertTrue(torch.equal(bits(good[key]), bits(copy[key])), f"{name}: {key}")
                torch.compiler.reset()

    def test_an_input_that_wants_a_gradient_is_named(self):
        for name, call, good in self.entries():
            if inspect.isclass(call):
                continue
            first = next(k for k, v in good.items() if isinstance(v, torch.Tensor) and v.dtype in (torch.bfloat16, torch.float32))
            wants = {**good, first: good[first].clone().requires_grad_()}
            context = self.context_of(call)
            with self.subTest(name):
                with self.assertRaisesRegex(mlaforge.MlafError, f"^MLAF_E_ARG: {first} requires a gradient"):
                    call(**wants, **context)
                with torch.no_grad():
                    call(**wants, **context)

    def decode(self):
        self.random = torch.Generator().manual_seed(7)
        call, good = next((c, g) for c, g in self.calls() if getattr(c, "__name__", "") == "flash_mla_with_kvcache")
        rest = {k: v for k, v in good.items() if k != "q"}
        return good["q"], lambda q: call(q * 1, **rest, ctx=self.ctx)

    def test_inductor_and_export_take_a_decode_step(self):
        q, step = self.decode()
        want = step(q)
        for how in ({}, {"mode": "reduce-overhead"}):
            for x, y in zip(torch.compile(step, fullgraph=True, **how)(q), want):
                self.assertTrue(torch.equal(x, y))
        module = type("Step", (torch.nn.Module,), {"forward": lambda self, q: step(q)})()
        exported = torch.export.export(module, (q,))
        names = [str(node.target) for node in exported.graph.nodes if node.op == "call_function"]
        self.assertIn("mlaforge.flash_mla_with_kvcache.default", names)
        for x, y in zip(exported.module()(q), want):
            self.assertTrue(torch.equal(x, y))

    def ragged(self):
        """A call of mla_decode_fwd over a block table that makes what it returns, as a function of q and of what else is given."""
        self.random = torch.Generator().manual_seed(11)
        q, cache = self.new(3, 2, 96), self.new(4, 16, 1, 96)
        ints = lambda *values: torch.tensor(values, dtype=torch.int32)
        table, lens, qo = ints(0, 1, 2, 3).view(2, 2), ints(20, 5), ints(0, 2, 3)
        return q, lambda q, **how: mlaforge.mla_decode_fwd(q * 1, cache, None, qo, None, None, None, 2, 0.1, lse=True, block_table=table, seq_lens=lens,
                                                           head_dim_v=64, **how)

    def test_a_call_without_outputs_mutates_no_input_of_the_graph(self):
        q, step = self.ragged()
        with torch.no_grad():
            want = step(q, ctx=self.ctx)
            for how in ({}, {"mode": "reduce-overhead"}):
                got = torch.compile(lambda q: step(q, ctx=self.ctx), fullgraph=True, **how)(q)
                self.assertTrue(torch.equal(got[0], want[0]) and torch.equal(got[1], want[1]))
            exported = torch.export.export(type("Step", (torch.nn.Module,), {"forward": lambda self_, q: step(q, ctx=self.ctx)})(), (q,))
        signature = exported.graph_signature
        self.assertEqual((list(signature.buffers_to_mutate), list(signature.user_inputs_to_mutate)), ([], []))

    def test_a_plain_call_has_an_operator_of_few_values(self):
        from mlaforge.torch_ops import OPERATORS
        operator = next(x for x in OPERATORS if x.name == "mla_decode_fwd")
        mlaforge.set_default_context(self.ctx)
        self.addCleanup(mlaforge.set_default_context, None)
        self.random = torch.Generator().manual_seed(12)
        call, good = next((c, g) for c, g in self.calls() if getattr(c, "__name__", "") == "mla_decode_fwd")
        good = {k: v for k, v in good.items() if k not in ("page_size", "rope_style", "rope_table")}
        with torch.no_grad():
            overload, values = self.recorded(call, good)
            self.assertIs(overload, operator.plain.overload)
            self.assertEqual(set(torch.library.opcheck(overload, values, test_utils=CHECKS).values()), {"SUCCESS"})
            call(**good)
            want, lse = good["o"].clone(), good["lse"].clone()
            good["o"].fill_(float("nan"))
            good["lse"].fill_(float("nan"))
            torch.compile(lambda named: (call(**named), 1)[1], fullgraph=True, backend="aot_eager")(good)
            self.assertTrue(torch.equal(good["o"], want) and torch.equal(good["lse"], lse))
            for more in (dict(page_size=16), dict(causal=False), dict(batch_invariant=True)):
                self.assertIs(self.recorded(call, {**good, **more})[0], operator.overload)
            for module in (fast(), None):
                self.ctx.use(module)
                for made in (dict(o=None, lse=True, head_dim_v=want.shape[-1]), dict(o=None, head_dim_v=want.shape[-1]), dict(lse=True)):
                    out, sums = call(**{**good, **made})
                    self.assertTrue(torch.equal(out, want) and torch.equal(sums, lse))
            self.ctx.use(fast())
            with self.assertRaisesRegex(mlaforge.MlafError, "kv_indptr has shape"):
                torch.compile(lambda named: (call(**named), 1)[1], fullgraph=True, backend="eager")({**good, "kv_indptr": None})
            with self.assertRaisesRegex(mlaforge.MlafError, "max_seqlen_q is 0"):
                overload(*(0 if n == "max_seqlen_q" else v for n, v in zip(operator.plain.names, values)))

    def test_other_plain_calls_have_operators_of_few_values(self):
        from mlaforge.torch_ops import OPERATORS
        mlaforge.set_default_context(self.ctx)
        self.addCleanup(mlaforge.set_default_context, None)
        self.random = torch.Generator().manual_seed(16)
        q, kv, out, lse = self.new(2, 1, 2, 96), self.new(8, 16, 1, 96), torch.empty(2, 1, 2, 64).bfloat16(), torch.empty(2, 1, 2).transpose(1, 2)
        lists = dict(block_table=torch.tensor([[3, 1], [0, 5]], dtype=torch.int32), cache_seqlens=torch.tensor([20, 9], dtype=torch.int32))
        layer, hidden = next((c.__self__, g) for c, g in ((c, g) for c, g in self.calls()) if getattr(c, "__qualname__", "") == "Layer.forward")
        calls = {"flash_mla_with_kvcache": (mlaforge.flash_mla_with_kvcache, dict(q=q, k_cache=kv, head_dim_v=64, softmax_scale=0.1, out=out, lse=lse, **lists),
                                            ("out", "lse"), dict(descale_k=torch.ones(1))),
                 "layer": (layer.forward, {**hidden, "out": torch.empty_like(hidden["hidden"])}, ("out",), dict(stage=0))}
        for name, (call, good, outputs, more) in calls.items():
            operator = next(x for x in OPERATORS if x.name == name)
            with torch.no_grad():
                overload, values = self.recorded(call, good)
                self.assertIs(overload, operator.plain.overload)
                self.assertEqual(set(torch.library.opcheck(overload, values, test_utils=CHECKS).values()), {"SUCCESS"})
                call(**good)
                want = [good[x].clone() for x in outputs]
                for module in (fast(), None):
                    self.ctx.use(module)
                    for x in outputs:
                        good[x].fill_(float("nan"))
                    overload(*values)
                    self.assertTrue(all(torch.equal(good[x], w) for x, w in zip(outputs, want)), name)
                self.ctx.use(fast())
                with unittest.mock.patch.object(self.ctx, "emulated", False):  # the compiled module is called as on a GPU: it takes so many values
                    operator.plain.make(lambda *values: None)(*values)
                self.assertIs(self.recorded(call, {**good, **more})[0], operator.overload)

    def test_a_layer_s_plain_operator_hands_on_the_numbers_of_one_value(self):
        from mlaforge.torch_ops import OPERATORS
        self.random = torch.Generator().manual_seed(19)
        layer, good = next((c.__self__, g) for c, g in ((c, g) for c, g in self.calls()) if getattr(c, "__qualname__", "") == "Layer.forward")
        operator, good = next(x for x in OPERATORS if x.name == "layer"), {**good, "out": torch.empty_like(good["hidden"])}
        for kv_len, q_len in ((0, 1), (1234, 16), (2 ** 32 - 1, 2)):
            seen = []
            with torch.no_grad(), unittest.mock.patch.object(layer, "_run", lambda *values: seen.append(values) or good["out"]), \
                    unittest.mock.patch.object(layer._ctx, "emulated", False):
                overload, values = self.recorded(layer.forward, {**good, "kv_len": kv_len, "q_len": q_len})
                overload(*values)
            self.assertIs(overload, operator.plain.overload)
            self.assertEqual((seen[0][7], seen[0][15]), (q_len, kv_len))
        for wrong in (dict(q_len=0), dict(q_len=17), dict(kv_len=-1), dict(kv_len=2 ** 32)):  # the entry point names what is wrong
            self.assertIs(self.recorded(layer.forward, {**good, **wrong})[0], operator.overload)

    def test_a_layer_says_the_workspace_of_a_call(self):
        self.random = torch.Generator().manual_seed(17)
        layer, good = next((c.__self__, g) for c, g in ((c, g) for c, g in self.calls()) if getattr(c, "__qualname__", "") == "Layer.forward")
        with torch.no_grad():
            want, (batch, pages) = layer(**good).clone(), good["block_table"].shape
            size = layer.workspace_size(batch, pages=pages)
            self.assertTrue(0 < size <= layer.workspace_size())
            room = torch.empty(size + 256, dtype=torch.uint8)
            room = room[-room.data_ptr() % 256:][:size]
            for same in (False, True):
                self.assertTrue(torch.equal(layer(**good, workspace=room, same_tables=same), want))
            with self.assertRaisesRegex(mlaforge.MlafError, f"this call needs {size}"):
                layer(**good, workspace=room[:size - 256])
            with self.assertRaisesRegex(mlaforge.MlafError, "999 requests of 1 query tokens are no call of this layer"):
                layer.workspace_size(999)

    def test_index_lists_of_any_strides(self):
        self.random = torch.Generator().manual_seed(14)
        q, kv = self.new(3, 2, 2, 96), self.new(8, 8, 1, 96)
        indices = torch.randint(-1, 64, (3, 2, 7), generator=self.random, dtype=torch.int32)
        apart = torch.full((4, 3, 20), 3, dtype=torch.int32)[:3, :2, :7]
        apart.copy_(indices)
        call = lambda indices: mlaforge.flash_mla_with_kvcache(q, kv, None, None, 64, softmax_scale=0.1, indices=indices, ctx=self.ctx)
        with torch.no_grad():
            for got, want in zip(call(apart), call(indices)):
                self.assertTrue(torch.equal(got, want))

    def test_compiled_graphs_take_a_cache_s_format_by_its_name(self):
        random = torch.Generator().manual_seed(18)
        codes = torch.randint(0, 100, (2, 64 * 512), generator=random, dtype=torch.uint8)
        rope = torch.randn(2, 64 * 64, generator=random).bfloat16().view(torch.uint8)
        cache = torch.cat((codes, torch.ones(2, 64 * 4).view(torch.uint8), rope), 1).view(2, 64, 1, 656)  # fp8_planar: codes, scales, rope columns of a page
        q, table, lens = torch.randn(2, 1, 4, 576, generator=random).bfloat16(), torch.tensor([[1], [0]], dtype=torch.int32), torch.tensor([40, 9], dtype=torch.int32)
        qo = torch.arange(3, dtype=torch.int32)
        flash = lambda q: mlaforge.flash_mla_with_kvcache(q, cache, table, lens, 512, is_fp8_kvcache="fp8_planar", ctx=self.ctx)
        decode = lambda q: mlaforge.mla_decode_fwd(q[:, 0], cache, None, qo, None, None, None, 1, lse=True, block_table=table, seq_lens=lens, head_dim_v=512,
                                                   kv_scale=None, cache_format="fp8_planar", ctx=self.ctx)
        with torch.no_grad():
            for call in (flash, decode):
                want, got = call(q), torch.compile(call, fullgraph=True, backend="aot_eager")(q)
                self.assertTrue(torch.equal(got[0], want[0]) and torch.equal(got[1], want[1]) and bool(want[0].isfinite().all()))

    def test_queries_in_two_tensors(self):
        """Eagerly kernels read both as they lie; in a graph, where an operator takes one tensor, they are joined."""
        random = torch.Generator().manual_seed(19)
        new = lambda *shape: torch.randn(shape, generator=random).bfloat16()
        nope, pe, cache = new(4, 2, 64).transpose(0, 1), new(2, 4, 96)[..., 64:], new(3, 16, 1, 96)
        ints = lambda *x: torch.tensor(x, dtype=torch.int32)
        tables = ints(0, 1, 2), ints(0, 2, 3), ints(2, 0, 1), ints(4, 5)
        decode = lambda nope, pe: mlaforge.mla_decode_fwd((nope, pe), cache, None, *tables, 1, lse=True, head_dim_v=64, ctx=self.ctx)
        want = mlaforge.mla_decode_fwd(torch.cat((nope, pe), -1), cache, None, *tables, 1, lse=True, head_dim_v=64, ctx=self.ctx)
        with torch.no_grad():
            for call in (decode, torch.compile(decode, fullgraph=True, backend="aot_eager")):
                got = call(nope, pe)
                self.assertTrue(torch.equal(got[0], want[0]) and torch.equal(got[1], want[1]))
        self.assertTrue(torch.equal(decode(nope, pe)[0], want[0]))  # with gradients enabled, which nobody wants
        with self.assertRaisesRegex(mlaforge.MlafError, "requires a gradient|gradient"):
            decode(nope.detach().requires_grad_(), pe)

    def test_more_new_tokens_than_a_launch_takes(self):
        self.random = torch.Generator().manual_seed(13)
        q, kv, lengths = self.new(5, 2, 96), self.new(64, 1, 96), self.new(5, dtype="int32", values=[7, 3, 0, 5, 1])
        indices = torch.randint(-1, 64, (5, 1, 7), generator=self.random, dtype=torch.int32)
        call = lambda **more: mlaforge.flash_mla_sparse_fwd(q, kv, indices, 0.1, 64, topk_length=lengths, ctx=self.ctx, **more)
        out, lse = torch.empty(5, 2, 64).bfloat16(), torch.empty(5, 2)
        with torch.no_grad():
            want, _, sums = call()
            with unittest.mock.patch.object(flashmla, "TOKENS_MOST", 2):
                for got in (call(), call(out=out, lse=lse)):
                    self.assertTrue(torch.equal(got[0], want) and torch.equal(got[2], sums))
        self.assertIs(got[0], out)

    def test_a_compiled_function_names_the_gradient_and_the_stream(self):
        q, step = self.decode()
        with self.assertRaisesRegex(Exception, "q requires a gradient"):
            torch.compile(step, fullgraph=True, backend="aot_eager")(q.clone().requires_grad_())
        call, good = next((c, g) for c, g in self.calls() if getattr(c, "__name__", "") == "mla_decode_fwd")
        with self.assertRaisesRegex(Exception, "stream is given, must be None in a compiled graph"):
            torch.compile(lambda named: call(**named, stream=1), fullgraph=True, backend="aot_eager")(good)

    def test_torch_may_be_imported_last(self):
        code = ("import mlaforge, torch\n"
                "f = torch.compile(lambda x, w: mlaforge.mla_v_out(x, w, 128), fullgraph=True, backend='aot_eager')\n"
                "x, w = torch.ones(1, 16, 512).half(), torch.ones(16, 256, 512).half()\n"
                "with torch.no_grad(): print(float(f(x, w).flatten()[0]))")
        made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "MLAF_DEVICE": "emu:gfx942"})
        self.assertEqual(made.stdout, "512.0\n", made.stderr[-300:])

    def test_an_older_torch_makes_plain_calls(self):
        from mlaforge import torch_state
        for version, has in (("2.5.1", False), ("1.13.1+cu117", False), ("2.6.0", True), ("2.13.0+cpu", True), ("3.0", True), ("unknown", False)):
            self.assertEqual(torch_state.has_operators(types.SimpleNamespace(__version__=version)), has, version)
        self.assertFalse(torch_state.has_operators(None))

    def test_a_schedule_of_tensors_is_that_of_lists(self):
        self.random = torch.Generator().manual_seed(9)
        chunked = next(c.__self__ for c, _ in self.calls() if getattr(c, "__qualname__", "") == "ChunkedPrefill.schedule")
        lists, tensors = chunked.schedule([2, 3], [3, 40]), chunked.schedule(torch.tensor([2, 3], dtype=torch.int32), torch.tensor([3, 40]))
        self.assertEqual(list(lists.host), list(tensors.host))

    def test_a_type_that_the_library_does_not_know_is_named(self):
        q, cache = torch.zeros(1, 1, 2, 96, dtype=torch.bfloat16), torch.zeros(2, 16, 1, 96, dtype=torch.float8_e5m2)
        with self.assertRaisesRegex(mlaforge.MlafError, "k_cache is float8_e5m2, must be bfloat16"):
            mlaforge.flash_mla_with_kvcache(q, cache, torch.zeros(1, 1, dtype=torch.int32), torch.ones(1, dtype=torch.int32), 64, ctx=self.ctx)

    def test_what_watches_operators_sees_one(self):
        """A plain call under them would leave its output out of what they record, or read memory that fake tensors do not have."""
        from torch._subclasses.fake_tensor import FakeTensorMode
        from torch.fx.experimental.proxy_tensor import make_fx
        q, decode = self.decode()
        alone = lambda x: decode(x)[0]
        with torch.no_grad():
            other, want = q.flip(-1), alone(q.flip(-1))
            self.assertTrue(torch.equal(make_fx(alone)(q)(other), want))
            self.assertTrue(torch.equal(torch.jit.trace(alone, (q,), check_trace=False)(other), want))
            with FakeTensorMode(allow_non_fake_inputs=True) as mode:
                self.assertEqual(alone(mode.from_tensor(q)).shape, want.shape)

    def test_a_tangent_is_refused_like_a_gradient(self):
        q, decode = self.decode()
        with self.assertRaisesRegex(RuntimeError, "q requires a gradient"):
            torch.func.jvp(lambda x: decode(x)[0], (q,), (q,))
        with torch.autograd.forward_ad.dual_level(), self.assertRaisesRegex(mlaforge.MlafError, "q requires a gradient"):
            decode(torch.autograd.forward_ad.make_dual(q, q))

    def test_a_tensor_without_memory_is_named(self):
        q, decode = self.decode()
        with torch.no_grad(), self.assertRaisesRegex(mlaforge.MlafError, "q is on the meta device, which has no memory"):
            decode(q.to("meta"))

    def test_a_class_of_tensors_of_the_caller_s(self):
        class Own(torch.Tensor):
            pass
        q, decode = self.decode()
        self.assertTrue(torch.equal(decode(q.as_subclass(Own))[0].as_subclass(torch.Tensor), decode(q)[0]))

    def test_a_layer_is_neither_copied_nor_pickled(self):
        self.random = torch.Generator().manual_seed(8)
        layer = next(c.__self__ for c, _ in self.calls() if getattr(c, "__qualname__", "") == "Layer.forward")
        for thing in (layer, self.ctx, self.ctx.with_batch_invariance()):
            for make in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.assertRaisesRegex(TypeError, f"a {type(thing).__name__} is not copied or pickled"):
                    make(thing)

    def test_errors_are_pickled_and_those_of_arguments_are_value_errors(self):
        for status, kind in (("MLAF_E_ARG", ValueError), ("MLAF_E_IO", RuntimeError)):
            why = pickle.loads(pickle.dumps(mlaforge.MlafError(status, "x is 1")))
            self.assertIsInstance(why, mlaforge.MlafError)
            self.assertEqual((why.status, why.detail, str(why), isinstance(why, ValueError)), (status, "x is 1", f"{status}: x is 1", kind is ValueError))
            self.assertIsInstance(why, kind)

    def test_a_layer_that_is_gone_is_said(self):
        self.random = torch.Generator().manual_seed(8)
        layer, good = next((c.__self__, g) for c, g in ((c, g) for c, g in self.calls()) if getattr(c, "__qualname__", "") == "Layer.forward")
        overload, values = self.recorded(layer.forward, good)
        overload(*values)
        del layer
        self.doCleanups()
        gc.collect()
        with self.assertRaisesRegex(mlaforge.MlafError, "the layer of a compiled graph is gone"):
            overload(*values)


del Entries

if __name__ == "__main__":
    unittest.main()
