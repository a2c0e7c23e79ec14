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

-- Hopper's kernel: threads of a block with `groups` warpgroups of math and a warp that loads; places of its ring, 64 tokens each;
-- shared memory, bytes. Blocks of a unit have some 100 KB in flight then, four times what memory's latency asks for.
function shape.ring(heads, groups)
  local ring = { threads = 128 * groups + 32, stages = 4 * groups }
  ring.bytes = 2 * 128 * heads + ring.stages * (64 * shape.TOKEN_BYTES + 8 + 16) + 4 * heads
  return ring
end

-- The second kernel's: a histogram, a list of keys and positions, sums of waves.
function shape.select_bytes(threads, wave) return 4 * (2048 + 2 * 4096 + 4 * (threads // wave) + 8) end

return shape
