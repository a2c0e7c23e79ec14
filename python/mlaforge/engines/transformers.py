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
from mlaforge.engines.transformers_cache import LatentLayer
from mlaforge.engines.transformers_graphs import Graphs

# Attention modules whose forward is the MLA layer. Others have gates, scales or selections that a layer does not know.
SERVED = ("DeepseekV2Attention", "DeepseekV3Attention", "Glm4MoeLiteAttention", "Mistral4Attention", "YoutuAttention")
ROPE_TYPES = ("default", "yarn", "linear", "llama3")  # those whose rotations do not depend on lengths
NAME = "mlaforge"  # of the attention implementation


refuse = functools.partial(engines.refuse, who=__name__)


def _no_attention(module, *args, **named):
    refuse(f"{type(module).__name__} was not patched and asks for attn_implementation '{NAME}': call patch(model)")


def _mask(*args, attention_mask=None, mask_function=causal_mask_function, **named):
    """The mask that layers get: the caller's two-dimensional one, or None."""
    if mask_function is not causal_mask_function:
        refuse("the mask is not causal (packed sequences, windows, blocks): only padding of a causal mask is served")
    return attention_mask


AttentionInterface.register(NAME, _no_attention)
AttentionMaskInterface.register(NAME, _mask)


class Part:
    """One call of each layer: requests first .. end and columns lo .. hi of a step. A prefill has a schedule; keep lists its tokens that are no
    padding, as rows of [B * S]; None: all of them."""

    def __init__(self, runner, layer, step, requests, columns):
        (self.first, self.end), (self.lo, self.hi), past = requests, columns, step.past
        self.table, batch, self.total = step.table[self.first:self.end], self.end - self.first, past + self.hi
        mask, tokens = step.mask[self.first:self.end, :self.total], self.hi - self.lo
        seen, new = mask.cumsum(1), mask[:, past + self.lo:] != 0
        rows, self.lens = seen[:, past + self.lo:] - 1, seen[:, -1].int()
        positions = rows.clamp_min(0) if step.positions is None else step.positions[:, self.lo:self.hi].expand(step.batch, -1)[self.first:self.end]
        slots = rows + torch.arange(self.first, self.end, device=mask.device)[:, None] * (step.table.shape[1] * runner.page)
        slots = slots.masked_fill(~new, -1)
        self.schedule = self.keep = self.workspace = None
        if tokens > runner.most_q or tokens > 1 and step.padded and not bool(new.all()):
            counts, lens = torch.stack((new.sum(1), self.lens)).tolist()
            if sum(counts) < tokens * batch:
                self.keep = new.flatten().nonzero()[:, 0]
                positions, slots = positions.reshape(-1)[self.keep], slots.reshape(-1)[self.keep]
            self.schedule = layer.schedule(counts, [total - n for total, n in zip(lens, counts)])
        else:  # layers share a workspace, in which the first one leaves the lists that are made of the table
            room = self.table.new_empty(layer.workspace_size(batch, tokens, self.total, self.table.shape[1]) + 256, dtype=torch.uint8)
            self.workspace = room[-room.data_ptr() % 256:]
        self.positions, self.slots = positions.reshape(-1).contiguous(), slots.reshape(-1).contiguous()

    def run(self, runner, layer, hidden, rows, out):
        """Writes the layer's output of these tokens to out [B, S, d]."""
        x, y = (t[self.first:self.end, self.lo:self.hi].flatten(0, 1) for t in (hidden, out))  # some columns of one request, or all: y is a view
        x = x.contiguous()
        if self.keep is not None:
            x = x.index_select(0, self.keep)
            y.zero_()
        if not x.shape[0]:
            return
        direct = y if self.keep is None else None
        if self.schedule is None:
            made = layer(x, self.positions, self.slots, rows, self.lens, self.table, q_len=self.hi - self.lo, kv_len=self.total, out=direct,
                         workspace=self.workspace, same_tables=layer is not runner.modules[0]._mlaforge_layer)
        else:
            made = layer(x, self.positions, self.slots, rows, block_table=self.table, schedule=self.schedule, out=direct)
        runner.calls["decode" if self.schedule is None else "prefill"] += 1
        if self.keep is not None:
            y.index_copy_(0, self.keep, made)


class Step:
    """One forward of the model, made at its first layer: the block table, and the parts that a layer is called with."""

    def __init__(self, runner, layer, rows, hidden, past, mask, positions):
        self.batch, tokens, _ = hidden.shape
        self.past, self.positions, most = past, positions, runner.options["prefill_tokens"]
        self.table = torch.arange(rows.shape[0], device=hidden.device, dtype=torch.int32).view(self.batch, -1)
        if mask is not None and (mask.dim() != 2 or mask.shape[1] < past + tokens):
            refuse(f"attention_mask has the shape {tuple(mask.shape)}, must be [requests, {past + tokens}] for {past} cached and {tokens} new tokens")
        self.padded = mask is not None
        self.mask = mask[:, :past + tokens].long() if self.padded else self.table.new_ones((self.batch, past + tokens), dtype=torch.int64)
        requests = self.batch if tokens <= runner.most_q and tokens * self.batch <= most or tokens == 1 else max(most // tokens, 1)
        self.parts = [Part(runner, layer, self, (first, min(first + requests, self.batch)), (lo, min(lo + most, tokens)))
                      for first in range(0, self.batch, requests) for lo in range(0, tokens, most)]


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
    if not isinstance(cache, Cache):
        refuse(f"the cache is a {type(cache).__name__}: continuous batching (generate_batch) is not served; use generate()")
    batch, tokens, _ = hidden_states.shape
    latent, index, moving = _cache_layer(runner, module, cache), module.layer_idx, getattr(cache, "offloading", False)
    if moving:
        torch.cuda.default_stream(hidden_states.device).wait_stream(cache.prefetch_stream)
        latent.prefetch()
        cache.prefetch(index + 1, cache.only_non_sliding)
    if latent.length + tokens > runner.positions:
        refuse(f"{latent.length + tokens} tokens, must be at most {runner.positions}: patch(model, positions=...)")
    rows = latent.reserve(hidden_states, batch, latent.length + tokens)
    if module is runner.modules[0] and runner.fixed is None:
        if batch > runner.options["batch"] or not hasattr(module, "_mlaforge_layer"):
            runner.make(batch)
        runner.step = Step(runner, module._mlaforge_layer, rows, hidden_states, latent.length, attention_mask, position_ids)
    out = torch.empty_like(hidden_states, memory_format=torch.contiguous_format)
    for part in runner.step.parts:
        part.run(runner, module._mlaforge_layer, hidden_states, rows, out)
    latent.length += tokens
    if moving:
        cache.offload(index, cache.only_non_sliding)
    return out, None


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
    if runner.graphs is not None:
        del model.forward
    model.set_attn_implementation(runner.before[0])
    model.generation_config.disable_compile = runner.before[1]
    return model
