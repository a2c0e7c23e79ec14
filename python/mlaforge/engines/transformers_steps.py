"""Calls of a patched transformers model's layers: the parts of a step, of requests side by side or packed behind one another."""
from mlaforge.errors import needs

needs(__name__, "torch")

import torch

from mlaforge.engines import refuse


class Part:
    """One call of each layer: requests first .. end and columns lo .. hi of a step. A prefill has a schedule; keep lists its tokens that are no
    padding, as rows of [B * S]; None: all of them."""

    def __init__(self, runner, layer, step, requests, columns):
        (self.first, self.end), (self.lo, self.hi), past = requests, columns, step.past
        self.table, batch, self.total, self.q_len = step.table[self.first:self.end], self.end - self.first, past + self.hi, self.hi - self.lo
        mask, tokens = step.mask[self.first:self.end, :self.total], self.q_len
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
        else:
            self.workspace = self.shared_workspace(layer, batch)
        self.positions, self.slots = positions.reshape(-1).contiguous(), slots.reshape(-1).contiguous()

    def shared_workspace(self, layer, batch):
        """Memory that a decode call of each layer is given: the first one leaves there the lists that are made of the table."""
        room = self.table.new_empty(layer.workspace_size(batch, self.q_len, self.total, self.table.shape[1]) + 256, dtype=torch.uint8)
        return room[-room.data_ptr() % 256:]

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
            made = layer(x, self.positions, self.slots, rows, self.lens, self.table, q_len=self.q_len, kv_len=self.total, out=direct,
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


def latent_rows(cache, index, columns):
    """A layer's pages [blocks, page, columns] of a paged cache, and by how many of its rows blocks are apart."""
    allocator = cache.layer_to_allocator[index]
    pages = cache.cache_tensor.view(cache.dtype).view(-1, len(allocator.layer_indices), allocator.tokens_per_page, columns)
    return pages[:, allocator.layer_indices.index(index)], allocator.block_physical_stride


class PackedPart(Part):
    """One call of each layer: some consecutive requests of a packed batch, whose hidden states are one row."""
    keep = workspace = schedule = None
    first, end = 0, 1

    def __init__(self, runner, layer, step, requests):
        news, totals = step.news[requests], step.totals[requests]
        self.lo = sum(step.news[:requests.start])
        self.hi, self.total, self.q_len = self.lo + sum(news), max(totals), news[0]
        self.table = step.table[requests].contiguous()
        self.positions, self.slots = step.positions[self.lo:self.hi], step.slots[self.lo:self.hi]
        if step.decodes(requests.start):
            self.lens = step.lens[requests]
            self.workspace = self.shared_workspace(layer, len(news))
        else:
            self.schedule = layer.schedule(news, [total - new for total, new in zip(totals, news)])


class PackedStep:
    """One forward of transformers' continuous batching, made at its first layer. Its lists of rows of the paged cache become a block table and slots; its
    requests run in parts of one kind, decodes of as many tokens each and prefills. Both sums of lengths come to the host by one wait."""

    def __init__(self, runner, positions, cu_seq_lens_q, cu_seq_lens_k, read_index, write_index, stride):
        cu_seq_lens_k = next(iter(cu_seq_lens_k.values())) if isinstance(cu_seq_lens_k, dict) else cu_seq_lens_k
        ends = torch.stack((cu_seq_lens_q, cu_seq_lens_k)).tolist()
        self.news, self.totals = ([b - a for a, b in zip(x, x[1:])] for x in ends)
        self.runner, page, (written,), (rows,) = runner, runner.page, write_index, read_index
        self.positions, self.slots = positions.flatten().long(), written // stride * page + written % stride
        first, end = cu_seq_lens_k[:-1, None], cu_seq_lens_k[1:, None]
        pages = torch.minimum(first + page * torch.arange(-(-max(self.totals) // page), device=first.device), end - 1)  # a page's first row, or the last one
        rows = rows if rows.numel() else written  # there is nothing to read yet
        self.lens, self.table = (end - first)[:, 0].int(), (rows[pages] // stride).int()

    def decodes(self, request):
        return self.news[request] in self.runner.options["q_lens"]

    def make(self, layer):
        """The parts: neighbours of one kind, prefills of at most prefill_tokens."""
        self.parts, at, most = [], 0, self.runner.options["prefill_tokens"]
        for end in range(1, len(self.news) + 1):
            if end < len(self.news) and self.decodes(end) == self.decodes(at) and (
                    self.news[end] == self.news[at] if self.decodes(at) else sum(self.news[at:end + 1]) <= most):
                continue
            self.parts.append(PackedPart(self.runner, layer, self, slice(at, end)))
            at = end
        return self
