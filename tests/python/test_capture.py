"""Captures of plans and workspaces, on a CUDA driver that is none (tests/cuda/fakecuda.c): streams capture, nothing can be
allocated meanwhile, and kernels do nothing."""
import ctypes
import math
import os
import tempfile
import unittest

import mlaforge
from mlaforge.library import fast
from buffers import Buffer, Foreign
from test_host_arrays import Array, CpuTensor, DLArray

HEADS, RANK, COLS, PAGE = 16, 512, 576, 64


class Fake:
    """Streams and graphs of the fake driver."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.cuPointerGetAttribute.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64]
        context = ctypes.c_void_p()
        self.check(self.lib.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
        self.check(self.lib.cuCtxPushCurrent_v2(context))

    def check(self, code):
        if code:
            raise RuntimeError(f"error {code}")

    def stream(self):
        stream = ctypes.c_void_p()
        self.check(self.lib.cuStreamCreate(ctypes.byref(stream), 1))
        return stream.value

    def capture(self, stream, work):
        """Counts the launches that were captured."""
        graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.lib.cuStreamBeginCapture_v2(ctypes.c_void_p(stream), 1))
        before = self.lib.fake_calls(b"cuLaunchKernelEx")
        try:
            work()
        finally:
            after = self.lib.fake_calls(b"cuLaunchKernelEx")
            self.check(self.lib.cuStreamEndCapture(ctypes.c_void_p(stream), ctypes.byref(graph)))
        self.check(self.lib.cuGraphInstantiateWithFlags(ctypes.byref(executable), graph, ctypes.c_ulonglong(0)))
        self.check(self.lib.cuGraphLaunch(executable, ctypes.c_void_p(stream)))
        return after - before

    def is_memory(self, address):
        kind = ctypes.c_int()
        return self.lib.cuPointerGetAttribute(ctypes.byref(kind), 2, address) == 0


class Captures(unittest.TestCase):
    compiled = True

    @classmethod
    def setUpClass(cls):
        cls.fake = Fake(os.environ["MLAF_CUDA_LIBRARY"])

    def setUp(self):
        self.ctx = mlaforge.Context(device="cuda", db_path=os.path.join(tempfile.mkdtemp(), "t.db"))
        self.ctx.use(fast() if self.compiled else None)
        self.addCleanup(self.ctx.close)

    def case(self, batch, tokens):
        pages = -(-tokens // PAGE)
        new = lambda shape, dtype: Buffer(self.ctx, shape, dtype)
        self.q, self.kv = new((batch, HEADS, COLS), "bfloat16"), new((batch * pages, PAGE, 1, COLS), "bfloat16")
        self.o, self.tables = new((batch, HEADS, RANK), "bfloat16"), [new((n,), "int32") for n in (batch + 1, batch + 1, batch * pages, batch)]
        self.q4, self.block, self.lengths = new((batch, 1, HEADS, COLS), "bfloat16"), new((batch, pages), "int32"), new((batch,), "int32")
        self.out, self.lse = new((batch, 1, HEADS, RANK), "bfloat16"), new((batch, 1, HEADS), "float32").transpose(1, 2)
        return self

    def aiter(self, stream, **how):
        mlaforge.mla_decode_fwd(self.q, self.kv, self.o, *self.tables, 1, ctx=self.ctx, stream=stream, **how)

    def flash(self, stream):
        mlaforge.flash_mla_with_kvcache(self.q4, self.kv, self.block, self.lengths, RANK, *mlaforge.get_mla_metadata(), out=self.out,
                                        lse=self.lse, empty_lse=-math.inf, ctx=self.ctx, stream=stream)

    def test_a_plan_that_is_not_there_says_so(self):
        self.case(1, 16384)
        stream = self.fake.stream()
        with self.assertRaisesRegex(mlaforge.MlafError, "no plan for mla_decode:h16.*being captured.*warm_up"):
            self.fake.capture(stream, lambda: self.aiter(stream))
        self.ctx.warm_up(HEADS, batch=(1, 1), kv_len=(16384, 16384), block_tables=False)
        with self.assertRaisesRegex(mlaforge.MlafError, "no plan for|kernel that reads block tables"):
            self.fake.capture(stream, lambda: self.flash(stream))

    def test_a_workspace_that_is_not_there_says_so(self):
        self.case(1, 16384)
        stream = self.fake.stream()
        made = self.ctx.warm_up(HEADS, batch=(1, 1), kv_len=(16384, 16384))
        self.assertGreater(made["workspace"], 0)
        with self.assertRaisesRegex(mlaforge.MlafError, "needs a workspace of [0-9]+ bytes.*being captured.*reserve_workspace"):
            self.fake.capture(stream, lambda: self.aiter(stream))
        self.ctx.reserve_workspace(made["workspace"])  # for whichever stream is first
        self.assertGreaterEqual(self.fake.capture(stream, lambda: self.aiter(stream)), 1)
        self.assertGreaterEqual(self.fake.capture(stream, lambda: self.flash(stream)), 2)
        other = self.fake.stream()
        with self.assertRaisesRegex(mlaforge.MlafError, "needs a workspace"):
            self.fake.capture(other, lambda: self.flash(other))
        self.ctx.reserve_workspace(made["workspace"], other)
        self.fake.capture(other, lambda: self.flash(other))
        third = self.fake.stream()
        mine = Buffer(self.ctx, (made["workspace"],), "uint8")
        self.fake.capture(third, lambda: self.aiter(third, workspace=mine))

    def test_a_larger_workspace_leaves_the_one_a_graph_holds(self):
        self.case(1, 8192)
        stream = self.fake.stream()
        self.flash(stream)
        pointer, size = ctypes.c_void_p(), ctypes.c_size_t()
        get = lambda: self.ctx.check(self.ctx._lib.mlaf_workspace_get(self.ctx._handle, stream, 0, ctypes.byref(pointer), ctypes.byref(size)))
        get()
        first, had = pointer.value, size.value
        self.fake.capture(stream, lambda: self.flash(stream))
        self.ctx.check(self.ctx._lib.mlaf_workspace_get(self.ctx._handle, stream, 3 * had, ctypes.byref(pointer), ctypes.byref(size)))
        self.assertNotEqual(pointer.value, first)
        self.assertGreaterEqual(size.value, 3 * had)
        self.assertTrue(self.fake.is_memory(first))  # a replay still writes there
        self.ctx.close()
        self.assertFalse(self.fake.is_memory(first) or self.fake.is_memory(pointer.value))

    def test_host_memory_is_refused_where_the_tensor_does_not_tell(self):
        self.case(2, 64)
        memory = ctypes.create_string_buffer(4096)
        host = Foreign(self.lengths)
        host.data_ptr = lambda: ctypes.addressof(memory)
        self.lengths = host
        with self.assertRaisesRegex(mlaforge.MlafError, "cache_seqlens lies in host memory"):
            self.flash(0)
        self.tables[1] = host
        host.shape = (3,)
        with self.assertRaisesRegex(mlaforge.MlafError, "kv_indptr lies in host memory"):
            self.aiter(0)
        self.case(2, 64)
        self.tables = [Foreign(t) for t in self.tables]  # on the device, as the driver says
        self.aiter(0)

    def test_arrays_in_host_memory_are_refused_by_name(self):
        for kind, what in ((Array, "an array of test_host_arrays"), (DLArray, "an array of DLPack's"), (CpuTensor, "a CPU tensor")):
            self.case(2, 64)
            for at, name in enumerate(("q", "kv_buffer", "o", "qo_indptr", "kv_indptr", "kv_indices", "kv_last_page_lens")):
                tensors = [self.q, self.kv, self.o, *self.tables]
                tensors[at] = kind(tensors[at].shape, tensors[at].dtype)
                with self.assertRaisesRegex(mlaforge.MlafError, f"{name} lies in host memory .{what}.: move it to the device first"):
                    mlaforge.mla_decode_fwd(*tensors, 1, ctx=self.ctx)
            for name, call in (("cache_seqlens", lambda x: mlaforge.flash_mla_with_kvcache(self.q4, self.kv, self.block, x((2,), "int32"), RANK,
                                                                                           ctx=self.ctx)),
                               ("positions", lambda x: mlaforge.mla_q_scale(self.q, x((2,), "int64"), ctx=self.ctx)),
                               ("x", lambda x: mlaforge.mla_v_out(x((2, HEADS, RANK), "bfloat16"), Buffer(self.ctx, (HEADS, 256, RANK), "bfloat16"), ctx=self.ctx)),
                               ("o_proj.weight", lambda x: mlaforge.Layer({"a.o_proj.weight": x((64, 64), "bfloat16")}, heads=1, scale=1.0,
                                                                          ctx=self.ctx))):
                with self.assertRaisesRegex(mlaforge.MlafError, f"{name} lies in host memory .{what}."):
                    call(kind)


class CapturesByCtypes(Captures):
    """The same without the compiled module."""
    compiled = False
