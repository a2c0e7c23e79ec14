"""Queries times a factor of their position (llama_4_scaling in the configs of Mistral-Large-3 and Mistral-Small-4).

Made by tools/args.lua of gen/ops/mla_q_scale/args.lua."""
import ctypes

from . import context
from .context import _struct
from .entry import entry
from .library import I32, I64, PTR, U32
from .made import DTYPES, rows_of, run, same_place, tuned
from .tensors import dtype_name, fail

__all__ = ["mla_q_scale"]


class QScaleArgs(ctypes.Structure):
    """mlaf_q_scale_args of include/mlaforge/mla_q_scale.h."""
    _fields_ = [("struct_size", U32), ("flags", U32), ("tokens", I64), ("x", PTR), ("x_token_stride", I64),
                ("x_head_stride", I64), ("y", PTR), ("y_token_stride", I64), ("y_head_stride", I64), ("positions", PTR),
                ("beta", ctypes.c_float), ("original", I32)]


@entry(q="[T, H, N]", positions="[T]", out="[T, H, N]")
def mla_q_scale(q, positions, beta=0.1, original=8192, *, out=None, ctx=None, stream=None):
    """q [T, H, N] times 1 + beta ln(1 + floor(positions / original)), positions [T] int64: into out, or in place. Returns it.

    Before the rotation or behind it: all columns get the factor. In place, tokens at positions before `original` are not
    touched."""
    ctx = context.of_call(ctx)
    dtype, shape = dtype_name(q, "q"), tuple(q.shape)
    if dtype not in DTYPES or len(shape) != 3:
        fail(f"q is {dtype} of the shape {shape}; accepted are {', '.join(DTYPES)} [T, H, N]")
    T, H, N = shape
    args = {"tokens": T, **rows_of("q", "x", q, dtype, (T, H, N), ("token", "head")),
            **rows_of("positions", "positions", positions, "int64", (T,), ()), "beta": beta, "original": original}
    if out is not None and not same_place(out, q):
        args.update(rows_of("out", "y", out, dtype, (T, H, N), ("token", "head")))
    run(ctx, f"mla_q_scale:h{H},n{N},{DTYPES[dtype]},t{tuned(T, 1048576)}", _struct(QScaleArgs, **args), q, stream)
    return q if out is None else out
