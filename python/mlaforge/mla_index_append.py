"""Keys of new tokens for an indexer's cache, and its queries of 8 bits (DSA: DeepSeek-V3.2, GLM-5)."""
from . import context
from .context import _struct
from .entry import entry
from .library import IndexAppendArgs
from .made import DTYPES, rows_of, run, tuned
from .mla_index import ALIGN, COLUMNS, TOKEN, planar
from .tensors import check_tensor, dtype_name, empty, fail, is_dense, row_stride, style_of

__all__ = ["mla_index_append"]

POWER_OF_TWO, TABLE_16, ROPE = 1, 2, 64


def _cache(cache):
    """A planar cache as two tensors: keys, and their scales behind them in each page."""
    said = planar(cache)
    pages, page, at = said["num_pages"], said["page_tokens"], said["cache"]
    stride = cache.stride()[0] if pages > 1 else -(-TOKEN * page // ALIGN) * ALIGN
    return {"keys": at, "keys_page_stride": stride, "scales": at + COLUMNS * page if at else None, "scales_page_stride": stride // 4,
            "num_pages": pages, "page_tokens": page}


def _table(table, dtype):
    number = dtype_name(table, "cos_sin_cache")
    if number not in ("float32", dtype):
        fail(f"cos_sin_cache is {number}, must be float32 or {dtype}")
    check_tensor("cos_sin_cache", table, number, None, ROPE)
    if not table.shape[0]:
        fail(f"cos_sin_cache has the shape {tuple(table.shape)}: it must have a row for each position")
    return {"cos": table.data_ptr(), "table_rows": table.shape[0], "table_row_stride": row_stride(table, 0, "cos_sin_cache")}, number != "float32"


def _result(ctx, name, given, like, shape, dtype):
    """The caller's tensor, dense, or a new one."""
    if given is None:
        return empty(ctx, like, shape, dtype)
    check_tensor(name, given, dtype, *shape)
    if not is_dense(given):
        fail(f"{name} has the strides {tuple(given.stride())}, must be dense")
    return given


@entry(k="[T, 128]", norm_weight="[128]", norm_bias="[128]", slots="[T]", positions="[T]", cos_sin_cache="[positions, 64]",
       cache="[pages, page, 132] or [pages, page, 1, 132]", q="[T, H, 128]", weights="[T, H]", weights_scale=float, seq_lens="[B]", q8="[T, H, 128]", w8="[T, H]", lengths="[T]")
def mla_index_append(k, norm_weight, norm_bias, slots, positions, cos_sin_cache, cache, *, q=None, weights=None, weights_scale=None, seq_lens=None,
                     eps=1e-6, style="halves", hadamard=False, power_of_two=True, q8=None, w8=None, lengths=None, ctx=None, stream=None):
    """Keys of new tokens go to the cache of mla_index, and queries get 8 bits, in one launch.

    k [T, 128] bfloat16 or float16, what wk makes of hidden states: through LayerNorm (norm_weight, norm_bias [128] float32), RoPE of the first 64
    columns at positions [T] int64, then e4m3fn with one scale, into row slots [T] int64 of cache [pages, page, 132] uint8. A slot outside of the
    cache writes nothing. cos_sin_cache: a row a position, 32 cosines and 32 sines, float32 or of k's type. style: columns that rotate together,
    'halves' (DeepSeek-V3.2) or 'pairs' (GLM-5).
    q [T, H, 128], what wq_b makes, H 32 or 64: rotated and quantised likewise. weights [T, H], what weights_proj makes: times weights_scale (None:
    128 ** -0.5 * H ** -0.5) and the query's scale.
    hadamard: rows are multiplied by the orthonormal Hadamard matrix before they are quantised. power_of_two: scales are powers of two (ue8m0).
    seq_lens [B] int32: cached tokens of each request, its T / B new ones included.

    Returns (q8 [T, H, 128] float8_e4m3fn, w8 [T, H] float32, lengths [T] int32), the arguments of mla_index; None where there is no q, no seq_lens. q8,
    w8 and lengths: dense tensors to write them to."""
    ctx = context.of_call(ctx)
    dtype = dtype_name(k, "k")
    if dtype not in DTYPES or len(k.shape) != 2:
        fail(f"k is {dtype} of the shape {tuple(k.shape)}; accepted are {', '.join(DTYPES)} [T, {COLUMNS}]")
    if (q is None) != (weights is None):
        fail("q and weights come together: one of them is None")
    for name, result, of, source in (("q8", q8, "q", q), ("w8", w8, "q", q), ("lengths", lengths, "seq_lens", seq_lens)):
        if result is not None and source is None:
            fail(f"{name} is given, and {of} is None: {name} is made of it, so leave out {name} or pass {of}")
    tokens, heads, style = k.shape[0], 0 if q is None else q.shape[1], style_of("style", style)
    table, narrow = _table(cos_sin_cache, dtype)
    args = {"tokens": tokens, "q_tokens": 1, "eps": eps, "flags": (POWER_OF_TWO if power_of_two else 0) | (TABLE_16 if narrow else 0), **table,
            **_cache(cache), **rows_of("k", "k", k, dtype, (tokens, COLUMNS), ("token",))}
    for name, tensor, kind, n in (("norm_weight", norm_weight, "float32", COLUMNS), ("norm_bias", norm_bias, "float32", COLUMNS),
                                  ("slots", slots, "int64", tokens), ("positions", positions, "int64", tokens)):
        args.update(rows_of(name, name, tensor, kind, (n,), ()))
    if heads:
        q8 = _result(ctx, "q8", q8, q, (tokens, heads, COLUMNS), "float8_e4m3fn")
        w8 = _result(ctx, "w8", w8, q, (tokens, heads), "float32")
        args.update(q8=q8.data_ptr(), w8=w8.data_ptr(), w_scale=(COLUMNS * heads) ** -0.5 if weights_scale is None else weights_scale,
                    **rows_of("q", "q", q, dtype, (tokens, heads, COLUMNS), ("token", "head")),
                    **rows_of("weights", "w", weights, dtype, (tokens, heads), ("token",)))
    if seq_lens is not None:
        requests = seq_lens.shape[0]
        if tokens and (requests < 1 or tokens % requests):
            fail(f"seq_lens has {requests} requests for {tokens} tokens, must have one for each, of as many tokens")
        lengths = _result(ctx, "lengths", lengths, k, (tokens,), "int32")
        args.update(q_tokens=max(tokens // max(requests, 1), 1), lengths=lengths.data_ptr(), **rows_of("seq_lens", "seq_lens", seq_lens, "int32", (requests,), ()))
    words = f"{DTYPES[dtype]},{style}{',hadamard' if hadamard else ''}"
    run(ctx, f"mla_index_append:h{heads},{words},t{tuned(tokens, 1048576)}", _struct(IndexAppendArgs, **args), k, stream)
    return q8, w8, lengths
