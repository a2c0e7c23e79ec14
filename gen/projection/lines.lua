-- True if a wave takes a projection's operands by lines of 128 bytes (templates/lib/projection/mfma.h): 16-bit weights whose
-- outputs are rows, and sums of whole lines. And values of a step, and what of a pass' sums is in LDS at a time.
local lines = {}

function lines.whole(s) return s.layout == "outputs" and s.weights == 0 and s.inner % 64 == 0 end

function lines.step(s, step) return lines.whole(s) and 64 or step end

-- Tokens whose sums meet in LDS at a time, `bytes` for 16 of them, and the bytes of all: a pass', or as many as leave half of a
-- compute unit's LDS to others.
local HALF_BYTES = 32768
function lines.together(pass, bytes)
  local tokens = pass
  while tokens > 16 and bytes * tokens // 16 > HALF_BYTES do tokens = tokens // 2 end
  return tokens, bytes * tokens // 16
end

-- Waves of a block beside those that multiply: one, where columns turn.
function lines.turning(columns) return columns > 0 and 1 or 0 end

return lines
