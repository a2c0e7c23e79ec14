"""Continuous batching of a patched transformers model (generate_batch), over transformers' own paged cache.

transformers sizes that cache by the model's config. While a manager and its cache are made it sees a copy of the config with one KV head of half a latent
row: a layer's keys and values of a token are then one latent row. Blocks, prefix sharing, forks and offloading stay transformers' own."""
import contextlib
import copy
import functools
import importlib.util

from mlaforge.errors import needs

needs(__name__, "torch", "transformers")

from transformers import ContinuousBatchingConfig

from mlaforge.engines import refuse
from mlaforge.engines.steps import Step, Table, calls

NO_MASK = "paged|mlaforge-flash"  # a name of an attention implementation that transformers makes no mask for, and leaves as it is


class Blocks:
    """A paged cache's rows and requests' blocks. It stands where transformers lists the rows that a step writes and reads, one by one on the host: here
    lists are of the slots of new tokens alone, and what is read is a block table, which goes to the device where it changed."""

    def __init__(self, cache, page, columns):
        allocator, *others = cache.cache_allocators.values()
        refuse("a sliding window of continuous batching is not served", bool(others))
        self.page, self.blocks, self.batch, self.table, layers = page, allocator.block_table, None, Table(), allocator.layer_indices
        rows = cache.cache_tensor.view(cache.dtype).view(-1, len(layers), page, columns)
        self.rows = {layer: rows[:, i] for i, layer in enumerate(layers)}
        cache.extend_read_and_write_indices, cache.mlaforge = self.extend, self

    def extend(self, request, past, new, read_index, write_index):
        """A request of the next step, for which transformers asks: its slots go to write_index."""
        if self.batch is not write_index:
            self.batch, self.requests = write_index, []
        self.requests.append((new, past + new, self.blocks[request]))
        for i in range(past // self.page, -(-(past + new) // self.page)):
            first = (self.blocks[request][i] - i) * self.page  # the slot of a token is that far behind it
            write_index[0].extend(range(first + max(past, i * self.page), first + min(past + new, (i + 1) * self.page)))

    def most(self):
        """The step's requests, and the tokens of its longest one."""
        return len(self.requests), max(total for _, total, _ in self.requests)

    def step(self, runner, layer, positions, write_index, cu_seq_lens_k):
        """The step's calls. Nothing in here waits for the device."""
        news, totals, blocks = (list(x) for x in zip(*self.requests))
        (ends,), (slots,) = cu_seq_lens_k.values(), write_index
        decodes = [new if new in runner.options["q_lens"] else 0 for new in news]
        return Step(calls(layer, news, totals, decodes, positions.flatten().long(), slots, self.table.of(blocks, positions.device), ends[1:] - ends[:-1], runner.most))


class Batching:
    """Stands for model.init_continuous_batching, which generate_batch and the context manager call."""

    def __init__(self, model, runner):
        self.model, self.runner, self.plain = model, runner, model.init_continuous_batching
        model.init_continuous_batching = functools.update_wrapper(functools.partial(self.manager), self.plain)

    @contextlib.contextmanager
    def latent_config(self):
        config = self.model.config
        self.model.config = seen = copy.copy(config.get_text_config())
        seen.num_key_value_heads, seen.head_dim, seen._attn_implementation_internal = 1, self.runner.columns // 2, NO_MASK
        try:
            yield
        finally:
            self.model.config = config

    def manager(self, generation_config=None, continuous_batching_config=None, **named):
        """transformers' manager. Its batches are neither padded nor recorded: their lengths are the host's."""
        refuse("continuous batching (generate_batch) wants transformers 5.18 and later: use generate()",  # before keys and values lay in tensors of their own
               importlib.util.find_spec("transformers.generation.continuous_batching.cache_allocators") is None)
        given = continuous_batching_config or getattr(generation_config or self.model.generation_config, "continuous_batching_config", None)
        how = copy.copy(given or ContinuousBatchingConfig())
        for name in ("use_cuda_graph", "varlen_compile_config", "decode_compile_config", "default_compile_level"):
            refuse(f"{name} of continuous batching is set: padded and recorded batches are not served", bool(getattr(how, name, None)))
        how.use_cuda_graph, how.auto_switch_to_flash, how.page_size = False, False, self.runner.page
        how.max_batch_tokens = min(how.max_batch_tokens or self.runner.most, self.runner.most)
        with self.latent_config():
            made = self.plain(generation_config=generation_config, continuous_batching_config=how, **named)
        if not isinstance(made._create_batch_processor, functools.partial):  # a manager that is kept comes again
            made._create_batch_processor = functools.partial(self.processor, made._create_batch_processor)
        return made

    def processor(self, create):
        with self.latent_config():
            made = create()
        Blocks(made.cache, self.runner.page, self.runner.columns)
        return made
