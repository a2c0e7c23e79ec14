-- An operation is its folder: what it need not say, and what is said where it is named.

-- A second operation of one kernel: files that a loader finds beside the real ones.
local FILES = {
  ["gen/ops/copy/fields.lua"] = [[return { example = "h4,t8",
    { key = "h", field = "heads", word = "heads", default = 1, least = 0, most = 16, multiple = 1, about = "rows of a token" },
    { key = "t", field = "tokens", word = "tokens", default = 1, least = 1, most = 1024, multiple = 1, size = true, steps = 2,
      about = "tokens" } }]],
  ["gen/ops/copy/op.lua"] = [[return { stages = { "copy" }, baselines = { { family = "plain", params = { threads = 64 } } },
    rows = function(p) return p.heads * p.tokens end,
    model = { estimate = function(p, arch, cost) return 100000 // cost.threads + p.tokens end } }]],
  ["gen/ops/copy/families/plain.lua"] = [[return { template = "copy/plain", arch = { cdna3 = true, hopper = true },
    problem = { "heads" }, params = { threads = { 64, 128 } },
    cost = function(p, v) return { threads = v.threads, rows_per_wg = 4, lds_bytes = 0, regs = { { "all", 32 } } } end }]],
  ["templates/copy/plain.hip.in"] = "//@ declares{ threads = threads, rows_per_wg = 4, lds_bytes = 0 }\n"
    .. "void ${symbol}() { ${heads}; }\n",
}
local function loader_with_copy()
  local loader = T.loader()
  local read, list = loader.host.read, loader.host.list
  loader.host.read = function(path) return FILES[path] or read(path) end
  loader.host.list = function(folder)
    local out = list(folder)
    for path in pairs(FILES) do
      if path:sub(1, #folder) == folder then out[#out + 1] = path end
    end
    return out
  end
  return loader
end

test("an operation of one kernel says neither a second stage nor a knob", function()
  local loader = loader_with_copy()
  local space, problem = loader.require("space"), loader.require("problem")
  local p = problem.parse("copy:h4,t8")
  local list = space.variants(p, "gfx942")
  eq(#list, 2)
  eq(list[1].name, "plain:threads=128/s1")
  eq(list[1].knob, 1)
  eq(list[1].copy.params, "heads=4,threads=128")
  eq(space.variant(p, "gfx942", list[2].name).copy.symbol, list[2].copy.symbol)
  eq(space.baseline(p, "gfx942").name, "plain:threads=64/s1")
  raises(function() space.variant(p, "gfx942", "plain:threads=64/s2") end, "2 knob > 1")
  raises(function() space.variant(p, "gfx942", "plain:threads=64/s1,rows=1") end, "the operation has no second kernel")
  eq(loader.require("api").variant(p, "gfx942", list[1].name).kernels[1].template, "copy/plain")
  ok(space.serve(p, "gfx942", list[1].name).rejected == nil)
end)

test("operations are found by their folders, and one that is not there is named", function()
  local ops = loader_with_copy().require("ops")
  ok(table.concat(ops.names(), " "):find("copy"), "found")
  raises(function() ops.get("mla_none") end, "there is no operation 'mla_none': known are copy, ")
end)
