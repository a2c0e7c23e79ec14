-- The operations, found by folder: gen/ops/OP/op.lua is one, the files of gen/ops/OP/families/ are its families. What is outside
-- gen/ops/ knows an operation by its record alone. op.lua returns one:
--
--   name      of the operation; its templates are in templates/OP/
--   fields    of its problem strings: gen/ops/OP/fields.lua (problem.lua)
--   stages    names of a variant's kernels; a variant's name has the parameters of the first, and of the second where it has one
--   baselines variants { family, params }, of which one works for every problem on every target: the first that no rule refuses
--             of those there for the target
--   rows(p)   rows of the problem that its workgroups share out
--   model     estimate(p, arch, cost, n, second_ns, second_uneven), second_ns(p, cost, second_cost, arch, n): nanoseconds, and
--             which of them are expected since requests differ in size (nil: none); second_uneven are those of the second stage
--
-- and, where it has more than one kernel that does one thing, what it need not say otherwise:
--
--   knob      the number behind "/s", `knob` of a variant: word, what it counts; most(cost); counts(p, cost, arch): those worth
--             trying; refuse(p, cost, n): the stated reason why n makes no sense, or nil. Left out: it is 1
--   second    the second stage: family(name, cost, n) that comes behind, nil: none; kind(cost, n): what its time goes by, as
--             text; fits(n, text, cost): whether a point may come behind n of a kernel of that cost; none(n): what has no
--             second kernel, in a message; other(name, cost, n): another family that may come; named(cost): one that comes
--             only where a name has it
--   screen(p, items)  rejects kernels of the space by what others there are; screened(p, cost, kernels): whether it would one
--   launch(p, v)      what the model's error depends on; unlike(a, b): two of them compared, in doublings (gen/nearby.lua)
--   doubts(p, arch)   of kernels nobody measured near (gen/nearby.lua), where its model deserves less than usual
--   like(kernel)      the first kernel's name by which its times are known: of kernels that run alike the same (gen/nearby.lua)
--   stands_back(asked, tuned)  what was tuned for the one is no choice for the other while something else is; nil: never
--   absent(p, arch)  why a target has no kernel of a problem at all, where that is so
--   invariant  of batch-invariant plans, whose outputs for a request (a token, where there are no requests) depend on nothing
--             else in the launch: { any = true } where all kernels are so and round alike, else families (names), sizes(p)
--             (problems that one of their kernels must serve alike), key(family, values) (text of all parameters that may change
--             bits), knob(p), and second() (the second kernel's parameters, where there is one); nil: there are none
--   inside(v, ahead, next)  what serves in place of variant v (family, second: the second kernel's parameters or nil; own: the
--             family that inside_of() was asked about) a caller who knows more (space.inside: ahead, next): a list of such
--             { family, second }, best first
--   inside_of(family, point)  the kernel (FAMILY:POINT) that such a caller's kernels are found by; nil: the best other one's.
--             When left out: the kernel itself
--   renamed   names that were other ones: families and templates, old -> new (gen/ops/OP/renamed.lua)
--
-- A family's file returns the family, or { families = { name = family } } where one file makes several. A family is a table:
--
--   stage     which kernel of a variant it makes; the first when left out
--   template  the kernel's template
--   body      the template whose kernel it is but for the loaders, where there is one: by it the manifest shows its parameters
--   arch      the architecture families it is written for (arch.isa.family), as a set
--   problem   fields of the problem its source depends on
--   optional  more such fields, which a kernel's parameters name only where they are not 0: kernels that were there before
--             them keep their names and texts (the engine's optional())
--   params    parameters it may take, with their values
--   fixed     parameters that have one value, where there are any
--   rules     functions (p, v, arch) that return the stated reason why a point cannot serve a problem, or nil
--   asked     true: its kernels are in no space, and come where a caller names them, who knows what they stand on
--   behind_one  of such a family: the second kernel where the knob is 1, whatever the name says, since it is one's that ran alone
--   instead   of such a family: function (p, v, knob) that returns the parameters, as a name has them, that serve its callers
--             better than those of the name, which are one's that ran alone; nil: they are good
--   library   true: its kernels are a vendor's library's, or want workspace as such a product may. They are in no space: a tuner
--             and plans that may take a library's product ask for them (space.libraries)
--   cost      function (p, v, arch), asked only when no rule objects; returns { refused = reason } or
--     threads, rows_per_wg, lds_bytes   how it is launched; the template declares the same, a test compares
--     regs     list of { what, registers per lane }; the sum is the budget
--     slack    registers the compiler takes beyond the sum where the limit leaves room
--     bounded  instead of slack: blocks of an SM in the kernel's launch bounds. Compilers take up to what those leave, however
--              small the sum is, and spill where it is more
--     any_lengths  it is as good for requests of different sizes
--     step     what one round of a workgroup covers, where the knob shares rounds out (mla_decode: cached tokens)
--     width    blocks that work on one share together (1), slots: blocks the device holds at once (its SMs)
--   and what the operation's own model and rules ask for (gen/ops/OP/op.lua)
local loader = ...
local ops = {}

local records, names = {}, nil

local function nothing() end

-- The defaults of an operation's record: one kernel, launched one way.
local USUAL = {
  knob = { word = "knob", most = function() return 1 end, counts = function() return { 1 } end, refuse = nothing },
  second = { family = nothing, kind = function() return 0 end, fits = function() return false end,
    none = function() return "the operation" end, other = nothing, named = nothing },
  screen = function(_, items) return items end,
  screened = nothing,
  launch = function() return {} end,
  unlike = function() return 0 end,
  doubts = nothing,
  absent = nothing,
  inside = function() return {} end,
  renamed = { families = {}, templates = {} },
}

-- Names of all operations, sorted.
function ops.names()
  if not names then
    names = {}
    for _, path in ipairs(loader.list("gen/ops/")) do
      names[#names + 1] = path:match("^gen/ops/([%w_]+)/op%.lua$")
    end
  end
  return names
end

local function add_family(op, name, family)
  if op.families[name] then error(("operation %s has two families '%s'"):format(op.name, name), 0) end
  family.stage, family.unlisted = family.stage or op.stages[1], {}
  local listed = {}
  for _, list in ipairs({ family.problem, family.optional or {} }) do
    for _, field in ipairs(list) do listed[field] = true end
  end
  for _, f in ipairs(family.stage == op.stages[1] and op.fields or {}) do
    if f.unlisted and not listed[f.field] then family.unlisted[#family.unlisted + 1] = f end
  end
  op.families[name] = family
  if family.library then
    op.libraries[#op.libraries + 1] = name
    return
  end
  if family.asked then return end
  local of_stage = op.of_stage[family.stage] or error(("family %s: operation %s has no stage '%s'"):format(name, op.name,
    family.stage), 0)
  of_stage[#of_stage + 1] = name
end

local function load_families(op)
  op.families, op.of_stage, op.libraries = {}, {}, {}
  for _, stage in ipairs(op.stages) do op.of_stage[stage] = {} end
  local folder = "ops/" .. op.name .. "/families/"
  for _, path in ipairs(loader.list("gen/" .. folder)) do
    local file = path:match("^gen/" .. folder .. "([%w_]+)%.lua$")
    local made = file and loader.require(folder .. file)
    if made and made.families then
      for name, family in sorted(made.families) do add_family(op, name, family) end
    elseif made then
      add_family(op, file, made)
    end
  end
  for _, list in sorted(op.of_stage) do table.sort(list) end
  table.sort(op.libraries)
end

-- The record of an operation with its families: families (by name), of_stage (names of a stage's, sorted), libraries (names of
-- those that are a vendor's library, sorted).
function ops.get(name)
  if not records[name] then
    local known = false
    for _, one in ipairs(ops.names()) do known = known or one == name end
    if not known then
      error(("there is no operation '%s': known are %s"):format(name, table.concat(ops.names(), ", ")), 0)
    end
    local op = loader.require("ops/" .. name .. "/op")
    op.name, op.fields = name, loader.require("joint").fields(name)
    for what, usual in sorted(USUAL) do
      if op[what] == nil then op[what] = usual end
    end
    for what, usual in sorted(USUAL.second) do
      if op.second[what] == nil then op.second[what] = usual end
    end
    load_families(op)
    records[name] = op
  end
  return records[name]
end

-- The operation of a problem. One that does not say is of the only one there is.
function ops.of(p)
  if not p.op and #ops.names() > 1 then error("the problem names no operation", 0) end
  return ops.get(p.op or ops.names()[1])
end

return ops
