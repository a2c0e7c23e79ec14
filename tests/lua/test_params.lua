-- Parameter strings, problem strings, symbols and the preamble.
local loader = T.loader()
local params, problem, emit = loader.require("params"), loader.require("problem"), loader.require("emit")

test("print sorts, parse inverts", function()
  eq(params.print({ waves = 4, blocks = 1, rescale = "lazy" }), "blocks=1,rescale=lazy,waves=4")
  eq(params.print(params.parse("waves=4,rescale=lazy,blocks=1")), "blocks=1,rescale=lazy,waves=4")
  eq(params.print(params.parse("")), "")
  eq(math.type(params.parse("a=4").a), "integer")
end)

test("what is no parameter", function()
  for _, bad in ipairs({ "a", "a=", "=1", "A=1", "a=1.5", "a=1,a=2", "a=b c", "a=1;b=2", "a=X" }) do
    raises(function() params.parse(bad) end, "parameter")
  end
  raises(function() params.print({ a = 1.5 }) end, "a=1.5")
  raises(function() params.print({ a = 2.0 }) end, "a=2.0")
  raises(function() params.print({ a = "Bad" }) end, "a=Bad")
  raises(function() params.print({ [1] = 2 }) end, "bad parameter name")
end)

test("problem strings round-trip", function()
  for _, text in ipairs({ "mla_decode:h16,r512,p64,q1,bf16,page64,b64,s4096",
    "mla_decode:h128,r256,p32,q8,causal,f16,page1,b1,s1", "mla_decode:h5,r32,p0,q2,bf16,page3,b65536,s16777216" }) do
    eq(problem.print(problem.parse(text)), text)
  end
  eq(problem.print(problem.parse("mla_decode:s7,h1")), "mla_decode:h1,r512,p64,q1,bf16,page64,b1,s7")
  eq(problem.parse("mla_decode:h1,q1,causal").causal, 0, "causal with one token")
end)

test("bad problem strings name the field", function()
  raises(function() problem.parse("mla_decode:r512") end, "heads")
  raises(function() problem.parse("mla_decode:h0") end, "heads is 0")
  raises(function() problem.parse("mla_decode:h16,r100") end, "rank is 100")
  raises(function() problem.parse("mla_decode:h16,h16") end, "bad field 'h16'")
  raises(function() problem.parse("mla_decode:h16,z3") end, "bad field 'z3'")
  raises(function() problem.parse("gemm:h16") end, "no operation 'gemm'")
  raises(function() problem.parse("h16") end, "does not begin with an operation")
end)

test("symbol: operation and kernel, then 8 hex digits of template, parameters and target", function()
  local s = emit.symbol("mla_decode/mfma_reg", "a=1", "gfx942")
  ok(s:find("^mlaf_mla_decode_mfma_reg_%x%x%x%x%x%x%x%x$"), "symbol %s", s)
  ok(s ~= emit.symbol("mla_decode/mfma_reg", "a=2", "gfx942"), "parameters unseen")
  ok(s ~= emit.symbol("mla_decode/mfma_lds", "a=1", "gfx942"), "template unseen")
  ok(s ~= emit.symbol("mla_decode/mfma_reg", "a=1", "gfx950"), "target unseen")
  for template, words in pairs({ ["mla_rope_append/fp8_rows2"] = "mla_rope_append_fp8_rows2", read_ceiling = "read_ceiling" }) do
    eq(emit.symbol(template, "a=1", "gfx942"):match("^mlaf_(.*)_%x%x%x%x%x%x%x%x$"), words)
  end
end)

test("preamble: everything needed to make it again, nothing else", function()
  local l = T.loader({ ["x.hip.in"] = "${symbol} ${b}${a} ${target}\n" })
  local text, hash = l.require("emit").render("x", "b=lazy,a=4", "gfx942")
  local symbol = l.require("emit").symbol("x", "a=4,b=lazy", "gfx942")
  eq(text, table.concat({
    "// Generated from templates/x.hip.in by mlaforge. Do not edit: change the template.",
    "// template_hash: " .. l.template_hash("x", "gfx942"),
    "// target: gfx942",
    "// symbol: " .. symbol,
    "// parameters:",
    "//   a = 4",
    "//   b = lazy",
    "// regenerate: lua5.4 gen/cli.lua render x target=gfx942 a=4 b=lazy",
    symbol .. " lazy4 gfx942\n",
  }, "\n"))
  eq(hash, l.host.sha256(symbol .. " lazy4 gfx942\n"), "src_hash: of what is no comment")
end)

test("unknown target and template are named", function()
  raises(function() emit.render("mla_decode/mfma_reg", "", "gfx000") end, "arch/gfx000")
  raises(function() emit.render("mla_nothing", "", "gfx942") end, "mla_nothing")
end)
