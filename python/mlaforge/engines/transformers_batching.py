"""Continuous batching of a patched transformers model (generate_batch), over transformers' own paged cache.

transformers sizes that cache by the model's config. While a manager and its cache are made it sees a copy of the config with one KV head of half a latent
row: a layer's keys and values of a token are then one latent row. Blocks, prefix sharing, forks and offloading stay transformers' own."""
import contextlib
import copy
import functools
import importlib.util
import threading

from mlaforge.errors import needs

needs(__name__, "torch", "transformers")

import torch
from transformers import ContinuousBatchingConfig

from mlaforge.engines import refuse
from mlaforge.engines.graphs import recording
from mlaforge.engines.steps import Step, Table, calls, recorded

NO_MASK = "paged|mlaforge-flash"  # a name of an attention implementation that transformers makes no mask for, and leaves as it is
RECORDED = ("cuda",)  # devices whose decode steps can be recorded


class Blocks:
    """A paged cache's rows, pages at the distance of transformers' blocks, and the requests of a step. transformers lists the rows that a step writes and
    reads, one by one on the host: here those that it writes alone, and what is read is a block table. In batches that decode and may be recorded
    transformers makes that table, too."""

    def __init__(self, cache, page, columns):
        allocator, *others = cache.cache_allocators.values()
        refuse("a sliding window of continuous batching is not served", bool(others))
        self.page, self.table, self.batch, layers = page, Table(allocator.block_table), None, allocator.layer_indices
        self.stride, self.longest = allocator.block_physical_stride, 0  # of a block, in transformers' half rows; tokens of a recorded step's longest request
        rows = cache.cache_tensor.view(cache.dtype).view(-1, len(layers), page, columns)
        self.rows = {layer: rows[:, i] for i, layer in enumerate(layers)}
        self.list = functools.partial(type(cache).extend_read_and_write_indices, cache)
        cache.extend_read_and_write_indices, cache.fill_block_table, cache.mlaforge = self.extend, self.fill, self

    def extend(self, request, past, new, read_index, write_index):
        """A request of the next step, for which transformers asks: what it writes goes to write_index, and nothing to read_index."""
        if self.batch is not write_index:
            self.batch, self.requests = write_index, []
        self.requests.append((new, past + new, self.table.row(request)))
        self.list(request, past, new, None, write_index)

    def fill(self, request, past, new, table):
        """A request's blocks in the table of a step that may be recorded, of which transformers makes three tensors at each step."""
        row = self.table.row(request)
        table[0, :len(row)].copy_(row, non_blocking=True)

    def key(self, io):
        """A recorded step's facts that lie in no tensor: the number of its requests, and which plan serves their longest one."""
        self.longest = max(io.max_length_k.values())
        return io.num_q_tokens, (self.longest - 1).bit_length()

    def step(self, layers, positions, named):
        """The step's calls. Nothing in here waits for the device, and with a table of transformers' nothing depends on the host."""
        (ends,), (written,), table, positions = named["cu_seq_lens_k"].values(), named["write_index"], named.get("block_table"), positions.flatten().long()
        lens = ends[1:] - ends[:-1]
        if table is not None:
            return recorded(layers.begin(table.shape[1], self.longest), positions, table[0], lens, 1, self.longest, self.page)
        news, totals, rows = zip(*self.requests)
        tokens, decodes = sum(news), [new if new in layers.options["q_lens"] else 0 for new in news]
        slots = (written - written // self.stride * (self.stride - self.page))[:tokens]
        return Step(calls(layers.begin(len(news), max(totals)), news, totals, decodes, positions[:tokens], slots, self.table.of(rows, positions.device),
                          lens[:len(news)], layers.most), padded=len(positions) > tokens)


def carried(io):
    """infer_carry_over_ids of transformers, which makes a tensor of a list of max_batch_tokens numbers at each step: which of the step's tokens is the last
    step's output of so much, else -1."""
    now, before = (io.io_pairs[i].host_io.req_id_to_new_token_position for i in (io.current_pair, 1 - io.current_pair))
    made, found = torch.full((io.max_batch_tokens,), -1, dtype=torch.int32), [(now[request], i) for i, request in enumerate(before) if request in now]
    if found:
        at, outputs = torch.tensor(found).T
        made[at] = outputs.int()
    return made


class Batching:
    """Stands for model.init_continuous_batching, which generate_batch and the context manager call."""

    def __init__(self, model, runner):
        self.model, self.runner, self.plain, self.lock = model, runner, model.init_continuous_batching, threading.Lock()
        model.init_continuous_batching = functools.update_wrapper(functools.partial(self.manager), self.plain)

    @contextlib.contextmanager
    def latent_config(self):
        with self.lock:  # managers of two threads: one would keep the other's copy as the model's own
            config = self.model.config
            self.model.config = seen = copy.copy(config.get_text_config())
            seen.num_key_value_heads, seen.head_dim, seen._attn_implementation_internal = 1, self.runner.columns // 2, NO_MASK
            try:
                yield
            finally:
                self.model.config = config

    def manager(self, generation_config=None, continuous_batching_config=None, workload_hints=None):
        """transformers' manager. Steps that decode are recorded where graphs are asked for; lengths of others are the host's."""
        refuse("continuous batching (generate_batch) wants transformers 5.18 and later: use generate()",  # before keys and values lay in tensors of their own
               importlib.util.find_spec("transformers.generation.continuous_batching.cache_allocators") is None)
        given = continuous_batching_config or getattr(generation_config or self.model.generation_config, "continuous_batching_config", None)
        how, runner = copy.copy(given or ContinuousBatchingConfig()), self.runner
        for name in ("varlen_compile_config", "decode_compile_config", "default_compile_level"):
            refuse(f"{name} of continuous batching is set: compiled forwards are not served", bool(getattr(how, name, None)))
        graphs, can = how.use_cuda_graph, self.model.device.type in RECORDED
        refuse(f"use_cuda_graph of continuous batching is {graphs}, must be None, False, True or (False, True): steps that decode are recorded, others are not",
               isinstance(graphs, (tuple, list)) and tuple(graphs) not in ((False, False), (False, True)))
        graphs = graphs[1] if isinstance(graphs, (tuple, list)) else graphs
        refuse(f"use_cuda_graph of continuous batching is set, and the model is on {self.model.device}: steps are recorded on {RECORDED[0]}", graphs and not can)
        graphs = can and (runner.graphs is not None if graphs is None else graphs)
        how.use_cuda_graph, how.auto_switch_to_flash, how.page_size = False, False, runner.page
        how.max_batch_tokens = min(how.max_batch_tokens or runner.most, runner.most)
        how.use_async_batching = graphs if how.use_async_batching is None else how.use_async_batching
        with self.latent_config():
            made = self.plain(generation_config=generation_config, continuous_batching_config=how, workload_hints=workload_hints)
        if not isinstance(made._create_batch_processor, functools.partial):  # a manager that is kept comes again
            made._create_batch_processor = functools.partial(self.processor, made._create_batch_processor)
            if graphs:  # transformers turns them off where its own attention would not serve
                tokens = workload_hints and workload_hints.max_prompt_length + workload_hints.max_generated_length
                wanted = how.max_blocks_per_request or tokens and tokens // runner.page + 2 or runner.positions  # with a token ahead
                made.continuous_batching_config.max_blocks_per_request = min(wanted, runner.positions // runner.page)
                made.continuous_batching_config.use_cuda_graph = (False, True)
        return made

    def processor(self, create):
        """transformers' batch processor, over rows of the latent cache."""
        with self.latent_config():
            made = create()
        blocks, io = Blocks(made.cache, self.runner.page, self.runner.columns), made.inputs_and_outputs
        if hasattr(io, "io_pairs"):
            io.infer_carry_over_ids = functools.partial(carried, io)
        for one in [pair.device_io for pair in io.io_pairs] if hasattr(io, "io_pairs") else [io]:
            one._get_graph_key = functools.partial(blocks.key, one)
            self.runner.recorded.add(one)
        runner = made.model_runner  # the class's own method: a processor that is kept comes again
        runner._capture_graph = recording()(functools.partial(type(runner)._capture_graph, runner))
        runner.warmup = lambda model: None  # which graphs there are depends on lengths: each is made when it is first wanted
        return made
