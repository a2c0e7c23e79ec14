-- Code shared by family and model.
local shape = {}

-- Fields of a problem that every kernel's source depends on.
shape.FIELDS = { "heads", "dtype", "style", "hadamard" }
shape.EVERY = { cdna2 = true, cdna3 = true, cdna4 = true, ampere = true, ada = true, hopper = true, blackwell = true }

shape.LANES = 16 -- threads of a row: 8 of its 128 columns each

-- Bytes that a launch has to move: keys and queries in and out, weights, slots, positions and the table's rows.
function shape.bytes(p) return p.tokens * (256 + 132 + 16 + 256 + p.heads * (256 + 128 + 6)) end

return shape
