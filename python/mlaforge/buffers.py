"""Tensors for callers that have no tensor library: device memory with a shape."""
import operator

from .errors import Owner

SIZES = {"bfloat16": 2, "float16": 2, "int32": 4, "float32": 4, "uint8": 1, "int64": 8, "float8_e4m3fn": 1, "float8_e4m3fnuz": 1}


def size_of(dtype):
    """Bytes of an element."""
    if not isinstance(dtype, str):
        raise TypeError(f"dtype is {dtype!r}; accepted are the names {', '.join(SIZES)}")
    if dtype not in SIZES:
        raise ValueError(f"dtype is {dtype!r}; accepted are {', '.join(SIZES)}")
    return SIZES[dtype]


def _numbers(name, values):
    """A tuple of whole numbers, none negative."""
    try:
        numbers = tuple(operator.index(n) for n in values)
    except TypeError:
        raise TypeError(f"{name} is {values!r}, must be a list of whole numbers") from None
    if any(n < 0 for n in numbers):
        raise ValueError(f"{name} is {numbers}, none may be negative")
    return numbers


class _Memory(Owner):
    def __init__(self, ctx, size):
        self.ctx, self.pointer = ctx, ctx.alloc(size)

    def __del__(self):
        try:
            self.ctx.sync()  # launches that use it
            self.ctx.free(self.pointer)
        except Exception:  # the context is closed, and its memory with it; or there never was any
            pass


class Buffer:
    """[shape] of `dtype` (a name of SIZES) in the memory of `ctx`, row-major unless strides are given, freed
    with its last view. `data`: the bytes of the whole memory; without them it holds anything."""

    def __init__(self, ctx, shape, dtype, data=None, strides=None):
        if not hasattr(ctx, "alloc"):
            raise TypeError(f"ctx is {ctx!r}, must be a Context")
        self.ctx, self.shape, self.dtype = ctx, _numbers("shape", shape), dtype
        item = size_of(dtype)
        dense, n = [], 1
        for size in reversed(self.shape):
            dense.insert(0, n)
            n *= size
        self._strides = tuple(dense) if strides is None else _numbers("strides", strides)
        if len(self._strides) != len(self.shape):
            raise ValueError(f"strides is {self._strides}, must be {len(self.shape)} numbers, as many as shape has")
        self.count = 1 + sum((size - 1) * stride for size, stride in zip(self.shape, self._strides)) if all(self.shape) else 0
        if data is not None and not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"data is {type(data).__name__}, must be bytes")
        if data is not None and len(data) != self.count * item:
            raise ValueError(f"data has {len(data)} bytes, {self.count * item} bytes are expected for shape {self.shape} of {dtype}")
        self._memory = _Memory(ctx, self.count * item)
        if data:
            ctx.write(self.data_ptr(), data)

    def data_ptr(self):
        """The address of the first element, in the device's memory."""
        return self._memory.pointer

    def get_device(self):
        """The number of the device, as the context counts it."""
        return self.ctx.ordinal

    def stride(self):
        """Strides in elements, one for each dimension."""
        return self._strides

    def new_empty(self, shape, dtype=None):
        """A new Buffer on the same context, of the same type unless one is named. It holds anything."""
        return type(self)(self.ctx, shape, dtype or self.dtype)

    def transpose(self, a, b):
        """The same memory with two dimensions exchanged."""
        view = object.__new__(type(self))
        view.__dict__.update(self.__dict__)
        shape, strides = list(self.shape), list(self._strides)
        shape[a], shape[b], strides[a], strides[b] = shape[b], shape[a], strides[b], strides[a]
        view.shape, view._strides = tuple(shape), tuple(strides)
        return view

    def read(self):
        """The bytes of the whole memory, once everything launched on the default stream is done."""
        self.ctx.sync()
        return self.ctx.read(self.data_ptr(), self.count * size_of(self.dtype))
