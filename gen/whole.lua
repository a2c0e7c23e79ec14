-- Arithmetic of whole numbers. Part of a kernel's hash where a plan that its template requires has it.
local whole = {}

function whole.ceil_div(a, b) return -(-a // b) end

return whole
