"""Decode steps of a patched transformers model as CUDA graphs: patch(model, graphs=True)."""
import functools

from mlaforge.errors import needs

needs(__name__, "torch", "transformers")

import torch

from mlaforge.engines.transformers_cache import LatentLayer


def record(run):
    """(a function that repeats on the device what `run` did, what `run` returned). Nothing runs yet."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        made = run()
    return graph.replay, made


class Graphs:
    """A model's forward. The second step in a row of the same shape, over the same memory of the cache, is recorded, and later ones replay it: what
    changes from step to step lies in tensors of its own. Everything else runs as it would without graphs."""

    def __init__(self, model, runner, new_step):
        self.plain, self.runner, self.new_step = model.forward, runner, new_step
        self.key = self.replay = None

        @functools.wraps(self.plain)  # generate() reads its signature
        def forward(*given, **named):
            return self.forward(*given, **named)
        model.forward = forward

    def forward(self, input_ids=None, past_key_values=None, attention_mask=None, position_ids=None, **named):
        plain = functools.partial(self.plain, past_key_values=past_key_values, attention_mask=attention_mask, **named)
        step = self._step(input_ids, past_key_values, attention_mask, position_ids, named)
        key = step and self._key(step, input_ids, past_key_values, named)
        if not key or key != self.key:
            self.key, self.replay = key, None
            return plain(input_ids=input_ids, position_ids=position_ids)
        tokens = input_ids.shape[1]
        if self.replay is None:
            self._record(plain, step, input_ids, position_ids)
        else:
            for mine, given in zip(self.inputs, self._inputs(step, input_ids, position_ids)):
                mine.copy_(given)
            for layer in past_key_values.layers:
                layer.length += tokens
            self.runner.calls["decode"] += len(past_key_values.layers)
        self.replay()
        return type(self.made)(logits=self.made.logits.clone(), past_key_values=past_key_values)

    def _step(self, input_ids, cache, mask, positions, named):
        """The step, of one part that has no schedule, of a call whose results are logits alone; else None."""
        layers, runner = getattr(cache, "layers", None), self.runner
        if input_ids is None or positions is None or not layers or getattr(cache, "offloading", False) or torch.is_grad_enabled():
            return None
        if not all(isinstance(layer, LatentLayer) and layer.length for layer in layers) or len(layers) != len(runner.modules):
            return None
        if any(torch.is_tensor(value) for value in named.values()) or named.get("output_hidden_states") or named.get("output_attentions"):
            return None
        (batch, tokens), past = input_ids.shape, layers[0].length
        if tokens > runner.most_q or batch != layers[0].batch or batch > runner.options["batch"] or past + tokens > runner.positions:
            return None
        for layer in layers:
            layer.reserve(layer.rows, batch, past + tokens)
        step = self.new_step(runner, runner.modules[0]._mlaforge_layer, layers[0].rows, input_ids.unsqueeze(-1), past, mask, positions)
        return step if len(step.parts) == 1 and step.parts[0].schedule is None else None

    def _key(self, step, input_ids, cache, named):
        return (tuple(input_ids.shape), tuple(layer.rows.data_ptr() for layer in cache.layers), cache.layers[0].rows.shape,
                id(self.runner.modules[0]._mlaforge_layer), tuple(sorted((name, str(value)) for name, value in named.items())))

    @staticmethod
    def _inputs(step, input_ids, position_ids):
        """What changes from step to step."""
        part = step.parts[0]
        return input_ids, position_ids, part.positions, part.slots, part.lens

    def _record(self, plain, step, input_ids, position_ids):
        self.inputs = [x.clone() for x in self._inputs(step, input_ids, position_ids)]
        input_ids, position_ids = self.inputs[:2]
        part = step.parts[0]
        part.positions, part.slots, part.lens = self.inputs[2:]
        self.runner.step = self.runner.fixed = self.step = step
        try:
            self.replay, self.made = record(functools.partial(plain, input_ids=input_ids, position_ids=position_ids))
        except RuntimeError as why:
            raise NotImplementedError(f"mlaforge.engines.transformers: graphs is True, and a step of this model cannot be recorded: {why}") from why
        finally:
            self.runner.fixed = None
