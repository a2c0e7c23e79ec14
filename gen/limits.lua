-- The limits on how finely a plan may cut a problem, for C and Lua alike: the build makes a C header of it (tools/limits.lua),
-- docs/limits.md says it. What a problem may be: gen/ops/<operation>/fields.lua. No template may require it: raising a limit must
-- not change the identity of kernels that exist.
return {
  splits = 256, -- pieces of a request
}
