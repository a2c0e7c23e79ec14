-- The shipped templates over the whole space: contracts, launch facts, determinism, clean text.
local loader = T.quick_loader()
local space, emit, params, problem = loader.require("space"), loader.require("emit"), loader.require("params"),
  loader.require("problem")
local ops = loader.require("ops")

-- fn(target) for each of the targets.
local function each_target(fn)
  for _, target in ipairs(T.targets) do fn(target) end
end

local function agree(k, declared, what)
  eq(declared.threads, k.threads, what .. ": threads")
  eq(declared.rows_per_wg, k.rows_per_wg, what .. ": rows_per_wg")
  eq(declared.lds_bytes, k.lds_bytes, what .. ": lds_bytes")
end

test("every family's template is there, and every kernel template has a family", function()
  local of = {}
  for _, op in ipairs(ops.names()) do
    for name, family in pairs(ops.get(op).families) do
      ok(loader.has_kernel(family.template), "%s: no template %s", name, family.template)
      ok(family.template:find("^" .. op .. "/"), "%s: template %s is another operation's", name, family.template)
      of[family.template] = true
    end
  end
  -- Kernels in templates/ itself serve no problem: they measure the device, read page tables and index lists, apply sinks,
  -- compare outputs, copy keys.
  for _, name in ipairs({ "attn_sink", "block_tables", "concat_keys", "index_lists", "index_pools", "read_ceiling",
    "soak_compare" }) do
    ok(loader.has_kernel(name), "no template %s", name)
    of[name] = true
  end
  for _, name in ipairs(loader.kernels()) do ok(of[name], "template %s is in no family", name) end
end)

-- Points of the space whose contracts were checked, by parameter text: problems share many.
T.sampled(2, "no contract refuses a point of the space, and both sides agree on threads, rows and LDS", function(mine)
  each_target(function(target)
    local n = 0
    for i, entry in ipairs(T.grid_kernels(loader, target)) do
      local p = entry[1]
      -- Every problem of the grid, a shifting eleventh of its points: each point is met under many problems.
      for j, item in ipairs(entry[2]) do
        if not item.rejected and (i + j) % 11 == 0 and mine((i + j) // 11) then
          n = n + 1
          local good, declared = pcall(emit.check, item.kernel.template, item.kernel.params, target)
          ok(good, "%s: %s: %s", problem.print(p), item.name, tostring(declared))
          agree(item.kernel, declared, item.name)
        end
      end
    end
    ok(n > (T.full and 500 or 250) // (T.every[target] or 1), "%s: only %d points", target, n)
  end)
end)

T.sampled(7, "odd ranks, rope 0 and any page size pass the contracts too", function(mine)
  local shapes = 0
  for rank = 32, 512, 32 do
    for rope = 0, 64, 32 do
      shapes = shapes + 1
      local page = ({ 1, 3, 48, 65536 })[1 + (rank // 32 + rope // 32) % 4]
      local p = problem.parse(("mla_decode:h17,r%d,p%d,q%d,page%d,b8,s2048"):format(rank, rope, 1 + page % 8, page))
      each_target(function(target)
        if not mine(shapes) then return end
        for j, item in ipairs(space.kernels(p, target)) do
          if not item.rejected and (j + rank // 32) % 11 == 0 then
            local good, declared = pcall(emit.check, item.kernel.template, item.kernel.params, target)
            ok(good, "%s: %s: %s", problem.print(p), item.name, tostring(declared))
            agree(item.kernel, declared, item.name)
          end
        end
      end)
    end
  end
end)

T.sampled(3, "every combine kernel passes its contract", function(mine)
  each_target(function(target)
    for rank = 32, 512, 32 do
      if not mine(rank // 32 + 1) then goto continue end
      for _, c in ipairs(space.second_kernels(problem.parse("mla_decode:h16,r" .. rank), target)) do
        local v = c.kernel
        agree(v, emit.check(v.template, v.params, target), v.params)
      end
      ::continue::
    end
  end)
end)

local function sample(target)
  local list = {}
  for i, entry in ipairs(T.grid_kernels(loader, target)) do
    if i % 16 == 1 then
      local at = 0
      for _, item in ipairs(entry[2]) do
        if not item.rejected then
          at = at + 1
          if at % 79 == i % 79 then list[#list + 1] = item.kernel end
        end
      end
    end
  end
  return list
end

-- Fails for what is wrong with one kernel's text.
local function clean(k, target)
  local text, _, _, symbol = emit.render(k.template, k.params, target)
  local body = text:gsub("//[^\n]*", "")
  ok(not text:find("${", 1, true) and not text:find("//@", 1, true), "%s: marker left in %s", k.template, k.params)
  ok(not text:find("[\r\t]"), "%s: CR or tab", k.template)
  ok(text:sub(-1) == "\n", "no final newline")
  for _, pair in ipairs({ "{}", "()", "[]" }) do
    local opened = select(2, body:gsub("%" .. pair:sub(1, 1), ""))
    local closed = select(2, body:gsub("%" .. pair:sub(2, 2), ""))
    eq(opened, closed, k.params .. ": " .. pair)
  end
  eq(select(2, body:gsub("__global__", "")), 1, "kernels in one source")
  -- CUDA's say their launch in a constant SYMBOL_launch, and those that may cut their batch.
  local fits = k.params:find("schedule=fitted", 1, true) or k.params:find("fitted=[1-9]")
  eq(select(2, body:gsub(symbol .. "_launch", "")), (loader.suffix(k.template) == ".cu" or fits) and 1 or 0, "launch constants")
  eq(select(2, body:gsub(symbol .. "%f[^%w_]", "")), 1, "symbol in code")
  ok(not text:find(T.root, 1, true) or T.root == ".", "a path of this machine in the text")
end

T.sampled(1, "rendered text is clean: no markers left, LF, balanced, one kernel with its own symbol", function(mine)
  each_target(function(target)
    for i, k in ipairs(sample(target)) do
      if mine(i - 1) then clean(k, target) end
    end
  end)
end)

-- The launch word of a kernel (lib/launch.h): the flags of runtime/device/kernel_launch.h; the schedule is 0.
local function word(k, target)
  local text, _, _, symbol = emit.render(k.template, k.params, target)
  local flags = text:match(symbol .. "_launch = {%w+, sizeof%b(), %d+,%s*{%d+, %d+, %d+}, (%d+), 0, ")
  ok(flags, "%s: no launch word", k.params)
  return tonumber(flags)
end

-- The runtime refuses a pair by it: ops/mla_decode/launch.h, mlaf_launch_needs_combine.
test("a kernel's own word says whether a combine kernel comes also behind one split", function()
  local FITS, MEETS, seen, known = 8, 4, {}, {}
  for _, text in ipairs({ "h16,b64,s4096", "h16,b64,s4096,page1", "h128,b64,s4096", "h128,b64,s4096,page1",
    "h40,b64,s4096,r256,p32", "h80,b64,s4096", "h80,b64,s4096,r256,p32", "h128,b1,s65536", "h16,b1,s65536" }) do
    for _, v in ipairs(space.variants(problem.parse("mla_decode:" .. text), "sm_90a")) do
      local k, m = v.decode, v.combine or {}
      -- One of each form: the word hangs on these parameters.
      local form = ("%s %s %s %s"):format(k.template, v.name:match("schedule=%l+"), v.name:match("cluster=%d+"), m.template)
      if not v.rejected and not known[form] then
        known[form] = true
        local flags = word(k, "sm_90a")
        local fits, alone = flags & FITS ~= 0, flags & MEETS ~= 0
        local schedule = k.params:match("schedule=(%l+)")
        eq(fits, schedule == "fitted" or schedule == "shares" or schedule == "whole", v.name)
        local left = k.template:find("few_clusters$") ~= nil -- it could meet, and leaves it to the merge kernel
        eq(k.cost.always_combines or false, fits and (not alone or left), v.name .. ": always has a combine kernel")
        ok(fits or not alone, "%s: meets, and does not fit", v.name)
        local combine = v.combine or k.cost.always_combines and error(v.name .. ": no combine kernel")
        if combine then
          local theirs = word(combine, "sm_90a")
          eq(theirs & FITS ~= 0, fits, v.name .. ": its combine kernel")
        end
        seen[k.template .. (fits and alone and " meets" or fits and " leaves" or "")] = true
      end
    end
  end
  for _, what in ipairs({ "sm90_few meets", "sm90_many leaves", "sm90_many_gather leaves", "sm90_mid leaves",
    "sm90_small_rank leaves" }) do
    ok(seen["mla_decode/" .. what], "no %s", what)
  end
end)

test("two processes in two directories give the same bytes", function()
  local v = space.baseline(problem.parse("mla_decode:h16,b64,s4096"), "gfx942")
  local args = v.decode.template .. " target=gfx942 " .. v.decode.params:gsub(",", " ")
  local copy = os.tmpname()
  os.remove(copy)
  local function run(cmd)
    local pipe = io.popen(cmd)
    local text = pipe:read("a")
    ok(pipe:close(), "failed: %s", cmd)
    return text
  end
  run(("mkdir -p %s && cp -R %s/gen %s/templates %s/"):format(copy, T.root, T.root, copy))
  local here = run(("'%s' %s/gen/cli.lua render %s"):format(T.lua, T.root, args))
  local there = run(("cd %s && '%s' gen/cli.lua render %s"):format(copy, T.lua, args))
  run("rm -rf " .. copy)
  ok(#here > 1000, "short output")
  eq(there, here)
  eq(T.loader().require("emit").render(v.decode.template, v.decode.params, "gfx942"), here)
end)
