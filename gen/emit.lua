-- Makes source text from (template, parameters, target): symbol, preamble, body. A pure function of the three.
local loader = ...
local bare = loader.require("bare") -- of no closure: it decides hashes, not what is emitted
local engine = require("engine")
local params = require("params")

local emit = {}

-- Kernel symbol, as profilers show it: operation and kernel, 8 hex digits for the rest. `text` is the canonical parameter string.
function emit.symbol(template, text, target)
  local digest = host.sha256(template .. "\n" .. text .. "\n" .. target)
  local words = template:gsub("/", "_")
  return ("mlaf_%s_%s"):format(words, digest:sub(1, 8))
end

-- The preamble of every output. No date, host or path: equal inputs give equal bytes.
local function preamble(template, target, values, symbol, template_hash)
  local command = { "lua5.4 gen/cli.lua render " .. template .. " target=" .. target }
  local lines = {
    ("// Generated from %s by mlaforge. Do not edit: change the template."):format(loader.origin(template)),
    "// template_hash: " .. template_hash,
    "// target: " .. target,
    "// symbol: " .. symbol,
    "// parameters:",
  }
  for key, value in sorted(values) do
    lines[#lines + 1] = ("//   %s = %s"):format(key, value)
    command[#command + 1] = key .. "=" .. value
  end
  lines[#lines + 1] = "// regenerate: " .. table.concat(command, " ")
  return table.concat(lines, "\n") .. "\n"
end

local function run(template, target, values, symbol, opts)
  local arch = loader.require("arch/" .. target) -- by value: see loader.template_hash
  local names = { arch = arch.isa, symbol = symbol, target = target, template = template }
  opts.allowed = loader.closure(template).has
  return engine.render(loader, loader.kernel_file(template), values, names, opts)
end

-- The template's declarations for these parameters; an error if its contract refuses them. Emits nothing: cheap enough to
-- ask for every point of a space.
function emit.check(template, text, target)
  local _, declared = run(template, target, params.parse(text), "symbol", { dry = true })
  return declared
end

-- Source text, the SHA-256 of its code (gen/bare.lua), and what the template declared of itself (threads, rows_per_wg,
-- lds_bytes).
function emit.render(template, text, target)
  local values = params.parse(text)
  local canonical = params.print(values)
  local symbol = emit.symbol(template, canonical, target)
  local body, declared = run(template, target, values, symbol, {})
  local source = preamble(template, target, values, symbol, loader.template_hash(template, target)) .. body
  return source, host.sha256(bare.kernel(source)), declared, symbol
end

-- The text as goldens hold it: without the closure's hash, which moves with every edit anywhere, with plain partials folded to
-- their names, since such a file is its own golden, and without lines of comments, which the template has.
function emit.golden(template, text, target)
  local values = params.parse(text)
  local symbol = emit.symbol(template, params.print(values), target)
  local body = run(template, target, values, symbol, { fold = true })
  return preamble(template, target, values, symbol, "(not part of a golden)") .. body:gsub("[^\n]*\n", function(line)
    if line:find("^%s*//") and not line:find("^// %[") then return "" end
  end)
end

return emit
