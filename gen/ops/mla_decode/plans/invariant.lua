-- A batch-invariant launch cuts a request (templates/mla_decode/lib/own_cut.h) by the rows of a request: constants that a
-- decode kernel and the combine kernel behind it agree on. They decide bits, so they may depend on nothing that a batch changes.
-- A part costs its block Q and O whatever its length, the more the more rows it has; fewer parts leave blocks idle where requests
-- are few.
local plan = {}

-- least, wide: grains of 64 tokens of a part; knee, most: parts of a request (the latter is the variant's splits).
local CUTS = {
  { rows = 40, least = 8, knee = 32, wide = 16, most = 63 },
  { rows = 96, least = 8, knee = 32, wide = 16, most = 63 },
  { rows = math.huge, least = 16, knee = 22, wide = 32, most = 48 },
}

local function of(rows)
  for _, cut in ipairs(CUTS) do
    if rows <= cut.rows then return cut end
  end
end

-- The arguments of own_cut.h.
function plan.cut(rows)
  local cut = of(rows)
  return { least = cut.least, knee = cut.knee, wide = cut.wide }
end
function plan.most(rows) return of(rows).most end

return plan
