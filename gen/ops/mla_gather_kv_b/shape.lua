-- Code shared by families and model.
local formats = require("formats")
local shape = {}

-- Fields of a problem that every kernel's source depends on.
shape.FIELDS = { "heads", "nope", "rope", "vdim", "rank", "dtype", "layout", "rotate" }

-- Why a problem cannot have its cache; nil: it can.
function shape.columns_rule(p) return formats.columns_fault(p) end

-- The cost of a block that gathers rows for a library's product.
shape.ASIDE_THREADS = 256

shape.ceil_div = require("whole").ceil_div

-- Columns of K and V that are made of a token.
function shape.outputs(p) return p.heads * (p.nope + p.vdim) end

-- Values of W's rows that are a step in shared memory.
function shape.step(p) return p.rank % 64 == 0 and 64 or 32 end

return shape
