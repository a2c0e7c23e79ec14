-- Code shared by families.
local shape = {}

-- Fields of a problem that every kernel's source depends on.
shape.FIELDS = { "causal", "dtype", "heads", "nope", "rope", "vdim" }
shape.FIELDS_FP8 = { "causal", "dtype", "heads", "inputs", "nope", "rope", "vdim" }

local INPUTS = { e4m3fn = 1, e4m3fnuz = 2 } -- as ops/mla_prefill/fields.lua has them

function shape.encoding(inputs)
  for name, number in sorted(INPUTS) do
    if number == inputs then return name end
  end
end

-- The rule of families of inputs of 16 bits, and of those whose instructions take bytes of an encoding.
function shape.words_only(p)
  if p.inputs ~= 0 then return "inputs have 8 bits" end
end
function shape.bytes_only(encoding)
  return function(p)
    if p.inputs == 0 then return "inputs have 16 bits" end
    if p.inputs ~= INPUTS[encoding] then return ("its matrix instructions take %s"):format(encoding) end
  end
end

shape.ceil_div = require("whole").ceil_div

-- Columns of Q and of K.
function shape.qk(p) return p.nope + p.rope end

-- Columns of O that kernels with blocks of 64 make; those behind V are not stored.
function shape.padded_v(p) return shape.ceil_div(p.vdim, 64) * 64 end

-- Keys that a new token sees, on average.
function shape.seen(p)
  if p.causal == 0 then return p.ctx end
  local n = math.min(p.tokens, p.ctx)
  return (p.ctx - (n - 1) / 2) * n / p.tokens
end

-- Bytes that a launch has to move: Q, K, V once, O.
function shape.bytes(p)
  local size, cols = p.inputs == 0 and 2 or 1, p.heads * (p.nope + p.vdim)
  local q, o = p.heads * (p.nope + p.rope), p.heads * p.vdim
  return p.batch * (p.tokens * (size * q + 2 * o) + p.ctx * size * (cols + p.rope))
end

return shape
