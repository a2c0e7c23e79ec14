-- The functions that runtime/gen/ calls. Arguments and results are plain tables, strings and numbers.
local loader = ...
local api = {}

-- A problem is asked about as the table that this makes of its string, behind which may stand what launches hand over: ";lists"
-- or ";tables" (reads; nil: it is not known).
function api.problem(text)
  local plain, reads = text:match("^(.*);(%l+)$")
  if reads and reads ~= "lists" and reads ~= "tables" then
    error(("problem '%s': '%s' is no form of launches"):format(text, reads), 0)
  end
  local p = require("problem").parse(plain or text)
  p.reads = reads
  return p
end

-- A variant as C takes it, which knows stages and a knob but no operation.
local function staged(problem, v)
  v.kernels = {}
  for i, stage in ipairs(require("ops").of(problem).stages) do v.kernels[i] = v[stage] end
  return v
end
local function all_staged(problem, list)
  for _, v in ipairs(list) do staged(problem, v) end
  return list
end

function api.space(problem, target) return all_staged(problem, require("space").variants(problem, target)) end
-- most > 0: so many of those that are known to be better than kernels.
function api.libraries(problem, target, most)
  local all, known = require("space").libraries(problem, target), {}
  for _, v in ipairs(all) do
    if not v.rejected and v.model_ns > 0 then known[#known + 1] = v end
  end
  table.sort(known, function(a, b) return a.model_ns < b.model_ns or a.model_ns == b.model_ns and a.name < b.name end)
  return all_staged(problem, most > 0 and table.move(known, 1, most, 1, {}) or all)
end
function api.best(problem, target, most) return all_staged(problem, require("space").best(problem, target, most)) end
function api.variant(problem, target, name) return staged(problem, require("space").variant(problem, target, name)) end
function api.refit(problem, target, name) return staged(problem, require("space").refit(problem, target, name)) end
function api.serve(problem, target, name) return staged(problem, require("space").serve(problem, target, name)) end
-- next: the string of a problem, or nil.
function api.inside(problem, target, name, ahead, next)
  return all_staged(problem, require("space").inside(problem, target, name, ahead, next and api.problem(next)))
end
-- measured: as gen/nearby.lua says, with the problems' strings.
function api.nearby(problem, target, measured, any)
  local known = {} -- one table a problem: what is made for it is kept by the table
  for _, m in ipairs(measured) do
    known[m.problem] = known[m.problem] or api.problem(m.problem)
    m.at = known[m.problem]
  end
  local answer = require("nearby").choose(problem, target, measured, any)
  staged(problem, answer.variant)
  return answer
end
function api.baseline(problem, target) return staged(problem, require("space").baseline(problem, target)) end
function api.invariant(problem, target) return staged(problem, require("space").invariant(problem, target)) end

-- Source text and its SHA-256.
function api.render(template, text, target)
  local source, hash = require("emit").render(template, text, target)
  return source, hash
end

function api.template_hash(template, target) return loader.template_hash(template, target) end
function api.options(target) return loader.require("arch/" .. target).options end
-- ".hip", ".cu" or ".lib": what a file with this kernel's source is called.
function api.suffix(template) return loader.suffix(template) end
function api.targets() return loader.targets() end
-- Compute units of the device that a target's model and defaults are for.
function api.units(target) return loader.require("arch/" .. target).device.cus end

-- Nanoseconds that moving `bytes` from HBM and computing `flops` with dense 16-bit matrix instructions take at
-- least, by the arch table.
function api.roofline(target, bytes, flops)
  local m = loader.require("arch/" .. target).model
  return bytes / m.hbm_bytes_per_us * 1000, flops / m.flops_per_us * 1000
end

return api
