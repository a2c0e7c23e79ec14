"""vLLM's backend CUSTOM for models with an indexer (DeepSeek-V3.2, GLM-5), on CUDA and ROCm: decode attention over index lists by mlaforge. Written from
vLLM's sources; it was not run there."""
import math

import mlaforge
from vllm.model_executor.layers.attention.sparse_mla_attention import SparseMLACommonImpl, SparseMLACommonMetadata, SparseMLACommonMetadataBuilder
from vllm.v1.attention.backend import AttentionCGSupport

from mlaforge.engines.vllm_attention import CALLS, backend, joined
from mlaforge.engines.vllm_gpu import Backend, Checked, Q_MOST


class SparseBuilder(SparseMLACommonMetadataBuilder[SparseMLACommonMetadata]):
    """Lists are read on the device at each launch, so graphs of uniform batches can be replayed."""
    metadata_cls = SparseMLACommonMetadata
    _cudagraph_support = AttentionCGSupport.UNIFORM_BATCH

    def __init__(self, *values):
        super().__init__(*values)
        self._init_reorder_batch_threshold(Q_MOST, supports_spec_as_decode=True, supports_dcp_with_varlen=False)


class SparseImpl(Checked, SparseMLACommonImpl[SparseMLACommonMetadata]):
    """SparseMLACommonImpl's prefill, decode by mlaforge. The indexer's positions become rows of the cache by vLLM's kernel."""
    can_return_lse_for_decode = True
    lse_base_on_e = True

    def forward_mqa(self, q, kv_c_and_k_pe_cache, attn_metadata, layer):
        """Attention as Decode.forward_mqa has it; each query token sees its list."""
        q, cache = joined(q), kv_c_and_k_pe_cache
        rows = self._convert_logical_to_physical_topk(self.topk_indices_buffer[:q.shape[0]], attn_metadata, block_stride_rows=None, return_valid_counts=False)
        out, lse = mlaforge.flash_mla_with_kvcache(q.unsqueeze(1), cache.unsqueeze(-2), None, None, self.kv_lora_rank, softmax_scale=self.scale,
                                                   is_fp8_kvcache=self.kv_cache_dtype == "fp8_ds_mla", indices=rows.unsqueeze(1), empty_lse=-math.inf)
        CALLS["lists"] += 1
        return out.squeeze(1), lse.squeeze(-1)


SparseBackend = backend("SparseBackend", Backend, SparseBuilder, SparseImpl, supported_kv_cache_dtypes=["auto", "float16", "bfloat16", "fp8_ds_mla"],
                        is_sparse=classmethod(lambda of: True))
