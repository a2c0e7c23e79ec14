-- Code shared by family and model.
local shape = {}

-- Fields of a problem that every kernel's source depends on.
shape.FIELDS = { "heads", "qdim", "dtype" }
shape.EVERY = { cdna2 = true, cdna3 = true, cdna4 = true, ampere = true, ada = true, hopper = true, blackwell = true }

-- Bytes that a launch has to move: queries in and out, positions.
function shape.bytes(p) return p.tokens * (4 * p.heads * p.qdim + 8) end

return shape
