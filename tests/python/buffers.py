"""Plain buffers with values in them, and bf16 by hand."""
import struct

import mlaforge


def bf16(x):
    bits = struct.unpack("I", struct.pack("f", x))[0]
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def wide(h):
    return struct.unpack("f", struct.pack("I", h << 16))[0]


CODES = {"bfloat16": "H", "float16": "H", "int32": "i", "float32": "f", "uint8": "B", "int64": "q", "float8_e4m3fn": "B", "float8_e4m3fnuz": "B"}


def values(buffer):
    return struct.unpack(f"{buffer.count}{CODES[buffer.dtype]}", buffer.read())


class Buffer(mlaforge.Buffer):
    """Values of 16-bit types are their bits."""

    def __init__(self, ctx, shape, dtype, values=None, strides=None):
        values = None if values is None else list(values)
        super().__init__(ctx, shape, dtype, None if values is None else struct.pack(f"{len(values)}{CODES[dtype]}", *values), strides)


class Foreign:
    """What the documentation asks of a tensor, and nothing more."""

    def __init__(self, buffer):
        self._buffer, self.shape, self.dtype = buffer, buffer.shape, "lib." + buffer.dtype

    def data_ptr(self):
        return self._buffer.data_ptr()

    def stride(self):
        return self._buffer.stride()
