"""Whole MLA layers of vLLM by mlaforge.Layer: hidden states to hidden states, with vLLM's cache, block tables and slots. Importing this module puts
them in vLLM's register of layers from elsewhere."""
from mlaforge.errors import needs

needs(__name__, "torch", "vllm")

import torch
from vllm.config import get_current_vllm_config
from vllm.distributed import get_tensor_model_parallel_rank, get_tensor_model_parallel_world_size, tensor_model_parallel_all_reduce
from vllm.forward_context import get_forward_context
from vllm.model_executor.layers.mla import MultiHeadLatentAttentionWrapper

import mlaforge
from mlaforge.engines import parts, refuse, sizes
from mlaforge.engines.steps import Call, Step
from mlaforge.engines.vllm_attention import Ragged
from mlaforge.torch_ops import LIBRARY

LAYERS = {}  # by name, for the operator


@MultiHeadLatentAttentionWrapper.register_oot
class MlaforgeLayer(MultiHeadLatentAttentionWrapper):
    """Replaces the wrapper. vLLM traces it once, in its profile run, so the work is an operator that the compiler does not look into."""

    def __init__(self, *args, **named):
        super().__init__(*args, **named)
        for name in ("is_sparse", "g_proj", "dcp_q_replicate"):
            refuse(f"{name} is set: sparse layers, gates and replicated queries are not served; unset MLAFORGE_VLLM", getattr(self, name, None))
        backend = self.mla_attn.attn_backend
        refuse(f"the attention backend is {backend.get_name()}, must be CUSTOM: whole layers read its metadata; set --attention-backend CUSTOM",
               not issubclass(backend.get_builder_cls(), Ragged))
        modules = parts(self, self.prefix)
        for module in modules.values():
            module._cpu_skip_gemm_dispatch = True  # else the CPU platform packs the weight, and leaves an empty one
        release = self.mla_attn.process_weights_after_loading  # AMX_MLA frees kv_b_proj's weight there

        def keep(dtype):
            self._weights = {name + ".weight": module.weight.data for name, module in modules.items()}
            release(dtype)
        self.mla_attn.process_weights_after_loading = keep
        LAYERS[self.mla_attn.layer_name], self._config, self._layer = self, get_current_vllm_config(), None
        splitting = self._config.compilation_config.splitting_ops
        if splitting is not None and "mlaforge::vllm_layer" not in splitting:
            splitting.append("mlaforge::vllm_layer")

    def _make(self, cache, dtype):
        """The layer, once the cache is there."""
        refuse(f"the cache is {cache.dtype}, must be {dtype}: kv_cache_dtype must be 'auto'", cache.dtype != dtype)
        rope, size, most, limits = self.rotary_emb, get_tensor_model_parallel_world_size(), self._config.model_config.max_model_len, self._config.scheduler_config
        return mlaforge.Layer(
            self._weights, heads=self.num_heads * size, cos_sin_cache=None if rope is None else rope.cos_sin_cache, scale=self.mla_attn.scale,
            style="unrotated" if rope is None else "halves" if rope.is_neox_style else "pairs", tp_size=size, tp_rank=get_tensor_model_parallel_rank(),
            page_size=cache.shape[1], batch=limits.max_num_seqs, prefill_tokens=limits.max_num_batched_tokens, kv_len=(min(1024, most), most),
            q_lens=sorted({1, 1 + self._config.num_speculative_tokens}), **sizes(self))

    def forward(self, positions, hidden_states, llama_4_scaling=None):
        refuse("llama_4_scaling is set: queries scaled by position are not served in vLLM; unset MLAFORGE_VLLM", llama_4_scaling is not None)
        y = torch.empty_like(hidden_states)
        torch.ops.mlaforge.vllm_layer(hidden_states, positions, y, self.mla_attn.layer_name)
        return tensor_model_parallel_all_reduce(y) if get_tensor_model_parallel_world_size() > 1 else y

    def _step(self, metadata, positions, slots):
        """Calls of all layers: decode, then prefill."""
        first, end, decode, made = metadata.num_decode_tokens, metadata.num_actual_tokens, metadata.decode, []
        if first:
            made.append(Call(self._layer, slice(0, first), positions[:first], slots[:first], decode.block_table.int(), lens=decode.seq_lens.int(),
                             q_len=decode.longest, kv_len=metadata.max_seq_len, qo_indptr=decode.query_start_loc if decode.ragged else None))
        if end > first:
            prefill, chunks = metadata.prefill, metadata.prefill.chunked_context
            news = prefill.query_lens_cpu.tolist()
            schedule = self._layer.schedule(news, chunks.context_lens_list if chunks else [0] * len(news))
            made.append(Call(self._layer, slice(first, end), positions[first:end], slots[first:end], prefill.block_table.int(), schedule=schedule))
        return Step(made)

    def run(self, hidden, positions, y):
        """The operator's work."""
        name, context = self.mla_attn.layer_name, get_forward_context()
        metadata, cache = (context.attn_metadata or {}).get(name), self.mla_attn.kv_cache
        end = metadata.num_actual_tokens if metadata else 0  # no metadata: the profile run
        y[end:].zero_()
        if not end:
            return
        self._layer = self._layer or self._make(cache, hidden.dtype)
        if not hasattr(metadata, "mlaforge"):  # the step's first layer makes it for all
            metadata.mlaforge = self._step(metadata, positions.long(), context.slot_mapping[name].long())
        metadata.mlaforge.run(self._layer, hidden, cache, y)


LIBRARY.define("vllm_layer(Tensor hidden_states, Tensor positions, Tensor(a!) y, str name) -> ()")
LIBRARY.impl("vllm_layer", lambda hidden, positions, y, name: LAYERS[name].run(hidden, positions, y), "CompositeExplicitAutograd")
LIBRARY.impl("vllm_layer", lambda *values: None, "Meta")
