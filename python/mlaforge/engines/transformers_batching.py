"""Continuous batching of a patched transformers model (generate_batch), over transformers' own paged cache.

transformers sizes that cache by the model's config. While a manager and its cache are made it sees a copy of the config with one KV head of half a latent
row: a layer's keys and values of a token are then one latent row. Blocks, prefix sharing, forks and offloading stay transformers' own."""
import contextlib
import copy
import functools

from mlaforge.errors import needs

needs(__name__, "torch", "transformers")

from transformers import ContinuousBatchingConfig

from mlaforge.engines import refuse

try:
    from transformers.generation.continuous_batching import cache_allocators
except ImportError:
    cache_allocators = None  # before 5.18 keys and values lie in tensors of their own

NO_MASK = "paged|mlaforge-flash"  # a name of an attention implementation that transformers makes no mask for, and leaves as it is


class Batching:
    """Stands for model.init_continuous_batching, which generate_batch and the context manager call."""

    def __init__(self, model, runner):
        self.model, self.runner, self.plain = model, runner, model.init_continuous_batching
        model.init_continuous_batching = functools.update_wrapper(functools.partial(self.manager), self.plain)

    @contextlib.contextmanager
    def latent_config(self):
        config = self.model.config
        self.model.config = seen = copy.copy(config.get_text_config())
        seen.num_key_value_heads, seen.head_dim, seen._attn_implementation_internal = 1, (seen.kv_lora_rank + seen.qk_rope_head_dim) // 2, NO_MASK
        try:
            yield
        finally:
            self.model.config = config

    def manager(self, generation_config=None, continuous_batching_config=None, **named):
        """transformers' manager. Its batches are neither padded nor recorded: their lengths are read on the host."""
        refuse("continuous batching (generate_batch) wants transformers 5.18 and later: use generate()", cache_allocators is None)
        given = continuous_batching_config or getattr(generation_config or self.model.generation_config, "continuous_batching_config", None)
        how, most = copy.copy(given or ContinuousBatchingConfig()), self.runner.options["prefill_tokens"]
        for name in ("use_cuda_graph", "varlen_compile_config", "decode_compile_config", "default_compile_level"):
            refuse(f"{name} of continuous batching is set: padded and recorded batches are not served", bool(getattr(how, name, None)))
        how.use_cuda_graph, how.auto_switch_to_flash, how.page_size = False, False, self.runner.page
        how.max_batch_tokens = min(how.max_batch_tokens or most, most)
        with self.latent_config():
            made = self.plain(generation_config=generation_config, continuous_batching_config=how, **named)
        if not isinstance(made._create_batch_processor, functools.partial):  # a manager that is kept comes again
            made._create_batch_processor = functools.partial(self.processor, made._create_batch_processor)
        return made

    def processor(self, create):
        with self.latent_config():
            return create()
