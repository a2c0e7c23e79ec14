"""vLLM's attention by mlaforge: decode over its paged latent cache, by whole contexts or index lists (models with an indexer: DeepSeek-V3.2, GLM-5), and
prefill over expanded heads. Backend CUSTOM of CUDA and ROCm is here, its CPU platform's in vllm_cpu.py. Index lists were not run inside vLLM: docs/engines.md."""
from mlaforge.errors import needs

needs(__name__, "torch", "vllm")

import torch
from vllm.model_executor.layers.attention.mla_attention import MLACommonBackend, MLACommonImpl, MLACommonMetadataBuilder, QueryLenSupport
from vllm.model_executor.layers.attention.sparse_mla_attention import SparseMLACommonImpl, SparseMLACommonMetadata, SparseMLACommonMetadataBuilder
from vllm.v1.attention.backend import AttentionCGSupport, MultipleOf
from vllm.v1.attention.backends.mla.prefill.base import MLAPrefillBackend

import mlaforge
from mlaforge.engines import refuse
from mlaforge.mla_append import joined_q

BLOCK = 64  # tokens of a block unless --block-size says otherwise: stored choices are of pages of 64, and vLLM's 16 took up to 9 % longer (docs/bench.md)


class Ragged:
    """Mixed into a builder of vLLM's: drafts of any numbers run as decode, and decode metadata says where each request's query tokens begin. Graphs of uniform
    batches can be replayed: block tables, lengths and lists are read on the device at each launch."""
    query_len_support, _cudagraph_support = QueryLenSupport.VARLEN, AttentionCGSupport.UNIFORM_BATCH
    reorder_batch_threshold = 1  # query tokens of a request in decode; vLLM adds drafts

    def _build_decode(self, *, query_start_loc_device, max_query_len, num_decode_tokens, **values):
        made = super()._build_decode(query_start_loc_device=query_start_loc_device, max_query_len=max_query_len, num_decode_tokens=num_decode_tokens, **values)
        # One token, or the most there are drafts for: each number has kernels of its own, compiled in the first request that brings it.
        made.longest = 1 if max_query_len <= 1 else max(max_query_len, self.reorder_batch_threshold)
        made.query_start_loc, made.ragged = query_start_loc_device, num_decode_tokens != made.longest * (len(query_start_loc_device) - 1)
        return made


class SparseBuilder(SparseMLACommonMetadataBuilder):
    """Metadata of index lists."""
    metadata_cls, _cudagraph_support = SparseMLACommonMetadata, Ragged._cudagraph_support

    def __init__(self, *values):
        super().__init__(*values)
        self._init_reorder_batch_threshold(16, supports_spec_as_decode=True, supports_dcp_with_varlen=False)  # query tokens of a request in decode


class Decode:
    """Mixed into an implementation of vLLM's: decode by mlaforge. Queries stay of 16 bits over a cache of 8."""
    can_return_lse_for_decode = lse_base_on_e = True  # vLLM combines ranks (DCP) by it

    def __init__(self, *values, **named):
        super().__init__(*values, **named)
        self.supports_quant_query_input = False
        refuse("sliding_window is set, must be None: attention has no such thing here", named.get("sliding_window") is not None)
        refuse("indexer is set, must be None: set MLAFORGE_VLLM=sparse for models with an indexer",
               named.get("indexer") is not None and not isinstance(self, SparseImpl))

    def forward_mqa(self, q, kv_c_and_k_pe_cache, attn_metadata, layer):
        """q: [tokens, heads, 576], or a pair of 512 and 64 columns; returns out [tokens, heads, 512] and the natural logarithms [tokens, heads]."""
        decode, kind = attn_metadata.decode, kv_c_and_k_pe_cache.dtype
        return mlaforge.mla_decode_fwd(
            q, kv_c_and_k_pe_cache.unsqueeze(-2), None, decode.query_start_loc, None, None, None, decode.longest,
            self.scale, lse=True, causal=attn_metadata.causal, mean_kv_len=attn_metadata.max_seq_len, block_table=decode.block_table, seq_lens=decode.seq_lens,
            head_dim_v=self.kv_lora_rank, kv_scale=layer._k_scale if kind.itemsize == 1 and kind.is_floating_point else None)  # rows of 656 bytes hold theirs


class Impl(Decode, MLACommonImpl):
    """Prefill as vLLM is told."""
    supports_dcp = True


class SparseImpl(Decode, SparseMLACommonImpl):
    """The indexer's positions become rows of the cache by vLLM's kernel."""

    def forward_mqa(self, q, kv_c_and_k_pe_cache, attn_metadata, layer):
        """Attention as Decode.forward_mqa has it; each query token sees its list."""
        q = joined_q(*q) if isinstance(q, tuple) else q
        rows = self._convert_logical_to_physical_topk(self.topk_indices_buffer[:q.shape[0]], attn_metadata, block_stride_rows=None, return_valid_counts=False)
        out, lse = mlaforge.flash_mla_with_kvcache(q.unsqueeze(1), kv_c_and_k_pe_cache.unsqueeze(-2), None, None, self.kv_lora_rank, softmax_scale=self.scale,
                                                   is_fp8_kvcache=self.kv_cache_dtype == "fp8_ds_mla", indices=rows.unsqueeze(1), empty_lse=-float("inf"))
        return out.squeeze(1), lse.squeeze(-1)


class Prefill(MLAPrefillBackend):
    """MLAPrefillBackendEnum.CUSTOM: new tokens among themselves, and over chunks of their cached context, which vLLM gathers and merges."""
    get_name, supports_out = staticmethod(lambda: "CUSTOM"), staticmethod(lambda: True)  # vLLM may hand over the tensor to write to

    def run_prefill_new_tokens(self, q, k, v, return_softmax_lse, out=None, output_scale=None):
        """Causal attention of new tokens; with return_softmax_lse (out, lse [heads, tokens])."""
        refuse("output_scale is given, must be None: outputs have 16 bits", output_scale is not None)
        of = self._prefill_metadata
        return mlaforge.flash_attn_varlen_func(q, k, v, of.query_start_loc, of.query_start_loc, of.max_query_len, of.max_query_len, softmax_scale=self.scale,
                                               causal=True, return_lse=return_softmax_lse, out=out)

    def run_prefill_context_chunk(self, chunk, q, k, v, out=None):
        """Attention over a chunk of cached tokens: (out, lse [heads, tokens])."""
        return mlaforge.flash_attn_varlen_func(q, k, v, chunk.query_start_loc, chunk.cu_seq_lens, chunk.max_query_len, chunk.max_seq_len,
                                               softmax_scale=self.scale, return_lse=True, out=out)


def backend(module, name, of, builder, impl, **more):
    """A backend of vLLM's, `of`, with a builder and an implementation of these bases. On CUDA vLLM imports it again by its module and name."""
    of_it = {"__module__": module}
    made = {"get_builder_cls": type(name + "Builder", builder, of_it), "get_impl_cls": type(name + "Impl", impl, of_it)}
    return type(name, (of,), {**of_it, **{get: staticmethod(lambda found=found: found) for get, found in made.items()}, **more})


Backend = backend(__name__, "Backend", MLACommonBackend, (Ragged, MLACommonMetadataBuilder), (Impl,), get_name=staticmethod(lambda: "CUSTOM"),
                  supported_dtypes=[torch.float16, torch.bfloat16], supported_kv_cache_dtypes=["auto", "float16", "bfloat16", "fp8", "fp8_e4m3"],
                  get_supported_head_sizes=classmethod(lambda of: [288, 320, 512, 576]), get_preferred_block_size=classmethod(lambda of, default: BLOCK),
                  get_supported_kernel_block_sizes=staticmethod(lambda kv_cache_spec=None: [MultipleOf(1)]))
SparseBackend = backend(__name__, "SparseBackend", Backend, (SparseBuilder,), (SparseImpl,), is_sparse=classmethod(lambda of: True),
                        supported_kv_cache_dtypes=["auto", "float16", "bfloat16", "fp8_ds_mla"])
