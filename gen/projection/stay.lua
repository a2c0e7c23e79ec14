-- The resources of a block whose weights stay in registers (templates/lib/projection/stay.h) has, for the template and for
-- the family alike.
local PATCH_ROW = 272 -- bytes of a token's 128 outputs, and 16 more

return { TILE = 128, PATCH_ROW = PATCH_ROW, PATCH = 16 * PATCH_ROW } -- PATCH: bytes of LDS of a wave, 16 tokens
