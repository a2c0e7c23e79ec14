"""The cached tokens that sparse attention is to read, selected by an indexer (DSA: DeepSeek-V3.2, GLM-5)."""
from . import context
from .context import _struct
from .entry import entry
from .library import IndexArgs
from .made import rows_of, run, tuned
from .tensors import check_page, check_tensor, dtype_name, empty, fail, row_stride, whole

__all__ = ["mla_index"]

COLUMNS, TOKEN, ALIGN = 128, 132, 16  # of a key; bytes of a cached token with its scale; of pages
CTX_MOST, TOPK_MOST = 1 << 24, 1 << 20


def planar(cache, name="cache"):
    """[pages, page, 132] or [pages, page, 1, 132] of bytes: its members."""
    check_tensor(name, cache, "uint8", None, None, *[1] * (len(cache.shape) - 3), TOKEN)
    check_page(name, cache)
    pages, page = cache.shape[:2]
    if page > 1 and row_stride(cache, 1, name) not in (0, TOKEN):
        fail(f"{name} has tokens {row_stride(cache, 1)} bytes apart: a page is {page} keys of {COLUMNS} bytes, then {page} scales, without a gap")
    apart, least = row_stride(cache, 0, name), page * TOKEN
    if apart and (apart < least or apart % ALIGN):
        fail(f"{name} has pages {apart} bytes apart, must be a multiple of {ALIGN} from {-(-least // ALIGN) * ALIGN} on: a page of {page} tokens has "
             f"{least} bytes")
    return {"cache": cache.data_ptr(), "cache_page_stride": apart, "num_pages": pages, "page_tokens": page}


def _lengths(lengths, tokens, requests):
    """[T] or [B, T / B] int32, dense."""
    shape = (tokens,) if len(lengths.shape) == 1 else (requests, tokens // max(requests, 1))
    check_tensor("lengths", lengths, "int32", *shape)
    if row_stride(lengths, 0, "lengths") not in (0, 1 if len(shape) == 1 else shape[1]):
        fail(f"lengths has the strides {tuple(lengths.stride())}, must be dense")
    return {"lengths": lengths.data_ptr()}


@entry(q="[T, H, 128]", weights="[T, H]", cache="[pages, page, 132] or [pages, page, 1, 132]", block_table="[B, pages of a request]",
       lengths="[T] or [B, T / B]", topk=int, max_length=int, out="[T, topk]", logits="[T, max_length]")
def mla_index(q, weights, cache, block_table, lengths, topk, *, max_length=None, out=None, logits=None, ctx=None, stream=None):
    """Rows of the topk cached tokens with the largest sum over h of weights[t, h] max(0, q[t, h] . key), times the key's scale.

    q [T, H, 128] float8_e4m3fn, H 32 or 64; weights [T, H] float32, which hold q's scale and the softmax's. cache [pages, page, 132]
    uint8, planar: a page is its keys, 128 bytes of e4m3fn each, then its float32 scales. block_table [B, pages of a request] int32;
    request b has the query tokens b T / B and following. lengths [T] int32: cached tokens that each query token sees.

    Returns out [T, topk] int32, page * page_size + place in the page, in ascending order of position, -1 behind what there is: the
    `indices` of flash_mla_with_kvcache and flash_mla_sparse_fwd. Of equal logits the lower position is taken. NaN is smaller than
    all else. Tokens of a page that is outside the cache are never taken. max_length: no length is beyond it (None: what a row of
    block_table holds). logits [T, max_length rounded up to a multiple of 4] float32, scratch made by q.new_empty where it is None:
    the logits, up to each length."""
    ctx = context.of_call(ctx)
    if dtype_name(q, "q") != "float8_e4m3fn" or len(q.shape) != 3:
        fail(f"q is {dtype_name(q)} of the shape {tuple(q.shape)}; accepted is float8_e4m3fn [T, H, {COLUMNS}]")
    tokens, heads, _ = q.shape
    topk = whole("topk", topk, 1, TOPK_MOST)
    args = planar(cache)
    requests, width = block_table.shape
    if tokens and (requests < 1 or tokens % requests):
        fail(f"block_table has {requests} rows for {tokens} query tokens, must have one for each request, of as many tokens")
    if width < 1:
        fail(f"block_table has the shape {tuple(block_table.shape)}: a row has one page or more, -1 where a request has none")
    paged = width * args["page_tokens"]
    most = min(paged, CTX_MOST) if max_length is None else whole("max_length", max_length, 1, CTX_MOST)
    columns = -(-most // 4) * 4
    out = empty(ctx, q, (tokens, topk), "int32") if out is None else out
    logits = empty(ctx, q, (tokens, columns), "float32") if logits is None else logits
    args.update(tokens=tokens, topk=topk, max_length=columns, table_width=width, q_tokens=max(tokens // max(requests, 1), 1),
                **rows_of("q", "q", q, None, (tokens, heads, COLUMNS), ("token", "head")),
                **rows_of("weights", "w", weights, "float32", (tokens, heads), ("token",)),
                **rows_of("block_table", "block_table", block_table, "int32", (requests, width), ("request",)),
                **rows_of("out", "indices", out, "int32", (tokens, topk), ("token",)),
                **rows_of("logits", "logits", logits, "float32", (tokens, columns), ("token",)), **_lengths(lengths, tokens, requests))
    run(ctx, f"mla_index:h{heads},s{max(64, tuned(most, CTX_MOST))},t{tuned(tokens, 1048576)}", _struct(IndexArgs, **args), q, stream)
    return out
