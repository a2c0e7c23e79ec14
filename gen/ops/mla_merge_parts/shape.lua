-- Code shared by family and model.
local shape = {}

-- Fields of a problem that every kernel's source depends on.
shape.FIELDS = { "parts", "heads", "vdim", "dtype" }
shape.EVERY = { cdna2 = true, cdna3 = true, cdna4 = true, ampere = true, ada = true, hopper = true, blackwell = true }

-- Bytes that a launch has to move: every part in, one out, each with its sums.
function shape.bytes(p) return (p.parts + 1) * p.tokens * p.heads * (2 * p.vdim + 4) end

return shape
