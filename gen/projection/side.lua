-- Projections with other work beside them: families NAME_append, whose kernels are those of NAME but for blocks behind the
-- product's that append the latent rows of the launch's tokens (templates/lib/projection/side.h).
local loader = ...
local formats = loader.require("formats") -- by value: templates of every format require this file
local budget = loader.require("budget")
local side = {}

side.SUFFIX = "_append"
-- Fields of a problem that say what is appended; beside them the rope columns' and the type are the projection's.
side.FIELDS = { "append", "append_norm", "append_style", "rank" }
side.STYLES = { [0] = "pairs", "halves", "unrotated" }
side.FLAG = 128 -- MLAF_KERNEL_SECOND
-- A problem fused with the q absorb: its field, and the flag of such kernels.
side.ABSORB, side.ABSORBS = "absorb", 256 -- MLAF_KERNEL_THIRD
-- Registers of a lane that appends, as models count them, and as many as compilers take where no launch bounds say how many there
-- are. LEAST: with fewer they spill (NVRTC 13.0, sm_90a: 12 of 14 kernels of 64 registers; the next more is 80), and so they do
-- with 80 where rows lie in halves (3 of 5).
local REGISTERS, TAKEN, LEAST, LEAST_IN_HALVES = 68, 120, 80, 96
local BESIDE = 8 -- more than the product alone takes, where it is the larger need (ring_fp8: 163 of 160)

-- True if a template's kernels append, too.
function side.of(template) return template:match(side.SUFFIX .. "$") ~= nil end

-- The type of a kernel's arguments, those of its product alone given.
function side.args(template, args) return side.of(template) and ("beside<%s>"):format(args) or args end

-- The name of the format that `append`, from 1 on, means; nil: it has columns of its own, which no projection of a layer makes.
function side.layout(append)
  local format = formats.of("mla_append")[append]
  return format and not formats.own_columns(format) and format.name or nil
end

-- The reason why nothing appends rows of a problem to its cache; nil: something does.
function side.absent(p)
  local format = side.layout(p.append)
  return format and formats.rope_fault(formats.get(format), p.rope)
end

-- The families of a list, each but a library's, what comes before one, and those that are for more tokens than rows are appended
-- beside (`many`), once more with such blocks. `op`: its templates'.
function side.derived(list, op)
  local made = {}
  for name, base in sorted(list) do
    if not base.library and not base.stage and not base.many then
      local family = { body = base.body or base.template, template = op .. "/" .. name .. side.SUFFIX, arch = base.arch,
        params = base.params, rules = {}, problem = { table.unpack(base.problem) } }
      table.move(side.FIELDS, 1, #side.FIELDS, #family.problem + 1, family.problem)
      for i, rule in ipairs(base.rules) do family.rules[i + 1] = rule end
      family.rules[1] = function(p)
        if p.append == 0 then return "nothing is appended: " .. name .. " serves it" end
        return side.absent(p)
      end
      -- A lane multiplies or appends: of registers it is the larger need that counts.
      family.cost = function(p, v, arch)
        local cost = base.cost(p, v, arch)
        if cost.refused then return cost end
        local need = 0
        for _, part in ipairs(cost.regs) do need = need + part[2] end
        if need < REGISTERS then table.insert(cost.regs, { "a row that is appended", REGISTERS - need }) end
        if not cost.bounded then
          cost.slack = math.max((cost.slack or 0) + BESIDE, TAKEN - math.max(need, REGISTERS))
          return cost
        end
        local left = budget.register_limit(cost.threads * cost.bounded, arch)
        local least = side.STYLES[p.append_style] == "halves" and LEAST_IN_HALVES or LEAST
        if left < least then
          return { refused = ("%d blocks of an SM leave a lane that appends %d registers: it spills"):format(cost.bounded, left) }
        end
        return cost
      end
      table.insert(base.rules, 1, function(p)
        if p.append ~= 0 then return ("latent rows are appended: %s%s does it"):format(name, side.SUFFIX) end
      end)
      made[name .. side.SUFFIX] = family
    end
  end
  return made
end

return side
