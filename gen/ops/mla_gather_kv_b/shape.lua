-- Code shared by families and model.
local shape = {}

-- Fields of a problem that every kernel's source depends on.
shape.FIELDS = { "heads", "nope", "rope", "vdim", "rank", "dtype", "layout", "rotate" }

-- The cost of a block that gathers rows for a library's product.
shape.ASIDE_THREADS = 256

shape.ceil_div = require("whole").ceil_div

-- Columns of K and V that are made of a token.
function shape.outputs(p) return p.heads * (p.nope + p.vdim) end

-- Bytes of a token's row in the cache.
function shape.cache_row(p)
  if p.layout == "fp8_ds_mla" then return p.rank + 16 + 2 * p.rope end
  return (p.layout == "paged" or p.layout == "split") and 2 * (p.rank + p.rope) or p.rank + p.rope
end

-- Bytes that a launch has to move: the cache's rows, W once, K, V and the columns with positions.
function shape.bytes(p)
  return p.tokens * (shape.cache_row(p) + 2 * (shape.outputs(p) + p.rope)) + 2 * p.rank * shape.outputs(p)
end

-- Values of W's rows that are a step in shared memory.
function shape.step(p) return p.rank % 64 == 0 and 64 or 32 end

return shape
