"""Hugging Face transformers with mlaforge's MLA layers: patch(model), unpatch(model).

    model = patch(AutoModelForCausalLM.from_pretrained(..., dtype=torch.bfloat16, device_map="cuda"))
    model.generate(...)

Attention modules keep their weights, which mlaforge reads where they lie: patch after the model is on its device, and again after it was moved."""
import functools
import threading
import weakref

from mlaforge.errors import needs

needs(__name__, "torch", "transformers")

import torch
from transformers import AttentionInterface, AttentionMaskInterface, Cache, DynamicCache, PreTrainedModel
from transformers.masking_utils import causal_mask_function

import mlaforge
from mlaforge.engines import parts, refuse, sizes, unsupported
from mlaforge.engines.steps import padded
from mlaforge.engines.transformers_batching import Batching
from mlaforge.engines.transformers_cache import latent_layer
from mlaforge.engines.transformers_graphs import Graphs
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


class Now(threading.local):
    """A thread's forward: its layers and its step, and the step that is being recorded."""
    layers = step = fixed = None


class Runner:
    """Shared by all layers of a model: the table of rotations, the steps that are under way, layers' options, and calls so far."""

    def __init__(self, model, modules, page, positions, options):
        config = model.config.get_text_config()
        rope = next((m for m in model.modules() if hasattr(m, "inv_freq")), None)
        refuse(f"rope_type is {getattr(rope, 'rope_type', None)!r}, must be one of {', '.join(ROPE_TYPES)}: others' rotations depend on lengths",
               getattr(rope, "rope_type", None) not in ROPE_TYPES)
        self.page, self.positions, self.options, self.modules = page, positions or config.max_position_embeddings, options, modules
        angles = torch.arange(self.positions, dtype=torch.float64, device=rope.inv_freq.device)[:, None] * rope.inv_freq.double()
        self.table = (torch.cat((angles.cos(), angles.sin()), 1) * rope.attention_scaling).float()
        self.most, self.most_q, self.columns = options["prefill_tokens"], max(options["q_lens"]), modules[0].kv_lora_rank + modules[0].qk_rope_head_dim
        self.recorded = weakref.WeakSet()  # inputs of continuous batching, which hold its graphs
        self.layers, self.lock = {}, threading.Lock()  # layers by modules; a forward keeps those that it began with
        self.now, self.graphs, self.calls = Now(), None, {"decode": 0, "prefill": 0}
        try:
            for module in modules:
                self.add(module, config)
            self.make(options["batch"])
        except BaseException:
            self.undo()
            raise

    def add(self, module, config):
        """Checks a module, and what its layer is made of."""
        weights = {name + ".weight": sub.weight.data for name, sub in parts(module, module.layer_idx).items()}
        scaled = (config.rope_parameters or {}).get("llama_4_scaling_beta")
        more = dict(q_scale_beta=scaled, q_scale_original=config.rope_parameters["original_max_position_embeddings"]) if scaled else {}
        module._mlaforge = dict(weights=weights, heads=module.num_heads, cos_sin_cache=self.table, scale=module.scaling, page_size=self.page,
                                style="pairs" if getattr(config, "rope_interleave", True) else "halves", **sizes(module), **more)
        module.forward = functools.partial(torch.compiler.disable(_forward), module, self)

    def make(self, batch):
        """Layers for so many requests, in place of those that take fewer. Those are closed when no thread's forward has them any more."""
        with self.lock:
            if self.layers and batch <= self.options["batch"]:  # another thread made them
                return
            self.options["batch"] = 1 << (batch - 1).bit_length()
            self.void()
            self.layers = self.now.layers = self.now.step = None  # closed before new ones take memory
            self.layers = {module: mlaforge.Layer(**module._mlaforge, **self.options) for module in self.modules}

    def void(self):
        """Waits for the device, and forgets graphs of continuous batching: they hold addresses of layers."""
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        for inputs in list(self.recorded):
            inputs.graphs = type(inputs.graphs)()

    def close(self):
        self.void()
        layers, self.layers = self.layers, {}
        for layer in (layers or {}).values():
            layer.close()

    def undo(self):
        """Gives modules their own forward back."""
        self.close()
        for module in self.modules:
            for name in ("forward", "_mlaforge"):
                module.__dict__.pop(name, None)

    def check(self, batch, tokens):
        """Begins a forward: makes layers anew if they take fewer requests; refuses more tokens of a request than there are rotations."""
        refuse(f"{tokens} tokens, must be at most {self.positions}: patch(model, positions=...)", tokens > self.positions)
        if batch > self.options["batch"] or not self.layers:
            self.make(batch)
        with self.lock:
            layers = self.layers
        if self.now.layers is not layers:
            if self.now.layers:
                self.void()
            self.now.layers = layers

    def run(self, module, hidden, rows):
        """A layer's output of the step that is under way."""
        out = torch.empty_like(hidden, memory_format=torch.contiguous_format)
        self.now.step.run(self.now.layers[module], hidden.flatten(0, 1), rows, out.flatten(0, 1))
        for call in self.now.step.calls:
            self.calls[call.kind] += 1
        return out


def _forward(module, runner, hidden_states, position_embeddings=None, attention_mask=None, past_key_values=None, cache=None, position_ids=None, **named):
    cache = past_key_values if past_key_values is not None else cache if cache is not None else DynamicCache()
    if hasattr(cache, "cache_allocators"):
        return _packed(module, runner, hidden_states, cache, position_ids, named), None
    refuse(f"the cache is a {type(cache).__name__}, must be one of transformers' Cache classes", not isinstance(cache, Cache))
    refuse("the mask is not causal (packed sequences, windows, blocks): only padding of a causal mask is served", attention_mask is NOT_CAUSAL)
    return _padded(module, runner, hidden_states, cache, attention_mask, position_ids), None


def _packed(module, runner, hidden, cache, positions, named):
    """Requests behind one another, over the paged cache of continuous batching."""
    blocks = getattr(cache, "mlaforge", None)
    refuse("the paged cache was made before patch(model): make its manager anew", blocks is None)
    if module is runner.modules[0]:
        runner.check(*blocks.most(named))
        runner.now.step = blocks.step(runner, runner.now.layers[module], positions, named)
    return runner.run(module, hidden, blocks.rows[module.layer_idx])


def _padded(module, runner, hidden, cache, mask, positions):
    """Requests side by side, over a cache of transformers' that holds LatentLayers."""
    (batch, tokens, _), index, moving = hidden.shape, module.layer_idx, getattr(cache, "offloading", False)
    latent = latent_layer(cache, index, runner.page, runner.columns)
    if moving:
        torch.cuda.default_stream(hidden.device).wait_stream(cache.prefetch_stream)
        latent.prefetch()
        cache.prefetch(index + 1, cache.only_non_sliding)
    if module is runner.modules[0]:
        runner.check(batch, latent.length + tokens)
    rows = latent.reserve(hidden, batch, latent.length + tokens)
    if module is runner.modules[0]:
        runner.now.step = runner.now.fixed or padded(runner.now.layers[module], rows, (batch, tokens), latent.length, mask, positions, runner.most, runner.most_q)
    out = runner.run(module, hidden, rows)
    latent.length += tokens
    if moving:
        cache.offload(index, cache.only_non_sliding)
    return out


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
    runner = Runner(model, modules, page_size, positions,
                    dict(options, batch=batch, kv_len=kv_len, q_lens=q_lens, prefill_tokens=prefill_tokens, ctx=ctx))
    runner.before = model.config.get_text_config()._attn_implementation, getattr(model.generation_config, "disable_compile", False)
    model.mlaforge = runner
    model.set_attn_implementation(NAME)
    model.generation_config.disable_compile = True  # of static caches: generate() would trace layers that hold addresses
    runner.batching = Batching(model, runner)
    if graphs:
        runner.graphs = Graphs(model, runner)
    return model


def unpatch(model):
    """Gives a model its own attention back, and returns it."""
    runner = model.__dict__.pop("mlaforge", None)
    if runner is None:
        return model
    runner.undo()
    del model.init_continuous_batching
    if runner.graphs is not None:
        del model.forward
    model.set_attn_implementation(runner.before[0])
    model.generation_config.disable_compile = runner.before[1]
    return model
