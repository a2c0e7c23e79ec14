"""Tensors of a case, and whether what comes out is right. One pool of random rows serves every case."""
import torch

RANK, ROPE = 512, 64
COLS = RANK + ROPE
PEER_PAGE = 64
ROW_LIMIT = 0.02  # relative distance of one row of O to another kernel's; 16-bit rounding of both makes 0.003 to 0.006
REF_LIMIT = 0.01  # relative distance of one request's O to fp64
LSE_LIMIT = 0.02


class Pool:
    """[rows, 576] bf16 of N(0, 1): the front half's pages of 64 are everybody's, the back half holds copies in other page sizes."""

    def __init__(self, front_bytes, back_bytes, device, seed=1):
        self.device = device
        self.random = torch.Generator(device=device).manual_seed(seed)
        self.front = int(front_bytes) // (2 * COLS) // PEER_PAGE * PEER_PAGE
        self.back = int(back_bytes) // (2 * COLS) // PEER_PAGE * PEER_PAGE
        self.rows = torch.empty(self.front + self.back, COLS, dtype=torch.bfloat16, device=device)
        for part in self.rows.split(1 << 20):
            part.normal_(generator=self.random)
        self._queries = torch.empty(0, COLS, dtype=torch.bfloat16, device=device)

    def queries(self, n):
        if self._queries.shape[0] < n:
            self._queries = torch.empty(n, COLS, dtype=torch.bfloat16, device=self.device).normal_(generator=self.random)
        return self._queries[:n]

    def cache(self, page, back):
        """The half as a paged cache [pages, page, 1, 576]."""
        part = self.rows[self.front:] if back else self.rows[:self.front]
        return part.view(-1, page, 1, COLS)

    def order(self, pages, take):
        return torch.randperm(pages, generator=self.random, device=self.device)[:take].to(torch.int32)


def _indptr(counts):
    out = torch.zeros(len(counts) + 1, dtype=torch.int64)
    torch.cumsum(torch.as_tensor(counts), 0, out=out[1:])
    return out.to(torch.int32)


def _token_rows(indices, start, lengths, page):
    """Row of each token of the batch, in order; `indices` are page ids, request b's from start[b] on."""
    lengths, start = lengths.long(), start.long()
    request = torch.repeat_interleave(torch.arange(len(lengths), device=lengths.device), lengths)
    at = torch.arange(request.shape[0], device=lengths.device) - (lengths.cumsum(0) - lengths)[request]
    return indices[start[request] + at // page].long() * page + at % page


class Work:
    """One case on the device. `copies` page tables over different pages, so that a table's pages left L2 when its turn comes again."""

    def __init__(self, case, pool, cold_bytes, most_copies=128):
        self.case, self.pool, self.device = case, pool, pool.device
        n, page, lengths = case.batch, case.page, torch.tensor(case.lengths, dtype=torch.int32)
        apart = page != PEER_PAGE
        counts64, counts = -(-lengths // PEER_PAGE), -(-lengths // page)
        total64, total = int(counts64.sum()), int(counts.sum())
        room = pool.front // PEER_PAGE // max(total64, 1)
        if apart:
            room = min(room, pool.back // page // max(total, 1))
        if room < 1:
            raise ValueError(f"{case.name}: {case.tokens} tokens do not fit into the pool")
        wanted = -(-int(cold_bytes) // max(case.tokens * 2 * COLS, 1))
        self.copies = max(1, min(max(2, wanted), room, most_copies))
        to = lambda t: t.to(self.device)
        self.lengths = to(lengths)
        self.q = pool.queries(n * case.q_len * case.heads).view(n, case.q_len, case.heads, COLS)
        self.qo_indptr = to(torch.arange(n + 1, dtype=torch.int32) * case.q_len)
        self.kv_indptr, start64 = to(_indptr(counts)), to(_indptr(counts64))
        self.last = to(torch.where(lengths > 0, lengths - (counts - 1) * page, 0).to(torch.int32))
        order64 = pool.order(pool.front // PEER_PAGE, self.copies * total64).view(self.copies, total64)
        most = max(int(counts64.max()), 1)
        filled = torch.arange(most, device=self.device)[None] < to(counts64)[:, None]
        self.tables = []
        for indices in order64:
            table = torch.zeros(n, most, dtype=torch.int32, device=self.device)
            table[filled] = indices
            self.tables.append(table)
        self.peer_cache, self.cache, self.indices = pool.cache(PEER_PAGE, False), pool.cache(page, apart), list(order64)
        if apart:
            order = pool.order(pool.back // page, self.copies * total).view(self.copies, total)
            self.indices = list(order)
            back = pool.rows[pool.front:]
            for indices64, indices in zip(order64, order):
                source = _token_rows(indices64, start64, self.lengths, PEER_PAGE)
                back[_token_rows(indices, self.kv_indptr, self.lengths, page)] = pool.rows[source]
        self.o = torch.empty(n * case.q_len, case.heads, RANK, dtype=torch.bfloat16, device=self.device)
        self.lse = torch.empty(n * case.q_len, case.heads, dtype=torch.float32, device=self.device)

    def ours(self, function, lse=None):
        """A call for copy i, as a server makes it for a layer."""
        q, most = self.q.view(-1, self.case.heads, COLS), self.case.q_len

        def call(i):
            function(q, self.cache, self.o, self.qo_indptr, self.kv_indptr, self.indices[i], self.last, most, lse=lse)
        return call

    def peers(self, peer):
        """(calls for copy i, the launcher of copy 0): metadata is made here, once a step; outputs and scratch are shared by the copies."""
        c = self.case
        meta = peer.metadata(self.lengths, c.q_len * c.heads, 1)
        first = peer.prepare(self.q, self.peer_cache, self.tables[0], self.lengths, RANK, meta, c.q_len > 1)
        runs = [first] + [peer.prepare(self.q, self.peer_cache, table, self.lengths, RANK, meta, c.q_len > 1,
                                       o=first.o, lse=first.lse, acc=first.acc) for table in self.tables[1:]]
        return lambda i: runs[i](), first

    # --- is it right? ---
    def reference(self, copy, request):
        """(O [q, H, 512], lse [q, H]) of one request in fp64, from the cache of pages of 64."""
        length, q_len = self.case.lengths[request], self.case.q_len
        pages = self.tables[copy][request][:-(-length // PEER_PAGE)].long()
        keys = self.peer_cache[pages].view(-1, COLS)[:length].double()
        scores = torch.einsum("qhc,tc->qht", self.q[request].double(), keys) * COLS ** -0.5
        for i in range(q_len - 1):
            scores[i, :, length - (q_len - 1 - i):] = float("-inf")
        return torch.einsum("qht,tr->qhr", scores.softmax(-1), keys[:, :RANK]), scores.logsumexp(-1)

    def few(self):
        """Requests for the reference: the shortest with any cache, the longest of a size fp64 is quick for, one in the middle."""
        some = [b for b, n in enumerate(self.case.lengths) if 0 < n * self.case.heads * self.case.q_len <= 1 << 24]
        some = some or [min((n, b) for b, n in enumerate(self.case.lengths) if n)[1]]
        some.sort(key=lambda b: self.case.lengths[b])
        return sorted({some[0], some[len(some) // 2], some[-1]})

    def against_reference(self, o, copy):
        """The worst relative error of a request's O; NaN counts as infinite."""
        worst, o = 0.0, o.view(self.q.shape[0], self.case.q_len, self.case.heads, RANK)
        for request in self.few():
            want, _ = self.reference(copy, request)
            worst = max(worst, number(((o[request].double() - want).norm() / want.norm())))
        return worst


def number(x):
    """A float that compares: NaN is infinity."""
    x = float(x)
    return x if x == x else float("inf")


def compare(o, other):
    """(largest difference, worst row's distance relative to the row, NaNs of o, NaNs of other) over whole outputs [..., 512]."""
    o, other = o.reshape(-1, RANK), other.reshape(-1, RANK)
    most, worst, nans, others = 0.0, 0.0, 0, 0
    for a, b in zip(o.split(1 << 18), other.split(1 << 18)):
        a, b = a.float(), b.float()
        nans, others = nans + int(torch.isnan(a).sum()), others + int(torch.isnan(b).sum())
        apart = a - b
        most = max(most, number(apart.abs().max()))
        worst = max(worst, number((apart.norm(dim=1) / b.norm(dim=1).clamp_min(1e-6)).max()))
    return most, worst, nans, others
