-- Every kind of pipelined kernel that the space offers for some problems, as the protocol check sees it: two that differ in
-- nothing that their models know are one.

-- entries: list of { problem, kernels } (run.lua). Returns a list of { family, model = the module of ops/mla_decode/protocol/
-- that has its model, v = that one's parameters, key = in words }. sm90_many_gather, sm90_mid_gather: loaders that copy rows one
-- by one.
return function(loader, entries)
  local isa, list, seen = loader.require("arch/sm_90a").isa, {}, {}
  local function plan(name) return loader.require("ops/mla_decode/plans/" .. name) end
  local function model(name) return loader.require("ops/mla_decode/protocol/" .. name) end

  local of = {}
  function of.sm90_few(p, x)
    local v = { rank = p.rank, rope = p.rope, rows = x.rows, wgs = x.wgs, cluster = x.cluster, schedule = x.schedule,
      load = x.load }
    return model("sm90_few").of(plan("sm90_few").make(v, isa), v)
  end
  function of.sm90_few_rotate(p, x)
    local kernel = of.sm90_few(p, x)
    kernel.rotate = true
    return kernel
  end
  function of.sm90_many(p, x, gather)
    return model("sm90_many").of(plan("sm90_many").make({ rank = p.rank, rope = p.rope, gather = gather }),
      { rank = p.rank, rope = p.rope, cluster = x.cluster or 1, schedule = x.schedule, gather = gather,
        lists = x.schedule == "lists" or nil })
  end
  function of.sm90_many_rotate(p, x)
    local kernel = of.sm90_many(p, x)
    kernel.rotate = true
    return kernel
  end
  function of.sm90_mid(p, x, gather)
    local v = { rank = p.rank, rope = p.rope, rows = x.rows, schedule = x.schedule, gather = gather, page_size = p.page_size,
      cluster = x.cluster }
    return model("sm90_mid").of(plan("sm90_mid").make(v, isa), v)
  end
  function of.sm90_raw(p, x)
    local f = loader.require("ops/mla_decode/families/sm90_raw").format_of(p)
    local v = { rank = p.rank, rope = p.rope, rows = x.rows, cluster = x.cluster, schedule = x.schedule, load = x.load,
      scales = f.scales, kpe16 = f.kpe16, scales_apart = f.scales_apart, page_size = p.page_size }
    return model("sm90_raw").of(plan("sm90_raw").make(v, isa), v)
  end
  function of.sm90_raw_mid(p, x, teams)
    local f = loader.require("ops/mla_decode/families/sm90_raw").format_of(p)
    local v = { rank = p.rank, rope = p.rope, rows = x.rows, load = x.load, schedule = x.schedule, scales = f.scales,
      kpe16 = f.kpe16, scales_apart = f.scales_apart, page_size = p.page_size, teams = teams or nil }
    return model("sm90_raw_mid").of(plan("sm90_raw_mid").make(v, isa), v)
  end
  function of.sm90_raw_two(p, x) return of.sm90_raw_mid(p, x, 2) end
  function of.sm90_small_rank(p, x) return model("sm90_small_rank").of(plan("sm90_small_rank").make(p.rank, p.rope),
    { schedule = x.schedule }) end

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
      -- The fitted kernels but for one number; clusters: but for the end of a request, which has a model of its own.
      local family, fitted = item.family:gsub("_shares$", ""):gsub("_whole$", "")
      local together
      family, together = family:gsub("_clusters$", "")
      fitted = fitted + together
      local values = loader.require("params").merge(item.point.values, fitted > 0 and { schedule = "fitted" } or {})
      if together > 0 and family == "sm90_many" then values.cluster = 1 end
      if together > 0 and family == "sm90_few" then values.load, values.wgs = "tma", 2 end
      local name = of[family] and family or family:gsub("_gather$", "")
      if of[name] and not item.rejected then
        add(family, (name:gsub("_rotate$", ""):gsub("raw_two$", "raw_mid")), of[name](entry[1], values, name ~= family))
      end
    end
  end
  return list
end
