-- The space: names, reasons, and that for every problem of the grid there is enough to tune.
local loader = T.quick_loader()
local space, problem, params = loader.require("space"), loader.require("problem"), loader.require("params")
local families = loader.require("ops").get("mla_decode")

local function grid() return T.grid(problem) end

test("splits: as many as there are rounds are tried, though no fill of the device asks for them", function()
  local counts = loader.require("ops/mla_decode/splits").counts
  local arch, cost = { device = { cus = 304 } }, { rows_per_wg = 16, step = 16 }
  local list = counts({ heads = 16, q_len = 1, batch = 64, ctx = 512 }, cost, arch)
  eq(list[#list], 32)
  eq(list[1], 1)
end)

test("NVIDIA targets: names rebuild their variant, families stay with their architecture, splits have combine kernels", function()
  for _, target in ipairs({ "sm_80", "sm_90a" }) do
    local p, seen, several = problem.parse("mla_decode:h16,b4,s4096,page16"), {}, 0
    for _, v in ipairs(space.variants(p, target)) do
      ok(not seen[v.name], "%s twice", v.name)
      seen[v.name] = true
      if not v.rejected then
        local w = space.variant(p, target, v.name)
        eq(w.decode.symbol, v.decode.symbol, v.name)
        eq(w.model_ns, v.model_ns, v.name)
        eq(loader.suffix(v.decode.template), ".cu", v.name)
        ok(v.combine or v.knob == 1, "%s: nobody adds up its splits", v.name)
        local cost = v.decode.cost
        ok(not v.combine or v.knob > 1 or cost.may_combine or cost.always_combines, "%s: nothing to add up", v.name)
        several = several + (v.knob > 1 and 1 or 0)
      end
    end
    ok(several > 24, "%s: %d variants with more than one split", target, several)
  end
  raises(function() space.variant(problem.parse("mla_decode:h16"), "sm_90a", "mfma_reg:" ..
    params.print(families.baselines[1].params) .. "/s1") end, "family mfma_reg is not for sm_90a")
end)

test("parts meet among themselves or leave it to a combine kernel, at one split; several splits have one", function()
  local p, name = problem.parse("mla_decode:h16,b64,s4096"), "sm90_few:cluster=1,load=tma,rows=16,schedule=fitted,wgs=2"
  eq(space.variant(p, "sm_90a", name .. "/s1").combine, nil)
  local left = space.variant(p, "sm_90a", name .. "/s1,rows=4,team=2")
  eq(left.combine.params:match("fitted=%d+"), "fitted=128")
  eq(left.decode.symbol, space.variant(p, "sm_90a", name .. "/s1").decode.symbol)
  local seen = {}
  for _, v in ipairs(space.variants(p, "sm_90a")) do seen[v.name] = not v.rejected end
  ok(seen[name .. "/s1"] and seen[name .. "/s1,rows=4,team=2"], "not both in the space")
  raises(function() space.variant(p, "sm_90a", name .. "/s1,rows=1,team=1") end, "may cut its batch 8 work on a long")
  local one = problem.parse("mla_decode:h16,b1,s4096")
  raises(function() space.variant(one, "sm_90a", name:gsub("fitted", "splits") .. "/s1,rows=4,team=2") end,
    "one split has no combine kernel")
  raises(function() space.variant(p, "sm_90a", name .. "/s2") end, "2 splits need a combine kernel")
  local two = space.variant(p, "sm_90a", name .. "/s2,rows=4,team=2")
  eq(two.combine.params:match("fitted=%d+"), "fitted=128") -- it may find a batch that was cut
end)

-- By 64 drawn lists, each by several kernels (docs/lab/kernels-hopper.md, "Index lists").
test("short index lists: kernels that read them themselves, and no part of a list", function()
  for text, want in pairs({
    ["h24,page1,b20,s64"] = "sm90_mid_gather:rows=32,", ["h64,page1,b33,s64"] = "sm90_mid_gather:rows=32,",
    ["h96,page1,b4,s64"] = "sm90_mid_gather:rows=32,", ["h128,page1,b15,s128"] = "sm90_mid_gather:rows=32,",
    ["h128,page1,b44,s2048"] = "sm90_many_gather:schedule=lists", ["h128,page1,b140,s512"] = "sm90_many_gather:schedule=lists",
    ["h96,page1,b300,s1000"] = "sm90_many_gather:schedule=lists", ["h64,page1,b250,s512"] = "sm90_many_gather:schedule=lists",
    ["h16,page1,b64,s2048"] = "sm90_few:cluster=2,load=gather,rows=16,schedule=fitted,wgs=1",
    ["h16,page1,b5,s128"] = "sm90_few:cluster=2,load=gather,rows=8,",
    ["h96,fp8_ds_mla,page1,b9,s128"] = "sm90_raw_mid:load=rows,rows=32,",
    ["h24,fp8_ds_mla,page1,b176,s64"] = "sm90_raw_mid:load=rows,rows=32,",
  }) do
    local name = space.best(problem.parse("mla_decode:" .. text), "sm_90a", 1)[1].name
    ok(name:find(want, 1, true) == 1 and name:find("/s1", 1, true), "%s: %s", text, name)
  end
end)

test("sm90_many's fitted kernels have their combine kernel behind one split, too", function()
  local behind, early, alone = "rows=4,team=2", "early=1,rows=4,team=2", "early=1,rows=8,team=1"
  for _, text in ipairs({ "h128,b64,s4096", "h40,b64,s4096", "h128,q2,b8,s1000,r256,p32,page16" }) do
    local p, ones, earlies = problem.parse("mla_decode:" .. text), 0, 0
    for _, v in ipairs(space.variants(p, "sm_90a")) do
      if not v.rejected and (v.name:find("^sm90_many:") or v.name:find("^sm90_many_gather:")) then
        ok(v.combine, "%s: %s leaves pieces that nobody adds up", text, v.name)
        eq(v.combine.params:match("fitted=%d+"), "fitted=320", v.name)
        if v.knob == 1 then
          local one = v.name:match("/s1,(.*)")
          ok(one == behind or one == early or one == alone, "%s", v.name)
          eq(v.combine.template, one == behind and "mla_decode/combine_warp" or "mla_decode/combine_early", v.name)
          ones, earlies = ones + 1, earlies + (one == behind and 0 or 1)
        end
      end
    end
    ok(ones > 0 and 2 * earlies > ones, "%s: %d with one split, %d of them early", text, ones, earlies)
  end
  local p, name = problem.parse("mla_decode:h128,b64,s4096"), "sm90_many:cluster=2,schedule=fitted/s1"
  for _, one in ipairs({ behind, early, alone }) do
    eq(space.variant(p, "sm_90a", name .. "," .. one).name, name .. "," .. one)
  end
  raises(function() space.variant(p, "sm_90a", name:gsub("s1$", "s2,") .. early) end, "has no early=1")
  raises(function() space.variant(p, "sm_90a", name .. ",rows=8,team=1") end, "one warp would add up all pieces")
  raises(function() space.variant(p, "sm_90a", name) end, "1 splits need a combine kernel")
  local refit = space.refit(params.merge(p, { batch = 200 }), "sm_90a", name .. "," .. behind)
  ok(refit.combine, "lost by another batch")
  -- Splits of each request: none is cut, and one split is the whole of it.
  eq(space.variant(p, "sm_90a", "sm90_many:cluster=2,schedule=splits/s1").combine, nil)
  eq(space.variant(p, "sm_90a", "sm90_many:cluster=2,schedule=turns/s1").combine, nil)
end)

test("sm90_few's single blocks may have the merge kernel that ends early behind one split, clusters and lists not", function()
  for text, want in pairs { ["h8,b112,s720"] = true, ["h16,q2,causal,f16,b200,s640"] = true, ["h16,page1,b112,s4096"] = false } do
    local first, some = nil, false
    for _, v in ipairs(space.variants(problem.parse("mla_decode:" .. text), "sm_90a")) do
      if not v.rejected and v.name:find("^sm90_few:") then
        local early = v.combine ~= nil and v.combine.template == "mla_decode/combine_early"
        if early then
          ok(v.knob == 1 and v.name:find("cluster=1,load=tma", 1, true), "%s: %s", text, v.name)
          eq(v.combine.params:match("cut=%d+"), "cut=" .. loader.require("ops/mla_decode/plans/schedule").cut.sm90_few)
        end
        if first == nil then first = early end
        some = some or early
      end
    end
    eq(some, want, text)
    eq(first, want, text .. ": the first one")
  end
end)

test("sm90_few's single blocks that copy boxes cut earlier, in the kernel's text as in the plan", function()
  local emit, cut = loader.require("emit"), loader.require("ops/mla_decode/plans/schedule").cut
  local p = problem.parse("mla_decode:h16,b140,s320")
  local function text(name)
    local k = space.variant(p, "sm_90a", name).decode
    return emit.render(k.template, k.params, "sm_90a")
  end
  local alone = "sm90_few:cluster=1,load=tma,rows=16,schedule=fitted,wgs=2/s1,early=1,rows=4,team=2"
  ok(cut.sm90_few < cut.sm90_few_meets)
  ok(text(alone):find(("kv_indptr[a->batch] ? %d : %d)\n"):format(cut.sm90_few, cut.sm90_few_meets), 1, true), "a block alone")
  local cluster = text("sm90_few:cluster=2,load=tma,rows=16,schedule=fitted,wgs=2/s1")
  ok(cluster:find("#define FIT_CUT " .. cut.sm90_few_meets .. "\n", 1, true), "a cluster")
  eq(space.variant(p, "sm_90a", alone).decode.cost.parts_at(1), 132)
  eq(space.variant(problem.parse("mla_decode:h16,b140,s128"), "sm_90a", alone).decode.cost.parts_at(1), nil)
end)

test("pairs of sm90_many have no block without rows", function()
  local name = "sm90_many:cluster=2,schedule=fitted/s1,rows=4,team=2"
  for text, left in pairs { ["h128"] = false, ["h64,q3,causal"] = true, ["h64,q4,causal"] = false, ["h80,q4,causal"] = true } do
    local p = problem.parse("mla_decode:b31,s1920," .. text)
    if left then raises(function() space.variant(p, "sm_90a", name) end, "one is left alone")
    else eq(space.variant(p, "sm_90a", name).name, name) end
  end
end)

test("families of shares: for several splits of several requests, and twins in a layer that are the fitted kernels", function()
  local p = problem.parse("mla_decode:h16,b18,s1280")
  local rest = ":cluster=2,load=tma,rows=16,%swgs=2/s3,mixed=1,rows=1,team=8"
  local function of(family, word) return space.variant(p, "sm_90a", family .. rest:format(word)) end
  eq(of("sm90_few_shares", "").decode.params, (of("sm90_few", "schedule=fitted,").decode.params:gsub("fitted", "shares")))
  local twin, usual = of("sm90_few_shares_ahead", "").decode, of("sm90_few_ahead", "schedule=fitted,").decode
  eq(twin.symbol, usual.symbol)
  for _, text in ipairs({ "h16,b18,s1280", "h112,q2,causal,b7,s1536", "h24,b6,s16384", "h16,b1,s4096" }) do
    local some = false
    for _, v in ipairs(space.variants(problem.parse("mla_decode:" .. text), "sm_90a")) do
      local shares = not v.rejected and v.name:find("_shares:", 1, true)
      ok(not shares or v.knob > 1, "%s: %s", text, v.name)
      some = some or shares
    end
    eq(some ~= false and some ~= nil, not text:find("b1,"), text)
  end
end)

test("pages of 1: sm90_many_gather_whole for one split, and calls of several query tokens are no index lists", function()
  local whole = "sm90_many_gather_whole:/s1,early=1,rows=8,team=1"
  local fitted = "sm90_many_gather:schedule=fitted/s1,early=1,rows=8,team=1"
  for text, cut in pairs({ ["h80,q3,causal,page1,b19,s1174"] = false, ["h128,page1,b50,s3000"] = false,
    ["h64,page1,b80,s3000"] = true }) do
    local p = problem.parse("mla_decode:" .. text)
    local v = space.variant(p, "sm_90a", whole)
    eq(v.decode.cost.parts_at(1) ~= nil, cut, text)
    eq(space.variant(p, "sm_90a", fitted).decode.cost.parts_at(1) ~= nil, true, text)
    ok(v.combine.params:find("once=1", 1, true), "%s: %s", text, v.combine.params)
  end
  local function first(text) return space.variants(problem.parse("mla_decode:" .. text), "sm_90a")[1].name end
  -- Lists are one query token a request. By measured times sm90_mid_gather takes 65.4 us there, the other one 58.2.
  local wanted = { ["h48,q3,causal,page1,b48,s1171"] = "sm90_many_gather_whole:",
    ["h128,page1,b45,s712"] = "sm90_many_gather:schedule=lists/" }
  for text, want in pairs(wanted) do eq(first(text):sub(1, #want), want, text) end
end)

test("pages of 1: what launches hand over decides what is reckoned as index lists, where it is known", function()
  local api = loader.require("api")
  for text, want in pairs({
    ["h128,page1,b45,s712"] = "sm90_many_gather:schedule=lists/",
    ["h128,page1,b45,s712;lists"] = "sm90_many_gather:schedule=lists/",
    ["h128,page1,b45,s712;tables"] = "sm90_many_gather_whole:", ["h128,b45,s712;tables"] = "sm90_many_whole:",
    ["h5,page1,b512,s64;tables"] = "sm90_mid_gather:", ["h16,page1,b134,s300;lists"] = "sm90_mid_gather:",
    ["h4,page1,b512,s64;lists"] = "sm90_few:",
  }) do
    local p = api.problem("mla_decode:" .. text)
    eq(api.best(p, "sm_90a", 1)[1].name:sub(1, #want), want, text)
  end
  raises(function() api.problem("mla_decode:h128,page1,b45,s712;rows") end, "is no form of launches")
  -- One list is read by fitted kernels, whose merge kernels apply sinks; one request of a table is not.
  for _, text in ipairs({ "h16,page1,b1,s2048", "h128,fp8_ds_mla,page1,b1,s2048", "h64,p0,fp8_v4,page1,b1,s2048" }) do
    local lists = api.best(api.problem("mla_decode:" .. text .. ";lists"), "sm_90a", 20)
    local tables = api.best(api.problem("mla_decode:" .. text .. ";tables"), "sm_90a", 20)
    ok(#lists == 20 and #tables == 20, text)
    for i = 1, 20 do
      ok(not lists[i].name:find("schedule=splits", 1, true), "%s by list: %s", text, lists[i].name)
      ok(not tables[i].name:find("schedule=fitted", 1, true), "%s by table: %s", text, tables[i].name)
    end
  end
  -- Page tables may be cut, lists are not.
  local name = "sm90_raw_mid:load=rows,rows=64,schedule=fitted/s1,early=1,rows=4,team=2"
  local function cost(form)
    return api.variant(api.problem("mla_decode:h64,fp8_ds_mla,page1,b140,s2048" .. form), "sm_90a", name).decode.cost
  end
  for form, lists in pairs({ [""] = true, [";lists"] = true, [";tables"] = false }) do
    eq(cost(form).lists, lists, form)
    eq(cost(form).parts_at(1) ~= nil, not lists, form)
  end
end)

test("sm90_many_whole: for one split; requests that all run at once stay whole where sm90_many would cut them", function()
  local whole = "sm90_many_whole:cluster=%d/s1,early=1,rows=8,team=1"
  local fitted = "sm90_many:cluster=%d,schedule=fitted/s1,early=1,rows=8,team=1"
  for text, want in pairs({ ["h80,q3,causal,b19,s1174"] = { 2, true, false }, ["h128,b50,s3000"] = { 2, true, false },
    ["h128,q3,causal,b16,s3000"] = { 2, true, true },
    ["h64,b96,s3000"] = { 1, true, false }, ["h64,b80,s3000"] = { 1, true, true },
    ["h64,q3,causal,b20,s1024"] = { 1, true, true }, ["h64,q3,causal,b20,s1088"] = { 1, true, false },
    ["h72,q2,causal,b69,s2053"] = { 1, true, true }, ["h128,b60,s2000"] = { 2, false, false } }) do
    local p = problem.parse("mla_decode:" .. text)
    local function cuts(name)
      local v = space.variant(p, "sm_90a", name:format(want[1]))
      return v.decode.cost.parts_at(1) ~= nil, v
    end
    eq(cuts(fitted), want[2], text)
    local cut, v = cuts(whole)
    eq(cut, want[3], text)
    ok(v.combine.params:find("once=1", 1, true), "%s: %s", text, v.combine.params)
  end
  local p = problem.parse("mla_decode:h128,b50,s3000")
  local twin = space.variant(p, "sm_90a", "sm90_many_whole_ahead:cluster=1/s1,early=1,rows=8,team=1")
  local usual = space.variant(p, "sm_90a", "sm90_many_ahead:cluster=1,schedule=fitted/s1,early=1,rows=8,team=1")
  eq(twin.decode.symbol, usual.decode.symbol)
  eq(twin.combine.symbol, usual.combine.symbol)
  for _, v in ipairs(space.variants(p, "sm_90a")) do
    ok(v.rejected or not v.name:find("_whole:", 1, true) or v.knob == 1, v.name)
  end
end)

test("few short requests: clusters that merge in shared memory, the fewest with no merge kernel; others with another", function()
  local function first(text)
    local v = space.variants(problem.parse("mla_decode:" .. text), "sm_90a")[1]
    return v.decode.cost.width or 1, v.combine, v.name
  end
  for _, text in ipairs { "h16,b26,s320", "h8,b28,s512", "h16,b12,s1024", "h24,b7,s896" } do
    local width, combine, name = first(text)
    ok(width >= 2 and combine and combine.template == "mla_decode/combine_early_clusters", "%s: %s", text, name)
  end
  for _, text in ipairs { "h48,b9,s512", "h8,b4,s256", "h16,q4,causal,f16,b7,s303", "h4,q2,causal,b11,s640" } do
    local width, combine, name = first(text)
    ok(width >= 4 and not combine and name:find("^sm90_few:"), "%s: %s", text, name)
  end
  for _, text in ipairs { "h16,b45,s512", "h48,b9,s1884", "h32,b24,s576", "h128,b5,s1088" } do
    local width, combine, name = first(text)
    ok((width <= 2 or name:find("^sm90_mid_clusters:")) and combine, "%s: %s", text, name)
  end
end)

test("clusters that leave cut batches to a merge kernel have the one whose blocks end early, and no other", function()
  for _, text in ipairs { "h48,f16,b24,s2560", "h128,b32,s600", "h16,b26,s320" } do
    local some = 0
    for _, v in ipairs(space.variants(problem.parse("mla_decode:" .. text), "sm_90a")) do
      if not v.rejected and v.name:find("_clusters:", 1, true) then
        eq(v.combine.template, "mla_decode/combine_early_clusters", v.name)
        some = some + 1
      end
    end
    ok(some > 0, text)
  end
end)

test("pages of 1: shares are cut earlier than with boxes, and few requests of more than 16 rows have no clusters", function()
  local p = problem.parse("mla_decode:h80,page1,b38,s4000")
  p.reads = "tables"
  local v = space.variant(p, "sm_90a", "sm90_mid_gather_shares:rows=80/s3,mixed=1,rows=4,team=2")
  eq(v.decode.cost.parts_at(3), 132) -- of mean 748 uniform lengths took 32.6 us whole, in two shares and cut 29.0
  for _, text in ipairs { "h48,page1,b8,s395", "h24,page1,b11,s252" } do
    p = problem.parse("mla_decode:" .. text)
    p.reads = "tables"
    local name = space.best(p, "sm_90a", 1)[1].name
    ok(not name:find("^sm90_few:cluster"), "%s: %s", text, name)
  end
end)

test("a kernel for shares cuts by its own family's number, which the model has, too", function()
  local cut, emit = loader.require("ops/mla_decode/plans/schedule").cut, loader.require("emit")
  for _, name in ipairs { "sm90_many", "sm90_mid", "sm90_many_gather", "sm90_mid_gather" } do
    local gather = name:find("gather", 1, true)
    local p = problem.parse("mla_decode:h80,b38,s4000" .. (gather and ",page1" or ""))
    p.reads = gather and "tables" or nil
    for _, v in ipairs(space.best(p, "sm_90a", 400)) do
      if v.name:find("^" .. name .. "_shares:") then
        local text = emit.render(v.decode.template, v.decode.params, "sm_90a")
        eq(text:match("#define FIT_CUT %((%-?%d+)"), tostring(cut[name .. "_shares"]), v.name)
        name = nil
        break
      end
    end
    eq(name, nil, "no such kernel")
  end
end)

test("a merge kernel that ends early takes no more for whole than the kernel ahead of it", function()
  local emit, n = loader.require("emit"), 0
  local function cut(k)
    local text = emit.render(k.template, k.params, "sm_90a"):match("#define FIT_CUT ([^\n]*)")
    return (text:gsub("%f[%w]128 %* %(int%)passes", "SCHEDULE_FIXED * (int)passes"))
  end
  local function less(text, by) -- its costs of a cut, which are what is behind ?, : and nothing
    text = text:gsub("([?:] )(%d+)", function(before, x) return before .. math.tointeger(x) - by end)
    return (text:gsub("^%(?%d+%f[%D]", function(x) return x:gsub("%d+", function(y) return math.tointeger(y) - by end) end))
  end
  for _, shape in ipairs { "h16,b18", "h64,b140", "h128,b18", "h80,page1,b7" } do
    local p, seen = problem.parse("mla_decode:" .. shape .. ",s640"), {}
    for _, k in ipairs(space.kernels(p, "sm_90a")) do
      local made, v = false, nil
      if not seen[k.family] then made, v = pcall(space.variant, p, "sm_90a", k.name .. "/s1,early=1,rows=4,team=2") end
      if made then
        eq(cut(v.combine), less(cut(v.decode), 8), v.name)
        seen[k.family], n = true, n + 1
      end
    end
  end
  ok(n >= 10, "%d pairs", n)
  raises(function()
    space.variant(problem.parse("mla_decode:h64,b18,s1280"), "sm_90a", "sm90_mid_shares:rows=64/s1,early=1,rows=4,team=2")
  end, "no early=1")
end)

test("a merge kernel's time is of the decode kernel ahead of it, also beside clusters that find nothing to merge", function()
  local ns, p = {}, problem.parse("mla_decode:h40,q2,causal,f16,b40,s640")
  for _, v in ipairs(space.best(p, "sm_90a", 60)) do ns[v.name] = v.model_ns end
  local of = "sm90_mid_shares:rows=80/s%d,mixed=1,rows=4,team=2" -- both cut the batch into 132 parts
  eq(ns[of:format(5)], ns[of:format(4)])
end)

test("what a launch cuts at a size and keeps whole at a shorter one that rounds to it is not the first there", function()
  for _, text in ipairs { "h24,q3,causal,f16,b36,s640", "h80,b36,s640", "h112,f16,b80,s640" } do
    local name = space.best(problem.parse("mla_decode:" .. text), "sm_90a", 1)[1].name
    ok(not name:find("^sm90_mid:.*/s1,"), "%s: %s", text, name)
  end
end)

test("a caller who knows more gets kernels that read ahead, and that serve the next problem, too", function()
  local p, name = problem.parse("mla_decode:h128,b16,s1024"), "sm90_many:cluster=1,schedule=fitted/s4,mixed=1,rows=4,team=2"
  local function inside(ahead, next)
    local names = {}
    for i, v in ipairs(space.inside(p, "sm_90a", name, ahead, next and problem.parse(next))) do names[i] = v.name end
    return table.concat(names, " ")
  end
  local ahead, both = name:gsub(":", "_ahead:"), "sm90_many%s:cluster=1,schedule=fitted/s4,values=128"
  eq(inside(false), "")
  eq(inside(true), ahead)
  eq(inside(false, "mla_v_out:h128,r512,v128,bf16,t16"), both:format(""))
  eq(inside(true, "mla_v_out:h128,r512,v128,bf16,t16"), both:format("_ahead") .. " " .. ahead)
  for _, next in ipairs({ "mla_v_out:h128,r512,v64,bf16", "mla_v_out:h64,r512,v128,bf16", "mla_v_out:h128,r512,v128,f16",
    "mla_v_out:h128,r512,v128,bf16,e4m3fn", "mla_o_proj:d7168,h128,v128,bf16" }) do
    eq(inside(true, next), ahead, next)
    eq(inside(false, next), "", next)
  end
end)

test("sm90_mid reads ahead for few tokens, and where a plan's own kernel is no cluster's", function()
  local function inside(text, name)
    local list = space.inside(problem.parse("mla_decode:h64," .. text), "sm_90a", name, true)
    return list[1] and list[1].name or "none"
  end
  eq(inside("b4,s3897", "sm90_mid_shares:rows=32/s16,mixed=1,rows=1,team=8"),
    "sm90_mid_shares_ahead:rows=32/s16,mixed=1,rows=1,team=8")
  eq(inside("b8,s900", "sm90_mid:rows=64,schedule=fitted/s1,early=1,rows=8,team=1"),
    "sm90_mid_ahead:rows=64,schedule=fitted/s1,early=1,rows=8,team=1")
  eq(inside("b9,s705", "sm90_mid_shares:rows=32/s6,mixed=1,rows=2,team=4"), "none")
  eq(inside("b8,s362", "sm90_mid_clusters:cluster=2,rows=64/s1,early=1,rows=4,team=2"):find("^sm90_mid"), nil)
end)

test("a layer gets kernels that read ahead, or are fused with values, where plans of their own take clusters", function()
  for text, wanted in pairs { ["h128,b32,s600"] = "^sm90_many_%a+_ahead:", ["h16,b12,s1024"] = "^sm90_few_ahead:cluster=8,",
    ["h8,b58,s384"] = "^sm90_few_shares_ahead:" } do -- clusters of two meet in a tree there
    local p = problem.parse("mla_decode:" .. text)
    local name = space.best(p, "sm_90a", 1)[1].name
    ok(name:find("_clusters:", 1, true), "%s: %s", text, name)
    eq(#space.inside(p, "sm_90a", name, false), 0, text)
    local list = space.inside(p, "sm_90a", name, true)
    ok(list[1] and list[1].name:find(wanted), "%s: %s", text, list[1] and list[1].name or "none")
  end
  local p = problem.parse("mla_decode:h40,b60,s1200")
  local name = space.best(p, "sm_90a", 1)[1].name
  ok(name:find("^sm90_mid_clusters:"), name)
  local list = space.inside(p, "sm_90a", name, false, problem.parse("mla_v_out:h40,r512,v128,bf16,t60"))
  ok(list[1] and list[1].name:find("values=128$") and not list[1].name:find("_clusters:"), list[1] and list[1].name or "none")
end)

test("space: CDNA's merge makes values, behind splits and behind launches that may cut their batch", function()
  local p = problem.parse("mla_decode:h16,r512,p64,q1,bf16,page64,b16,s1024")
  for _, form in ipairs { { "splits", "rows=1,team=4" }, { "fitted", "rows=4,team=1" } } do
    local start = ("mfma_reg:blocks=1,kvload=nt,psplit=1,qsrc=reg,rescale=lazy,schedule=%s,tile=16,waves=4/s8,"):format(form[1])
    for _, ahead in ipairs { false, true } do -- launches do not overlap: nothing is read ahead
      local next = problem.parse("mla_v_out:h16,r512,v128,bf16,t16")
      local list = space.inside(p, "gfx942", start .. form[2], ahead, next)
      eq(#list, 1)
      eq(list[1].name, start .. "values=128")
      eq(list[1].combine.params:match("fitted=%d+"), form[1] == "fitted" and "fitted=64" or "fitted=0")
      eq(#space.inside(p, "gfx942", start .. form[2], ahead), 0)
    end
  end
end)

test("a layer's twin has the merge kernel that ends early behind one split, whatever its name says", function()
  local p, name = problem.parse("mla_decode:h128,b64,s4096"), "sm90_many_ahead:cluster=2,schedule=fitted/s%d,%srows=4,team=2"
  for _, early in ipairs({ "", "early=1," }) do
    local v = space.variant(p, "sm_90a", name:format(1, early))
    eq(v.name, name:format(1, "early=1,"))
    eq(v.decode.template, "mla_decode/sm90_many_ahead")
    eq(v.combine.template, "mla_decode/combine_early")
  end
  eq(space.variant(p, "sm_90a", name:format(2, "")).combine.template, "mla_decode/combine_warp")
  eq(space.variant(p, "sm_90a", "sm90_many_ahead:cluster=2,schedule=splits/s1").combine, nil)
  for _, v in ipairs(space.variants(p, "sm_90a")) do ok(not v.name:find("_ahead"), "%s is a candidate", v.name) end
end)

test("a layer's twin is of pairs where a request's halves have much to read, whatever its name says", function()
  for text, pair in pairs({ ["h128,b128,s1024"] = 2, ["h128,b64,s4096"] = 2, ["h96,b128,s1024"] = 2, ["h128,b64,s1024"] = 1,
    ["h128,q2,causal,b128,s1024"] = 1, ["h64,b128,s4096"] = 1 }) do
    local p = problem.parse("mla_decode:" .. text)
    local v = space.variant(p, "sm_90a", "sm90_many_ahead:cluster=1,schedule=fitted/s1,rows=4,team=2")
    eq(v.name, ("sm90_many_ahead:cluster=%d,schedule=fitted/s1,early=1,rows=4,team=2"):format(pair))
  end
  local p = problem.parse("mla_decode:h128,b128,s1024")
  for _, name in ipairs({ "sm90_many:cluster=1,schedule=fitted/s1,early=1,rows=4,team=2",
    "sm90_many_ahead:cluster=1,schedule=fitted/s2,rows=4,team=2" }) do
    eq(space.variant(p, "sm_90a", name).name, name)
  end
end)

test("mla_q_absorb of few heads leaves half of the SMs free, but where attention behind it has a block on each", function()
  for tokens, rows in pairs({ [16] = 128, [32] = 128, [64] = 128, [65] = 64, [128] = 64, [256] = 128 }) do
    local p = problem.parse(("mla_q_absorb:h16,n128,p64,r512,bf16,pairs,t%d"):format(tokens))
    for _, v in ipairs(space.variants(p, "sm_90a")) do
      if v.name:find("^ring:") then
        eq(v.project.rows_per_wg, rows, v.name)
        break
      end
    end
  end
end)

test("a merge kernel with all warps for a row of many pieces may come where a batch is cut, and is liked better", function()
  for text, kernel in pairs({ ["h128,b24,s4096"] = "sm90_many:cluster=1,schedule=fitted",
    ["h40,b24,s4096"] = "sm90_mid:rows=48,schedule=fitted",
    ["h16,b24,s4096"] = "sm90_few:cluster=1,load=tma,rows=16,schedule=fitted,wgs=2" }) do
    local p = problem.parse("mla_decode:" .. text)
    local plain = space.variant(p, "sm_90a", kernel .. "/s3,rows=4,team=2")
    local mixed = space.variant(p, "sm_90a", kernel .. "/s3,mixed=1,rows=4,team=2")
    eq(mixed.combine.template, "mla_decode/combine_mixed", text)
    eq(plain.combine.template, "mla_decode/combine_warp", text)
    ok(mixed.model_ns < plain.model_ns, "%s: %f not below %f", text, mixed.model_ns, plain.model_ns)
    ok(space.refit(p, "sm_90a", plain.name).name:find("mixed=1", 1, true) or space.refit(p, "sm_90a", plain.name).knob == 1, text)
    local behind_one = pcall(space.variant, p, "sm_90a", kernel .. "/s1,mixed=1,rows=4,team=2")
    eq(behind_one, kernel:find("few") ~= nil, text) -- the others: early=1
  end
  local name = "sm90_many:cluster=1,schedule=splits/s3,mixed=1,rows=4,team=2"
  raises(function() space.variant(problem.parse("mla_decode:h128,b24,s4096"), "sm_90a", name) end, "mixed")
end)

test("equal lengths: a merge kernel that ends early is taken where a launch leaves places free, not where full", function()
  local uneven = loader.require("ops/mla_decode/times").measured.uneven
  local round, behind, early = uneven.round, "rows=4,team=2", "early=1,rows=4,team=2"
  uneven.round = 0 -- it also serves lengths that differ better
  for text, name in pairs({ ["h64,q4,causal,b31,s2560"] = early, ["h24,q3,causal,b48,s1536"] = early,
    ["h112,q2,causal,b72,s2560"] = "early=1,rows=8,team=1", -- cut, into more rows than a turn of blocks has
    ["h96,q4,causal,b22,s1408"] = behind }) do
    local p = problem.parse("mla_decode:" .. text)
    eq(space.refit(p, "sm_90a", "sm90_many:cluster=2,schedule=fitted/s1,rows=4,team=2").name:match("/s%d+,(.*)"), name, text)
  end
  uneven.round = round
end)

test("a row a warp behind one split: where cut rows take several turns of blocks, and no faster where they take one", function()
  for text, alone in pairs({ ["h128,b64,s4096"] = true, ["h72,q2,causal,b72,s2560"] = true, ["h64,b384,s1024"] = true,
    ["h24,b48,s1536"] = false, ["h32,b48,s3072"] = false }) do
    local p = problem.parse("mla_decode:" .. text)
    local name = "sm90_many:cluster=1,schedule=fitted/s1,early=1,"
    local one, two = space.variant(p, "sm_90a", name .. "rows=8,team=1"), space.variant(p, "sm_90a", name .. "rows=4,team=2")
    eq(one.combine.rows_per_wg, 8)
    eq(one.model_ns < two.model_ns, alone, text)
  end
end)

test("several requests: where a kernel serves any lengths, all candidates do, and others serve by their names", function()
  local function schedules(text)
    local seen, refused = {}, 0
    for _, v in ipairs(space.variants(problem.parse("mla_decode:" .. text), "sm_90a")) do
      if not v.rejected then
        seen[v.name:match("schedule=(%l+)") or v.name:match("^[%w_]+")] = true
        ok(v.decode.cost.any_lengths or text:find(",b1,") or text:find("r96"), "%s: %s", text, v.name)
      elseif v.rejected:find("other kernels serve them better", 1, true) then
        refused = refused + 1
      end
    end
    return seen, refused
  end
  for _, text in ipairs({ "h16,b64,s4096", "h128,b2,s4096", "h40,b64,s4096,page3", "h128,b64,s512,r256" }) do
    local seen, refused = schedules(text)
    ok(seen.fitted and not seen.splits and not seen.turns and not seen.mma, text)
    ok(refused > 0, "%s: none was refused for it", text)
  end
  local one, refused = schedules("h128,b1,s4096")
  ok(one.splits and one.mma and not one.fitted and refused == 0, "one request is offered splits")
  local other, none = schedules("h16,b4,s4096,r96,p0") -- no kernel serves any lengths: all that there are
  ok(other.mma and none == 0, "mma where nothing else is")
  local p = problem.parse("mla_decode:h80,b64,s4096")
  for _, name in ipairs({ "sm90_mid:rows=80,schedule=splits/s2,rows=1,team=4", "sm90_many:cluster=2,schedule=turns/s1",
    "mma:" .. params.print(families.baselines[2].params) .. "/s1" }) do
    local v = space.variant(p, "sm_90a", name)
    eq(v.name, name)
    eq(space.refit(params.merge(p, { batch = 32 }), "sm_90a", name).decode.symbol, v.decode.symbol, "fitted to another batch")
  end
  ok(not space.baseline(p, "sm_90a").rejected, "the baseline serves")
end)

T.sampled(1, "at least 24 distinct decode kernels per problem of the grid", function(mine)
  for i, entry in ipairs(T.grid_kernels(loader)) do
    local p, seen, n = entry[1], {}, 0
    if not mine(i) then goto continue end
    for _, item in ipairs(entry[2]) do
      local key = item.kernel.template .. " " .. item.kernel.params
      if not item.rejected and not seen[key] then
        local limit = loader.require("budget").register_limit(item.kernel.threads, loader.require("arch/gfx942"))
        ok(item.kernel.vgpr_budget >= 64 and item.kernel.vgpr_budget <= limit, "%s: budget of %d registers, limit %d",
          item.name, item.kernel.vgpr_budget, limit)
        seen[key] = true
        n = n + 1
      end
    end
    ok(n >= 24, "%s: %d", problem.print(p), n)
    ::continue::
  end
end)

T.sampled(3, "every rejected point states a reason with a number, every candidate none", function(mine)
  local seen = {}
  for i, p in ipairs(grid()) do
    if i % 7 == 0 and mine(i // 7) then
      for _, v in ipairs(space.variants(p, "gfx942")) do
        if v.rejected then
          ok(v.rejected:find("%d"), "%s: %q", v.name, v.rejected)
          seen[v.rejected:match("^%a+") or v.rejected:match("%a+")] = true
        end
      end
    end
  end
  ok(seen.registers, "no point was rejected for registers")
end)

test("names are unique and rebuild their variant", function()
  for _, text in ipairs({ "mla_decode:h16,b64,s4096", "mla_decode:h128,q2,causal,b1,s1000,r256,p32,page3" }) do
    local p, seen = problem.parse(text), {}
    for _, v in ipairs(space.variants(p, "gfx942")) do
      ok(not seen[v.name], "%s twice", v.name)
      ok(#v.name < 256, "name of %d bytes", #v.name)
      seen[v.name] = true
      if not v.rejected then
        local w = space.variant(p, "gfx942", v.name)
        for _, field in ipairs({ "name", "knob", "model_ns" }) do eq(w[field], v[field], field) end
        for _, k in ipairs({ "decode", "combine" }) do
          eq(v[k] == nil, w[k] == nil, k)
          for field, value in pairs(v[k] or {}) do
            if field ~= "cost" then eq(w[k][field], value, k .. "." .. field) end
          end
        end
        local alone = v.knob == 1 and not v.name:find("schedule=fitted") -- that may cut one split, too
        eq(v.combine == nil, alone, "combine with more than one split")
      end
    end
  end
end)

test("splits: each has work, and the fills are there", function()
  local p = problem.parse("mla_decode:h16,b1,s131072")
  local most = 0
  for _, v in ipairs(space.variants(p, "gfx942")) do
    if not v.rejected then most = math.max(most, v.knob) end
  end
  ok(most >= 128, "B=1 ctx=128K is split %d ways at most", most)
  for _, v in ipairs(space.variants(problem.parse("mla_decode:h16,b1,s1"), "gfx942")) do
    ok(v.rejected or v.knob == 1, "%s for one token", v.name)
  end
end)

test("parameters hold what the source depends on and nothing of the launch", function()
  local p, q = problem.parse("mla_decode:h16,b64,s4096"), problem.parse("mla_decode:h16,b3,s777")
  local name = "/s1"
  for _, v in ipairs(space.variants(p, "gfx942")) do
    if not v.rejected and v.knob == 1 then name = v.name break end
  end
  eq(space.variant(p, "gfx942", name).decode.params, space.variant(q, "gfx942", name).decode.params)
  local text = space.variant(p, "gfx942", name).decode.params
  eq(params.print(params.parse(text)), text)
end)

T.sampled(5, "a variant is fitted to another batch and context: its kernel stays, its splits follow", function(mine)
  local function at(b, s) return problem.parse(("mla_decode:h16,r512,p64,q1,bf16,page64,b%d,s%d"):format(b, s)) end
  local tuned = at(4, 1024)
  for i, v in ipairs(space.variants(tuned, "gfx942")) do
    if v.rejected then break end
    if i % 41 == 1 and mine(i // 41) then
      for _, p in ipairs({ at(4, 512), at(4, 8192), at(64, 1024), at(2, 131072) }) do
        local fitted = space.refit(p, "gfx942", v.name)
        eq(fitted.decode.symbol, v.decode.symbol)
        eq(space.variant(p, "gfx942", fitted.name).name, fitted.name) -- one of p's space
        for _, other in ipairs(space.variants(p, "gfx942")) do -- and of all with this kernel the best by the model
          if not other.rejected and other.decode.symbol == v.decode.symbol then ok(fitted.model_ns <= other.model_ns) end
        end
      end
    end
  end
  -- A full device needs no splits, an empty one more of a longer context.
  local name = "mfma_reg:" .. params.print(families.baselines[1].params) .. "/s16,rows=1,team=2"
  eq(space.refit(at(2048, 1024), "gfx942", name).knob, 1)
  ok(space.refit(at(1, 65536), "gfx942", name).knob > 16)
  raises(function() space.refit(at(1, 64), "gfx942", "mfma_reg:zeal=1/s1") end, "no zeal=1")
  raises(function() space.refit(at(1, 64), "sm_90a", name) end, "family mfma_reg is not for sm_90a")
end)

test("the best few are the first of the space", function()
  for target, text in loader.sorted({ gfx942 = "mla_decode:h16,b4,s4096", sm_90a = "mla_decode:h40,b64,s2048" }) do
    local p = problem.parse(text)
    local all = space.variants(p, target)
    for _, most in ipairs({ 1, 2, 7, #all + 1 }) do
      local best = space.best(p, target, most)
      for i, v in ipairs(best) do eq(v.name, all[i].name, "%s: %d", target, i) end
      local after = all[#best + 1] -- and nothing is missing
      ok(#best == most or not after or after.rejected, "%s: %d of %d", target, #best, most)
    end
  end
end)

test("a name from before a family was renamed gives today's variant", function()
  local renamed = loader.require("ops/mla_decode/renamed")
  local one = { hopt = { "h16,b64,s4096", "cluster=1,load=tma,rows=16,schedule=fitted,wgs=2/s1" },
    hop = { "h128,b64,s4096", "cluster=2,schedule=fitted/s1,rows=4,team=2" },
    hopp = { "h80,b64,s4096", "rows=80,schedule=splits/s2,rows=1,team=4" },
    hopw = { "h128,r256,b64,s4096", "schedule=fitted/s1,rows=4,team=2" },
    hopg = { "h128,b64,s4096,page16", "schedule=fitted/s1,rows=4,team=2" },
    hoppg = { "h80,b64,s4096,page16", "rows=80,schedule=splits/s2,rows=1,team=4" },
    reg = { "h16,b1,s4096", params.print(families.baselines[1].params) .. "/s1" },
    lds = { "h128,b1,s4096", "blocks=1,load=dma,order=plain,rescale=lazy,schedule=splits,stages=3,waves=4/s1" } }
  for old, new in loader.sorted(renamed.families) do
    local p, target = problem.parse("mla_decode:" .. one[old][1]), new:find("^sm90") and "sm_90a" or "gfx942"
    local v = space.variant(p, target, old .. ":" .. one[old][2])
    eq(v.name, new .. ":" .. one[old][2])
    eq(space.refit(p, target, old .. ":" .. one[old][2]).decode.symbol, v.decode.symbol)
    eq(loader.kernel_now("mla_decode_" .. old), v.decode.template)
    ok(not families.families[old], "%s is a family again", old)
  end
  for old, new in loader.sorted(renamed.templates) do ok(loader.has_kernel(new), "%s: no template %s", old, new) end
end)

test("bad names", function()
  local p = problem.parse("mla_decode:h16,b64,s4096")
  local function bad(name, ...) raises(function() space.variant(p, "gfx942", name) end, ...) end
  local base = params.print(families.baselines[1].params)
  bad("nonsense", "FAMILY:k=v")
  bad("warp:" .. base .. "/s1", "no family 'warp'")
  bad("combine:rows=1,team=1/s1", "no family 'combine'")
  bad("mfma_reg:" .. base .. ",zeal=1/s1", "no zeal=1")
  bad("mfma_reg:" .. base:gsub("waves=4", "waves=5") .. "/s1", "no waves=5")
  bad("mfma_reg:" .. base:gsub(",waves=4", "") .. "/s1", "waves is missing")
  bad("mfma_reg:" .. base .. "/s0", "FAMILY:k=v")
  bad("mfma_reg:" .. base .. "/s4", "combine kernel")
  bad("mfma_reg:" .. base .. "/s1,rows=1,team=1", "no combine kernel")
  bad("mfma_reg:" .. base:gsub("blocks=1", "blocks=2") .. "/s1", "not in the space of mla_decode:h16", "registers")
end)

T.sampled(4, "every target has the baseline for every problem of the grid and the corners", function(mine)
  local corners = { "mla_decode:h1,r32,p0,q1,f16,page1,b1,s1",
    "mla_decode:h128,r512,p64,q8,causal,bf16,page65536,b65536,s16777216",
    "mla_decode:h128,r32,p64,q8,bf16,page3,b1,s1" }
  for _, target in ipairs(loader.targets()) do
    for i, p in ipairs(grid()) do
      if (target == "gfx942" or i % 7 == 0) and mine(i) then ok(not space.baseline(p, target).rejected, target) end
    end
    for _, text in ipairs(corners) do
      local v = space.baseline(problem.parse(text), target)
      ok(v.name and not v.rejected, "%s: %s", target, text)
    end
  end
end)

T.sampled(4, "any rank and rope in multiples of 32 has candidates", function(mine)
  for rank = 32, 512, 32 do
    for rope = 0, 64, 32 do
      if not mine(rank // 32 + rope // 32) then goto continue end
      local n = 0
      for _, item in ipairs(space.kernels(problem.parse(("mla_decode:h16,r%d,p%d"):format(rank, rope)), "gfx942")) do
        n = n + (item.rejected and 0 or 1)
      end
      ok(n >= 8, "rank %d rope %d: %d kernels", rank, rope, n)
      ::continue::
    end
  end
end)

test("Q in two tensors and index lists of tokens with scales: kernels that have no registers for both are refused", function()
  local function offered(fields, family, rows)
    for _, k in ipairs(space.kernels(problem.parse("mla_decode:h64,b64,s2048,fp8_ds_mla," .. fields), "sm_90a")) do
      if k.family == family and k.point.values.rows == rows and not k.rejected then return true end
    end
    return false
  end
  for _, one in ipairs({ { "sm90_raw_two", 32 }, { "sm90_raw_mid", 64 } }) do
    ok(offered("page1", table.unpack(one)), "%s: Q in one", one[1])
    ok(not offered("page1,q_parts", table.unpack(one)), "%s: Q in two", one[1])
  end
  ok(offered("page1,q_parts", "sm90_raw_mid", 32) and offered("page64,q_parts", "sm90_raw_mid", 64), "others of sm90_raw_mid")
end)
