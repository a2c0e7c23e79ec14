-- Instruction text that AMD's targets share.
local amd = {}

-- s_nop lines that make n wait states (8 a line at most, as LLVM writes them), with `sep` between them.
function amd.nops(n, sep)
  local lines = {}
  while n > 0 do
    local some = math.min(n, 8)
    lines[#lines + 1] = "s_nop " .. some - 1
    n = n - some
  end
  return table.concat(lines, sep)
end

return amd
