"""Hugging Face transformers with mlaforge's MLA layers: patch(model), unpatch(model).

    model = patch(AutoModelForCausalLM.from_pretrained(..., dtype=torch.bfloat16, device_map="cuda"))
    model.generate(...)

Attention modules keep their weights, which mlaforge reads where they lie: patch after the model is on its device, and again after it was moved."""
import functools

from mlaforge.errors import needs

needs(__name__, "torch", "transformers")

import torch
from transformers import AttentionInterface, AttentionMaskInterface, Cache, DynamicCache
from transformers.cache_utils import DynamicLayer, StaticLayer
from transformers.masking_utils import causal_mask_function

import mlaforge
from mlaforge import engines
from mlaforge.engines.transformers_batching import Batching
from mlaforge.engines.transformers_cache import LatentLayer
from mlaforge.engines.transformers_graphs import Graphs
from mlaforge.engines.transformers_steps import PackedStep, Step, latent_rows

# Attention modules whose forward is the MLA layer. Others have gates, scales or selections that a layer does not know.
SERVED = ("DeepseekV2Attention", "DeepseekV3Attention", "Glm4MoeLiteAttention", "Mistral4Attention", "YoutuAttention")
ROPE_TYPES = ("default", "yarn", "linear", "llama3")  # those whose rotations do not depend on lengths
NAME = "mlaforge"  # of the attention implementation
NOT_CAUSAL = object()  # stands for a mask that layers do not serve


refuse = functools.partial(engines.refuse, who=__name__)


def _no_attention(module, *args, **named):
    refuse(f"{type(module).__name__} was not patched and asks for attn_implementation '{NAME}': call patch(model)")


def _mask(*args, attention_mask=None, mask_function=causal_mask_function, **named):
    """The mask that layers get: the caller's two-dimensional one, or None. A packed batch has its own lengths, whatever is found of its positions."""
    return attention_mask if mask_function is causal_mask_function else NOT_CAUSAL


AttentionInterface.register(NAME, _no_attention)
AttentionMaskInterface.register(NAME, _mask)


class Runner:
    """Shared by all layers of a model: the table of rotations, the step that is under way, layers' options, and calls so far."""

    def __init__(self, model, page, positions, options):
        rope = next((m for m in model.modules() if hasattr(m, "inv_freq")), None)
        if rope is None or rope.rope_type not in ROPE_TYPES:
            refuse(f"rope_type is {getattr(rope, 'rope_type', None)!r}, must be one of {', '.join(ROPE_TYPES)}: others' rotations depend on lengths")
        angles = torch.arange(positions, dtype=torch.float64, device=rope.inv_freq.device)[:, None] * rope.inv_freq.double()
        self.table = (torch.cat((angles.cos(), angles.sin()), 1) * rope.attention_scaling).float()
        self.page, self.positions, self.options, self.most_q, self.step = page, positions, options, max(options["q_lens"]), None
        self.fixed = self.graphs = None  # the step of a forward that is being recorded
        self.calls = {"decode": 0, "prefill": 0}
        self.modules = []

    def add(self, module, config):
        """Checks a module, and what its layer is made of."""
        weights = {name + ".weight": sub.weight.data for name, sub in engines.parts(module, module.layer_idx, refuse).items()}
        scaled = (config.rope_parameters or {}).get("llama_4_scaling_beta")
        more = dict(q_scale_beta=scaled, q_scale_original=config.rope_parameters["original_max_position_embeddings"]) if scaled else {}
        module._mlaforge = dict(weights=weights, heads=module.num_heads, cos_sin_cache=self.table, scale=module.scaling, page_size=self.page,
                                style="pairs" if getattr(config, "rope_interleave", True) else "halves", **engines.sizes(module), **more)
        module.forward = functools.partial(torch.compiler.disable(_forward), module, self)
        self.modules.append(module)

    def make(self, batch):
        """Layers for so many requests, in place of those that take fewer."""
        self.options["batch"] = 1 << (batch - 1).bit_length()
        for module in self.modules:
            self.close(module)
            module._mlaforge_layer = mlaforge.Layer(**module._mlaforge, **self.options)

    def check(self, batch, tokens):
        """Makes layers anew if they take fewer requests; refuses more tokens of a request than there are rotations."""
        if tokens > self.positions:
            refuse(f"{tokens} tokens, must be at most {self.positions}: patch(model, positions=...)")
        if batch > self.options["batch"] or not hasattr(self.modules[0], "_mlaforge_layer"):
            self.make(batch)

    @staticmethod
    def close(module):
        layer = module.__dict__.pop("_mlaforge_layer", None)
        if layer is not None:
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            layer.close()


def _cache_layer(runner, module, cache):
    """The module's LatentLayer of the cache, in place of an empty one of transformers'."""
    while len(cache.layers) <= module.layer_idx:
        cache.layers.append(DynamicLayer())
    layer = cache.layers[module.layer_idx]
    if isinstance(layer, LatentLayer):
        return layer
    if type(layer) not in (DynamicLayer, StaticLayer):
        refuse(f"the cache has a {type(layer).__name__}, must be a dynamic, a static or an offloaded cache")
    if layer.is_initialized and layer.get_seq_length() != 0:
        refuse("the cache already holds rows that mlaforge did not write: begin with an empty one")
    made = cache.layers[module.layer_idx] = LatentLayer(runner.page, module.kv_lora_rank + module.qk_rope_head_dim)
    return made


def _forward(module, runner, hidden_states, position_embeddings=None, attention_mask=None, past_key_values=None, cache=None, position_ids=None, **named):
    cache = past_key_values if past_key_values is not None else cache
    cache = DynamicCache() if cache is None else cache
    paged = hasattr(cache, "cache_allocators")
    if not paged and not isinstance(cache, Cache):
        refuse(f"the cache is a {type(cache).__name__}, must be one of transformers' Cache classes")
    if not paged and attention_mask is NOT_CAUSAL:
        refuse("the mask is not causal (packed sequences, windows, blocks): only padding of a causal mask is served")
    out = torch.empty_like(hidden_states, memory_format=torch.contiguous_format)
    (_packed if paged else _padded)(module, runner, hidden_states, out, cache, attention_mask, position_ids, named)
    return out, None


def _run(module, runner, hidden, rows, out):
    for part in runner.step.parts:
        part.run(runner, module._mlaforge_layer, hidden, rows, out)


def _packed(module, runner, hidden, out, cache, mask, positions, named):
    """Requests behind one another, over the paged cache of continuous batching."""
    rows, stride = latent_rows(cache, module.layer_idx, module.kv_lora_rank + module.qk_rope_head_dim)
    if module is runner.modules[0]:
        step = PackedStep(runner, positions, *(named[name] for name in ("cu_seq_lens_q", "cu_seq_lens_k", "read_index", "write_index")), stride)
        runner.check(len(step.news), max(step.totals))
        runner.step = step.make(module._mlaforge_layer)
    _run(module, runner, hidden, rows, out)


def _padded(module, runner, hidden, out, cache, mask, positions, named):
    """Requests side by side, over a cache of transformers' that holds LatentLayers."""
    batch, tokens, _ = hidden.shape
    latent, index, moving = _cache_layer(runner, module, cache), module.layer_idx, getattr(cache, "offloading", False)
    if moving:
        torch.cuda.default_stream(hidden.device).wait_stream(cache.prefetch_stream)
        latent.prefetch()
        cache.prefetch(index + 1, cache.only_non_sliding)
    runner.check(0, latent.length + tokens)
    rows = latent.reserve(hidden, batch, latent.length + tokens)
    if module is runner.modules[0] and runner.fixed is None:
        runner.check(batch, 0)
        runner.step = Step(runner, module._mlaforge_layer, rows, hidden, latent.length, mask, positions)
    _run(module, runner, hidden, rows, out)
    latent.length += tokens
    if moving:
        cache.offload(index, cache.only_non_sliding)


def patch(model, *, page_size=64, batch=1, kv_len=(1024, 8192), q_lens=(1,), prefill_tokens=8192, positions=None, graphs=False, ctx=None, **options):
    """Puts mlaforge's layers into a model, and returns it. batch and kv_len: what is planned for; more requests make layers anew, once for each power
    of two. q_lens: numbers of new tokens a request, up to 16, that run as decode; others are prefill, in parts of prefill_tokens. positions: most tokens
    of a request (None: the config's). graphs: decode steps that repeat are CUDA graphs. options: mlaforge.Layer's. model.mlaforge.calls counts calls
    of layers."""
    why = engines.unsupported("transformers")
    if why:
        raise ImportError(why)
    if hasattr(model, "mlaforge"):
        unpatch(model)
    config = model.config.get_text_config()
    modules = [m for m in model.modules() if hasattr(m, "kv_a_proj_with_mqa") and hasattr(m, "kv_b_proj")]
    for module in modules:
        if type(module).__name__ not in SERVED or hasattr(module, "indexer"):
            refuse(f"{type(module).__name__} is not served; served are {', '.join(SERVED)}")
    if not modules:
        refuse(f"{type(model).__name__} has no MLA layer")
    options = dict(options, batch=batch, kv_len=kv_len, q_lens=tuple(q_lens), prefill_tokens=prefill_tokens, ctx=ctx)
    runner = Runner(model, page_size, positions or config.max_position_embeddings, options)
    for module in modules:
        runner.add(module, config)
    runner.make(batch)
    runner.before = config._attn_implementation, getattr(model.generation_config, "disable_compile", False)
    model.mlaforge = runner
    model.set_attn_implementation(NAME)
    model.generation_config.disable_compile = True  # of static caches: generate() would trace layers that hold addresses
    runner.batching = Batching(model, runner)
    if graphs:
        runner.graphs = Graphs(model, runner, Step)
    return model


def unpatch(model):
    """Gives a model its own attention back, and returns it."""
    runner = model.__dict__.pop("mlaforge", None)
    if runner is None:
        return model
    for module in runner.modules:
        runner.close(module)
        del module.forward, module._mlaforge
    del model.init_continuous_batching
    if runner.graphs is not None:
        del model.forward
    model.set_attn_implementation(runner.before[0])
    model.generation_config.disable_compile = runner.before[1]
    return model
