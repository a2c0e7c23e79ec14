-- lua5.4 tests/lua/protocol_full.lua [N]: the protocol check in full (label t1; test_protocol.lua has the quick part): all that
-- gen/ops/mla_decode/protocol/known.lua says, all cases of the rings that plans make for every family, and N (2000) more small
-- models against all their interleavings.
collectgarbage("incremental", 400) -- as in run.lua
local here = arg[0]:match("^(.*)/[^/]*$") or "."
local root = os.getenv("MLAF_SOURCE_DIR") or here .. "/../.."
local loader = dofile(root .. "/tests/models/loader.lua")(root)
local protocol, isa = loader.require("protocol"), loader.require("arch/sm_90a").isa
local failures, checked, seen = 0, 0, {}

local function fail(text, ...)
  failures = failures + 1
  print("FAIL " .. text:format(...))
end

-- The table, as the tool writes it.
local pipe = assert(io.popen(("'%s' '%s/tools/protocol.lua' known"):format(arg[-1] or "lua5.4", root)))
local text = pipe:read("a")
pipe:close()
local file = assert(io.open(root .. "/gen/ops/mla_decode/protocol/known.lua", "rb"))
if file:read("a") ~= text then fail("gen/ops/mla_decode/protocol/known.lua is not what tools/protocol.lua known writes") end
file:close()

-- All cases of a plan's kernel; whether it is refused must be what the space is told.
local function look(name, plan, p, v, of, gather)
  local key = { name }
  for field, value in loader.sorted(of) do key[#key + 1] = field .. "=" .. tostring(value) end
  key = table.concat(key, " ")
  if seen[key] then return end
  seen[key], checked = true, checked + 1
  local found = protocol.first(loader.require("ops/mla_decode/protocol/" .. name), of, true)
  local why = loader.require("ops/mla_decode/protocol/rules")[name](plan, p, v, gather)
  if (found == nil) ~= (why == nil) then fail("%s: the check says %s, the space is told %s", key, found and found.text, why) end
end

local sm90_few, sm90_mid = loader.require("ops/mla_decode/protocol/sm90_few"), loader.require("ops/mla_decode/protocol/sm90_mid")
local function look_at_hopt(rank, rope, rows, wgs)
  for _, schedule in ipairs({ "splits", "fitted" }) do
    for _, cluster in ipairs({ 1, 2, 4, 6, 8, 16 }) do
      local plan = loader.require("ops/mla_decode/plans/sm90_few").make({ rank = rank, rope = rope, rows = rows, wgs = wgs,
        cluster = cluster,
        schedule = schedule }, isa)
      for _, load in ipairs(plan.refused and {} or { "gather", "tma" }) do
        local v = { wgs = wgs, cluster = cluster, schedule = schedule, load = load, rope = rope }
        look("sm90_few", plan, { rope = rope }, v, sm90_few.of(plan, v))
      end
    end
  end
end
for rank = 64, 512, 64 do
  for _, rope in ipairs({ 0, 64 }) do
    for rows = 8, 40, 8 do
      for wgs = 1, 2 do look_at_hopt(rank, rope, rows, wgs) end
    end
    for rows = 32, 96, 16 do
      for i, schedule in ipairs({ "splits", "fitted", "splits", "fitted" }) do
        local gather = i > 2
        local v = { rank = rank, rope = rope, rows = rows, schedule = schedule, gather = gather }
        local plan = rank % 256 == 0 and loader.require("ops/mla_decode/plans/sm90_mid").make(v, isa) or { refused = "rank" }
        if not plan.refused then look("sm90_mid", plan, { rope = rope }, v, sm90_mid.of(plan, v), gather) end
      end
    end
  end
end
for _, rank in ipairs({ 256, 512 }) do
  for _, rope in ipairs({ 0, 64 }) do
    for _, schedule in ipairs({ "fitted", "splits", "turns" }) do
      for i, cluster in ipairs({ 1, 2, 1, 1, 2 }) do
        local gather, ahead = i == 3, i > 3
        local plan = loader.require("ops/mla_decode/plans/sm90_many").make({ rank = rank, rope = rope, gather = gather })
        local v = { rank = rank, rope = rope, cluster = cluster, schedule = schedule, gather = gather, ahead = ahead }
        local of = not plan.refused and loader.require("ops/mla_decode/protocol/sm90_many").of(plan, v)
        if of then look("sm90_many", plan, { rank = rank, rope = rope }, v, of, gather) end
      end
    end
  end
end
for rank = 128, 256, 64 do
  for _, rope in ipairs({ 0, 32, 64 }) do
    for _, schedule in ipairs({ "fitted", "splits" }) do
      local plan = loader.require("ops/mla_decode/plans/sm90_small_rank").make(rank, rope)
      look("sm90_small_rank", plan, {}, { schedule = schedule },
        loader.require("ops/mla_decode/protocol/sm90_small_rank").of(plan, { schedule = schedule }))
    end
  end
end

local compared, why = dofile(root .. "/tests/lua/small_models.lua")(loader, root, 2, tonumber(arg[1]) or 2000)
if why then fail("model %d: %s", compared, why) end
print(("%d kinds of kernels in all cases, %d small models, %d failed, %.1f s"):format(checked, compared, failures, os.clock()))
os.exit(failures == 0 and checked > 100 and 0 or 1)
