-- Arithmetic of whole numbers. Plans that templates require have their own: what they do is part of a kernel's hash.
local whole = {}

function whole.ceil_div(a, b) return -(-a // b) end

return whole
