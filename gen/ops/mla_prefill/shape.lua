-- What families share.
local shape = {}

-- Fields of a problem that every kernel's source depends on.
shape.FIELDS = { "causal", "dtype", "heads", "nope", "rope", "vdim" }

shape.ceil_div = require("whole").ceil_div

-- Columns of Q and of K.
function shape.qk(p) return p.nope + p.rope end

-- Keys that a new token sees, on average.
function shape.seen(p)
  if p.causal == 0 then return p.ctx end
  local n = math.min(p.tokens, p.ctx)
  return (p.ctx - (n - 1) / 2) * n / p.tokens
end

-- Bytes that a launch has to move: Q, K, V once, O.
function shape.bytes(p)
  local cols = p.heads * (p.nope + p.vdim)
  return 2 * p.batch * (p.tokens * (cols + p.heads * p.rope) + p.ctx * (cols + p.rope))
end

return shape
