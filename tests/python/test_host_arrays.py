"""Arrays in host memory, of libraries that are none, over the emulator: used in place, written in place, let go."""
import copy
import ctypes
import gc
import math
import os
import pickle
import struct
import tempfile
import unittest
import weakref

import mlaforge
from buffers import CODES, Buffer, bf16, values, wide
from test_wrappers import COLS, HEADS, RANK, Case

PAD = 32  # bytes on both sides that nobody may touch


def NOT_THERE(self):
    raise AttributeError("no such thing")


class Array:
    """NumPy's protocol over memory of ctypes: `dtype` as ml_dtypes has it, where NumPy itself has no such type."""
    KINDS = {"float16": "<f2", "float32": "<f4", "int32": "<i4", "int64": "<i8", "uint8": "|u1"}

    def __init__(self, shape, dtype, bits=None, read_only=False):
        self.shape, self.name, n, self.item = shape, dtype, math.prod(shape), mlaforge.buffers.SIZES[dtype]
        self.memory = ctypes.create_string_buffer(b"\x55" * (n * self.item + 2 * PAD + 16), n * self.item + 2 * PAD + 16)
        self.at = (ctypes.addressof(self.memory) + PAD + 15) // 16 * 16
        self.count, self.read_only = n, read_only
        if bits is not None:
            ctypes.memmove(self.at, struct.pack(f"{n}{CODES[dtype]}", *bits), n * self.item)

    @classmethod
    def of(cls, buffer, **how):
        return cls(buffer.shape, buffer.dtype, values(buffer), **how)

    @property
    def dtype(self):
        return self.name

    @property
    def __array_interface__(self):
        return {"shape": self.shape, "typestr": self.KINDS.get(self.name, f"<V{self.item}"), "data": (self.at, self.read_only), "version": 3,
                "strides": None}

    def read(self):
        whole = self.memory.raw
        first = self.at - ctypes.addressof(self.memory)
        assert set(whole[:first] + whole[first + self.count * self.item:]) <= {0x55}, "written beside the array"
        return ctypes.string_at(self.at, self.count * self.item)


class DLArray(Array):
    """The same by DLPack alone."""
    CODES = {"bfloat16": (4, 16), "int32": (0, 32), "float32": (2, 32)}
    __array_interface__ = property(NOT_THERE)

    class Managed(ctypes.Structure):
        _fields_ = [("tensor", mlaforge.host._DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, stream=None):
        code, bits = self.CODES[self.name]
        self.dims = (ctypes.c_int64 * max(len(self.shape), 1))(*self.shape)
        self.managed = self.Managed()
        t = self.managed.tensor
        t.data, t.device_type, t.dims, t.code, t.bits, t.lanes = self.at - 4, 1, len(self.shape), code, bits, 1
        t.shape, t.offset = self.dims, 4
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.managed), b"dltensor", None)


class CpuTensor(Array):
    """An older PyTorch's tensor: get_device fails on the CPU."""
    __array_interface__ = property(NOT_THERE)
    device = "cpu"

    def data_ptr(self):
        return self.at

    def stride(self):
        return tuple(mlaforge.host._dense(self.shape))

    def get_device(self):
        raise RuntimeError("get_device is not implemented for tensors with CPU backend")

    def new_empty(self, shape, dtype=None):
        return type(self)(shape, dtype or self.name)


class HostArrays(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ctx = mlaforge.Context(device="emu:gfx942", db_path=os.path.join(tempfile.mkdtemp(), "t.db"))

    @classmethod
    def tearDownClass(cls):
        cls.ctx.close()

    def test_empty_rows_and_lists(self):
        """An array without elements has no address in some libraries: what is wrong is its size, not that it is missing."""
        case = Case(self.ctx, [0, 0], 1)
        outputs = dict(out=CpuTensor((2, 1, HEADS, RANK), "bfloat16"), lse=Buffer(self.ctx, (2, HEADS, 1), "float32"))
        empty, lengths = CpuTensor((2, 0), "int32"), CpuTensor((2,), "int32", [0, 0])
        empty.at = 0
        with self.assertRaisesRegex(mlaforge.MlafError, r"block_table \(shape \(2, 0\).* must have 1 entry or more in a row"):
            mlaforge.flash_mla_with_kvcache(CpuTensor((2, 1, HEADS, COLS), "bfloat16"), case.kv, empty, lengths, RANK, ctx=self.ctx, **outputs)
        with self.assertRaisesRegex(mlaforge.MlafError, "indices's last dimension is 0, must be 1 or more"):
            mlaforge.flash_mla_sparse_fwd(CpuTensor((2, HEADS, COLS), "bfloat16"), CpuTensor((32, 1, COLS), "bfloat16"), empty, 0.5, RANK, ctx=self.ctx)

    def test_decode_in_place(self):
        case = Case(self.ctx, [40, 1, 0, 16], 1)
        want, want_lse = case.q.new_empty((4, HEADS, RANK)), case.q.new_empty((4, HEADS), dtype="float32")
        tables = case.aiter_tables()
        mlaforge.mla_decode_fwd(case.q, case.kv, want, *tables, 1, lse=want_lse, ctx=self.ctx)
        for kind in (Array, DLArray, CpuTensor):
            o, lse = kind((4, HEADS, RANK), "bfloat16"), kind((4, HEADS), "float32")
            given = [kind.of(x) for x in (case.q, case.kv)], [kind.of(x) for x in tables]
            made = mlaforge.mla_decode_fwd(*given[0], o, *given[1], 1, lse=lse, ctx=self.ctx)
            self.assertIs(made[0], o)
            self.assertIs(made[1], lse)
            self.assertEqual((o.read(), lse.read()), (want.read(), want_lse.read()), kind)
            with self.assertRaisesRegex(mlaforge.MlafError, "out of bounds"):  # let go
                self.ctx.read(o.at, 1)

    def test_outputs_are_of_the_arrays_library_or_buffers(self):
        case = Case(self.ctx, [40, 17], 1, seed=12)
        q = Buffer(self.ctx, (2, 1, HEADS, COLS), "bfloat16", case.q_values)
        table = Buffer(self.ctx, (2, 4), "int32", [x for t in case.tables for x in t + [-1] * (4 - len(t))])
        given = q, case.kv, table, case.ints(case.lengths)
        want, want_lse = mlaforge.flash_mla_with_kvcache(*given, RANK, ctx=self.ctx)
        for kind, made in ((Array, mlaforge.Buffer), (DLArray, mlaforge.Buffer)):
            out, lse = mlaforge.flash_mla_with_kvcache(*map(kind.of, given), RANK, ctx=self.ctx)
            self.assertEqual((type(out), type(lse)), (made, made))
            self.assertEqual((out.read(), lse.read()), (want.read(), want_lse.read()))
        x, w = CpuTensor((2, 2, 32), "bfloat16", [bf16(1)] * 128), CpuTensor((2, 64, 32), "bfloat16", [bf16(1)] * 4096)
        y = mlaforge.mla_v_out(x, w, v=32, ctx=self.ctx)
        self.assertEqual((type(y), y.shape, wide(values(y)[0])), (CpuTensor, (2, 2, 32), 32))

    def test_one_array_twice(self):
        q = Array((2, 2, 16), "bfloat16", [bf16(1)] * 64)
        positions = Array((2,), "int64", [0, 1 << 20])
        self.assertIs(mlaforge.mla_q_scale(q, positions, ctx=self.ctx), q)
        self.assertEqual(mlaforge.mla_q_scale(q, positions, out=q, ctx=self.ctx), q)  # again in place
        got = [wide(x) for x in values(q)]
        self.assertEqual(got[:32], [1] * 32)
        self.assertAlmostEqual(got[32], (1 + 0.1 * math.log(129)) ** 2, delta=0.02)

    def test_what_is_wrong_is_named(self):
        q, positions = Array((2, 2, 16), "bfloat16", [bf16(1)] * 64), Array((2,), "int64", [0, 1 << 20])
        fixed = Array((2, 2, 16), "bfloat16", read_only=True)
        with self.assertRaisesRegex(mlaforge.MlafError, "read-only: an output must be writable"):
            mlaforge.mla_q_scale(q, positions, out=fixed, ctx=self.ctx)
        mlaforge.mla_q_scale(Array((2, 2, 16), "bfloat16", [0] * 64, read_only=True), positions, out=Array.of(q), ctx=self.ctx)
        wild = CpuTensor((2, 2, 16), "bfloat16")
        wild.at = 4096
        with self.assertRaisesRegex(mlaforge.MlafError, "out: 128 bytes at 0x1000 are not memory of this process"):
            mlaforge.mla_q_scale(q, positions, out=wild, ctx=self.ctx)
        with self.assertRaisesRegex(mlaforge.MlafError, "positions is int32, must be int64"):
            mlaforge.mla_q_scale(q, Array((2,), "int32", [0, 1]), ctx=self.ctx)
        with self.assertRaisesRegex(mlaforge.MlafError, r"positions has the shape \(3,\), must be \(2\)"):
            mlaforge.mla_q_scale(q, Array((3,), "int64", [0, 1, 2]), ctx=self.ctx)
        abroad = DLArray((2, 2, 16), "bfloat16")
        there = abroad.__dlpack__
        def elsewhere():
            capsule = there()
            abroad.managed.tensor.device_type = 2
            return capsule
        abroad.__dlpack__ = elsewhere
        with self.assertRaisesRegex(mlaforge.MlafError, "out lies on another device"):
            mlaforge.mla_q_scale(q, positions, out=abroad, ctx=self.ctx)

    def test_a_number_in_an_array(self):
        class One(Array):
            def __float__(self):
                return struct.unpack("f", self.read())[0]
        self.assertEqual(float(mlaforge.host.adopt(self.ctx, "scale", One((), "float32", [0.5]))), 0.5)

    def test_an_empty_array(self):
        q, positions = Array((0, 2, 16), "bfloat16", []), Array((0,), "int64", [])
        self.assertIs(mlaforge.mla_q_scale(q, positions, ctx=self.ctx), q)

    def test_a_refused_call_lets_go_of_its_tensors(self):
        """At once, not when the collector comes: a device's memory may be full of them, and a registered array's is no output of others."""
        def refused(call, *tensors):
            try:
                call(*tensors)
            except (mlaforge.MlafError, TypeError) as why:
                return str(why), [weakref.ref(t) for t in tensors]
            return self.fail("taken")

        def scale(beta=0.1):
            return lambda q, positions: mlaforge.mla_q_scale(q, positions, beta=beta, ctx=self.ctx)

        def flash(q, cache, table, lengths):
            return mlaforge.flash_mla_with_kvcache(q, cache, table, lengths, 512, ctx=self.ctx)

        def aiter(q, cache, o, a, b, c, d):
            return mlaforge.mla_decode_fwd(q, cache, o, a, b, c, d, 1, ctx=self.ctx)

        def ints(*shape):
            return Array(shape, "int32", [0] * math.prod(shape))

        gc.collect()
        gc.disable()
        try:
            for text, alive in (refused(scale(), Array((2, 2, 15), "bfloat16"), Array((2,), "int64", [0, 0])),
                                refused(scale("x"), Array((2, 2, 16), "bfloat16"), Array((2,), "int64", [0, 0])),
                                refused(scale(), Array((2, 2, 16), "bfloat16"), Array((2,), "int32", [0, 0])),
                                refused(flash, Array((1, 1, 4, 500), "bfloat16"), Array((2, 64, 1, 576), "bfloat16"), ints(1, 2), ints(1)),
                                refused(aiter, Array((1, 4, 500), "bfloat16"), Array((2, 64, 1, 576), "bfloat16"), Array((1, 4, 512), "bfloat16"),
                                        ints(2), ints(2), ints(1), ints(1)),
                                refused(lambda w: mlaforge.Layer({"o_proj.weight": w}, heads=3, scale=1, ctx=self.ctx), Array((64, 64), "bfloat16"))):
                self.assertEqual([x() for x in alive], [None] * len(alive), text)
        finally:
            gc.enable()

    def test_owners_are_not_copied(self):
        """Each of two objects would free the one handle: the second one ended the process."""
        owners = [self.ctx, Buffer(self.ctx, (4,), "int32")._memory] + [kind.__new__(kind) for kind in (mlaforge.Layer, mlaforge.ChunkedPrefill)]
        for owner in owners:
            for how in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.assertRaisesRegex(TypeError, "is not copied or pickled"):
                    how(owner)
        with self.assertRaisesRegex(TypeError, "is not copied or pickled"):
            copy.deepcopy(Buffer(self.ctx, (4,), "int32"))

    def test_a_closed_context(self):
        ctx = mlaforge.Context(device="emu:gfx942", db_path=os.path.join(tempfile.mkdtemp(), "t.db"))
        ctx.close()
        with self.assertRaisesRegex(mlaforge.MlafError, "the context is closed"):
            mlaforge.mla_q_scale(Array((1, 1, 16), "bfloat16", [0] * 16), Array((1,), "int64", [0]), ctx=ctx)
        problem = 16, 64, 32, 1, 0, 0, 16, 3, 100
        for call in (lambda: ctx.alloc(1), lambda: ctx.plan_info(problem), lambda: ctx.with_batch_invariance().plan_info(problem),
                     lambda: mlaforge.ChunkedPrefill(4, batch_invariant=True, ctx=ctx)):
            with self.assertRaisesRegex(mlaforge.MlafError, "the context is closed"):
                call()
