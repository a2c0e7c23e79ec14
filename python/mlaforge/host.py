"""Arrays in host memory on an emulator: what has data_ptr() on the CPU, __array_interface__ or DLPack is used where it lies, without a copy."""
import collections.abc
import ctypes
import numbers
import operator
import sys

from .errors import MlafError, Owner
from .library import PTR
from .tensors import SIZES, dtype_name, fail, host_kind, is_dense, library_of, place

READ_ONLY = 1  # MLAF_MEM_READ_ONLY
TYPES = {"<f2": "float16", "<f4": "float32", "<f8": "float64", "<i4": "int32", "<i8": "int64", "|u1": "uint8"}
# DLPack's (type code, bits)
DL_TYPES = {(2, 16): "float16", (2, 32): "float32", (2, 64): "float64", (0, 32): "int32", (0, 64): "int64", (1, 8): "uint8",
            (4, 16): "bfloat16", (10, 8): "float8_e4m3fn", (11, 8): "float8_e4m3fnuz"}
DL_CPU = 1
NAMES = {name: name for name in SIZES}  # one object a name: the compiled module knows types by theirs


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", PTR), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32), ("dims", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]


_open_capsule = ctypes.pythonapi.PyCapsule_GetPointer
_open_capsule.restype, _open_capsule.argtypes = PTR, [ctypes.py_object, ctypes.c_char_p]


class HostArray(Owner):
    """An array of another library, whose memory kernels of the emulator `ctx` reach while this lives. Has what Buffer has; new_empty and
    contiguous only where the library makes arrays."""

    array = _range = None

    def __init__(self, ctx, name, array, data, shape, strides, dtype, item, read_only=False, keep=None):
        self.array, self.shape, self.dtype = array, tuple(shape), NAMES.get(dtype, dtype)
        self._ctx, self._data, self._strides, self._item, self._keep = ctx, data or 0, tuple(strides), item, keep
        low = sum((n - 1) * s for n, s in zip(self.shape, self._strides) if s < 0)
        high = sum((n - 1) * s for n, s in zip(self.shape, self._strides) if s > 0)
        if not ctx._handle:
            fail("the context is closed")
        if all(self.shape) and self._data:
            first, size = self._data + low * item, (high - low + 1) * item
            try:
                ctx.check(ctx._lib.mlaf_mem_register(ctx._handle, first, size, READ_ONLY if read_only else 0))
            except MlafError as why:
                raise MlafError(why.status, f"{name}: {why.detail}") from None
            self._range = first, size

    def __del__(self):
        if self._range and self._ctx._handle:
            self._ctx._lib.mlaf_mem_unregister(self._ctx._handle, *self._range)

    def data_ptr(self):
        return self._data

    def get_device(self):
        return self._ctx.ordinal

    def stride(self):
        return self._strides

    def __float__(self):
        return float(self.array)

    def __index__(self):
        return operator.index(self.array)

    def element_size(self):
        return self._item

    def transpose(self, a, b):
        swap = getattr(self.array, "swapaxes", None) or self.array.transpose
        return adopt(self._ctx, "transpose", swap(a, b))

    def __getattr__(self, name):
        make = {"new_empty": self._maker, "contiguous": self._copier}.get(name, lambda: None)()
        if make is None:
            raise AttributeError(f"{type(self.array).__name__} has no {name}")
        return make

    def _maker(self):
        """new_empty(shape, dtype=None) of the array's library, or None."""
        numpy, make = sys.modules.get("numpy"), getattr(self.array, "new_empty", None)
        if make is not None:
            new = lambda shape, dtype: make(shape, **({} if dtype is None else {"dtype": getattr(library_of(self.array), dtype, dtype)}))
        elif numpy is not None and isinstance(self.array, numpy.ndarray):
            new = lambda shape, dtype: numpy.empty(shape, dtype or self.array.dtype)
        else:
            return None
        return lambda shape, dtype=None: adopt(self._ctx, "an output", new(tuple(shape), dtype))

    def _copier(self):
        numpy, copy = sys.modules.get("numpy"), getattr(self.array, "contiguous", None)
        if copy is None and numpy is not None and isinstance(self.array, numpy.ndarray):
            copy = lambda: numpy.ascontiguousarray(self.array)
        return None if copy is None else lambda: self if is_dense(self) else adopt(self._ctx, "a copy", copy())


def _elements(name, strides, item):
    if any(s % item for s in strides):
        fail(f"{name} has strides of {tuple(strides)} bytes, must be whole elements of {item}")
    return [s // item for s in strides]


def _dense(shape):
    strides, n = [], 1
    for size in reversed(shape):
        strides.insert(0, n)
        n *= size
    return strides


def _from_interface(ctx, name, array):
    said = array.__array_interface__
    if not isinstance(said.get("data"), tuple):
        fail(f"{name} is {type(array).__name__} whose __array_interface__ has no address: make it an array of its own")
    kind, item = said["typestr"], int(said["typestr"][2:] or 0)
    if not item or kind[0] == ">":
        fail(f"{name} has elements of {kind!r}, must be numbers in the machine's order of bytes, e.g. '<f2'")
    dtype = str(getattr(array, "dtype", "")).rsplit(".", 1)[-1]
    strides = said.get("strides")
    strides = _dense(said["shape"]) if strides is None else _elements(name, strides, item)
    return HostArray(ctx, name, array, said["data"][0], said["shape"], strides,
                     TYPES.get(kind) or (dtype if dtype in SIZES else kind), item, bool(said["data"][1]))


def _from_dlpack(ctx, name, array):
    capsule = array.__dlpack__()
    t = _DLTensor.from_address(_open_capsule(capsule, b"dltensor"))
    if t.device_type != DL_CPU:
        fail(f"{name} lies on another device (DLPack's type {t.device_type}); an emulator takes arrays in host memory and its own Buffers")
    if t.bits * t.lanes % 8:
        fail(f"{name} has elements of {t.bits} bits, must be whole bytes")
    shape = t.shape[:t.dims]
    return HostArray(ctx, name, array, (t.data or 0) + t.offset, shape, t.strides[:t.dims] if t.strides else _dense(shape),
                     DL_TYPES.get((t.code, t.bits)) if t.lanes == 1 else f"{t.lanes} lanes of {t.bits} bits", t.bits * t.lanes // 8, keep=capsule)


def adopt(ctx, name, value):
    """`value` as the emulator `ctx` takes it; what is no array in host memory comes back as it is. Looks into tuples, lists and dictionaries."""
    if isinstance(value, collections.abc.Mapping):
        return {key: adopt(ctx, key, x) for key, x in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(adopt(ctx, name, x) for x in value) if type(value) in (tuple, list) else value
    if value is None or isinstance(value, (HostArray, numbers.Number, str, bytes, type)):
        return value
    if hasattr(value, "data_ptr"):
        item = value.element_size() if hasattr(value, "element_size") else SIZES.get(dtype_name(value, name))
        if place(value) not in (None, -1) or item is None:
            return value
        return HostArray(ctx, name, value, value.data_ptr(), value.shape, value.stride(), dtype_name(value, name), item)
    if hasattr(value, "__array_interface__"):
        return _from_interface(ctx, name, value)
    return _from_dlpack(ctx, name, value) if hasattr(value, "__dlpack__") else value


def given(result):
    """The array that the caller gave, or one that its library made."""
    if isinstance(result, tuple):
        return tuple(given(x) for x in result)
    return result.array if isinstance(result, HostArray) else result


def refuse(name, value):
    """An error where `value`, or a member of it, is an array in host memory."""
    if isinstance(value, collections.abc.Mapping):
        for key, x in value.items():
            refuse(key, x)
    elif isinstance(value, (tuple, list)):
        for x in value:
            refuse(name, x)
    elif host_kind(value):
        fail(f"{name} lies in host memory ({host_kind(value)}): move it to the device first")
