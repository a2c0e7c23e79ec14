-- lua5.4 tests/lua/sweep.lua: renders every kernel the space offers for a covering set of problems, in full. Contracts alone
-- are checked in seconds by test_render.lua over the whole grid; this finds what fails behind them (a minute: label t1).
collectgarbage("incremental", 400) -- as in run.lua
local here = arg[0]:match("^(.*)/[^/]*$") or "."
local root = os.getenv("MLAF_SOURCE_DIR") or here .. "/../.."
local loader = dofile(root .. "/gen/host.lua")(root)
loader.host.sha256 = function(text) return ("%064x"):format(#text) end -- hashes are not looked at here
local space, problem, emit = loader.require("space"), loader.require("problem"), loader.require("emit")
local overlap = dofile(root .. "/tests/models/overlap.lua")

-- Every rank class, rope, page class (whole tiles, powers of two below, odd) and dtype; heads that let every wave count in; one
-- request and several, which kernels of schedule=fitted want.
local PROBLEMS = {
  "mla_decode:h16,r512,p64", "mla_decode:h128,r512,p64,q2,causal,page16", "mla_decode:h128,r512,p0,page1,b64",
  "mla_decode:h64,r512,p64,f16,page3", "mla_decode:h128,r256,p64,page64,b64", "mla_decode:h96,r256,p32,page1",
  "mla_decode:h128,r128,p0,f16,page48", "mla_decode:h128,r128,p32,page3", "mla_decode:h40,r384,p64,page2",
  "mla_decode:h20,q5,r384,p32,causal,page16", "mla_decode:h5,q8,r96,p32,page65536", "mla_decode:h1,r32,p0",
}

local full = arg[1] == "--full"

local failures, count, by_message = 0, 0, {}
local function try(target, text, name, k)
  count = count + 1
  local ok, why = pcall(emit.render, k.template, k.params, target)
  if ok and target == "sm_90a" then ok, why = overlap.waits(why) end -- launches overlap there
  if not ok then
    failures = failures + 1
    local message = tostring(why):gsub("%d+", "N")
    by_message[message] = by_message[message] or { n = 0, first = ("%s %s %s: %s"):format(target, text, name, why) }
    by_message[message].n = by_message[message].n + 1
  end
end

-- True if a kernel has two parameters' values that no kernel before it had together.
local function brings_a_pair(seen, k)
  local values, found = {}, false
  for value in k.params:gmatch("[^,]+") do values[#values + 1] = value end
  for i = 1, #values do
    for j = i + 1, #values do
      local pair = k.template .. " " .. values[i] .. " " .. values[j]
      found = found or not seen[pair]
      seen[pair] = true
    end
  end
  return found
end

local function sweep(target, text)
  local p, seen = problem.parse(text), {}
  for _, item in ipairs(space.kernels(p, target)) do
    -- psplit and the cache policy of the register kernel only pick between two constants of the text.
    if not item.rejected and not item.name:find("psplit=2,qsrc=lds") and not item.name:find("kvload=nt,psplit=1")
      and (full or brings_a_pair(seen, item.kernel)) then
      try(target, text, item.name, item.kernel)
    end
  end
  for _, c in ipairs(space.second_kernels(p, target)) do
    if full or brings_a_pair(seen, c.kernel) then try(target, text, c.text, c.kernel) end
  end
end
for i, text in ipairs(PROBLEMS) do
  sweep("gfx942", text)
  sweep(i % 2 == 1 and "sm_90a" or i % 4 == 0 and "gfx950" or "gfx90a", text) -- the last two share the first one's templates
end
for _, m in pairs(by_message) do print(("FAIL (%d times) %s"):format(m.n, m.first)) end
print(("%d kernels rendered, %d failed, %.1f s"):format(count, failures, os.clock()))
os.exit(failures == 0 and count > 500 and 0 or 1)
