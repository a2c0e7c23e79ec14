-- Q in two tensors by the copy engine: rows of a box. A box has rows of one token, or all rows of some tokens, since heads and
-- tokens lie at strides of their own; runtime/ops/mla_decode/prepare.c makes its map by the same rule.
local q_parts = {}

local function gcd(a, b)
  while b > 0 do a, b = b, a % b end
  return a
end

-- rows: of a block, whose first row is a multiple of them; few: rows of a request's last block, where fewer are copied, or 0.
function q_parts.unit(rows, few, heads)
  local most = few > 0 and gcd(rows, few) or rows
  return most % heads == 0 and most or gcd(most, heads)
end

return q_parts
