"""The cache of patched models: latent rows in pages, as a layer of transformers' Cache."""
from mlaforge.errors import needs

needs(__name__, "transformers")

from transformers.cache_utils import CacheLayerMixin


class LatentLayer(CacheLayerMixin):
    """One layer's latent rows: request b owns pages [b W, (b + 1) W) of [B W, page, R + P], filled by the tokens that its mask lets see."""
    is_sliding, is_croppable, is_compileable, supports_early_init = False, True, False, False

    def __init__(self, page, columns):
        super().__init__()
        self.page, self.columns, self.length, self.batch, self.rows = page, columns, 0, 0, None

    def lazy_initialization(self, *args):
        """Rows are made at the first call of the layer."""

    def reserve(self, like, batch, tokens):
        """Pages for so many tokens a request, at least twice as many as before."""
        have = 0 if self.rows is None else self.rows.shape[0] // self.batch
        if have and batch != self.batch:
            raise ValueError(f"the cache holds {self.batch} requests, hidden states are of {batch}")
        if have * self.page < tokens:
            rows = like.new_zeros((batch, max(-(-tokens // self.page), 2 * have, 2) * self.page, self.columns))
            if self.rows is not None:
                rows[:, :have * self.page].copy_(self.rows.view(batch, have * self.page, self.columns))
            self._put(rows)
        return self.rows

    def _put(self, rows):
        self.batch, self.device, self.is_initialized = rows.shape[0], rows.device, True
        self.rows = rows.reshape(-1, self.page, self.columns)

    def _map(self, choose):
        if self.rows is not None:
            self._put(choose(self.rows.view(self.batch, -1, self.columns)))

    def update(self, *args, **named):
        raise NotImplementedError("mlaforge.engines.transformers: a module that was not patched writes to a patched layer's cache")

    def get_mask_sizes(self, query_length):
        return self.length + query_length, 0

    def get_seq_length(self):
        return self.length

    def get_max_length(self):
        return -1

    def reset(self):
        self.length, self.rows, self.is_initialized = 0, None, False

    def crop(self, tokens):
        self.length -= min(abs(tokens), self.length) if tokens <= 0 else max(self.length - tokens, 0)

    def reorder_cache(self, beam_idx):
        self._map(lambda rows: rows.index_select(0, beam_idx.to(rows.device)))

    def batch_repeat_interleave(self, repeats):
        self._map(lambda rows: rows.repeat_interleave(repeats, 0))

    def batch_select_indices(self, indices):
        self._map(lambda rows: rows[indices])

    def offload(self):
        self.rows = self.rows.to("cpu", non_blocking=True)

    def prefetch(self):
        if self.rows is not None and self.rows.device != self.device:
            self.rows = self.rows.to(self.device, non_blocking=True)
