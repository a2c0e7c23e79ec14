"""Weights of 8 bits as numbers of 16, as a layer's prefill wants them of kv_b_proj."""
import ctypes

from . import context
from .calls import current_stream
from .context import _struct
from .entry import entry
from .library import I64, PTR, U32
from .tensors import check_tensor, dtype_name, fail, row_stride

__all__ = ["mla_dequant"]

DTYPES = {"bfloat16": "bf16", "float16": "f16"}
ENCODINGS = {"float8_e4m3fn": "e4m3fn", "float8_e4m3fnuz": "e4m3fnuz"}
BLOCK = 128  # rows and columns of a scale


class DequantArgs(ctypes.Structure):
    """mlaf_dequant_args of include/mlaforge/mla_dequant.h."""
    _fields_ = [("struct_size", U32), ("flags", U32), ("rows", I64), ("w", PTR), ("w_row_stride", I64), ("w_scale", PTR),
                ("w_scale_row_stride", I64), ("w_scale_row", I64), ("w_scale_column", I64), ("y", PTR), ("y_row_stride", I64)]


@entry(w="[rows, columns]", w_scale="[rows/128, columns/128]", out="[rows, columns]")
def mla_dequant(w, w_scale, out, *, ctx=None, stream=None):
    """w [rows, columns], float8_e4m3fn or float8_e4m3fnuz, times w_scale, float32 [rows/128, columns/128] rounded up, a checkpoint's weight_scale_inv:
    into out [rows, columns], bfloat16 or float16. Returns it."""
    ctx = context.of_call(ctx)
    kind, dtype, shape = dtype_name(w, "w"), dtype_name(out, "out"), tuple(w.shape)
    if kind not in ENCODINGS or len(shape) != 2:
        fail(f"w is {kind} of the shape {shape}; accepted are {', '.join(ENCODINGS)} [rows, columns]")
    if dtype not in DTYPES:
        fail(f"out is {dtype}; accepted are {', '.join(DTYPES)}")
    rows, columns = shape
    check_tensor("w", w, kind, rows, columns)
    check_tensor("w_scale", w_scale, "float32", -(-rows // BLOCK), -(-columns // BLOCK))
    check_tensor("out", out, dtype, rows, columns)
    args = {"rows": rows, "w": w.data_ptr(), "w_row_stride": row_stride(w, 0, "w"), "w_scale": w_scale.data_ptr(),
            "w_scale_row_stride": row_stride(w_scale, 0, "w_scale"), "y": out.data_ptr(), "y_row_stride": row_stride(out, 0, "out")}
    tuned = min(1 << max(rows - 1, 0).bit_length(), 1 << 20)  # a plan serves any number
    stream = current_stream(w) if stream is None else int(getattr(stream, "cuda_stream", stream))
    ctx.run(f"mla_dequant:c{columns},{DTYPES[dtype]},{ENCODINGS[kind]},t{tuned}", _struct(DequantArgs, **args), stream or None)
    return out
