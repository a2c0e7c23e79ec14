-- Closures and hashes: what a template_hash covers and what it does not.

local function paths(loader, name)
  local out = {}
  for _, f in ipairs(loader.closure(name).list) do out[#out + 1] = f.path end
  return table.concat(out, " ")
end

local CORE = "gen/emit.lua gen/engine.lua gen/params.lua"

test("closure: template, partials of partials, gen modules", function()
  local loader = T.loader({
    ["x.hip.in"] = '//@ include("lib/a.h")\n// include("lib/not.h") in a comment\n//@ local b = require("budget")\n',
    ["lib/a.h"] = '//@ include("lib/b.h")\n', ["lib/b.h"] = "text\n",
  })
  eq(paths(loader, "x"), "gen/budget.lua " .. CORE .. " templates/lib/a.h templates/lib/b.h templates/x.hip.in")
end)

test("closure: include inside a branch not taken still counts", function()
  local loader = T.loader({ ["x.hip.in"] = '//@ if false then\n//@ include("lib/a.h")\n//@ end\n', ["lib/a.h"] = "a\n" })
  ok(loader.closure("x").has["templates/lib/a.h"], "branch not taken was left out")
end)

test("closure: computed names are refused with their line", function()
  local loader = T.loader({ ["x.hip.in"] = '\n//@ local n = "lib/a.h"\n//@ include(n)\n' })
  raises(function() loader.closure("x") end, "templates/x.hip.in:3:", "literal name")
end)

test("closure: an alias cannot reach outside", function()
  local loader = T.loader({ ["x.hip.in"] = '//@ local f = include\n//@ f("lib/a.h")\n', ["lib/a.h"] = "a\n" })
  raises(function() loader.require("emit").render("x", "", "gfx942") end, "outside the template's closure")
end)

-- The real generator with one of its files changed.
local function changed(path, change)
  local loader = T.loader()
  local read = loader.host.read
  loader.host.read = function(p)
    local text = read(p)
    return p == path and change(text) or text
  end
  return loader
end

test("kernels that are rows of a table: found, named by the table, hashed by their row alone", function()
  local loader = T.loader()
  local n = 0
  for _, name in ipairs(loader.kernels()) do
    if loader.origin(name) == "gen/projection/kernels.lua" then n = n + 1 end
  end
  ok(n > 60, "%d rows", n)
  eq(loader.origin("mla_q_b/aside"), "templates/mla_q_b/aside.cu.in")
  local other = changed("gen/projection/products.lua", function(text)
    return text:gsub('says = "hidden', 'says = "other words: hidden', 1):gsub('inner = "heads %* v"', 'inner = "v * heads"')
  end)
  for name, same in pairs({ ["mla_o_proj/dot"] = false, ["mla_qkv_a/dot"] = true, ["mla_v_out/dot"] = true }) do
    eq(other.template_hash(name, "sm_90a") == loader.template_hash(name, "sm_90a"), same, name)
  end
end)

test("kernels that are rows of a table: not where the build lacks their body, nor beside a file of that name", function()
  local body = "templates/lib/projection/stream_fp8.h"
  local loader = T.loader()
  local read = loader.host.read
  loader.host.read = function(p) return p ~= body and read(p) or nil end
  ok(not loader.has_kernel("mla_q_b/stream_fp8") and loader.has_kernel("mla_q_b/stream"), "a kernel without its body")
  loader = T.loader()
  loader.host.read = function(p) return p == "templates/mla_q_b/dot.cu.in" and "a\n" or read(p) end
  raises(function() loader.kernels() end, "templates/mla_q_b/dot.cu.in is a file and a row of gen/projection/kernels.lua")
end)

local function hash(templates, extra) return T.loader(templates, extra).template_hash("x", "gfx942") end
local base = { ["x.hip.in"] = '//@ include("lib/a.h")\n', ["lib/a.h"] = "a\n", ["y.hip.in"] = "y\n" }
local function with(name, text)
  local t = {}
  for k, v in pairs(base) do t[k] = v end
  t[name] = text
  return t
end

test("template_hash: 64 hex digits, the same in two loaders", function()
  local h = hash(base)
  ok(h:find("^[0-9a-f]+$") and #h == 64, "bad hash %s", h)
  eq(hash(base), h)
end)

test("template_hash: moves with the template, a partial, the engine and a module it pulls in", function()
  local h = hash(base)
  ok(h ~= hash(with("x.hip.in", '//@ include("lib/a.h")\nint x;\n')), "template edit unseen")
  ok(h ~= hash(with("lib/a.h", "b\n")), "partial edit unseen")
  local engine = T.read("gen/engine.lua")
  ok(h ~= hash(base, { ["gen/engine.lua"] = engine .. "local x\n" }), "engine edit unseen")
  local uses = with("x.hip.in", '//@ local b = require("budget")\n')
  ok(hash(uses) ~= hash(uses, { ["gen/budget.lua"] = T.read("gen/budget.lua") .. "local x\n" }), "gen module edit unseen")
end)

test("template_hash: does not move with comments and blank lines, wherever they stand", function()
  local uses = with("x.hip.in", '//@ local b = require("budget")\n//@ include("lib/a.h")\n')
  local h = hash(uses)
  local told = { ["x.hip.in"] = '// why\n//@ local b = require("budget") -- a\n/* of\n two */\n//@ include("lib/a.h")\n',
    ["lib/a.h"] = "// b\n\n  a // c\n" }
  eq(hash(told), h, "comments of templates")
  eq(hash(uses, { ["gen/budget.lua"] = "-- first\n" .. T.read("gen/budget.lua") .. "\n-- last\n" }), h, "comments of modules")
  eq(hash(uses, { ["gen/bare.lua"] = "local x\n" .. T.read("gen/bare.lua") }), h, "what decides hashes alone")
end)

test("template_hash: does not move with other templates or unused modules", function()
  local h = hash(base)
  eq(hash(with("y.hip.in", "z\n")), h, "another template")
  eq(hash(base, { ["gen/ops/mla_decode/model.lua"] = "return {}" }), h, "an unused module")
end)

test("template_hash: covers the arch facts templates see, not the model's constants", function()
  local arch = T.read("gen/cdna.lua")
  local h = hash(base)
  eq(hash(base, { ["gen/cdna.lua"] = arch:gsub("launch_ns = %d+", "launch_ns = 1") }), h, "model constant")
  ok(h ~= hash(base, { ["gen/cdna.lua"] = arch:gsub("lds_banks = 32", "lds_banks = 64") }), "isa fact unseen")
end)

test("gen modules are strict: undefined names, global writes, iteration order", function()
  local function module(text) return T.loader({}, { ["gen/m.lua"] = text }).require("m") end
  raises(function() module("return nope") end, "gen/m.lua:1:", "undefined name 'nope'")
  raises(function() module("x = 1 return 1") end, "gen/m.lua:1:", "write to global 'x'")
  raises(function() module("\nfor k in pairs({}) do end return 1") end, "gen/m.lua:2:", "use sorted(t)")
  raises(function() module('return require("m")') end, "requires itself")
  raises(function() module("return io") end, "undefined name 'io'")
  raises(function() module("") end, "returned nothing")
end)

test("sha256 in Lua matches published digests and every padding length", function()
  local sha = T.loader().host.sha256
  eq(sha(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
  eq(sha("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
  eq(sha("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
  -- sha256 over the digests of "", "a", "aa", ... 129 times, made with Python's hashlib
  local all = {}
  for n = 0, 129 do all[#all + 1] = sha(("a"):rep(n)) end
  eq(sha(table.concat(all)), "c665ed20ef30f158e90c7e921d8182bc0943c4b087a82f64a18d417bcdfadce7")
end)
