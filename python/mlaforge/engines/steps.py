"""An engine's step as calls of MLA layers. Nothing of an engine is in here."""
import itertools

from mlaforge.errors import needs

needs(__name__, "torch")

import torch

from mlaforge.engines import refuse


def pieces(news, cached, most):
    """(request, its new tokens, its context before them) of each piece of at most `most` new tokens. A request without new tokens is one piece."""
    return [(request, min(most, new - at), past + at) for request, (new, past) in enumerate(zip(news, cached)) for at in range(0, max(new, 1), most)]


def parts(cut, most):
    """Pieces put together as long as they have at most `most` new tokens."""
    made, room = [], -1
    for piece in cut:
        if piece[1] > room:
            made.append([])
            room = most
        made[-1].append(piece)
        room -= piece[1]
    return made


class Call:
    """Arguments of each layer's call in a step: tokens, a slice of the step's, and the pages of the requests that have them. With a schedule it is a
    prefill; a decode has lengths, and memory where the first layer leaves for the others what it makes of the block table."""

    def __init__(self, layer, tokens, positions, slots, table, *, schedule=None, lens=None, q_len=1, kv_len=0, qo_indptr=None):
        self.tokens, self.args, self.first = tokens, [positions, slots], None
        if schedule is not None:
            self.kind, self.named = "prefill", dict(block_table=table, schedule=schedule)
            return
        room = table.new_empty(layer.workspace_size(len(lens), q_len, kv_len, table.shape[1]) + 256, dtype=torch.uint8)
        self.kind, self.named = "decode", dict(seq_lens=lens, block_table=table, q_len=q_len, kv_len=kv_len, qo_indptr=qo_indptr,
                                               workspace=room[-room.data_ptr() % 256:])

    def __call__(self, layer, x, rows, out=None):
        """The layer's output of these tokens, whose hidden states are x."""
        self.first = self.first or layer
        again = {"same_tables": layer is not self.first} if self.kind == "decode" else {}
        return layer(x, *self.args, rows, out=out, **self.named, **again)


class Step:
    """Calls of each layer. keep: those of the rows of hidden states that are no padding; None: all, or with `padded` the first ones."""

    def __init__(self, calls, keep=None, padded=False):
        self.calls, self.keep, self.padded = calls, keep, padded or keep is not None

    def run(self, layer, hidden, rows, out):
        """Writes a layer's output to out, which is 0 where tokens are padding."""
        if self.padded:
            out.zero_()
        for call in self.calls:
            if self.keep is None:
                call(layer, hidden[call.tokens], rows, out[call.tokens])
            else:
                at = self.keep[call.tokens]
                out.index_copy_(0, at, call(layer, hidden.index_select(0, at), rows))


def recorded(layer, positions, table, lens, tokens, kv_len, page, new=None):
    """The decode of `tokens` new tokens a request as a step that may be recorded: it depends on tensors alone, positions [B tokens], table [B, pages] and
    lens [B], which count the new tokens. new [B, tokens]: those that are no padding; None: those of requests that have a length."""
    at = lens[:, None] + torch.arange(-tokens, 0, device=lens.device)
    slots = table.gather(1, (at.clamp_min(0) // page).long()).long() * page + at % page
    slots = slots.where(lens[:, None] > 0 if new is None else new, -1)
    return Step([Call(layer, slice(None), positions, slots.view(-1), table, lens=lens, q_len=tokens, kv_len=kv_len)])


def calls(layer, news, totals, kinds, positions, slots, table, lens, most):
    """The calls of a step whose requests lie behind one another: neighbours of one kind together, at most `most` tokens a call. Numbers of each request:
    its new tokens, its tokens with them, and its query tokens as decode, or 0: prefill. Tensors: positions, slots [T], table [B, pages] and lens [B]."""
    made, at = [], 0
    for q_len, some in itertools.groupby(range(len(news)), kinds.__getitem__):
        some = list(some)
        cut = pieces([news[r] for r in some], [totals[r] - news[r] for r in some], most)
        for part in parts(cut, max(most, len(cut)) if q_len == 1 else most):
            (first, *_), counts, past = zip(*part)
            requests, tokens = slice(some[first], some[first] + len(part)), slice(at, at + sum(counts))
            at = tokens.stop
            if tokens.start < at:
                how = (dict(lens=lens[requests], q_len=q_len, kv_len=max(totals[requests])) if q_len else
                       dict(schedule=layer.schedule(list(counts), list(past))))
                made.append(Call(layer, tokens, positions[tokens], slots[tokens], table[requests], **how))
    return made


def padded(layer, rows, shape, past, mask, positions, most, most_q):
    """The step of [B, S] = shape new tokens behind `past` cached ones: request b has pages [b W, (b + 1) W) of rows, filled by the tokens that mask, [B, past + S]
    or wider, lets see (None: all). Up to most_q new tokens without padding are a decode; one without a mask, or of one token each, waits for nothing."""
    (batch, tokens), total, keep, device = shape, past + shape[1], None, rows.device
    refuse(f"attention_mask has the shape {() if mask is None else tuple(mask.shape)}, must be [{batch}, {total}] for {past} cached and {tokens} new tokens",
           mask is not None and (mask.dim() != 2 or mask.shape[0] != batch or mask.shape[1] < total))
    table = torch.arange(rows.shape[0], device=device, dtype=torch.int32).view(batch, -1)
    mask = None if mask is None else mask[:, :total] != 0
    at = torch.arange(past, total, device=device).expand(batch, -1) if mask is None else mask.cumsum(1)[:, past:] - 1  # tokens' rows of their request's pages
    lens = table.new_full((batch,), total) if mask is None else at[:, -1].int() + 1
    positions = at.clamp_min(0) if positions is None else positions.expand(batch, -1)
    slots = at + torch.arange(0, rows.shape[0] * rows.shape[1], table.shape[1] * rows.shape[1], device=device)[:, None]
    slots = slots if mask is None else slots.where(mask[:, past:], -1)
    positions, slots, news, totals = positions.reshape(-1).contiguous(), slots.reshape(-1), [tokens] * batch, [total] * batch
    decodes = tokens <= min(most_q, most) and (mask is None or tokens == 1 or bool(mask[:, past:].all()))
    if mask is not None and not decodes:
        news, totals = torch.stack((mask[:, past:].sum(1), lens)).tolist()
        if sum(news) < batch * tokens:
            keep = mask[:, past:].flatten().nonzero()[:, 0]
            positions, slots = positions[keep], slots[keep]
    return Step(calls(layer, news, totals, [tokens if decodes else 0] * batch, positions, slots, table, lens, most), keep)


class Table:
    """Block tables of requests whose lists of blocks, by their names, lie on the host. What changed since the step before is written, and no step waits for
    the device."""

    def __init__(self, lists):
        self.lists, self.rows = lists, {}
        self.host, self.known = torch.zeros((0, 0), dtype=torch.int32), []  # the table, and what its rows were written from

    def row(self, request):
        """A request's blocks as a tensor, another one once they changed."""
        blocks, (known, row) = self.lists[request], self.rows.get(request, ((), None))
        if known != blocks:
            self.rows = {name: kept for name, kept in self.rows.items() if name in self.lists}
            self.rows[request] = list(blocks), (row := torch.tensor(blocks, dtype=torch.int32))
        return row

    def of(self, rows, device):
        """[B, most blocks] of these requests' rows."""
        n, width = len(rows), max(map(len, rows))
        if n > self.host.shape[0] or width > self.host.shape[1]:
            self.host, self.known = torch.zeros((max(n, len(self.known)), 2 * width), dtype=torch.int32), []
        self.known += [None] * (n - len(self.known))
        changed = [i for i, row in enumerate(rows) if row is not self.known[i]]
        for i in changed:
            self.known[i] = rows[i]
            self.host[i, :len(rows[i])] = rows[i]
        if changed:
            host = self.host[:len(self.known)]
            self.made = (host.pin_memory() if device.type == "cuda" else host.clone()).to(device, non_blocking=True)
        return self.made[:n, :width]
