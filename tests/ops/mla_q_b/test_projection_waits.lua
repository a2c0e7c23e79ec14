-- Launches that overlap: whoever comes two launches later may read what this one's predecessor wrote, because every block of this
-- one waits for that. mla_decode, behind mla_q_absorb, so reads rows that mla_q_b appended, and mla_q_absorb's launch is all that
-- stands between.
local loader = T.quick_loader(2048) -- symbols are in the texts, hashes of texts are not
local emit, golden = loader.require("emit"), dofile(T.root .. "/tools/golden.lua")

-- Ways out of a kernel before its first wait, but for the blocks that append, which others of the launch wait beside.
local function leaves_early(source)
  local body = source:match('\nextern "C" __global__.-{\n(.*)$')
  local before = body:match("^(.-)wait_for_previous_launch%(%)") or body
  before = before:gsub("if %(appended%([^\n]*%) return;", "")
  return before:find("%f[%w_]return%f[^%w_]") ~= nil, body:find("wait_for_previous_launch()", 1, true) ~= nil
end

test("projections: no block ends before it has waited for the launch before", function()
  local seen = 0
  for _, c in ipairs(golden.cases(loader, T.root)) do
    local family = c.template:match("^mla_[%w_]+/([%w_]+)$")
    if c.target == "sm_90a" and c.template:find("^mla_q") and family ~= "lib" then
      local early, waits = leaves_early((emit.render(c.template, c.params, c.target)))
      ok(waits and not early, "%s: a block may end before it has waited", c.name)
      seen = seen + 1
    end
  end
  ok(seen > 20, "%d kernels looked at", seen)
end)

test("projections: a way out before the wait is found", function()
  local c = { template = "mla_q_absorb/dot", target = "sm_90a" }
  for _, one in ipairs(golden.cases(loader, T.root)) do
    if one.template == c.template and one.target == c.target then c.params = one.params end
  end
  local source = emit.render(c.template, c.params, c.target)
  local early = source:gsub("let_next_launch_start%(%);", "%0\n  if (p.first) return;", 2)
  ok(early ~= source and leaves_early(early) and not leaves_early(source), "nothing found")
end)

-- A layer's first launch lets the next one start once it has waited itself: then all that came before the layer is over when any
-- launch of the layer begins, and attention reads what is old ahead of its own wait (sm90_few_ahead, sm90_many_ahead).
local function lets_go_late(source)
  local body = source:match('\nextern "C" __global__.-{\n(.*)$')
  local before, behind = body:match("^(.-)wait_for_previous_launch%(%)(.*)$")
  before = before:gsub("if %(!FIRST_OF_LAYER%) let_next_launch_start%(%);", "")
  return not before:find("let_next_launch_start", 1, true) and behind:find("let_next_launch_start", 1, true) ~= nil
end

test("mla_qkv_a: no family lets the next launch start before it has waited", function()
  local space, problem = loader.require("space"), loader.require("problem")
  local seen, n = {}, 0
  for _, weights in ipairs({ "", "e4m3fn," }) do
    for _, tokens in ipairs({ 1, 4, 16, 64, 128 }) do
      local p = problem.parse(("mla_qkv_a:d7168,l1536,r512,p64,bf16,%st%d"):format(weights, tokens))
      for _, v in ipairs(space.variants(p, "sm_90a")) do
        local family = v.name:match("^[^:]*")
        if not v.rejected and not seen[family] then
          local k = space.variant(p, "sm_90a", v.name).project
          seen[family], n = true, n + 1
          ok(lets_go_late((emit.render(k.template, k.params, "sm_90a"))), "%s lets go too early", k.template)
        end
      end
    end
  end
  ok(n == 8, "%d families looked at", n)
end)
