"""Queries times a factor of their position, as Mistral-Large-3 and Mistral-Small-4 have them (llama_4_scaling of their configs)."""
import ctypes

from . import context
from .calls import current_stream
from .context import _struct
from .entry import entry
from .library import I32, I64, PTR, U32
from .tensors import check_tensor, dtype_name, fail, row_stride

__all__ = ["mla_q_scale"]

DTYPES = {"bfloat16": "bf16", "float16": "f16"}


class QScaleArgs(ctypes.Structure):
    """mlaf_q_scale_args of include/mlaforge/mla_q_scale.h."""
    _fields_ = [("struct_size", U32), ("flags", U32), ("tokens", I64), ("x", PTR), ("x_token_stride", I64), ("x_head_stride", I64),
                ("y", PTR), ("y_token_stride", I64), ("y_head_stride", I64), ("positions", PTR), ("beta", ctypes.c_float),
                ("original", I32)]


def _queries(name, field, tensor, dtype, shape):
    check_tensor(name, tensor, dtype, *shape)
    return {field: tensor.data_ptr(), field + "_token_stride": row_stride(tensor, 0, name),
            field + "_head_stride": row_stride(tensor, 1, name)}


@entry(q="[T, H, n]", positions="[T]", out="[T, H, n]")
def mla_q_scale(q, positions, beta=0.1, original=8192, *, out=None, ctx=None, stream=None):
    """q [T, H, n] times 1 + beta ln(1 + floor(positions / original)), positions [T] int64: into out, or in place. Returns it.

    Before the rotation or behind it: all columns get the factor. In place tokens at positions before `original` are not touched."""
    ctx = context.of_call(ctx)
    dtype, shape = dtype_name(q, "q"), tuple(q.shape)
    if dtype not in DTYPES or len(shape) != 3:
        fail(f"q is {dtype} of the shape {shape}; accepted are {', '.join(DTYPES)} [T, H, n]")
    tokens, heads, columns = shape
    check_tensor("positions", positions, "int64", tokens)
    args = {"tokens": tokens, "positions": positions.data_ptr(), "beta": beta, "original": original, **_queries("q", "x", q, dtype, shape)}
    if out is not None and (out.data_ptr(), tuple(out.stride())) != (q.data_ptr(), tuple(q.stride())):
        args.update(_queries("out", "y", out, dtype, shape))
    tuned = min(1 << max(tokens - 1, 0).bit_length(), 1 << 20)  # a plan serves any number
    stream = current_stream(q) if stream is None else int(getattr(stream, "cuda_stream", stream))
    ctx.run(f"mla_q_scale:h{heads},n{columns},{DTYPES[dtype]},t{tuned}", _struct(QScaleArgs, **args), stream or None)
    return q if out is None else out
