"""Counts what a warm call asks of the interpreter, of tensors and of the driver: on a CUDA driver that is none (tests/cuda/fakecuda.c), with
tensors of a stand-in for PyTorch. Counts do not depend on the machine. Times: tools/bench-server.py --only host, build/call-overhead."""
import collections
import ctypes
import gc
import os
import sys
import tempfile
import types
import unittest

import mlaforge
from mlaforge.library import fast

HEADS, RANK, COLS, PAGE = 16, 512, 576, 64
# Calls of the driver that a warm call may make, beside its launches.
DRIVER = {"cuCtxGetCurrent": 2, "cuStreamIsCapturing": 2}
LAUNCHES, GRAPH = ("cuLaunchKernel", "cuLaunchKernelEx"), "cuGraphLaunch"
WATCHED = (*DRIVER, *LAUNCHES, GRAPH, "cuTensorMapEncodeTiled", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2", "cuMemAlloc_v2", "cuMemFree_v2", "cuPointerGetAttribute",
           "cuStreamSynchronize", "cuModuleLoadDataEx", "cuModuleGetFunction", "cuFuncSetAttribute", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2")

asked = collections.Counter()  # what tensors were asked for


class Tensor(mlaforge.Buffer):
    def __getattribute__(self, name):
        if name in ("data_ptr", "dtype", "shape", "stride", "get_device", "contiguous", "new_empty", "new_empty_strided"):
            asked[name] += 1
        return super().__getattribute__(name)

    def new_empty(self, shape, dtype=None):
        if meanwhile:
            meanwhile.pop()()
        return Tensor(self.ctx, shape, dtype or object.__getattribute__(self, "dtype"))

    def expand(self, shape):
        return Tensor(self.ctx, shape, object.__getattribute__(self, "dtype"), strides=(0,) * len(shape))

    def nan_to_num_(self, nan, posinf, neginf):
        assert nan != nan and posinf == neginf == float("inf")
        inverted.append(self)

    def new_empty_strided(self, shape, strides, dtype=None):
        made = Tensor(self.ctx, shape, dtype or object.__getattribute__(self, "dtype"), strides=strides)
        made_now.append(made)
        return made


meanwhile = []  # what another thread does while PyTorch makes a tensor
made_now = []
inverted = []  # whose rows without keys shall have +inf
streams = []  # asked for, by device


like = []  # what tensors were made like


def empty_like(model, memory_format=None):
    assert memory_format == "dense"
    like.append(model)
    made = Tensor(model.ctx, model.shape, object.__getattribute__(model, "dtype"))
    made_now.append(made)
    return made


def current_stream(device):
    streams.append(device)
    return 0


def setUpModule():
    torch = types.ModuleType("torch")
    torch.Tensor, torch.uint8, torch.float32 = Tensor, "uint8", "float32"
    torch.contiguous_format, torch.empty_like = "dense", empty_like
    torch._C = types.SimpleNamespace(_cuda_getCurrentRawStream=current_stream)
    torch.compiler, torch.is_grad_enabled = types.SimpleNamespace(is_compiling=bool), bool
    sys.modules["torch"] = torch


def tearDownModule():
    del sys.modules["torch"]


PACKAGE = os.path.dirname(mlaforge.__file__) + os.sep
STAND_IN = PACKAGE + "buffers.py"


def count_python(call):
    """(functions of the package entered, bytecodes run in them) of one call."""
    functions, codes = [], [0]

    def trace(frame, event, argument):
        where = frame.f_code.co_filename
        if not where.startswith(PACKAGE) or where == STAND_IN:
            return None
        if event == "call":
            functions.append(frame.f_code.co_name)
            frame.f_trace_opcodes = True
        codes[0] += event == "opcode"
        return trace

    gc.collect()  # else contexts of other tests may be closed meanwhile
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(None)
    return functions, codes[0]


class HostCost(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not fast():
            raise AssertionError("the compiled module _fast.abi3.so is not beside the library: Python.h was missing when it was built")
        cls.driver = ctypes.CDLL(os.environ["MLAF_CUDA_LIBRARY"])
        context = ctypes.c_void_p()
        cls.driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        cls.driver.cuCtxPushCurrent_v2(context)  # as PyTorch's threads have it
        cls.ctx = mlaforge.Context(device="cuda", db_path=os.path.join(tempfile.mkdtemp(), "t.db"))
        mlaforge.set_default_context(cls.ctx)

    @classmethod
    def tearDownClass(cls):
        mlaforge.set_default_context(None)
        cls.ctx.close()

    def setUp(self):
        batch, pages = 2, 16  # of one launch: two requests of 1024 tokens meet in clusters
        new = lambda shape, dtype: Tensor(self.ctx, shape, dtype)
        q, kv, o = new((batch, HEADS, COLS), "bfloat16"), new((batch * pages, PAGE, 1, COLS), "bfloat16"), new((batch, HEADS, RANK), "bfloat16")
        tables = [new((n,), "int32") for n in (batch + 1, batch + 1, batch * pages, batch)]
        q4, block, lengths = new((batch, 1, HEADS, COLS), "bfloat16"), new((batch, pages), "int32"), new((batch,), "int32")
        self.out, self.lse = new((batch, 1, HEADS, RANK), "bfloat16"), new((batch, 1, HEADS), "float32").transpose(1, 2)
        step = mlaforge.get_mla_metadata()
        self.q4, self.kv, self.block, self.lengths = q4, kv, block, lengths
        self.lists = (q, kv, o, *tables)
        self.aiter = lambda: mlaforge.mla_decode_fwd(q, kv, o, *tables, 1)
        self.flash = lambda: mlaforge.flash_mla_with_kvcache(q4, kv, block, lengths, RANK, *step)
        self.flash_into = lambda: mlaforge.flash_mla_with_kvcache(q4, kv, block, lengths, RANK, *step, out=self.out, lse=self.lse)
        for call in (self.flash, self.flash_into, self.aiter):  # a plan made for tables knows what comes ahead of its kernels
            call()

    def driver_calls(self, call):
        before = {name: self.driver.fake_calls(name.encode()) for name in WATCHED}
        call()
        return {name: n for name in WATCHED if (n := self.driver.fake_calls(name.encode()) - before[name])}

    def check(self, name, call, launches, graphs, tensors, functions, bytecodes):
        calls = self.driver_calls(call)
        self.assertEqual((sum(calls.pop(n, 0) for n in LAUNCHES), calls.pop(GRAPH, 0)), (launches, graphs))
        for what, n in calls.items():
            self.assertLessEqual(n, DRIVER.get(what, 0), f"{what} in a warm call of {name}")
        asked.clear()
        streams.clear()
        call()
        for what in ("data_ptr", "dtype", "shape", "stride", "get_device"):
            self.assertEqual(asked[what], tensors, what)
        self.assertEqual(asked["contiguous"] + asked["new_empty"] + asked["new_empty_strided"], 0)
        self.assertEqual(streams, [0])
        entered, ran = count_python(call)
        self.assertEqual(len(entered), functions, entered)
        self.assertLessEqual(ran, bytecodes)
        print(f"\n{name}: driver {calls}, {launches} launches, {ran} bytecodes of {entered}")

    def test_mla_decode_fwd(self):
        self.check("mla_decode_fwd", self.aiter, launches=1, graphs=0, tensors=7, functions=2, bytecodes=100)

    def test_flash_mla_into_tensors(self):
        self.check("flash_mla_with_kvcache", self.flash_into, launches=0, graphs=1, tensors=6, functions=2, bytecodes=130)

    def test_index_lists(self):
        """Launches around the decode kernel, however many, are one graph with it."""
        new = lambda shape, dtype="int32": Tensor(self.ctx, shape, dtype)
        seen = set()
        for tokens, topk, sink in ((16, 256, None), (16, 256, True), (2, 64, None), (1, 2048, True), (64, 2048, True)):
            q, indices = new((tokens, 1, HEADS, COLS), "bfloat16"), new((tokens, 1, topk))
            outputs = dict(out=new((tokens, 1, HEADS, RANK), "bfloat16"), lse=new((tokens, 1, HEADS), "float32").transpose(1, 2))
            sinks = new((HEADS,), "float32") if sink else None
            call = lambda: mlaforge.flash_mla_with_kvcache(q, self.kv, None, None, RANK, indices=indices, attn_sink=sinks, **outputs)
            self.driver.fakecuda_busy(None, 1)
            for _ in range(9):  # behind the calls that an idle stream is good for
                call()
            launches = sum(self.driver_calls(call).get(name, 0) for name in LAUNCHES)  # none: so many are a graph behind work, too
            self.driver.fakecuda_busy(None, 0)
            seen.add(launches)
            self.check(f"{tokens} lists of {topk}", call, launches=int(launches == 1), graphs=int(launches != 1), tensors=6 if sink else 5,
                       functions=2, bytecodes=130)
        self.assertGreater(len(seen), 1, seen)

    def test_index_lists_of_8_bits(self):
        """The format of a cache's bytes is found once: a call costs what one over 16 bits does, and two functions more."""
        new = lambda shape, dtype="int32": Tensor(self.ctx, shape, dtype)
        q, indices, cache = new((16, 1, HEADS, COLS), "bfloat16"), new((16, 1, 256)), new((32, PAGE, 1, 656), "uint8")
        outputs = dict(out=new((16, 1, HEADS, RANK), "bfloat16"), lse=new((16, 1, HEADS), "float32").transpose(1, 2))
        call = lambda: mlaforge.flash_mla_with_kvcache(q, cache, None, None, RANK, is_fp8_kvcache=True, indices=indices, **outputs)
        for _ in range(9):
            call()
        functions, ran = count_python(call)
        self.assertEqual(functions, ["flash_mla_with_kvcache", "_fp8_format", "target", "call_flash"])
        self.assertLessEqual(ran, 190)
        formats = dict(mlaforge.flashmla._FORMATS)
        mlaforge.flash_mla_with_kvcache(q, cache, None, None, RANK, is_fp8_kvcache=lambda: None, indices=indices, **outputs)  # as a tensor, say
        self.assertEqual(mlaforge.flashmla._FORMATS, formats)  # which is not kept
        with self.assertRaisesRegex(ValueError, "rows of 655"):
            mlaforge.flash_mla_with_kvcache(q, new((32, PAGE, 1, 655), "uint8"), None, None, RANK, is_fp8_kvcache=True, indices=indices, **outputs)

    def test_index_lists_of_any_strides(self):
        q, even = Tensor(self.ctx, (3, 2, HEADS, COLS), "bfloat16"), Tensor(self.ctx, (3, 2, 64), "int32")
        apart = Tensor(self.ctx, (3, 2, 64), "int32", None, (300, 100, 1))
        copied = []
        Tensor.contiguous = lambda t: copied.append(t) or even
        self.addCleanup(delattr, Tensor, "contiguous")
        outputs = dict(out=Tensor(self.ctx, (3, 2, HEADS, RANK), "bfloat16"), lse=Tensor(self.ctx, (3, 2, HEADS), "float32").transpose(1, 2))
        for module in (fast(), None):
            self.ctx.use(module)
            for indices, copies in ((even, []), (apart, [apart])):
                copied.clear()
                mlaforge.flash_mla_with_kvcache(q, self.kv, None, None, RANK, indices=indices, **outputs)
                self.assertEqual(copied, copies)
        self.ctx.use(fast())

    def layer(self):
        """A layer of 16 heads, and what a call of 4 requests takes: the same tensors each time."""
        d, low, batch = 512, 128, 4
        new = lambda shape, dtype="bfloat16": Tensor(self.ctx, shape, dtype)
        shapes = {"fused_qkv_a_proj_with_mqa": (low + COLS, d), "q_a_layernorm": (low,), "kv_a_layernorm": (RANK,), "q_b_proj": (HEADS * 192, low),
                  "kv_b_proj": (HEADS * 256, RANK), "o_proj": (d, HEADS * 128)}
        layer = mlaforge.Layer({f"{name}.weight": new(shape) for name, shape in shapes.items()}, heads=HEADS, scale=0.1, batch=batch,
                               cos_sin_cache=new((1024, COLS - RANK), "float32"), kv_len=(1024, 1024), ctx=self.ctx)
        lengths, block = (Tensor(self.ctx, shape, "int32", bytes(4 * n)) for shape, n in (((batch,), batch), ((batch, 16), 16 * batch)))
        return layer, dict(hidden=new((batch, d)), positions=new((batch,), "int64"), slots=new((batch,), "int64"), cache=new((64, PAGE, COLS)),
                           seq_lens=lengths, block_table=block, out=new((batch, d)), workspace=new((layer.workspace_size(),), "uint8"))

    def test_layer(self):
        layer, tensors = self.layer()
        call = lambda: layer(**tensors)
        call()
        compiled = self.driver_calls(call)
        asked.clear()
        self.assertIs(call(), tensors["out"])
        for what in ("data_ptr", "dtype", "shape", "stride", "get_device"):
            self.assertLessEqual(asked[what], len(tensors) + 1, what)  # lengths say how many requests there are, first
        entered, ran = count_python(call)
        self.assertLessEqual(len(entered), 2, entered)
        self.assertLessEqual(ran, 110)
        print(f"\nLayer: driver {compiled}, {ran} bytecodes of {entered}")
        self.assertEqual([compiled.get(n, 0) for n in (*LAUNCHES, GRAPH)], [0, 0, 1])  # all stages at once
        self.driver.fakecuda_busy(None, 1)
        for _ in range(8):  # behind the calls that an idle stream is good for
            call()
        busy = self.driver_calls(call)
        self.driver.fakecuda_busy(None, 0)
        self.assertEqual([busy.get(n, 0) for n in (*LAUNCHES, GRAPH)], [0, 0, 1])  # and behind work, too
        for one in (call, lambda: layer(**{**tensors, "out": None}), lambda: layer(**{**tensors, "workspace": None}),
                    lambda: layer(**tensors, stage=2), lambda: layer(**tensors, same_tables=True)):
            layer.use(None)
            one()
            launches = lambda: {name: n for name, n in self.driver_calls(one).items() if name in (*LAUNCHES, GRAPH)}
            by_ctypes = launches()
            layer.use(fast())
            one()
            self.assertNotIn("_rows", count_python(one)[0])  # which the way without the module begins with
            self.assertEqual(launches(), by_ctypes)
        layer.close()

    def test_flash_mla_inverts_lse_where_it_is_wanted(self):
        for how, want in (({}, [self.lse]), ({"empty_lse": -float("inf")}, [])):
            inverted.clear()
            mlaforge.flash_mla_with_kvcache(self.q4, self.kv, self.block, self.lengths, RANK, out=self.out, lse=self.lse, **how)
            self.assertEqual(inverted, want)

    def test_flash_mla_makes_its_outputs(self):
        def layout(t):  # a dimension of one element may have any stride
            return t.shape, [n for n, size in zip(t.stride(), t.shape) if size > 1], t.dtype
        for q_len in (1, 2):  # a batch that no other test has: made by shape and strides at first, like the ones before when it comes again
            q = Tensor(self.ctx, (3, q_len, HEADS, COLS), "bfloat16")
            block, lengths = Tensor(self.ctx, (3, 16), "int32"), Tensor(self.ctx, (3,), "int32")
            want = (Tensor(self.ctx, (3, q_len, HEADS, RANK), "bfloat16"), Tensor(self.ctx, (3, q_len, HEADS), "float32").transpose(1, 2))
            flash = lambda: mlaforge.flash_mla_with_kvcache(q, self.kv, block, lengths, RANK, *mlaforge.get_mla_metadata())
            for alike in (0, 2 if q_len == 1 else 1, 2 if q_len == 1 else 1):
                made_now.clear()
                like.clear()
                out, lse = flash()
                self.assertEqual((len(made_now), len(like)), (2, alike))
                self.assertTrue(all(model.stride() == (0,) * len(model.shape) for model in like))
                self.assertIs(out, made_now[0])
                self.assertIs(lse, made_now[1])
                self.assertEqual([layout(out), layout(lse)], [layout(t) for t in want])
                self.assertTrue(all(t.data_ptr() not in (out.data_ptr(), lse.data_ptr()) for t in like))
        entered, _ = count_python(flash)
        self.assertEqual([f for f in entered if f not in ("alloc", "check", "_fit", "get_mla_metadata")],
                         ["flash_mla_with_kvcache", "call_flash"])  # those: the stand-in's

    def test_a_layout_takes_the_place_of_one_that_is_being_learnt(self):
        def place(q_len, batch):  # as _fast.c has it
            h = 0
            for size in (batch, q_len, HEADS, RANK):
                h = (h ^ size) * 0x9E3779B97F4A7C15 % 2**64
            return h >> 58
        batch = next(b for b in range(1, 999) if place(2, b) == place(1, 5))
        ask = {}
        for q_len, b in ((1, 5), (2, batch)):
            q, block, lengths = (Tensor(self.ctx, shape, dtype) for shape, dtype in (((b, q_len, HEADS, COLS), "bfloat16"), ((b, 16), "int32"), ((b,), "int32")))
            ask[q_len] = lambda q=q, block=block, lengths=lengths: mlaforge.flash_mla_with_kvcache(q, self.kv, block, lengths, RANK,
                                                                                                  *mlaforge.get_mla_metadata())
        ask[1]()
        meanwhile.append(ask[2])
        ask[1]()
        self.assertEqual(meanwhile, [])
        like.clear()
        for _ in range(2):
            out, lse = ask[2]()
            self.assertEqual((out.shape, lse.shape), ((batch, 2, HEADS, RANK), (batch, HEADS, 2)))
        self.assertEqual([t.shape for t in like], [(batch, 2, HEADS, RANK)] * 2)

    def test_what_does_not_fit_is_said_as_without_the_module(self):
        q = self.q4
        wrong = [({"head_dim_v": 0}, "head_dim_v is 0"), ({"head_dim_v": 577}, "head_dim_v is 577"), ({"out": self.out, "head_dim_v": 256}, "fit together"),
                 ({"q": self.out}, "do not fit together"), ({"q": self.lse}, "4 dimensions"), ({"block_table": None}, "are wanted")]
        for how, text in wrong:
            for module in (fast(), None):
                self.ctx.use(module)
                with self.assertRaisesRegex(mlaforge.MlafError, text):
                    mlaforge.flash_mla_with_kvcache(**{"q": q, "k_cache": self.kv, "block_table": self.block, "cache_seqlens": self.lengths,
                                                       "head_dim_v": RANK, **how})
        self.ctx.use(fast())

    def test_numbers_that_fit_no_field(self):
        for how, text in (({"softmax_scale": 1e300}, "scale is inf"), ({"softmax_scale": float("nan")}, "scale is -?nan")):
            for module in (fast(), None):
                self.ctx.use(module)
                with self.assertRaisesRegex(mlaforge.MlafError, text):
                    mlaforge.flash_mla_with_kvcache(self.q4, self.kv, self.block, self.lengths, RANK, **how)
        for module in (fast(), None):
            self.ctx.use(module)
            with self.assertRaisesRegex(mlaforge.MlafError, "max_seqlen_q is 2147483647"):
                mlaforge.mla_decode_fwd(*self.lists, (1 << 32) + 1)
        self.flash_into()
        before = self.driver_calls(self.flash_into)
        self.ctx.use(fast())
        self.assertEqual(before, self.driver_calls(self.flash_into))  # by ctypes the driver is asked for the same

    def test_a_closed_context_says_so(self):
        ctx = mlaforge.Context(device="cuda", db_path=os.path.join(tempfile.mkdtemp(), "t.db"))
        ctx.close()
        with self.assertRaisesRegex(mlaforge.MlafError, "is closed"):
            mlaforge.flash_mla_with_kvcache(self.q4, self.kv, self.block, self.lengths, RANK, out=self.out, lse=self.lse, ctx=ctx)
