-- Joint kernels: a variant that serves a list of problems at once. gen/ops/joint/OP.lua lists the problems that may follow one of
-- operation OP; its rows have
--
--   op     the operation of the problem that follows
--   same   its fields that the first problem says already: field = the first one's field
--   is     its fields that must have one value: field = value
local loader = ...
local joint = {}

-- What may follow a problem of an operation; none: an empty list.
function joint.rows(op)
  local there = loader.host.read("gen/ops/joint/" .. op .. ".lua")
  return there and loader.require("ops/joint/" .. op) or {}
end

-- Whether problem `next` may follow p.
function joint.follows(p, next)
  for _, row in ipairs(joint.rows(p.op)) do
    local fits = row.op == next.op
    for field, of in sorted(row.same) do fits = fits and next[field] == p[of] end
    for field, value in sorted(row.is or {}) do fits = fits and next[field] == value end
    if fits then return true end
  end
  return false
end

return joint
