"""AITER's entry point for MLA decode."""
from .context import default_context
from .tensors import dtype_of, fail, row_stride, stream_of, want_dense, want_int32, want_shape


def mla_decode_fwd(q, kv_buffer, o, qo_indptr, kv_indptr, kv_indices, kv_last_page_lens, max_seqlen_q, sm_scale=None,
                   logit_cap=0.0, num_kv_splits=None, *, page_size=None, nhead_kv=1, lse=None, causal=True, mean_kv_len=None,
                   ctx=None, stream=None):
    """o = softmax(sm_scale * q k^T) v over a paged latent cache; writes `o` (and `lse`, when given) and returns them.

    q [T, H, R+P]; kv_buffer [pages, page_size, 1, R+P]; o [T, H, R]; qo_indptr, kv_indptr [B+1], kv_indices, kv_last_page_lens [B]
    int32. sm_scale defaults to 1/sqrt(R+P). With max_seqlen_q above 1 query tokens see the cache up to themselves (causal).
    num_kv_splits is the tuner's business here and not looked at. mean_kv_len helps to choose the kernel; without it the length
    of kv_indices does.
    """
    if logit_cap:
        fail(f"logit_cap is {logit_cap}; only 0 (none) is supported")
    total_q, heads, columns = want_shape("q", q, 3)
    pages, tokens, kv_heads, kv_columns = want_shape("kv_buffer", kv_buffer, 4)
    rank = want_shape("o", o, 3)[2]
    if kv_heads != 1 or nhead_kv != 1:
        fail(f"kv_buffer has {kv_heads} heads; the latent cache has 1")
    if page_size not in (None, tokens):
        fail(f"page_size is {page_size}, kv_buffer's shape says {tokens}")
    if kv_columns != columns or tuple(o.shape) != (total_q, heads, rank) or rank > columns:
        fail(f"q {tuple(q.shape)}, kv_buffer {tuple(kv_buffer.shape)} and o {tuple(o.shape)} do not fit together")
    dtype = dtype_of("q", q)
    if dtype_of("kv_buffer", kv_buffer) != dtype or dtype_of("o", o) != dtype:
        fail("q, kv_buffer and o must have one dtype")
    want_dense("q", q)
    want_dense("o", o)
    batch = int(qo_indptr.shape[0]) - 1
    if batch < 0:
        fail("qo_indptr is empty; batch + 1 entries are expected")
    for name, table, least in (("qo_indptr", qo_indptr, 1), ("kv_indptr", kv_indptr, batch + 1), ("kv_indices", kv_indices, None),
                               ("kv_last_page_lens", kv_last_page_lens, batch)):
        want_int32(name, table, least)
    if not batch or not total_q:
        return o, lse
    if mean_kv_len is None:
        mean_kv_len = int(kv_indices.shape[0]) * tokens // batch
    q_len = int(max_seqlen_q)
    problem = (heads, rank, columns - rank, q_len, 1 if causal and q_len > 1 else 0, dtype, tokens, batch,
               max(1, min(int(mean_kv_len), 1 << 24)))
    (ctx or default_context()).execute(
        problem, stream_of(q, stream), batch=batch, total_q=total_q, q=q.data_ptr(), ckv=kv_buffer.data_ptr(),
        ckv_row_stride=row_stride("kv_buffer", kv_buffer), qo_indptr=qo_indptr.data_ptr(), kv_indptr=kv_indptr.data_ptr(),
        kv_indices=kv_indices.data_ptr(), kv_last_page_lens=kv_last_page_lens.data_ptr(), o=o.data_ptr(),
        lse=lse.data_ptr() if lse is not None else None, num_pages=pages,
        scale=sm_scale if sm_scale is not None else columns ** -0.5)
    return o, lse
