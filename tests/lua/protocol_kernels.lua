-- Every kind of pipelined kernel that the space offers for some problems, as the protocol check sees it: two that differ in
-- nothing that their models know are one.

-- entries: list of { problem, kernels } (run.lua). Returns a list of { family, model = the module of gen/protocol/ that has its
-- model, v = that one's parameters, key = in words }. hopg, hoppg: loaders that copy rows one by one.
return function(loader, entries)
  local isa, list, seen = loader.require("arch/sm_90a").isa, {}, {}
  local function plan(name) return loader.require(name .. "_plan") end
  local function model(name) return loader.require("protocol/" .. name) end

  local of = {}
  function of.hopt(p, x)
    local v = { rank = p.rank, rope = p.rope, rows = x.rows, wgs = x.wgs, cluster = x.cluster, schedule = x.schedule,
      load = x.load }
    return model("hopt").of(plan("hopt").make(v, isa), v)
  end
  function of.hop(p, x, gather)
    return model("hop").of(plan("hop").make(p.rank, p.rope, gather),
      { rank = p.rank, rope = p.rope, cluster = x.cluster or 1, schedule = x.schedule, gather = gather })
  end
  function of.hopp(p, x, gather)
    local v = { rank = p.rank, rope = p.rope, rows = x.rows, schedule = x.schedule, gather = gather }
    return model("hopp").of(plan("hopp").make(v, isa), v)
  end
  function of.hopw(p, x) return model("hopw").of(plan("hopw").make(p.rank, p.rope), { schedule = x.schedule }) end

  local function add(family, name, v)
    v.rope = v.rope and math.min(v.rope, 1)
    local key = { family }
    for field, value in loader.sorted(v) do key[#key + 1] = field .. "=" .. tostring(value) end
    key = table.concat(key, " ")
    if seen[key] then return end
    seen[key] = true
    list[#list + 1] = { family = family, model = name, v = v, key = key }
  end

  for _, entry in ipairs(entries) do
    for _, item in ipairs(entry[2]) do
      local name = of[item.family] and item.family or item.family:gsub("g$", "")
      if of[name] and not item.rejected then
        add(item.family, name, of[name](entry[1], item.point.values, name ~= item.family))
      end
    end
  end
  return list
end
