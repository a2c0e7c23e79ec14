"""Multi-head Latent Attention by kernels that mlaforge generates, compiles, tunes and serves.

mla_decode_fwd takes AITER's arguments, flash_mla_with_kvcache, flash_mla_sparse_fwd and get_mla_metadata take FlashMLA's. Tensors are any objects with
data_ptr(), shape, stride() and dtype, e.g. PyTorch's. On an emulator arrays in host memory do, too: NumPy's, PyTorch's on the CPU, any with
__array_interface__ or DLPack. Nothing is imported but the standard library.

    from mlaforge import mla_decode_fwd
    mla_decode_fwd(q, kv_buffer, o, qo_indptr, kv_indptr, kv_indices, kv_last_page_lens, max_seqlen_q, sm_scale)
"""
from .aiter import mla_decode_fwd
from .buffers import Buffer
from .context import Context, default_context, set_default_context
from .context_split import shard_lengths, shard_tokens
from .errors import MlafError
from .flashmla import flash_mla_sparse_fwd, flash_mla_with_kvcache, get_mla_metadata
from .library import version

import importlib as _importlib
import pkgutil as _pkgutil

__all__ = ["Buffer", "Context", "MlafError", "default_context", "flash_mla_sparse_fwd", "flash_mla_with_kvcache", "get_mla_metadata",
           "mla_decode_fwd", "set_default_context", "shard_lengths", "shard_tokens", "version"]


def __getattr__(name):
    if name == "__version__":  # the library's own: it is loaded when somebody asks
        return version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# Other operations' entry points: modules named after them, found in this folder.
for _module in _pkgutil.iter_modules(__path__):
    if _module.name.startswith("mla_"):
        _operation = _importlib.import_module("." + _module.name, __name__)
        globals().update({_name: getattr(_operation, _name) for _name in _operation.__all__})
        __all__ += _operation.__all__
from .torch_state import operators as _operators

_operators()
