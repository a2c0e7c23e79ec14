"""Decode steps of a patched transformers model as CUDA graphs: patch(model, graphs=True)."""
import functools
import threading
import weakref

from mlaforge.errors import needs

needs(__name__, "torch", "transformers")

import torch

from mlaforge.engines import refuse
from mlaforge.engines.steps import recorded
from mlaforge.engines.transformers_cache import LatentLayer


def record(run):
    """(a function that repeats on the device what `run` did, what `run` returned). Nothing runs yet."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        made = run()
    return graph.replay, made


class Graphs:
    """A model's forward. The second step in a row of one shape, over the same memory of the cache, is recorded, and later ones replay it. What the caller
    hands over lies in tensors that the graph reads; cached lengths it moves on by itself. Everything else runs as it would without graphs."""

    def __init__(self, model, runner):
        self.plain, self.runner = model.forward, runner
        self.key = self.replay = self.end = None
        self.lock = threading.Lock()  # threads that generate by turns get their own text, by plain steps
        model.forward = functools.update_wrapper(functools.partial(self.forward), self.plain)  # generate() reads its signature

    def forward(self, input_ids=None, past_key_values=None, attention_mask=None, position_ids=None, **named):
        with self.lock:
            key = self._key(input_ids, past_key_values, attention_mask, position_ids, named)
            if key is not None and key == self.key:
                return self._again(input_ids, past_key_values, attention_mask, position_ids, named)
            self.key, self.replay = key, None
        return self.plain(input_ids=input_ids, past_key_values=past_key_values, attention_mask=attention_mask, position_ids=position_ids, **named)

    def _again(self, input_ids, past_key_values, attention_mask, position_ids, named):
        """A step like the one before."""
        layers, tokens = past_key_values.layers, input_ids.shape[1]
        past = layers[0].length
        new = None if attention_mask is None or tokens > 1 else attention_mask[:, past:past + 1]
        if self.replay is None:
            self._prepare(layers[0].rows, input_ids, position_ids, new)
        for held, given in ((self.ids, input_ids), (self.positions, position_ids), (self.new, new)):
            if given is not None:
                held.copy_(given)
        if self.end != past or self.cache() is not past_key_values:  # not the step behind the last one
            self.lens.copy_(torch.full_like(self.lens, past) if attention_mask is None else (attention_mask[:, :past] != 0).sum(1))
            self.cache = weakref.ref(past_key_values)
        if self.replay is None:
            self._record(past_key_values, named)
        else:
            self.runner.calls["decode"] += len(layers)
        for layer in layers:
            layer.length = past + tokens
        self.replay()
        self.end = past + tokens
        return type(self.made)(logits=self.made.logits.clone(), past_key_values=past_key_values)

    def _key(self, ids, cache, mask, positions, named):
        """The facts that a recorded step depends on. None: the call is no decode step of one part without a schedule, or wants more than logits."""
        layers, runner = getattr(cache, "layers", None), self.runner
        if (ids is None or positions is None or not layers or len(layers) != len(runner.modules) or getattr(cache, "offloading", False)
                or torch.is_grad_enabled() or not all(isinstance(layer, LatentLayer) and layer.length for layer in layers)
                or any(torch.is_tensor(value) for value in named.values()) or named.get("output_hidden_states") or named.get("output_attentions")):
            return None
        (batch, tokens), past = ids.shape, layers[0].length
        end = past + tokens
        if (tokens > runner.most_q or batch != layers[0].batch or batch > runner.options["batch"] or end > runner.positions
                or mask is not None and (mask.dim() != 2 or mask.shape[1] < end)
                or tokens > 1 and (batch * tokens > runner.most or mask is not None and not bool(mask[:, past:end].all()))):
            return None
        for layer in layers:
            layer.reserve(layer.rows, batch, end)
        return (ids.shape, positions.shape, mask is None, [layer.rows.data_ptr() for layer in layers], layers[0].rows.shape,
                runner.layers, named)

    def _prepare(self, rows, ids, positions, new):
        """Makes the tensors that differ from step to step."""
        self.ids, self.positions, self.new, self.end = ids.clone(), positions.clone(), None if new is None else new != 0, None
        self.table = torch.arange(rows.shape[0], device=ids.device, dtype=torch.int32).view(ids.shape[0], -1)
        self.lens = self.table.new_empty(ids.shape[0])

    def _record(self, cache, named):
        (batch, tokens), runner, kv_len = self.ids.shape, self.runner, cache.layers[0].length + self.ids.shape[1]

        def run():
            self.lens.add_(tokens if self.new is None else self.new[:, 0])
            positions = self.positions.expand(batch, -1).reshape(-1).contiguous()
            runner.now.fixed = recorded(runner.layers[runner.modules[0]], positions, self.table, self.lens, tokens, kv_len, runner.page, self.new)
            try:  # without the caller's mask: the graph would read it at each replay
                return self.plain(input_ids=self.ids, past_key_values=cache, position_ids=self.positions, **named)
            finally:
                runner.now.fixed = None
        try:
            self.replay, self.made = record(run)
        except RuntimeError as why:
            refuse(f"graphs is True, and a step of this model cannot be recorded: {why}")
