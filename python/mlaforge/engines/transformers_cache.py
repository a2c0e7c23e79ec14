"""The cache of patched models: latent rows in pages, as layers of transformers' Cache."""
from mlaforge.errors import needs

needs(__name__, "transformers")

from transformers.cache_utils import DynamicLayer, StaticLayer

from mlaforge.engines import refuse


class LatentLayer(DynamicLayer):
    """One layer's latent rows: request b owns pages [b W, (b + 1) W) of [B W, page, R + P], filled by the tokens that its mask lets see. They are the
    layer's keys, [B, W page, R + P], which transformers reorders, repeats, selects, offloads and fetches; there are no values."""
    supports_early_init = False

    def __init__(self, page, columns):
        super().__init__()
        self.page, self.columns, self.length = page, columns, 0

    @property
    def batch(self):
        return 0 if self.keys is None else self.keys.shape[0]

    @property
    def rows(self):
        return None if self.keys is None else self.keys.view(-1, self.page, self.columns)

    def reserve(self, like, batch, tokens):
        """Pages for so many tokens a request, at least twice as many as before."""
        have = 0 if self.keys is None else self.keys.shape[1]
        if have and batch != self.batch:
            raise ValueError(f"the cache holds {self.batch} requests, hidden states are of {batch}")
        if have < tokens:
            rows = like.new_zeros((batch, max(-(-tokens // self.page) * self.page, 2 * have, 2 * self.page), self.columns))
            if have:
                rows[:, :have].copy_(self.keys)
            self.keys, self.values, self.device, self.is_initialized = rows, rows.new_empty((batch, 0)), rows.device, True
        return self.rows

    def update(self, *args, **named):
        refuse("a module that was not patched writes to a patched layer's cache")

    def get_seq_length(self):
        return self.length

    def reset(self):
        self.length, self.keys, self.values, self.is_initialized = 0, None, None, False

    def crop(self, tokens):
        self.length -= min(abs(tokens), self.length) if tokens <= 0 else max(self.length - tokens, 0)


def latent_layer(cache, index, page, columns):
    """The LatentLayer of a layer's number, in place of an empty one of transformers'."""
    while len(cache.layers) <= index:
        cache.layers.append(DynamicLayer())
    layer = cache.layers[index]
    if isinstance(layer, LatentLayer):
        return layer
    refuse(f"the cache has a {type(layer).__name__}, must be a dynamic, a static or an offloaded cache", type(layer) not in (DynamicLayer, StaticLayer))
    refuse("the cache already holds rows that mlaforge did not write: begin with an empty one", layer.is_initialized and layer.get_seq_length() != 0)
    cache.layers[index] = made = LatentLayer(page, columns)
    return made
