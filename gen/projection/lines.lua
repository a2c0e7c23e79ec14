-- Whether a wave takes a projection's operands by lines of 128 bytes (templates/lib/projection/mfma.h): 16-bit weights whose
-- outputs are rows, and sums of whole lines. And values of a step.
local lines = {}

function lines.whole(s) return s.layout == "outputs" and s.weights == 0 and s.inner % 64 == 0 end

function lines.step(s, step) return lines.whole(s) and 64 or step end

return lines
