"""vLLM's backend CUSTOM on CUDA and ROCm: decode attention by mlaforge, over whole contexts or index lists (models with an indexer: DeepSeek-V3.2, GLM-5),
prefill as vLLM is told. Index lists were not run there: docs/engines.md."""
import math

from mlaforge.errors import needs

needs(__name__, "torch", "vllm")

import torch
from vllm.model_executor.layers.attention.mla_attention import MLACommonBackend, MLACommonImpl, MLACommonMetadataBuilder
from vllm.model_executor.layers.attention.sparse_mla_attention import SparseMLACommonImpl, SparseMLACommonMetadata, SparseMLACommonMetadataBuilder
from vllm.v1.attention.backend import AttentionCGSupport, MultipleOf

import mlaforge
from mlaforge.engines import refuse
from mlaforge.engines.vllm_attention import Decode, Ragged, backend, joined

BLOCK = 64  # tokens of a block unless --block-size says otherwise: stored choices are of pages of 64, and vLLM's 16 took up to 9 % longer (docs/bench.md)


class Checked:
    """An implementation of vLLM's without windows, whose queries stay of 16 bits over a cache of 8."""

    def __init__(self, *, sliding_window, **values):
        if sliding_window is not None:
            refuse("sliding_window is set, must be None: attention has no such thing here")
        if values.get("indexer") is not None and not isinstance(self, SparseImpl):
            refuse("indexer is set, must be None: set MLAFORGE_VLLM=sparse for models with an indexer")
        super().__init__(sliding_window=None, **values)
        self.supports_quant_query_input = False


class Builder(Ragged, MLACommonMetadataBuilder):
    """Block tables, lengths and where queries begin are read on the device at each launch, so graphs of uniform batches can be replayed."""
    _cudagraph_support = AttentionCGSupport.UNIFORM_BATCH


class Impl(Decode, Checked, MLACommonImpl):
    """MLACommonImpl's prefill, decode by mlaforge."""
    supports_dcp = True


class SparseBuilder(SparseMLACommonMetadataBuilder):
    """Lists are read on the device at each launch, so graphs of uniform batches can be replayed."""
    metadata_cls, most_tokens, _cudagraph_support = SparseMLACommonMetadata, 16, AttentionCGSupport.UNIFORM_BATCH  # query tokens of a request in decode

    def __init__(self, *values):
        super().__init__(*values)
        self._init_reorder_batch_threshold(self.most_tokens, supports_spec_as_decode=True, supports_dcp_with_varlen=False)


class SparseImpl(Checked, SparseMLACommonImpl):
    """SparseMLACommonImpl's prefill, decode by mlaforge. The indexer's positions become rows of the cache by vLLM's kernel."""
    can_return_lse_for_decode = lse_base_on_e = True

    def forward_mqa(self, q, kv_c_and_k_pe_cache, attn_metadata, layer):
        """Attention as Decode.forward_mqa has it; each query token sees its list."""
        q = joined(q)
        rows = self._convert_logical_to_physical_topk(self.topk_indices_buffer[:q.shape[0]], attn_metadata, block_stride_rows=None, return_valid_counts=False)
        out, lse = mlaforge.flash_mla_with_kvcache(q.unsqueeze(1), kv_c_and_k_pe_cache.unsqueeze(-2), None, None, self.kv_lora_rank, softmax_scale=self.scale,
                                                   is_fp8_kvcache=self.kv_cache_dtype == "fp8_ds_mla", indices=rows.unsqueeze(1), empty_lse=-math.inf)
        return out.squeeze(1), lse.squeeze(-1)


Backend = backend(__name__, "Backend", MLACommonBackend, Builder, Impl, get_name=staticmethod(lambda: "CUSTOM"), supported_dtypes=[torch.float16, torch.bfloat16],
                  supported_kv_cache_dtypes=["auto", "float16", "bfloat16", "fp8", "fp8_e4m3"],
                  get_supported_head_sizes=classmethod(lambda of: [288, 320, 512, 576]), get_preferred_block_size=classmethod(lambda of, default: BLOCK),
                  get_supported_kernel_block_sizes=staticmethod(lambda kv_cache_spec=None: [MultipleOf(1)]))
SparseBackend = backend(__name__, "SparseBackend", Backend, SparseBuilder, SparseImpl, supported_kv_cache_dtypes=["auto", "float16", "bfloat16", "fp8_ds_mla"],
                        is_sparse=classmethod(lambda of: True))
