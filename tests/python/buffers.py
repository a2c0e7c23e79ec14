"""Plain buffers in device memory that look like tensors, and bf16 by hand."""
import struct


def bf16(x):
    bits = struct.unpack("I", struct.pack("f", x))[0]
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def wide(h):
    return struct.unpack("f", struct.pack("I", h << 16))[0]


SIZES = {"bfloat16": 2, "float16": 2, "int32": 4, "float32": 4}
CODES = {"bfloat16": "H", "float16": "H", "int32": "i", "float32": "f"}


class Buffer:
    """[shape] of `dtype`, dense unless strides are given. Values of 16-bit types are their bits."""

    def __init__(self, ctx, shape, dtype, values=None, strides=None):
        self.ctx, self.shape, self.dtype = ctx, tuple(shape), dtype
        if strides is None:
            strides, n = [], 1
            for size in reversed(self.shape):
                strides.insert(0, n)
                n *= size
        self._strides = tuple(strides)
        self.count = 1 + sum((size - 1) * stride for size, stride in zip(self.shape, self._strides)) if all(self.shape) else 0
        self._pointer = ctx.alloc(self.count * SIZES[dtype])
        if values is not None:
            values = list(values)
            assert len(values) == self.count
            ctx.write(self._pointer, struct.pack(f"{self.count}{CODES[dtype]}", *values))

    def data_ptr(self):
        return self._pointer

    def stride(self):
        return self._strides

    def new_empty(self, shape, dtype=None):
        return Buffer(self.ctx, shape, dtype or self.dtype)

    def transpose(self, a, b):
        view = Buffer.__new__(Buffer)
        view.__dict__.update(self.__dict__)
        shape, strides = list(self.shape), list(self._strides)
        shape[a], shape[b], strides[a], strides[b] = shape[b], shape[a], strides[b], strides[a]
        view.shape, view._strides = tuple(shape), tuple(strides)
        return view

    def values(self):
        data = self.ctx.read(self._pointer, self.count * SIZES[self.dtype])
        return struct.unpack(f"{self.count}{CODES[self.dtype]}", data)
