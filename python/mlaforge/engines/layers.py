"""A model's MLA layers, for requests that come and go in several threads. Nothing of an engine is in here."""
import threading
import weakref

from mlaforge.errors import needs

needs(__name__, "torch")

import torch

import mlaforge


class Now(threading.local):
    """A thread's forward: its layers and its step, and the step that is being recorded."""
    layers = step = fixed = None


class Layers:
    """Layers by the modules that they stand for, in a model's order; made anew, once for each power of two, where more requests come than they take.
    made_of: arguments of mlaforge.Layer by module; options: those of all of them."""

    def __init__(self, made_of, options):
        self.made_of, self.options, self.first = made_of, options, next(iter(made_of))
        self.page, self.most, self.most_q = made_of[self.first]["page_size"], options["prefill_tokens"], max(options["q_lens"])
        self.recorded = weakref.WeakSet()  # what holds recorded steps, as `graphs`
        self.layers, self.lock = {}, threading.Lock()  # a forward keeps the layers that it began with
        self.now, self.calls = Now(), {"decode": 0, "prefill": 0}
        self.make(options["batch"])

    def make(self, batch):
        """Layers for so many requests, in place of those that take fewer. Those are closed when no thread's forward has them any more."""
        self.options["batch"] = 1 << (batch - 1).bit_length()
        self.void()
        self.layers = self.now.layers = self.now.step = None  # closed before new ones take memory
        self.layers = {module: mlaforge.Layer(**of, **self.options) for module, of in self.made_of.items()}

    def void(self):
        """Waits for the device, and forgets recorded steps: they hold addresses of layers."""
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        for holder in list(self.recorded):
            holder.graphs = type(holder.graphs)()

    def close(self):
        """Layers end when no thread's forward has them any more: one may be in the middle of a call."""
        self.void()
        self.layers, self.now.layers, self.now.step = {}, None, None

    def begin(self, batch):
        """The first layer of a thread's forward, which has so many requests."""
        with self.lock:
            if batch > self.options["batch"] or not self.layers:
                self.make(batch)
            layers = self.layers
        if self.now.layers is not layers:
            if self.now.layers:
                self.void()
            self.now.layers = layers
        return layers[self.first]

    def run(self, module, hidden, rows):
        """A layer's output of the step that is under way."""
        out = torch.empty_like(hidden, memory_format=torch.contiguous_format)
        self.now.step.run(self.now.layers[module], hidden.flatten(0, 1), rows, out.flatten(0, 1))
        for call in self.now.step.calls:
            self.calls[call.kind] += 1
        return out
