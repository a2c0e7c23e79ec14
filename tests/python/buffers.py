"""Plain buffers with values in them, bf16 by hand, and what tests over the emulator begin with."""
import math
import random
import struct
import unittest

import mlaforge


def bf16(x):
    bits = struct.unpack("I", struct.pack("f", x))[0]
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def wide(h):
    return struct.unpack("f", struct.pack("I", h << 16))[0]


def e4m3(code, bias=7):
    """The value of a byte; bias 8: of e4m3fnuz."""
    exponent, mantissa = code >> 3 & 15, code & 7
    return (-1 if code & 128 else 1) * (math.ldexp(8 + mantissa, exponent - bias - 3) if exponent else math.ldexp(mantissa, -bias - 2))


def attention(q, keys, scale, rank):
    """(o, lse) of one row over its keys, whose first columns are values."""
    if not keys:
        return [0.0] * rank, -math.inf
    scores = [scale * sum(a * b for a, b in zip(q, k)) for k in keys]
    most = max(scores)
    weights = [math.exp(s - most) for s in scores]
    total = sum(weights)
    return [sum(w * k[c] for w, k in zip(weights, keys)) / total for c in range(rank)], most + math.log(total)


CODES = {"bfloat16": "H", "float16": "H", "int32": "i", "float32": "f", "uint8": "B", "int64": "q", "float8_e4m3fn": "B", "float8_e4m3fnuz": "B"}


def values(buffer):
    return struct.unpack(f"{buffer.count}{CODES[buffer.dtype]}", buffer.read())


class Buffer(mlaforge.Buffer):
    """Values of 16-bit types are their bits."""

    def __init__(self, ctx, shape, dtype, values=None, strides=None):
        values = None if values is None else list(values)
        super().__init__(ctx, shape, dtype, None if values is None else struct.pack(f"{len(values)}{CODES[dtype]}", *values), strides)


FAR = "lies on device 3, the context works on device 0: open one for that device .\"hip:3\""


def far(buffer):
    """A tensor of another device, as its library says."""
    buffer.get_device = lambda: 3
    return buffer


class Foreign:
    """A tensor with what the documentation asks of one, and nothing more."""

    def __init__(self, buffer):
        self._buffer, self.shape, self.dtype = buffer, buffer.shape, "lib." + buffer.dtype

    def data_ptr(self):
        return self._buffer.data_ptr()

    def stride(self):
        return self._buffer.stride()


class EmulatorTest(unittest.TestCase):
    """A context on the emulator for a class of tests; random numbers, the same for each."""
    SEED = 7

    @classmethod
    def setUpClass(cls):
        cls.ctx = mlaforge.Context(device="emu:gfx942")

    @classmethod
    def tearDownClass(cls):
        cls.ctx.close()

    def setUp(self):
        self.rng = random.Random(self.SEED)

    def tensor(self, shape, strides=None):
        """A buffer of bf16, and its rows as floats by their index."""
        n = math.prod(shape) if strides is None else 1 + sum((s - 1) * t for s, t in zip(shape, strides))
        bits = [bf16(self.rng.gauss(0, 1)) for _ in range(n)]
        buffer = Buffer(self.ctx, shape, "bfloat16", bits, strides)
        steps = buffer.stride()

        def row(*at):
            first = sum(i * s for i, s in zip(at, steps))
            return [wide(b) for b in bits[first:first + shape[-1]]]
        return buffer, row
