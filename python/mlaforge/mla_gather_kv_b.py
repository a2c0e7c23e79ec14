"""Keys and values of a context chunk from the paged latent cache, by AITER's entry point and argument order."""
from . import cache_format, context
from .calls import current_stream
from .context import _struct
from .entry import entry
from .library import GatherArgs
from .tensors import check_page, check_place, check_tensor, dtype_name, fail, row_stride, style_of

__all__ = ["gather_kv_b_proj", "mla_gather_kv_b"]

DTYPES = {"bfloat16": "bf16", "float16": "f16"}
FORMATS = {f.name: f for f in cache_format.taken_by("mla_gather_kv_b")}
CACHE = "[pages, page, row] or [pages, page, 1, row], of a split cache a pair"


def _strides(tensor):
    """Strides of tokens and heads."""
    return [row_stride(tensor, 0), row_stride(tensor, 1)]


def _cache(args, cache, rank, rope, dtype, target, said):
    """[pages, page, row] or [pages, page, 1, row], of a split cache a pair: the problem's word for it."""
    if isinstance(cache, (tuple, list)):
        if len(cache) != 2:
            fail(f"the cache is {len(cache)} things; accepted are a tensor, or two of a split cache")
        return _split(args, *cache, rank, rope, dtype)
    name = dtype_name(cache, "the cache")
    check_tensor("the cache", cache, None, None, None, *[1] * (len(cache.shape) - 3), None)
    check_page("the cache", cache)
    row = cache.shape[-1]
    kind = cache_format.of_tensor("mla_gather_kv_b", name, row, rank, rope, dtype, target, said)
    if kind is None:
        scaled = ", ".join(f"{f.columns(rank, rope)} bytes ({f.name})" for f in FORMATS.values() if f.scale == "stored")
        refused = name == "uint8" and cache_format.refusal_of_rows("mla_gather_kv_b", row, rank, rope)
        fail(f"the cache is {name} with rows of {row}; accepted are {rank + rope} of {dtype}, uint8 or an e4m3 type, and {scaled}"
             + (f"; {refused}" if refused else ""))
    pages, page = cache.shape[:2]
    entry = row_stride(cache, 1, "the cache") or row
    if kind.behind:
        if entry != row:
            fail(f"the cache has rows {entry} bytes apart, must be {row}: the rows of a page of {kind.name} follow each other")
        args.update(cache=cache.data_ptr(), num_pages=pages, page_tokens=page, cache_page_stride=row_stride(cache, 0, "the cache"))
        return kind.name
    args.update(cache=cache.data_ptr(), num_pages=pages, page_tokens=page, cache_row_stride=entry,
                cache_page_stride=row_stride(cache, 0, "the cache") or page * entry)
    return kind.name


def _split(args, cache, kpe, rank, rope, dtype):
    pages = page = None
    kind = cache_format.of_pair("mla_gather_kv_b", (cache, kpe), dtype) or FORMATS["split"]
    width, second_dtype, unit = kind.of_second(rank, rope, dtype)
    for name, tensor, columns in (("the cache", cache, rank), (f"the cache's {kind.second[0]}", kpe, width)):
        wanted = second_dtype if tensor is kpe else dtype if kind.latent == "dtype" else dtype_name(tensor, name)
        dtype_name(tensor, name)
        check_tensor(name, tensor, wanted, pages, page, *[1] * (len(tensor.shape) - 3), columns)
        pages, page = tensor.shape[:2]
        check_page(name, tensor)
    apart = [row_stride(t, 0, "the cache") for t in (cache, kpe)]
    rows = [row_stride(t, 1, "the cache") or (p if page == 1 else 0) or t.shape[-1] for t, p in zip((cache, kpe), apart)]
    strides = [p or page * row for p, row in zip(apart, rows)]
    if strides[0] % rows[0] or strides[1] != strides[0] // rows[0] * rows[1]:
        fail(f"the cache's pages are {strides[0]} and {strides[1]} apart, with rows of {rows[0]} and {rows[1]}: both must have as many rows")
    args.update(cache=cache.data_ptr(), num_pages=pages, page_tokens=page, cache_row_stride=rows[0], cache_page_stride=strides[0],
                cache_kpe=kpe.data_ptr(), cache_kpe_row_stride=rows[1] * unit)
    return kind.name


def _put_scale(args, scale):
    """The cache's: a number, or float32 on the device."""
    if isinstance(scale, (int, float)):
        args["scale"] = float(scale)
        return
    if dtype_name(scale, "the cache's scale") != "float32":
        fail(f"the cache's scale is {dtype_name(scale)}, must be float32")
    check_place("the cache's scale", scale)
    args["scale_at"] = scale.data_ptr()


def put_table(args, style, table, rope):
    """The RoPE table of a cache whose rope columns are not rotated: a row of P/2 cosines and P/2 sines for each position."""
    style = style_of("rope_style", style)
    if table is None or not rope:
        fail(f"rope_style is {style!r} and rope_table {'None' if table is None else 'given'}, of {rope} rope columns: both say how the cache's keys "
             "are rotated, rope_table is [positions, P] float32")
    check_tensor("rope_table", table, "float32", None, rope)
    if row_stride(table, 0, "rope_table") not in (0, rope):
        fail(f"rope_table's rows are {row_stride(table, 0)} apart, must be dense: {rope}")
    args.update(rope_table=table.data_ptr(), rope_rows=table.shape[0])
    return f",rope_{style}"


def _nope(weight, heads, vdim):
    """N of W [H (N+V), R]."""
    check_tensor("the weight", weight, None, None, None)
    if heads < 1 or weight.shape[0] % heads or weight.shape[0] // heads < vdim:
        fail(f"the weight has {weight.shape[0]} rows for {heads} heads of N+V, with {vdim} of V")
    return weight.shape[0] // heads - vdim


def _launch(args, cache, weight, scale, k, v, rope, style, table, ctx, stream, said=None):
    """Shared by both entries: W [H (N+V), R], k [T, H, N or more], v [T, H, V]."""
    dtype, heads, vdim, rank = dtype_name(weight), v.shape[1], v.shape[2], weight.shape[-1]
    if dtype not in DTYPES:
        fail(f"the weight is {dtype}; accepted are {', '.join(DTYPES)}")
    nope = _nope(weight, heads, vdim)
    kind = _cache(args, cache, rank, rope, dtype, ctx.target, said)
    if FORMATS[kind].scale == "launch" and scale is not None:
        _put_scale(args, scale)
    if style is not None or table is not None:
        kind += put_table(args, style, table, rope)
    args.update(w=weight.data_ptr(), w_row_stride=row_stride(weight, 0, "the weight"), tokens=k.shape[0])
    for name, tensor in (("k", k), ("v", v)):
        token, head = _strides(tensor)[:2]
        args.update({name: tensor.data_ptr(), name + "_token_stride": token or heads * (head or tensor.shape[2]), name + "_head_stride": head or tensor.shape[2]})
    tuned = min(1 << max(args["tokens"] - 1, 0).bit_length(), 1 << 20)  # a plan serves any number
    stream = current_stream(k) if stream is None else int(getattr(stream, "cuda_stream", stream))
    # Not by a library: it would write rows behind the last request's, too.
    ctx.run(f"mla_gather_kv_b:h{heads},n{nope},p{rope},v{vdim},r{rank},{DTYPES[dtype]},{kind},t{tuned}", _struct(GatherArgs, **args),
            stream or None)


@entry(kv_cache=CACHE, block_table="[batch, pages]", cu_seqlens="[batch+1]", seq_starts="[batch] or None", kv_b_weight="[H (N+V), R]",
       kv="[T, H, N+V]", k_pe="[T, P]", vdim=int, rope_table="[positions, P]")
def mla_gather_kv_b(kv_cache, block_table, cu_seqlens, seq_starts, kv_b_weight, kv, k_pe, scale=None, *, vdim=None, rope_style=None,
                    rope_table=None, cache_format=None, ctx=None, stream=None):
    """Chunks of requests from kv_cache [pages, page, R+P] (or fp8 rows, docs/chunked-prefill.md) to kv [T, H, N+V] and k_pe [T, P].

    block_table [batch, pages] int32; request r's tokens stand at cu_seqlens[r] .. cu_seqlens[r+1]-1 (int32 [batch + 1]) and have the
    positions from seq_starts[r] on (int32 [batch], or None: 0). kv_b_weight [H (N+V), R]. kv's V columns: vdim, by default half of it.
    cache_format: the name of what kv_cache holds where its rows are as long as another format's: "fp8_planar".

    Of a cache whose rope columns are not rotated, rope_style says which turn together: "pairs" (2i and 2i+1) or "halves" (i and i + P/2).
    rope_table [positions, P] float32 holds P/2 cosines, then P/2 sines of each position. k_pe comes out rotated; of a position that the
    table has not it is NaN.
    """
    ctx = context.of_call(ctx)
    dtype = dtype_name(kv, "kv")
    check_tensor("kv", kv, dtype, None, None, None)
    check_tensor("k_pe", k_pe, dtype, kv.shape[0], None)
    check_tensor("cu_seqlens", cu_seqlens, "int32", None)
    batch, vdim = cu_seqlens.shape[0] - 1, kv.shape[2] // 2 if vdim is None else vdim
    check_tensor("block_table", block_table, "int32", batch, None)
    check_tensor("the weight", kv_b_weight, dtype, None, None)
    args = {"batch": batch, "table": block_table.data_ptr(), "cu_seqlens": cu_seqlens.data_ptr(), "scale": 1.0,
            "table_stride": row_stride(block_table, 0, "block_table") or block_table.shape[1], "table_width": block_table.shape[1],
            "k_pe": k_pe.data_ptr() if k_pe.shape[1] else None, "k_pe_token_stride": _strides(k_pe)[0]}
    if seq_starts is not None:
        check_tensor("seq_starts", seq_starts, "int32", batch)
        args["seq_starts"] = seq_starts.data_ptr()
    _launch(args, kv_cache, kv_b_weight, scale, kv, _Columns(kv, kv.shape[2] - vdim), k_pe.shape[1], rope_style,
            rope_table, ctx, stream, cache_format)


class _Columns:
    """The last columns of a tensor [T, H, C], from `first` on."""

    def __init__(self, tensor, first):
        self._tensor, self._first, self.dtype = tensor, first, tensor.dtype
        self.shape = (*tensor.shape[:2], tensor.shape[2] - first)

    def data_ptr(self):
        return self._tensor.data_ptr() + 2 * self._first

    def stride(self):
        return self._tensor.stride()


@entry(k_buffer=CACHE, kv_indptr="[batch+1]", kv_indices="[pages]", kv_prefix_sum_context_lens="[batch+1]",
       kv_proj_weight="[H (N+V), R]", k_prefix="[T, H, N+P]", v_prefix="[T, H, V]", rope_table="[positions, P]")
def gather_kv_b_proj(k_buffer, k_scale, kv_indptr, kv_indices, kv_prefix_sum_context_lens, kv_proj_weight, kv_proj_scale, k_prefix,
                     v_prefix, weight_preshuffle=False, shuffled_kv_cache=False, *, rope_style=None, rope_table=None, ctx=None, stream=None):
    """AITER's: k_prefix [T, H, N+P] and v_prefix [T, H, V] of all requests' contexts, from k_buffer [pages, page, R+P].

    kv_indptr int32 [batch + 1] and kv_indices int32: pages of each request; kv_prefix_sum_context_lens int32 [batch + 1]: its tokens.
    kv_proj_weight [H (N+V), R] has k_prefix's type, so kv_proj_scale has to be None; shuffled weights and caches are refused.
    rope_style and rope_table: mla_gather_kv_b's, by positions from 0 on.
    """
    ctx = context.of_call(ctx)
    named = {"kv_proj_scale": kv_proj_scale is None, "weight_preshuffle": not weight_preshuffle, "shuffled_kv_cache": not shuffled_kv_cache}
    for name, usual in named.items():
        if not usual:
            fail(f"{name} is set, and mla_gather_kv_b takes plain bf16 or f16 weights and plain caches only")
    dtype = dtype_name(kv_proj_weight, "the weight")
    check_tensor("k_prefix", k_prefix, dtype, None, None, None)
    check_tensor("v_prefix", v_prefix, dtype, *k_prefix.shape[:2], None)
    check_tensor("kv_indptr", kv_indptr, "int32", None)
    check_tensor("kv_indices", kv_indices, "int32", None)
    heads, vdim = v_prefix.shape[1:]
    nope = _nope(kv_proj_weight, heads, vdim)
    rope, batch = k_prefix.shape[2] - nope, kv_indptr.shape[0] - 1
    check_tensor("kv_prefix_sum_context_lens", kv_prefix_sum_context_lens, "int32", batch + 1)
    if rope < 0:
        fail(f"k_prefix has {k_prefix.shape[2]} columns and the weight makes {nope} of them")
    head = row_stride(k_prefix, 1, "k_prefix") or k_prefix.shape[2]
    args = {"batch": batch, "table": kv_indices.data_ptr(), "table_indptr": kv_indptr.data_ptr(), "scale": 1.0,
            "cu_seqlens": kv_prefix_sum_context_lens.data_ptr()}
    if rope:
        args.update(k_pe=k_prefix.data_ptr() + 2 * nope, k_pe_head_stride=head,
                    k_pe_token_stride=row_stride(k_prefix, 0, "k_prefix"))
    _launch(args, k_buffer, kv_proj_weight, k_scale, k_prefix, v_prefix, rope, rope_style, rope_table, ctx, stream)
