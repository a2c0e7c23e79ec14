"""vLLM's backend CUSTOM on CUDA and ROCm: decode attention by mlaforge, prefill as vLLM is told. Written from vLLM's sources; it was not run there."""
from mlaforge.errors import needs

needs(__name__, "torch", "vllm")

import torch
from vllm.model_executor.layers.attention.mla_attention import MLACommonBackend, MLACommonImpl, MLACommonMetadata, MLACommonMetadataBuilder
from vllm.v1.attention.backend import AttentionCGSupport, AttentionType, MultipleOf

from mlaforge.engines.vllm_attention import Decode, Ragged

Q_MOST = 16  # query tokens of a request in decode


class Checked:
    """Refuses what attention has not here, by name. Mixed into an implementation of vLLM's."""

    def __init__(self, num_heads, head_size, scale, num_kv_heads, alibi_slopes, sliding_window, kv_cache_dtype, logits_soft_cap, attn_type,
                 kv_sharing_target_layer_name, **mla_args):
        for name, value in (("alibi_slopes", alibi_slopes), ("sliding_window", sliding_window), ("logits_soft_cap", logits_soft_cap)):
            if value is not None:
                raise NotImplementedError(f"mlaforge: {name} is set, must be None: attention has no such thing here")
        if attn_type != AttentionType.DECODER:
            raise NotImplementedError(f"mlaforge: attn_type is {attn_type}, must be {AttentionType.DECODER}")
        super().__init__(num_heads, head_size, scale, num_kv_heads, alibi_slopes, sliding_window, kv_cache_dtype, logits_soft_cap, attn_type,
                         kv_sharing_target_layer_name, **mla_args)
        self.supports_quant_query_input = False  # queries stay of 16 bits over a cache of 8


class Builder(Ragged, MLACommonMetadataBuilder[MLACommonMetadata]):
    """Block tables, lengths and where queries begin are read on the device at each launch, so graphs of uniform batches can be replayed."""
    _cudagraph_support = AttentionCGSupport.UNIFORM_BATCH
    reorder_batch_threshold = Q_MOST


class Impl(Decode, Checked, MLACommonImpl[MLACommonMetadata]):
    """MLACommonImpl's prefill, decode by mlaforge."""
    supports_dcp = True

    def __init__(self, *values, **named):
        if named.get("indexer") is not None:
            raise NotImplementedError("mlaforge: indexer is set, must be None: set MLAFORGE_VLLM=sparse for models with an indexer")
        super().__init__(*values, **named)


class Backend(MLACommonBackend):
    """--attention-backend CUSTOM."""
    supported_dtypes = [torch.float16, torch.bfloat16]
    supported_kv_cache_dtypes = ["auto", "float16", "bfloat16", "fp8", "fp8_e4m3"]

    @staticmethod
    def get_name():
        return "CUSTOM"

    @staticmethod
    def get_builder_cls():
        return Builder

    @staticmethod
    def get_impl_cls():
        return Impl

    @classmethod
    def get_supported_head_sizes(cls):
        return [288, 320, 512, 576]

    @staticmethod
    def get_supported_kernel_block_sizes(kv_cache_spec=None):
        return [MultipleOf(1)]
