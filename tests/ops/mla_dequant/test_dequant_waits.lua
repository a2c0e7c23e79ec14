-- Launches that overlap: what mla_dequant writes is read by launches behind it ahead of their waits, as the constant that weights
-- else are. So it lets none start before it is over, stores nothing before the launch before is over, and loads ahead of that.
local loader = T.quick_loader(2048) -- symbols are in the texts, hashes of texts are not
local emit = loader.require("emit")
local params = "depth=4,dtype=bf16,columns=512,threads=256,weights=e4m3fn"

local function in_order(source)
  local body = source:match('\nextern "C" __global__.-{\n(.*)$')
  local before, behind = body:match("^(.-)wait_for_previous_launch%(%);(.*)$")
  return before and not body:find("let_next_launch_start", 1, true) and not before:find("%f[%w_]return%f[^%w_]")
    and not before:find("store(", 1, true) and behind:find("store(", 1, true) and not behind:find("load<", 1, true)
end

test("dequant: nothing starts before it is over, and it waits before it stores", function()
  local source = emit.render("mla_dequant/rows", params, "sm_90a")
  ok(in_order(source), "the kernel's text is in another order")
  local mistakes = {
    { "  wait_for_previous_launch%(%);\n", "" },
    { "wait_for_previous_launch%(%);", "let_next_launch_start();\n  %0" },
    { "wait_for_previous_launch%(%);", "%0\n  let_next_launch_start();" },
    { "word2 codes%[DEPTH%];", "if (first >= a.rows) return;\n  %0" },
  }
  for _, mistake in ipairs(mistakes) do
    local wrong, n = source:gsub(mistake[1], mistake[2])
    ok(n == 1 and not in_order(wrong), "'%s' is not found", mistake[1])
  end
end)
