"""Merging the attentions over N shards of a context by their log-sum-exp.

Made by tools/args.lua of gen/ops/mla_merge_parts/args.lua."""
import ctypes

from . import context
from .context import _struct
from .entry import entry
from .library import I64, PTR, U32
from .made import DTYPES, rows_of, run, tuned
from .tensors import dtype_name, fail

__all__ = ["merge_attn_parts"]


class MergePartsArgs(ctypes.Structure):
    """mlaf_merge_parts_args of include/mlaforge/mla_merge_parts.h."""
    _fields_ = [("struct_size", U32), ("flags", U32), ("tokens", I64), ("parts", PTR), ("parts_part_stride", I64),
                ("parts_token_stride", I64), ("parts_head_stride", I64), ("parts_lse", PTR),
                ("parts_lse_part_stride", I64), ("parts_lse_token_stride", I64), ("parts_lse_head_stride", I64),
                ("o", PTR), ("o_token_stride", I64), ("o_head_stride", I64), ("lse", PTR), ("lse_token_stride", I64),
                ("lse_head_stride", I64)]


@entry(output="[T, H, V]", parts="[N, T, H, V]", parts_lse="[N, T, H]", output_lse="[T, H]")
def merge_attn_parts(output, parts, parts_lse, output_lse=None, *, in_base_2=False, out_base_2=False, ctx=None,
                     stream=None):
    """parts [N, T, H, V], the attentions of the same queries over N shards of their contexts, become output [T, H, V], by their logs
    parts_lse [N, T, H], in one launch.

    A part whose log is infinite has no say, whatever it holds. All tensors may have strides of their own, columns and the heads of a
    log adjacent. in_base_2: parts_lse are logs to the base 2; out_base_2: so is output_lse."""
    ctx = context.of_call(ctx)
    dtype, shape = dtype_name(parts, "parts"), tuple(parts.shape)
    if dtype not in DTYPES or len(shape) != 4:
        fail(f"parts is {dtype} of the shape {shape}; accepted are {', '.join(DTYPES)} [N, T, H, V]")
    N, T, H, V = shape
    args = {"tokens": T, "flags": (1 if in_base_2 else 0) | (2 if out_base_2 else 0),
            **rows_of("parts", "parts", parts, dtype, (N, T, H, V), ("part", "token", "head")),
            **rows_of("parts_lse", "parts_lse", parts_lse, "float32", (N, T, H), ("part", "token", "head")),
            **rows_of("output", "o", output, dtype, (T, H, V), ("token", "head"))}
    if output_lse is not None:
        args.update(rows_of("output_lse", "lse", output_lse, "float32", (T, H), ("token", "head")))
    run(ctx, f"mla_merge_parts:n{N},h{H},v{V},{DTYPES[dtype]},t{tuned(T, 1048576)}", _struct(MergePartsArgs, **args), parts, stream)
