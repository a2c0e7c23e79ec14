-- The barriers between the threads of templates/lib/projection/stationary_fp8.h, for tests/models/protocol.lua.
-- Functions here are named as those of the template that they stand for; two warps stand for the four of a warpgroup.
--
-- v: places (passes of x in flight), ways (warpgroups), direct (one way: sums stay with their lanes, and the first warp loads)
local protocol = require("protocol")

local stationary = {}

local WARPS = 2 -- of a warpgroup

local function load_pass(x, a, i)
  local at, n = i % x.v.places, i // x.v.places
  a:wait(x.empty[at], n - 1, "load_x()")
  a:arrive(x.full[at], n, "load_x()", 1)
  a:copy(x.full[at], n, "load_x()", x.x[at], i)
end
local function load_x(x, a, passes)
  for i = 0, passes - 1 do load_pass(x, a, i) end
end

local function multiply_all(x, a, id, passes)
  a:wait(x.w_full, 0, "kernel")
  a:read(x.w, "W", "take_w()")
  local loads = x.v.direct and id == 1
  if loads then load_x(x, a, math.min(passes, x.v.places)) end
  for i = 0, passes - 1 do
    local at, n = i % x.v.places, i // x.v.places
    a:wait(x.full[at], n, "kernel")
    a:read(x.x[at], i, "multiply()")
    a:arrive(x.empty[at], n, "kernel")
    if loads and i + x.v.places < passes then load_pass(x, a, i + x.v.places) end
    if not x.v.direct then
      if i > 0 then a:sync(x.math, "kernel") end
      a:write(x.sums[id], i, "lay_sums()")
      a:sync(x.math, "kernel")
      for other = 1, #x.sums do a:read(x.sums[other], i, "write_pass()") end
    end
  end
end

-- passes: of tokens.
function stationary.model(v, passes)
  local m, math = protocol.new(), WARPS * v.ways
  local x = { v = v, full = {}, empty = {}, x = {}, sums = {}, w = m:place("W"), w_full = m:barrier("W_FULL", 1) }
  local barriers = { x.w_full }
  for i = 0, v.places - 1 do
    x.full[i], x.empty[i] = m:barrier(("full[%d]"):format(i), 1), m:barrier(("empty[%d]"):format(i), math)
    x.x[i] = m:place(("x[%d]"):format(i))
    barriers[#barriers + 1], barriers[#barriers + 2] = x.full[i], x.empty[i]
  end
  x.all, x.math = m:named("all", (v.direct and 0 or 1) + math), m:named("math", math)
  local function begin(a)
    a:make(barriers, "kernel")
    a:arrive(x.w_full, 0, "load_w()", 1)
    a:copy(x.w_full, 0, "load_w()", x.w, "W")
  end
  local loader = not v.direct and m:agent("x")
  if loader then
    begin(loader)
    loader:sync(x.all, "kernel")
    load_x(x, loader, passes)
  end
  for id = 1, math do x.sums[id] = m:place(("sums %d"):format(id)) end
  for id = 1, math do
    local a = m:agent("math " .. id)
    if v.direct and id == 1 then begin(a) end
    a:sync(x.all, "kernel")
    multiply_all(x, a, id, passes)
  end
  return m
end

function stationary.cases(v) return { 1, 2, v.places + 1, 3 * v.places + 1 } end

return stationary
