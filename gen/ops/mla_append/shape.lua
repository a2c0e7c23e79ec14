-- Code shared by families and model: bytes of rows, and what every kernel depends on.
local formats = require("formats")
local shape = {}

-- Fields of a problem that every kernel's source depends on.
shape.FIELDS = { "heads", "rank", "rope", "dtype", "layout", "style", "norm" }
shape.EVERY = { cdna2 = true, cdna3 = true, cdna4 = true, ampere = true, ada = true, hopper = true, blackwell = true }

-- Why a problem cannot have a cache whose format has columns of its own; nil: it can.
function shape.columns_rule(p)
  local latent, rope = formats.own_columns(formats.get(p.layout))
  if latent and (p.rank ~= latent or p.rope ~= rope or p.dtype ~= "bf16" or p.norm ~= 0) then
    return ("the cache is %s, whose tokens have %d columns as codes and %d of bf16, and whose models norm all of them together: "
      .. "the problem needs r%d,p%d,bf16, and no norm"):format(p.layout, latent, rope, latent, rope)
  end
end

-- Bytes a launch has to move: rows in and out, slots and positions, the table's rows.
function shape.bytes(p)
  local row = 2 * (p.rank + p.rope)
  return p.tokens * (row + formats.token_bytes(p) + 2 * p.heads * row + 16 + 4 * p.rope)
end

return shape
