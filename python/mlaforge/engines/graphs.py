"""Decode steps of a causal model as CUDA graphs, over a cache whose layers have rows of requests side by side. Nothing of an engine is in here."""
import contextlib
import functools
import gc
import threading
import weakref

from mlaforge.errors import needs

needs(__name__, "torch")

import torch

from mlaforge.engines import refuse
from mlaforge.engines.steps import recorded


ONE = threading.Lock()


@contextlib.contextmanager
def recording():
    """One recording at a time, in which no garbage is collected: a CUDA graph that ends with it ends the recording of that thread."""
    with ONE:
        collected = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if collected:
                gc.enable()


def record(run):
    """(a function that repeats on the device what `run` did, what `run` returned). Nothing runs yet."""
    graph = torch.cuda.CUDAGraph()
    with recording(), torch.cuda.graph(graph, capture_error_mode="thread_local"):
        made = run()
    return graph.replay, made


class Graphs:
    """A model's forward. The second step in a row of one shape, over the same memory of the cache, is recorded, and later ones replay it. What the caller
    hands over lies in tensors that the graph reads; cached lengths it moves on by itself. Everything else runs as it would without graphs."""

    def __init__(self, model, layers):
        self.plain, self.layers = model.forward, layers
        self.key = self.replay = None
        self.lock = threading.Lock()  # threads that generate by turns get their own text, by plain steps
        model.forward = functools.update_wrapper(functools.partial(self.forward), self.plain)  # generate() reads its signature

    def forward(self, input_ids=None, past_key_values=None, attention_mask=None, position_ids=None, **named):
        step = input_ids, past_key_values, attention_mask, position_ids, named
        with self.lock:
            key = self._key(*step)
            if key is not None and key == self.key:
                return self._again(*step)
            self.key, self.replay = key, None
        return self.plain(input_ids=input_ids, past_key_values=past_key_values, attention_mask=attention_mask, position_ids=position_ids, **named)

    def _key(self, ids, cache, mask, positions, named):
        """The facts that a recorded step depends on. None: the call is no decode step of one part without a schedule, or wants more than logits."""
        rows, of = getattr(cache, "layers", None), self.layers
        if (ids is None or positions is None or not rows or len(rows) != len(of.made_of) or getattr(cache, "offloading", False)
                or torch.is_grad_enabled() or not all(getattr(layer, "rows", None) is not None and layer.length for layer in rows)
                or any(torch.is_tensor(value) for value in named.values()) or named.get("output_hidden_states") or named.get("output_attentions")):
            return None
        (batch, tokens), past = ids.shape, rows[0].length
        end = past + tokens
        if (tokens > of.most_q or batch != rows[0].batch or batch > of.options["batch"] or end > of.positions
                or mask is not None and (mask.dim() != 2 or mask.shape[1] < end)
                or tokens > 1 and (batch * tokens > of.most or mask is not None and not bool(mask[:, past:end].all()))):
            return None
        for layer in rows:
            layer.reserve(layer.rows, batch, end)
        return ids.shape, positions.shape, mask is None, [layer.rows.data_ptr() for layer in rows], rows[0].rows.shape, of.layers, named

    def _again(self, ids, cache, mask, positions, named):
        """A step like the one before."""
        layers, tokens, past = cache.layers, ids.shape[1], cache.layers[0].length
        given = ids, positions, None if mask is None or tokens > 1 else mask[:, past:past + 1]
        if self.replay is None:
            self.ids, self.positions, self.new = ids.clone(), positions.clone(), None if given[2] is None else given[2] != 0
            self.table = torch.arange(layers[0].rows.shape[0], device=ids.device, dtype=torch.int32).view(len(ids), -1)
            self.lens, self.end = self.table.new_empty(len(ids)), None
        else:
            for held, now in zip((self.ids, self.positions, self.new), given):
                if now is not None:
                    held.copy_(now)
        if self.end != past or self.cache() is not cache:  # not the step behind the last one
            self.lens.copy_(torch.full_like(self.lens, past) if mask is None else (mask[:, :past] != 0).sum(1))
            self.cache = weakref.ref(cache)
        if self.replay is None:
            self._record(cache, named)
        else:
            self.layers.calls["decode"] += len(layers)
        for layer in layers:
            layer.length = past + tokens
        self.replay()
        self.end = past + tokens
        return type(self.made)(logits=self.made.logits.clone(), past_key_values=cache)

    def _record(self, cache, named):
        (batch, tokens), of, kv_len = self.ids.shape, self.layers, cache.layers[0].length + self.ids.shape[1]

        def run():
            self.lens.add_(tokens if self.new is None else self.new[:, 0])
            positions = self.positions.expand(batch, -1).reshape(-1).contiguous()
            of.now.fixed = recorded(of.layers[of.first], positions, self.table, self.lens, tokens, kv_len, of.page, self.new)
            try:  # without the caller's mask: the graph would read it at each replay
                return self.plain(input_ids=self.ids, past_key_values=cache, position_ids=self.positions, **named)
            finally:
                of.now.fixed = None
        try:
            self.replay, self.made = record(run)
        except RuntimeError as why:
            refuse(f"graphs is True, and a step of this model cannot be recorded: {why}")
