-- Lists of problems as one string, as the generator reads and writes them: test_q_b_list.c has the same for C.
local problem = T.loader().require("problem")

local FIRST = "mla_q_b:l64,h1,n32,p32,bf16,t16"

test("mla_q_b/list: strings of before there were lists mean them", function()
  for before, now in pairs({
    ["mla_q_b:l96,h2,n32,p32,bf16,append_split,r64,append_norm,t5"] =
      "mla_q_b:l96,h2,n32,p32,bf16,t5+mla_append:r64,split,pairs,norm",
    ["mla_q_b:l64,h1,n32,p0,bf16,e4m3fn,append_e4m3fnuz,r96,append_unrotated,t1"] =
      "mla_q_b:l64,h1,n32,p0,bf16,e4m3fn,t1+mla_append:r96,e4m3fnuz,unrotated",
    ["mla_q_b:l1536,h128,n128,p64,norm,bf16,append_paged,r512,append_norm,absorb_pairs,t64"] =
      "mla_q_b:l1536,h128,n128,p64,norm,bf16,t64+mla_append:r512,paged,pairs,norm+mla_q_absorb:pairs",
    [FIRST] = FIRST }) do
    eq(problem.print(problem.parse(before)), now)
    eq(problem.print(problem.parse(now)), now)
  end
  local p = problem.parse(FIRST .. "+mla_append:paged,halves,p32,t16+mla_q_absorb:unrotated,h1")
  local read = ("%d %d %d %d %d"):format(p.append, p.append_style, p.append_norm, p.absorb, p.rank)
  eq(read, "1 1 0 3 512")
end)

test("mla_q_b/list: what may not follow is refused", function()
  for text, says in pairs({ ["+mla_decode:h3"] = "may not follow", ["+"] = "is no problem",
    ["+mla_append:what"] = "bad field 'what'",
    ["+mla_append:paged+mla_append:paged"] = "may not follow", ["+mla_append:paged,p64"] = "rope of mla_append must be 32",
    ["+mla_append:paged,h4"] = "heads of mla_append must be 0", ["+mla_q_absorb:pairs"] = "only behind append",
    ["+mla_append:paged+mla_q_absorb:e4m3fn"] = "weights of mla_q_absorb must be 0" }) do
    local made, why = pcall(problem.parse, FIRST .. text)
    ok(not made and tostring(why):find(says, 1, true), "%s: %s", text, tostring(why))
  end
end)
