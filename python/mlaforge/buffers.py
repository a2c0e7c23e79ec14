"""Tensors for callers that have no tensor library: device memory with a shape."""

SIZES = {"bfloat16": 2, "float16": 2, "int32": 4, "float32": 4, "uint8": 1, "int64": 8, "float8_e4m3fn": 1, "float8_e4m3fnuz": 1}


def size_of(dtype):
    """Bytes of an element."""
    if not isinstance(dtype, str):
        raise TypeError(f"dtype is {dtype!r}; accepted are the names {', '.join(SIZES)}")
    if dtype not in SIZES:
        raise ValueError(f"dtype is {dtype!r}; accepted are {', '.join(SIZES)}")
    return SIZES[dtype]


class _Memory:
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
        self.ctx, self.shape, self.dtype = ctx, tuple(int(n) for n in shape), dtype
        item = size_of(dtype)
        dense, n = [], 1
        for size in reversed(self.shape):
            dense.insert(0, n)
            n *= size
        self._strides = tuple(strides or dense)
        self.count = 1 + sum((size - 1) * stride for size, stride in zip(self.shape, self._strides)) if all(self.shape) else 0
        if data is not None and len(data) != self.count * item:
            raise ValueError(f"{self.count * item} bytes are expected, {len(data)} were given")
        self._memory = _Memory(ctx, self.count * item)
        if data:
            ctx.write(self.data_ptr(), data)

    def data_ptr(self):
        return self._memory.pointer

    def get_device(self):
        return self.ctx.ordinal

    def stride(self):
        return self._strides

    def new_empty(self, shape, dtype=None):
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
