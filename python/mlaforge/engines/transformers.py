"""Hugging Face transformers with mlaforge's MLA layers: patch(model), unpatch(model).

    model = patch(AutoModelForCausalLM.from_pretrained(..., dtype=torch.bfloat16, device_map="cuda"))
    model.generate(...)

Attention modules keep their weights, which mlaforge reads where they lie: patch after the model is on its device, and again after it was moved."""
import functools

from mlaforge.errors import needs

needs(__name__, "torch", "transformers")

import torch
from transformers import AttentionInterface, AttentionMaskInterface, Cache, DynamicCache, PreTrainedModel
from transformers.masking_utils import causal_mask_function

from mlaforge.engines import parts, refuse, sizes, unsupported
from mlaforge.engines.graphs import Graphs
from mlaforge.engines.layers import Layers
from mlaforge.engines.steps import padded
from mlaforge.engines.transformers_batching import Batching
from mlaforge.engines.transformers_cache import latent_layer
from mlaforge.tensors import fail, whole

# Attention modules whose forward is the MLA layer. Others have gates, scales or selections that a layer does not know.
SERVED = ("DeepseekV2Attention", "DeepseekV3Attention", "Glm4MoeLiteAttention", "Mistral4Attention", "YoutuAttention")
ROPE_TYPES = ("default", "yarn", "linear", "llama3")  # those whose rotations do not depend on lengths
NAME = "mlaforge"  # of the attention implementation
NOT_CAUSAL = object()  # stands for a mask that layers do not serve


def _no_attention(module, *args, **named):
    refuse(f"{type(module).__name__} was not patched and asks for attn_implementation '{NAME}': call patch(model)")


def _mask(*args, attention_mask=None, mask_function=causal_mask_function, **named):
    """The mask that layers get: the caller's two-dimensional one, or None. A packed batch has its own lengths, whatever is found of its positions."""
    return attention_mask if mask_function is causal_mask_function else NOT_CAUSAL


AttentionInterface.register(NAME, _no_attention)
AttentionMaskInterface.register(NAME, _mask)


class Runner(Layers):
    """The layers of a model's attention modules, whose forward it replaces. Layers share the table of rotations."""

    def __init__(self, model, modules, page, positions, options):
        config = model.config.get_text_config()
        rope = next((m for m in model.modules() if hasattr(m, "inv_freq")), None)
        refuse(f"rope_type is {getattr(rope, 'rope_type', None)!r}, must be one of {', '.join(ROPE_TYPES)}: others' rotations depend on lengths",
               getattr(rope, "rope_type", None) not in ROPE_TYPES)
        self.positions, self.graphs = positions or config.max_position_embeddings, None
        angles = torch.arange(self.positions, dtype=torch.float64, device=rope.inv_freq.device)[:, None] * rope.inv_freq.double()
        table, scaled = (torch.cat((angles.cos(), angles.sin()), 1) * rope.attention_scaling).float(), (config.rope_parameters or {}).get("llama_4_scaling_beta")
        of_all = dict(cos_sin_cache=table, page_size=page, style="pairs" if getattr(config, "rope_interleave", True) else "halves")
        if scaled:
            of_all.update(q_scale_beta=scaled, q_scale_original=config.rope_parameters["original_max_position_embeddings"])
        super().__init__({module: dict(weights={name + ".weight": part.weight.data for name, part in parts(module, module.layer_idx).items()},
                                       heads=module.num_heads, scale=module.scaling, **sizes(module), **of_all) for module in modules}, options)
        self.columns = modules[0].kv_lora_rank + modules[0].qk_rope_head_dim
        for module in modules:
            module.forward = functools.partial(torch.compiler.disable(_forward), module, self)

    def begin(self, batch, tokens):
        """The first layer of a forward of so many requests, whose longest one has so many tokens."""
        refuse(f"{tokens} tokens, must be at most {self.positions}: patch(model, positions=...)", tokens > self.positions)
        return super().begin(batch)


def _forward(module, runner, hidden_states, position_embeddings=None, attention_mask=None, past_key_values=None, cache=None, position_ids=None, **named):
    cache = past_key_values if past_key_values is not None else cache if cache is not None else DynamicCache()
    if hasattr(cache, "cache_allocators"):  # requests behind one another, over the paged cache of continuous batching
        blocks = getattr(cache, "mlaforge", None)
        refuse("the paged cache was made before patch(model): make its manager anew", blocks is None)
        if module is runner.first:
            runner.now.step = blocks.step(runner, position_ids, named)
        return runner.run(module, hidden_states, blocks.rows[module.layer_idx]), None
    refuse(f"the cache is a {type(cache).__name__}, must be one of transformers' Cache classes", not isinstance(cache, Cache))
    refuse("the mask is not causal (packed sequences, windows, blocks): only padding of a causal mask is served", attention_mask is NOT_CAUSAL)
    (batch, tokens, _), index, moving = hidden_states.shape, module.layer_idx, getattr(cache, "offloading", False)
    latent = latent_layer(cache, index, runner.page, runner.columns)
    past, end = latent.length, latent.length + tokens
    if moving:
        torch.cuda.default_stream(hidden_states.device).wait_stream(cache.prefetch_stream)
        latent.prefetch()
        cache.prefetch(index + 1, cache.only_non_sliding)
    layer = runner.begin(batch, end) if module is runner.first else None
    rows = latent.reserve(hidden_states, batch, end)
    if layer:
        runner.now.step = runner.now.fixed or padded(layer, rows, (batch, tokens), past, attention_mask, position_ids, runner.most, runner.most_q)
    out, latent.length = runner.run(module, hidden_states, rows), end
    if moving:
        cache.offload(index, cache.only_non_sliding)
    return out, None


def patch(model, *, page_size=64, batch=1, kv_len=(1024, 8192), q_lens=(1,), prefill_tokens=8192, positions=None, graphs=False, ctx=None, **options):
    """Puts mlaforge's layers into a model, and returns it. batch and kv_len: what is planned for; more requests make layers anew, once for each power
    of two. q_lens: numbers of new tokens a request, up to 16, that run as decode; others are prefill, in parts of prefill_tokens. positions: most tokens
    of a request (None: the config's). graphs: decode steps that repeat are CUDA graphs. options: mlaforge.Layer's. model.mlaforge.calls counts calls
    of layers."""
    why = unsupported("transformers")
    if why:
        raise ImportError(why)
    if not isinstance(model, torch.nn.Module):
        fail(f"model is {type(model).__name__}, must be a transformers model")
    for name, value in dict(batch=batch, prefill_tokens=prefill_tokens, positions=1 if positions is None else positions).items():
        whole(name, value, 1, 1 << 30)
    q_lens = tuple(whole("q_lens", q, 1, 16) for q in (q_lens if isinstance(q_lens, (tuple, list, set, range)) else (q_lens,)))
    if not q_lens:
        fail("q_lens is empty, must be numbers of 1..16")
    unpatch(model)
    modules = [m for m in model.modules() if hasattr(m, "kv_a_proj_with_mqa") and hasattr(m, "kv_b_proj")]
    for module in modules:
        refuse(f"{type(module).__name__} is not served; served are {', '.join(SERVED)}", type(module).__name__ not in SERVED or hasattr(module, "indexer"))
    refuse(f"{type(model).__name__} has no MLA layer", not modules)
    refuse(f"{type(model).__name__} does not generate: patch the model that has a language-model head", isinstance(model, PreTrainedModel) and not model.can_generate())
    runner = Runner(model, modules, page_size, positions, dict(options, batch=batch, kv_len=kv_len, q_lens=q_lens, prefill_tokens=prefill_tokens, ctx=ctx))
    runner.before = model.config.get_text_config()._attn_implementation, getattr(model.generation_config, "disable_compile", False)
    model.mlaforge = runner
    model.set_attn_implementation(NAME)
    model.generation_config.disable_compile = True  # of static caches: generate() would trace layers that hold addresses
    Batching(model, runner)
    if graphs:
        runner.graphs = Graphs(model, runner)
    return model


def unpatch(model):
    """Gives a model its own attention back, and returns it. A manager of continuous batching that transformers keeps ends: its cache is of other rows."""
    getattr(model, "destroy_cached_continuous_batching_manager", lambda: None)()
    runner = model.__dict__.pop("mlaforge", None)
    if runner is None:
        return model
    runner.close()
    for module in runner.made_of:
        del module.forward
    del model.init_continuous_batching
    if runner.graphs is not None:
        del model.forward
        runner.graphs.key = runner.graphs.replay = None  # now, not when garbage is collected: that would end a recording of whoever makes one
    model.set_attn_implementation(runner.before[0])
    model.generation_config.disable_compile = runner.before[1]
    return model
