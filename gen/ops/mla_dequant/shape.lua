-- What family and model share.
local shape = {}

-- Fields of a problem that every kernel's source depends on.
shape.FIELDS = { "rank", "dtype", "weights" }
shape.EVERY = { cdna2 = true, cdna3 = true, cdna4 = true, ampere = true, ada = true, hopper = true, blackwell = true }

-- Bytes that a launch has to move: weights in and out. Scales are one in 16384 of them.
function shape.bytes(p) return 3 * p.w_rows * p.rank end

return shape
