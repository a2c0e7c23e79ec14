-- Code shared by families and model: bytes of rows, and what every kernel depends on.
local formats = require("formats")
local shape = {}

-- Fields of a problem that every kernel's source depends on.
shape.FIELDS = { "heads", "rank", "rope", "dtype", "layout", "style", "norm" }
shape.EVERY = { cdna2 = true, cdna3 = true, cdna4 = true, ampere = true, ada = true, hopper = true, blackwell = true }

-- Why a problem cannot have its cache; nil: it can.
function shape.columns_rule(p)
  return formats.columns_fault(p, p.norm ~= 0 and "no norm, since its models norm all columns together" or nil)
end

-- Bytes a launch has to move: rows in and out, slots and positions, the table's rows.
function shape.bytes(p)
  local row = 2 * (p.rank + p.rope)
  return p.tokens * (row + formats.token_bytes(p) + 2 * p.heads * row + 16 + 4 * p.rope)
end

return shape
