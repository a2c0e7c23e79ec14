"""Weights of 8 bits as numbers of 16, as a layer's prefill wants them of kv_b_proj.

Made by tools/args.lua of gen/ops/mla_dequant/args.lua."""
import ctypes

from . import context
from .context import _struct
from .entry import entry
from .library import I64, PTR, U32
from .made import DTYPES, rows_of, run, tuned, up
from .tensors import dtype_name, fail

__all__ = ["mla_dequant"]

ENCODINGS = {"float8_e4m3fn": "e4m3fn", "float8_e4m3fnuz": "e4m3fnuz"}


class DequantArgs(ctypes.Structure):
    """mlaf_dequant_args of include/mlaforge/mla_dequant.h."""
    _fields_ = [("struct_size", U32), ("flags", U32), ("rows", I64), ("w", PTR), ("w_row_stride", I64),
                ("w_scale", PTR), ("w_scale_row_stride", I64), ("w_scale_row", I64), ("w_scale_column", I64),
                ("y", PTR), ("y_row_stride", I64)]


@entry(w="[R, C]", w_scale="[R/128, C/128]", out="[R, C]")
def mla_dequant(w, w_scale, out, *, ctx=None, stream=None):
    """w [R, C], float8_e4m3fn or float8_e4m3fnuz, times w_scale, float32 [R / 128, C / 128] rounded up, a checkpoint's
    weight_scale_inv: into out [R, C], bfloat16 or float16. Returns it."""
    ctx = context.of_call(ctx)
    kind, shape = dtype_name(w, "w"), tuple(w.shape)
    if kind not in ENCODINGS or len(shape) != 2:
        fail(f"w is {kind} of the shape {shape}; accepted are {', '.join(ENCODINGS)} [R, C]")
    R, C = shape
    dtype = dtype_name(out, "out")
    if dtype not in DTYPES:
        fail(f"out is {dtype}; accepted are {', '.join(DTYPES)}")
    SR = up(R, 128)
    SC = up(C, 128)
    args = {"rows": R, **rows_of("w", "w", w, kind, (R, C), ("row",)),
            **rows_of("w_scale", "w_scale", w_scale, "float32", (SR, SC), ("row",)),
            **rows_of("out", "y", out, dtype, (R, C), ("row",))}
    run(ctx, f"mla_dequant:c{C},{DTYPES[dtype]},{ENCODINGS[kind]},t{tuned(R, 1048576)}", _struct(DequantArgs, **args), w, stream)
    return out
