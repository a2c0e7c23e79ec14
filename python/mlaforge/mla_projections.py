"""The projections of an MLA layer: a few tokens times weights as they lie in a checkpoint, a launch each."""
import ctypes

from . import context
from .calls import current_stream
from .context import _struct
from .entry import entry
from .library import AppendArgs, ProjectionArgs, QBArgs
from .mla_append import POWER_OF_TWO, _append, _table
from .tensors import check_tensor, dtype_name, empty, fail, row_stride, style_of

__all__ = ["mla_o_proj", "mla_q_absorb", "mla_q_b", "mla_q_b_append", "mla_qkv_a", "mla_v_out"]

TABLE_16 = 1
DTYPES = {"bfloat16": "bf16", "float16": "f16"}
ENCODINGS = {"float8_e4m3fn": "e4m3fn", "float8_e4m3fnuz": "e4m3fnuz"}
BLOCK = 128  # rows and columns of a scale
SCALES = "[rows/128, columns/128]"


def _type(x):
    dtype = dtype_name(x, "x")
    if dtype not in DTYPES:
        fail(f"x is {dtype}; accepted are {', '.join(DTYPES)}")
    return dtype


def _scaled(name, w, w_scale, dtype, rows):
    """(type that w must have, word of the problem, arguments) of weights with or without scales, `rows` of their tensor in all."""
    kind = dtype_name(w, name)
    if w_scale is None and kind in ENCODINGS:
        fail(f"{name} is {kind}, and its scales are missing: hand over {name}_scale (a checkpoint's weight_scale_inv), or weights of "
             f"{dtype}")
    if w_scale is None:
        return dtype, "", {}
    if kind not in ENCODINGS:
        fail(f"{name} is {kind}, and {name}_scale is given; accepted are {', '.join(ENCODINGS)}")
    check_tensor(f"{name}_scale", w_scale, "float32", -(-rows // BLOCK), -(-w.shape[-1] // BLOCK))
    return kind, "," + ENCODINGS[kind], {"w_scale": w_scale.data_ptr(), "w_scale_row_stride": row_stride(w_scale, 0)}


def _tuned(tokens):
    """Plans are made for powers of two; each serves any number of tokens."""
    return min(1 << max(tokens - 1, 0).bit_length(), 65536)


def _out(ctx, out, x, shape):
    """The caller's output, or a new tensor of x's library, or a Buffer."""
    return out if out is not None else empty(ctx, x, shape, None)


def _launch(problem, args, x, y, ctx, stream, row=None):
    """row: arguments of the append that is fused with the product."""
    stream = current_stream(x) if stream is None else int(getattr(stream, "cuda_stream", stream))
    if row is None:
        ctx.run_library(problem, _struct(ProjectionArgs, **args), x, stream or None)
        return y
    both = QBArgs(_struct(ProjectionArgs, **args), _struct(AppendArgs, **row))
    both.projection.struct_size = ctypes.sizeof(QBArgs)
    ctx.run(problem, both, stream or None)
    return y


def _flat(op, fields, x, w, w_scale, out, inner, outer, more, ctx, stream):
    """x [T, inner] by w [outer, inner] to y [T, outer]."""
    dtype, tokens = _type(x), x.shape[0]
    kind, word, scales = _scaled("w", w, w_scale, dtype, outer)
    check_tensor("x", x, dtype, None, inner)
    check_tensor("w", w, kind, outer, inner)
    y = _out(ctx, out, x, (tokens, outer))
    check_tensor("out", y, dtype, tokens, outer)
    follows, row = more.pop("follows", ""), more.pop("row", None)
    args = {"tokens": tokens, "x": x.data_ptr(), "x_token_stride": row_stride(x, 0), "w": w.data_ptr(), "w_row_stride": row_stride(w, 0),
            "y": y.data_ptr(), "y_token_stride": row_stride(y, 0), **scales, **more}
    return _launch(f"{op}:{fields},{DTYPES[dtype]}{word},t{_tuned(tokens)}{follows}", args, x, y, ctx, stream, row)


@entry(x="[T, d]", w="[L+R+P, d]", w_scale=SCALES, out="[T, L+R+P]")
def mla_qkv_a(x, w, *, rank=512, rope=64, w_scale=None, out=None, batch_invariant=False, ctx=None, stream=None):
    """[T, d] hidden states by w [L+R+P, d], rows of q_a_proj and then of kv_a_proj_with_mqa: [T, L+R+P].

    Of all projections: w may be float8_e4m3fn or float8_e4m3fnuz with a scale for each 128 x 128 of it, w_scale float32 [rows/128, columns/128],
    rounded up: a checkpoint's weight_scale_inv. batch_invariant: a token's row has the same bits whatever other tokens there are. Here that of q_a_proj goes before that of kv_a_proj_with_mqa where L is a multiple of 128."""
    ctx = context.of_call(ctx, batch_invariant)
    outer, hidden = w.shape
    if outer < rank + rope:
        fail(f"w has {outer} rows, fewer than rank {rank} and rope {rope} together")
    return _flat("mla_qkv_a", f"d{hidden},l{outer - rank - rope},r{rank},p{rope}", x, w, w_scale, out, hidden, outer, {}, ctx, stream)


def _q_b(x, w, nope, rope, norm_weight, eps):
    """(the problem's fields, arguments) beside those of all."""
    outer, inner = w.shape
    if outer % (nope + rope):
        fail(f"w has {outer} rows, not a multiple of nope {nope} and rope {rope} together")
    more, norm = {"eps": eps}, ""
    if norm_weight is not None:
        check_tensor("norm_weight", norm_weight, dtype_name(x), inner)
        more["norm_weight"], norm = norm_weight.data_ptr(), ",norm"
    return f"l{inner},h{outer // (nope + rope)},n{nope},p{rope}{norm}", more


@entry(x="[T, L]", w="[H (N+P), L]", norm_weight="[L]", w_scale=SCALES, out="[T, H (N+P)]")
def mla_q_b(x, w, *, nope=128, rope=64, norm_weight=None, eps=1e-6, w_scale=None, out=None, batch_invariant=False, ctx=None, stream=None):
    """[T, L] low-rank columns by w [H(N+P), L]: [T, H(N+P)]. With norm_weight [L] the input goes through RMSNorm."""
    ctx = context.of_call(ctx, batch_invariant)
    fields, more = _q_b(x, w, nope, rope, norm_weight, eps)
    return _flat("mla_q_b", fields, x, w, w_scale, out, w.shape[1], w.shape[0], more, ctx, stream)


@entry(x="[T, L]", w="[H (N+P), L]", kv_c="[T, R]", k_pe="[T, P]", kv_cache="[blocks, block, R+P] or [blocks, block, 1, R+P]",
       slot_mapping="[T]", positions="[T]", cos_sin_cache="[positions, P]", norm_weight="[L]", kv_norm_weight="[R]",
       w_scale=SCALES, out="[T, H (N+P)]")
def mla_q_b_append(x, w, kv_c, k_pe, kv_cache, slot_mapping, positions=None, cos_sin_cache=None, *, nope=128, norm_weight=None,
                   kv_norm_weight=None, eps=1e-6, style="pairs", kv_cache_dtype="auto", scale=None, power_of_two_scales=True,
                   w_scale=None, out=None, batch_invariant=False, ctx=None, stream=None):
    """mla_q_b, and beside it in the same launch kv_c [T, R], through RMSNorm with kv_norm_weight [R], and k_pe [T, P], turned to positions [T]
    as mla_q_absorb's, to the rows slot_mapping [T] of kv_cache [blocks, block, R+P], as concat_and_cache_mla has them. kv_c and k_pe are
    slices of what mla_qkv_a wrote; x is another. A slot of -1 writes nothing."""
    ctx = context.of_call(ctx, batch_invariant)
    dtype, rank, rope, kind, row = _append(kv_c, k_pe, kv_cache, slot_mapping, kv_cache_dtype, scale, slot_mapping.shape[0], ctx)
    style = style_of("style", style, "unrotated")
    fields, more = _q_b(x, w, nope, rope, norm_weight, eps)
    row.update(eps=eps, flags=POWER_OF_TWO if power_of_two_scales else 0)
    if kv_norm_weight is not None:
        check_tensor("kv_norm_weight", kv_norm_weight, dtype, rank)
        row["norm_weight"] = kv_norm_weight.data_ptr()
    if rope and style != "unrotated":
        check_tensor("positions", positions, "int64", row["tokens"])
        row.update(positions=positions.data_ptr())
        row["flags"] |= _table(row, cos_sin_cache, None, dtype, rope)
    follows = f"+mla_append:r{rank},{kind},{style if rope else 'pairs'}" + (",norm" if kv_norm_weight is not None else "")
    return _flat("mla_q_b", fields, x, w, w_scale, out, w.shape[1], w.shape[0], {**more, "follows": follows, "row": row}, ctx, stream)


@entry(x="[T, H V]", w="[d, H V]", residual="[T, d]", w_scale=SCALES, out="[T, d]")
def mla_o_proj(x, w, *, v=128, residual=None, w_scale=None, out=None, batch_invariant=False, ctx=None, stream=None):
    """[T, H V] values by w [d, H V]: [T, d], the residual [T, d] added."""
    ctx = context.of_call(ctx, batch_invariant)
    hidden, inner = w.shape
    if inner % v:
        fail(f"w has {inner} columns, not a multiple of v {v}")
    more, word = {}, ""
    if residual is not None:
        check_tensor("residual", residual, dtype_name(x), x.shape[0], hidden)
        more, word = {"residual": residual.data_ptr(), "residual_token_stride": row_stride(residual, 0)}, ",residual"
    return _flat("mla_o_proj", f"d{hidden},h{inner // v},v{v}{word}", x, w, w_scale, out, inner, hidden, more, ctx, stream)


def _by_head(op, fields, x, kv_b, kv_b_scale, part, first, rows, out, widths, more, ctx, stream):
    """x [T, H, widths[0]] by rows first .. first+rows-1, those of `part`, of each head of kv_b [H, any, R], to y [T, H, widths[1]]."""
    dtype, (tokens, heads) = _type(x), x.shape[:2]
    kind, encoding, scales = _scaled("kv_b", kv_b, kv_b_scale, dtype, heads * kv_b.shape[1])
    check_tensor("kv_b", kv_b, kind, heads, None, kv_b.shape[2])
    check_tensor("x", x, dtype, tokens, heads, widths[0])
    if first < 0 or kv_b.shape[1] < first + rows:
        fail(f"kv_b has {kv_b.shape[1]} rows a head, must have at least {part} {rows}: it is [H, N+V, R]")
    y = _out(ctx, out, x, (tokens, heads, widths[1]))
    check_tensor("out", y, dtype, tokens, heads, widths[1])
    row, head = row_stride(kv_b, 1) or kv_b.shape[2], row_stride(kv_b, 0)
    word = more.pop("word", "")
    args = {"tokens": tokens, "w": kv_b.data_ptr() + (1 if scales else 2) * first * row, "w_row_stride": row, "w_head_stride": head, **more}
    if scales:
        if head and head != row * kv_b.shape[1]:
            fail(f"kv_b's heads are {head} elements apart, must follow each other where they have scales together")
        args.update(scales, w_scale_row=first)
    for name, tensor in (("x", x), ("y", y)):
        args.update({name: tensor.data_ptr(), name + "_token_stride": row_stride(tensor, 0), name + "_head_stride": row_stride(tensor, 1)})
    return _launch(f"{op}:h{heads},{fields},{DTYPES[dtype]}{encoding}{word},t{_tuned(tokens)}", args, x, y, ctx, stream)


@entry(x="[T, H, R]", kv_b="[H, N+V, R]", kv_b_scale=SCALES, out="[T, H, V]")
def mla_v_out(x, kv_b, *, v=128, kv_b_scale=None, out=None, batch_invariant=False, ctx=None, stream=None):
    """[T, H, R] rows of attention to values [T, H, V], by the last V rows of each head of kv_b [H, N+V, R] (kv_b_proj.weight seen so). Where
    kv_b is float8, kv_b_scale are its scales, [H(N+V)/128, R/128] rounded up (kv_b_proj.weight_scale_inv)."""
    ctx = context.of_call(ctx, batch_invariant)
    rank = x.shape[2]
    check_tensor("kv_b", kv_b, dtype_name(kv_b), x.shape[1], None, rank)
    return _by_head("mla_v_out", f"r{rank},v{v}", x, kv_b, kv_b_scale, "v", kv_b.shape[1] - v, v, out, (rank, v), {}, ctx, stream)


@entry(x="[T, H, N+P]", kv_b="[H, N+V, R]", positions="[T]", cos_sin_cache="[positions, P]", kv_b_scale=SCALES,
       out="[T, H, R+P]")
def mla_q_absorb(x, kv_b, positions=None, cos_sin_cache=None, *, nope=128, style="pairs", kv_b_scale=None, out=None, batch_invariant=False, ctx=None, stream=None):
    """[T, H, N+P] queries into the latent space, [T, H, R+P], by the first N rows of each head of kv_b [H, N+V, R]. The P rope columns are
    turned to positions [T], int64: style is "pairs", "halves" or "unrotated". A row of cos_sin_cache [any, P] has P/2 cosines, then P/2
    sines, float32 or of x's type. kv_b_scale: as of mla_v_out."""
    ctx = context.of_call(ctx, batch_invariant)
    dtype, rope, style = _type(x), x.shape[2] - nope, style_of("style", style, "unrotated")
    rank, more = kv_b.shape[2], {"word": f",{style}"}
    if rope < 0:
        fail(f"x has {x.shape[2]} columns, fewer than nope {nope}")
    if rope and style != "unrotated":
        check_tensor("positions", positions, "int64", x.shape[0])
        number = dtype_name(cos_sin_cache, "cos_sin_cache")
        if number not in ("float32", dtype):
            fail(f"cos_sin_cache is {number}, must be float32 or {dtype}")
        check_tensor("cos_sin_cache", cos_sin_cache, number, None, rope)
        more.update(positions=positions.data_ptr(), cos=cos_sin_cache.data_ptr(), table_rows=cos_sin_cache.shape[0],
                    table_row_stride=row_stride(cos_sin_cache, 0), flags=0 if number == "float32" else TABLE_16)
    return _by_head("mla_q_absorb", f"n{nope},p{rope},r{rank}", x, kv_b, kv_b_scale, "nope", 0, nope, out, (nope + rope, rank + rope), more, ctx, stream)
