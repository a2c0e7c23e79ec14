-- Code shared by families and model.
local shape = {}

-- Fields of a problem that the source of the first kernel depends on; that of the second depends on none.
shape.FIELDS = { "heads" }
shape.EVERY = { cdna2 = true, cdna3 = true, cdna4 = true, ampere = true, ada = true, hopper = true, blackwell = true }

shape.COLUMNS = 128                -- of a head and of a key
shape.PITCH = 2 * 128 + 16         -- bytes between queries in shared memory: rows of 16 bits, without bank conflicts
shape.TOKEN_BYTES = 128 + 4        -- of the cache: a key and its scale
shape.WAVE_TOKENS = 32             -- cached tokens that a wave has at a time

function shape.lds_bytes(heads, tokens) return heads * shape.PITCH + 4 * heads + 4 * tokens end

return shape
