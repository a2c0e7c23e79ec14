"""MLA decode attention by kernels that mlaforge generates, compiles, tunes and serves.

mla_decode_fwd takes AITER's arguments, flash_mla_with_kvcache and get_mla_metadata take FlashMLA's. Tensors are any objects with
data_ptr(), shape, stride() and dtype, e.g. PyTorch's; nothing is imported but the standard library.

    from mlaforge import mla_decode_fwd
    mla_decode_fwd(q, kv_buffer, o, qo_indptr, kv_indptr, kv_indices, kv_last_page_lens, max_seqlen_q, sm_scale)
"""
from .aiter import mla_decode_fwd
from .buffers import Buffer
from .context import Context, default_context, set_default_context
from .errors import MlafError
from .flashmla import flash_mla_with_kvcache, get_mla_metadata
from .library import version

__all__ = ["Buffer", "Context", "MlafError", "default_context", "flash_mla_with_kvcache", "get_mla_metadata", "mla_decode_fwd",
           "set_default_context", "version"]
