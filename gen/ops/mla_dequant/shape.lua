-- Code shared by family and model.
local shape = {}

-- Fields of a problem that every kernel's source depends on.
shape.FIELDS = { "columns", "dtype", "weights" }
shape.EVERY = { cdna2 = true, cdna3 = true, cdna4 = true, ampere = true, ada = true, hopper = true, blackwell = true }

-- Bytes that a launch has to move: weights in and out. Scales are one in 16384 of them.
function shape.bytes(p) return 3 * p.w_rows * p.columns end

-- Rows of a workgroup, and chunks of 8 values that a thread has in flight.
function shape.rows(p, v) return math.max(1, v.threads * v.depth // (p.columns // 8)) end
function shape.chunks(p, v) return -(-shape.rows(p, v) * (p.columns // 8) // v.threads) end

return shape
