-- A kernel's parameters say what it was made for, and the runtime compares those that are fields of the problem. So a family's
-- own parameters have other names than its operation's sizes: a kernel of a tile of 64 `tokens` would serve no problem but of 64.
local loader = T.loader()
local ops = loader.require("ops")

test("families: no parameter is called like a field of the problem", function()
  local seen = 0
  for _, name in ipairs(ops.names()) do
    local fields = {}
    for _, field in ipairs(loader.require("ops/" .. name .. "/fields")) do fields[field.field] = true end
    for family, made in loader.sorted(ops.get(name).families) do
      for param in loader.sorted(made.params) do
        seen = seen + 1
        ok(not fields[param], "%s's family %s has the parameter %s, which is a field", name, family, param)
      end
    end
  end
  ok(seen > 30, "only %d parameters", seen)
end)
