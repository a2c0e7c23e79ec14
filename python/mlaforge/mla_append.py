"""Appending to the latent cache, by the entry points and argument orders of vLLM and AITER."""
from . import cache_format, context
from .calls import current_stream
from .context import _struct
from .entry import entry
from .library import AppendArgs
from .q_parts import JOINED
from .tensors import SIZES, check_page, check_place, check_tensor, dtype_name, empty, fail, row_stride

__all__ = ["concat_and_cache_mla", "concat_and_cache_mla_rope_fused", "concat_mla_q", "fused_qk_rope_concat_and_cache_mla"]

ALL_Q, POWER_OF_TWO, TABLE_16 = 1, 2, 4
DTYPES = {"bfloat16": "bf16", "float16": "f16"}
FORMATS = {f.name: f for f in cache_format.taken_by("mla_append")}
CACHE = "[blocks, block, row] or [blocks, block, 1, row], or a pair of such tensors"
HALF_TABLE = "[positions, P/2] or [positions, 1, P/2] or [positions, 1, 1, P/2]"


def _rows(name, tensor, dtype, tokens, columns):
    """[T, columns] or [T, 1, columns]: the address, and the stride of rows."""
    middle = len(tensor.shape) - 2
    check_tensor(name, tensor, dtype, None, *[1] * middle, columns)
    if tensor.shape[0] < tokens:
        fail(f"{name} has {tensor.shape[0]} rows for {tokens} tokens")
    return tensor.data_ptr(), row_stride(tensor, 0)


def _cache(args, kv_cache, kind, rank, rope, dtype):
    """[blocks, block, row] or [blocks, block, 1, row], of a format of two tensors a pair; blocks may lie apart."""
    row, unit_dtype = kind.columns(rank, rope), dtype if kind.scale == "none" else None
    if not kind.second:
        return _one(args, kv_cache, kind, row, unit_dtype)
    _one(args, kv_cache[0], kind, row, unit_dtype)
    of_kpe, (columns, second_dtype, unit) = {}, kind.of_second(rank, rope, dtype)
    _one(of_kpe, kv_cache[1], kind, columns, second_dtype)
    if args["num_slots"] != of_kpe["num_slots"] or args.get("page_tokens") != of_kpe.get("page_tokens"):
        fail(f"kv_cache is a pair of {tuple(kv_cache[0].shape)} and {tuple(kv_cache[1].shape)}: both must have as many blocks of as many rows")
    apart = "cache_page_stride" in args or "cache_page_stride" in of_kpe
    args.update(cache_kpe=of_kpe["cache"], cache_kpe_row_stride=of_kpe["cache_row_stride"] * unit)
    if apart:
        block = args["page_tokens"]
        args.setdefault("cache_page_stride", block * args["cache_row_stride"])
        args["cache_kpe_page_stride"] = of_kpe.get("cache_page_stride", block * of_kpe["cache_row_stride"]) * unit


def _one(args, kv_cache, kind, row, unit_dtype):
    """One tensor of a cache."""
    middle = len(kv_cache.shape) - 3
    check_tensor("kv_cache", kv_cache, unit_dtype, None, None, *[1] * middle, row)
    check_page("kv_cache", kv_cache)
    blocks, block = kv_cache.shape[:2]
    entry = row_stride(kv_cache, 1) or row
    page = row_stride(kv_cache, 0) or block * entry
    args.update(cache=kv_cache.data_ptr(), num_slots=blocks * block)
    if kind.behind:
        if entry != row:
            fail(f"kv_cache has rows {entry} bytes apart, must be {row}: the rows of a page of {kind.name} follow each other")
        args.update(page_tokens=block, cache_page_stride=page if blocks > 1 else 0)
    elif block == 1:
        args.update(cache_row_stride=page)
    else:
        args.update(cache_row_stride=entry, page_tokens=block)
        if page != block * entry:
            args.update(cache_page_stride=page)


def _format(ctx, kv_cache, kv_cache_dtype, wide):
    """A cache's format, by its type and by what the caller calls it."""
    if isinstance(kv_cache, (tuple, list)):
        kind = cache_format.of_pair("mla_append", kv_cache, wide) if len(kv_cache) == 2 else None
        if kind is None or kv_cache_dtype not in ("auto", kind.name):
            fail(f"kv_cache_dtype is {kv_cache_dtype!r} and kv_cache {len(kv_cache)} tensors; accepted are 'auto' with two, of latent and rope columns, "
                 f"{wide} or the latent uint8 or float8_e4m3fn ({', '.join(map(repr, cache_format.of_bytes_in_two('mla_append')))})")
        return kind
    name = dtype_name(kv_cache, "kv_cache")
    for f in FORMATS.values():
        if f.scale == "stored" and f.name == kv_cache_dtype and not f.second:
            return f
    if kv_cache_dtype == "auto" and name in DTYPES:
        return FORMATS["paged"]
    if kv_cache_dtype in ("fp8", "fp8_e4m3") or kv_cache_dtype == "auto" and name != "uint8":
        found = cache_format.with_one_scale(name, ctx.target)
        if found:
            return found
    fail(cache_format.refusal("mla_append", str(kv_cache_dtype)) or
         f"kv_cache_dtype is {kv_cache_dtype!r} and kv_cache {name}; accepted are 'auto' with bfloat16, float16 or an e4m3 type, "
         "'fp8' and 'fp8_e4m3' with uint8 or an e4m3 type, 'fp8_ds_mla' and 'fp8_v4'")


def _table(args, cos, sin, dtype, rope):
    """One table whose rows have their sines behind their cosines (sin None), or two."""
    columns = rope if sin is None else rope // 2
    dtype_name(cos, "the table of cosines")
    check_tensor("the table of cosines", cos, None, None, *[1] * (len(cos.shape) - 2), columns)
    if dtype_name(cos) not in ("float32", dtype):
        fail(f"the table of cosines is {dtype_name(cos)}, must be float32 or {dtype}")
    if sin is not None and (dtype_name(sin), tuple(sin.shape), tuple(sin.stride())) != (
            dtype_name(cos), tuple(cos.shape), tuple(cos.stride())):
        fail("cos_cache and sin_cache differ in type, shape or strides: they must be alike")
    if sin is not None:
        check_place("the table of sines", sin)
    args.update(cos=cos.data_ptr(), sin=None if sin is None else sin.data_ptr(), table_rows=cos.shape[0], table_row_stride=row_stride(cos, 0))
    return 0 if dtype_name(cos) == "float32" else TABLE_16


def _problem(heads, rank, rope, dtype, cache, style, tokens):
    """Sizes are rounded up to a power of two: a plan serves any number of tokens."""
    tuned = 1 << max(tokens - 1, 0).bit_length()
    return f"mla_append:h{heads},r{rank},p{rope},{DTYPES[dtype]},{cache},{style},t{min(tuned, 1 << 20)}"


def _inputs(kv_c, k_pe, slot_mapping):
    dtype, rank = dtype_name(kv_c, "kv_c"), kv_c.shape[-1]
    rope = k_pe.shape[-1] if k_pe is not None else 0
    if dtype not in DTYPES:
        fail(f"kv_c is {dtype}; accepted are {', '.join(DTYPES)}")
    check_tensor("slot_mapping", slot_mapping, "int64", None)
    return dtype, rank, rope


def _launch(ctx, problem, args, tensor, stream):
    stream = current_stream(tensor) if stream is None else int(getattr(stream, "cuda_stream", stream))
    ctx.run(problem, _struct(AppendArgs, **args), stream or None)


def _append(kv_c, k_pe, kv_cache, slot_mapping, kv_cache_dtype, scale, tokens, ctx):
    """Shared by all three entries: (dtype, rank, rope, the cache's format by name, arguments)."""
    dtype, rank, rope = _inputs(kv_c, k_pe, slot_mapping)
    args = {"tokens": tokens, "slots": slot_mapping.data_ptr(), "eps": 0.0, "scale": 1.0}
    args["ckv"], args["ckv_row_stride"] = _rows("kv_c", kv_c, dtype, tokens, rank)
    if rope:
        args["kpe"], args["kpe_row_stride"] = _rows("k_pe", k_pe, dtype, tokens, rope)
    kind = _format(ctx, kv_cache, kv_cache_dtype, dtype)
    _cache(args, kv_cache, kind, rank, rope, dtype)
    if kind.scale == "launch" and scale is not None:
        if isinstance(scale, (int, float)):
            args["scale"] = float(scale)
        else:
            if dtype_name(scale, "scale") != "float32":
                fail(f"scale is {dtype_name(scale)}, must be float32")
            check_place("scale", scale)
            args["scale_at"] = scale.data_ptr()
    return dtype, rank, rope, kind.name, args


@entry(kv_c="[T, R]", k_pe="[T, P] or [T, 1, P] or None", kv_cache=CACHE, slot_mapping="[T]")
def concat_and_cache_mla(kv_c, k_pe, kv_cache, slot_mapping, kv_cache_dtype, scale, *, power_of_two_scales=True, ctx=None, stream=None):
    """vLLM's and AITER's: kv_c [T, R] and k_pe [T, P], rotated already, to the rows slot_mapping [T] of kv_cache [blocks, block, R+P].

    A slot of -1 writes nothing. kv_cache_dtype is "auto", "fp8", "fp8_e4m3" (stored = value / scale), "fp8_ds_mla" (656 bytes a token:
    scales of its own, by default powers of two) or "fp8_v4" (DeepSeek-V4's [blocks, block, 584] of R = 448 and P = 64, blocks a
    multiple of 576 bytes apart). Bytes without a type hold e4m3fnuz on gfx942, e4m3fn elsewhere. kv_cache may be a pair, [blocks, block, R] and
    [blocks, block, P] of kv_c's type; or the first one of uint8 or float8_e4m3fn, whatever the device, with "auto" or the name of such a format
    (docs/append.md): "kpe16" stores value / scale.
    """
    ctx = context.of_call(ctx)
    dtype, rank, rope, kind, args = _append(kv_c, k_pe, kv_cache, slot_mapping, kv_cache_dtype, scale, slot_mapping.shape[0], ctx)
    args["flags"] = POWER_OF_TWO if power_of_two_scales else 0
    _launch(ctx, _problem(0, rank, rope, dtype, kind, "unrotated", args["tokens"]), args, kv_c, stream)


@entry(positions="[T]", q_pe="[T, H, P]", k_pe="[T, P] or [T, 1, P] or None", kv_c="[T, R]", cos_sin_cache="[positions, P]",
       slot_mapping="[T]", kv_cache=CACHE)
def concat_and_cache_mla_rope_fused(positions, q_pe, k_pe, kv_c, cos_sin_cache, is_neox, slot_mapping, kv_cache, kv_cache_dtype,
                                    kv_cache_scale, *, power_of_two_scales=True, ctx=None, stream=None):
    """vLLM's: q_pe [T, H, P] and k_pe [T, P] are rotated in place, kv_c and the rotated k_pe appended. A row of cos_sin_cache has P/2
    cosines, then P/2 sines, float32 or of q_pe's type. q_pe is rotated also where the slot is -1, k_pe is not."""
    ctx = context.of_call(ctx)
    tokens, heads = q_pe.shape[0], q_pe.shape[1]
    dtype, rank, rope, kind, args = _append(kv_c, k_pe, kv_cache, slot_mapping, kv_cache_dtype, kv_cache_scale, tokens, ctx)
    check_tensor("q_pe", q_pe, dtype, tokens, heads, rope)
    check_tensor("positions", positions, "int64", None)
    if min(slot_mapping.shape[0], positions.shape[0]) < tokens:
        fail(f"slot_mapping has {slot_mapping.shape[0]} entries and positions {positions.shape[0]} for {tokens} tokens")
    flags = ALL_Q | (POWER_OF_TWO if power_of_two_scales else 0) | _table(args, cos_sin_cache, None, dtype, rope)
    q = {"token_stride": row_stride(q_pe, 0), "head_stride": row_stride(q_pe, 1)}
    args.update(flags=flags, positions=positions.data_ptr(), kpe_out=args["kpe"], kpe_out_row_stride=args["kpe_row_stride"],
                q_pe=q_pe.data_ptr(), q_pe_out=q_pe.data_ptr(), **{f"q_pe_{k}": v for k, v in q.items()},
                **{f"q_pe_out_{k}": v for k, v in q.items()})
    _launch(ctx, _problem(heads, rank, rope, dtype, kind, "halves" if is_neox else "pairs", tokens), args, kv_c, stream)


@entry(q_nope="[T, H, R]", q_pe="[T, H, P]", kv_c="[T, R] or [T, 1, R]", k_pe="[T, P] or [T, 1, P] or None", kv_cache=CACHE,
       q_out="[T, H, R+P]", slot_mapping="[T]", positions="[T]", cos_cache=HALF_TABLE, sin_cache=HALF_TABLE)
def fused_qk_rope_concat_and_cache_mla(q_nope, q_pe, kv_c, k_pe, kv_cache, q_out, slot_mapping, k_scale, q_scale, positions, cos_cache,
                                       sin_cache, is_neox, is_nope_first, compute_all_q_rope=False, *, ctx=None, stream=None):
    """AITER's: q_out [T, H, R+P] = (q_nope [T, H, R], already absorbed, rotated q_pe [T, H, P]); kv_c and the rotated k_pe appended.
    Tables [max_position, P/2], float32 or of q_pe's type. Rows whose slot is -1 get no q_out unless compute_all_q_rope. q_out has q_nope's
    type (q_scale is not looked at), and is_nope_first has to be true."""
    ctx = context.of_call(ctx)
    tokens, heads = q_nope.shape[0], q_nope.shape[1]
    if not is_nope_first:
        fail("is_nope_first is false; only rows with the latent columns first are made")
    name = "auto" if isinstance(kv_cache, (tuple, list)) or dtype_name(kv_cache) != "uint8" else "fp8"
    dtype, rank, rope, kind, args = _append(kv_c, k_pe, kv_cache, slot_mapping, name, k_scale, tokens, ctx)
    check_tensor("q_nope", q_nope, dtype, tokens, heads, rank)
    check_tensor("q_pe", q_pe, dtype, tokens, heads, rope)
    check_tensor("q_out", q_out, dtype, tokens, heads, rank + rope)
    check_tensor("positions", positions, "int64", None)
    if min(slot_mapping.shape[0], positions.shape[0]) < tokens:
        fail(f"slot_mapping has {slot_mapping.shape[0]} entries and positions {positions.shape[0]} for {tokens} tokens")
    flags = (ALL_Q if compute_all_q_rope else 0) | _table(args, cos_cache, sin_cache, dtype, rope)
    args.update(flags=flags, positions=positions.data_ptr())
    for name, tensor in (("q_nope", q_nope), ("q_pe", q_pe), ("q_out", q_out)):
        args.update({name: tensor.data_ptr(), name + "_token_stride": row_stride(tensor, 0), name + "_head_stride": row_stride(tensor, 1)})
    _launch(ctx, _problem(heads, rank, rope, dtype, kind, "halves" if is_neox else "pairs", tokens), args, kv_c, stream)


@entry(q_nope="[T, H, R]", q_pe="[T, H, P]", out="[T, H, R+P]")
def concat_mla_q(q_nope, q_pe, out=None, *, ctx=None, stream=None):
    """out [T, H, R+P], the columns of q_nope [T, H, R] and q_pe [T, H, P] side by side, as decode reads queries: FlashInfer's and vLLM's. Both may have any
    strides of tokens and heads that are a multiple of 16 bytes. One launch; out None: it is made."""
    ctx = context.of_call(ctx)
    dtype, (tokens, heads, rank), rope = dtype_name(q_nope, "q_nope"), q_nope.shape, q_pe.shape[-1]
    if dtype not in DTYPES:
        fail(f"q_nope is {dtype}; accepted are {', '.join(DTYPES)}")
    out = empty(ctx, q_nope, (tokens, heads, rank + rope), None) if out is None else out
    check_tensor("q_nope", q_nope, dtype, tokens, heads, rank)
    check_tensor("q_pe", q_pe, dtype, tokens, heads, rope)
    check_tensor("out", out, dtype, tokens, heads, rank + rope)
    # The launch of mla_append without a cache: with num_slots 0 each number is a slot outside of it, so any memory of T numbers will do.
    args = {"tokens": tokens, "flags": ALL_Q, "slots": q_nope.data_ptr(), "eps": 0.0, "scale": 1.0, "cache": out.data_ptr()}
    for name, place, tensor in (("ckv", "q_nope", q_nope), ("kpe", "q_pe", q_pe), (None, "q_out", out)):
        token, head = row_stride(tensor, 0, place), row_stride(tensor, 1, place)
        args.update({place: tensor.data_ptr(), place + "_token_stride": token, place + "_head_stride": head})
        if name:
            args.update({name: tensor.data_ptr(), name + "_row_stride": token})
    _launch(ctx, _problem(heads, rank, rope, dtype, "paged", "unrotated", tokens), args, q_nope, stream)
    return out


def _lie_together(q_nope, q_pe):
    """True if both are columns of one tensor that has no others."""
    columns = q_nope.shape[-1] + q_pe.shape[-1]
    return (tuple(q_nope.stride()) == tuple(q_pe.stride()) and tuple(q_nope.stride()[-2:]) == (columns, 1)
            and q_pe.data_ptr() == q_nope.data_ptr() + SIZES[dtype_name(q_nope, "q_nope")] * q_nope.shape[-1])


def _in_place(q):
    """True if kernels read rows of a part of Q where they lie."""
    *strides, last = q.stride()
    return last == 1 and q.data_ptr() % 16 == 0 and all(n == 1 or s > 0 and s % 8 == 0 for n, s in zip(q.shape, strides))


def joined_q(q_nope, q_pe, room=None, ctx=None):
    """[T, H, R+P]: the tensor whose columns both are, else a copy by one launch. room: a tensor whose first T rows it may go to."""
    if q_pe.shape[-1] == 0:
        return q_nope
    if _lie_together(q_nope, q_pe) and hasattr(q_nope, "as_strided"):
        return q_nope.as_strided((*q_nope.shape[:-1], q_nope.shape[-1] + q_pe.shape[-1]), q_nope.stride())
    return concat_mla_q(q_nope, q_pe, None if room is None else room[:q_nope.shape[0]], ctx=ctx)


def parts_or_joined(q, room=None, ctx=None):
    """Q in two tensors, q_nope and q_pe, as decode takes it: the pair where kernels read both as they lie and that was not measured to be slower (q_parts.py),
    else joined_q()."""
    if len(q) != 2:
        fail(f"q is {len(q)} tensors, must be one, or two: q_nope and q_pe")
    if q[1].shape[-1] and _in_place(q[0]) and _in_place(q[1]) and not _lie_together(*q):
        ctx = context.default_context() if ctx is None else ctx
        if q[0].shape[-2] not in JOINED.get(ctx._target, ()):
            return tuple(q)
    return joined_q(*q, room, ctx)
