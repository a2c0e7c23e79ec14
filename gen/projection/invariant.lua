-- Projections of batch-invariant plans (gen/ops.lua: invariant): families NAME_invariant, whose kernels are those of NAME, and
-- add up a token's sums in one order however many tokens there are. The tokens of a pass are rows (or columns) of one matrix
-- instruction each, so a plan for more tokens has a wider pass of otherwise one kernel; what else could change the order is
-- fixed. A library's products, dot products and streams for few tokens, and families for many, have orders of their own.
local params = require("params")
local lines = require("projection/lines")
local invariant = {}

local SUFFIX = "_invariant"
local BASES = { "mfma", "mfma_fp8", "ring", "ring_fp8" }
local CLASSES = { 16, 32, 64, 128 } -- tokens that families are ranked by
local ALONE = 64                    -- tokens of a pass where no other may serve
local NO_ORDER = { pass = true, per_sm = true } -- parameters that change no order

local function base_of(name) return name:gsub("_append$", "") end

-- True if all numbers of tokens have one pass: the squares of ring_fp8 are shared out by it.
local function alone(base, product) return base == "ring_fp8" and product.norm == 1 end

-- The stated reason why a point's order of sums depends on its pass.
local function order_rule(base, product, p, v)
  if v.parts and v.parts > 1 then return "blocks that share a tile's passes are for many tokens" end
  local shape = { weights = p.weights, inner = product.inner, layout = product.layout }
  if base == "mfma" and product.norm == 1 and p.dtype == "bf16" and lines.whole(shape) and v.blocks < 4 then
    return ("%d blocks: the norm's weights go on W or on x, whichever is less in a pass"):format(v.blocks)
  end
  if alone(base, product) and v.pass ~= ALONE then return ("squares are shared out by the pass: it is %d"):format(ALONE) end
end

local function pass_rule(base, product, p, v, passes)
  if alone(base, product) then return end
  local most = passes[#passes]
  local n = passes[1]
  while n < p.tokens and n < most do n = 2 * n end
  if v.pass ~= n then return ("%d tokens in a pass, and %d are launched: %d"):format(v.pass, p.tokens, n) end
end

-- p with as many tokens as a pass: what a family says of it is said of every number of tokens.
local sized = setmetatable({}, { __mode = "k" })
local function at_pass(p, pass)
  sized[p] = sized[p] or {}
  sized[p][pass] = sized[p][pass] or params.merge(p, { tokens = pass })
  return sized[p][pass]
end

local function derive(of, name, base)
  local rules, own, sizes, most = {}, base_of(name), {}, CLASSES[#CLASSES]
  for key, values in sorted(base.params) do sizes[key] = values end
  sizes.pass = {}
  for _, pass in ipairs(base.params.pass) do -- wider ones are for a launch's tokens alone, and not with a norm
    if pass <= most then sizes.pass[#sizes.pass + 1] = pass end
  end
  rules[1] = function(p, v)
    local product = of.product(p)
    return order_rule(own, product, p, v) or pass_rule(own, product, p, v, sizes.pass)
  end
  for _, rule in ipairs(base.rules) do
    rules[#rules + 1] = function(p, v, arch) return rule(at_pass(p, v.pass), v, arch) end
  end
  return {
    asked = true, template = base.template, body = base.body, arch = base.arch, problem = base.problem, params = sizes,
    fixed = base.fixed, rules = rules,
    cost = function(p, v, arch) return base.cost(at_pass(p, v.pass), v, arch) end,
  }
end

-- The invariant ones of a list of families.
function invariant.derived(list, of)
  local made = {}
  for _, base in ipairs(BASES) do
    for _, name in ipairs { base, base .. "_append" } do
      if list[name] then made[name .. SUFFIX] = derive(of, name, list[name]) end
    end
  end
  return made
end

-- The rule of an operation's record.
function invariant.rule(of)
  local families = {}
  for _, base in ipairs(BASES) do
    if base ~= "ring_fp8" or of.ring_fp8_rows then
      families[#families + 1] = base .. SUFFIX
      if of.appends then families[#families + 1] = base .. "_append" .. SUFFIX end
    end
  end
  return {
    families = families,
    sizes = function(p)
      local list = {}
      for i, tokens in ipairs(CLASSES) do list[i] = params.merge(p, { tokens = tokens }) end
      return list
    end,
    key = function(_, values)
      local fixed = {}
      for name, value in sorted(values) do if not NO_ORDER[name] then fixed[name] = value end end
      return params.print(fixed)
    end,
    knob = function() return 1 end,
  }
end

return invariant
