-- The API reference: what tools/api-filter.lua makes of a header's comments, and that every public header goes through it.
local filter = dofile(T.root .. "/tools/api-filter.lua").filter

test("comments become documentation of what they belong to", function()
  eq([[
/** @file
What the file is for: `a_b <c>` stays.

@verbatim
  y = x W^T   [T, d]
@endverbatim
 */
#ifndef X
/**
One sentence with \@ and \<b\>.
@par Errors
E_ARG.
@par
Thread-safe.
 */
int f(void);
typedef struct s {
  int a; /**< first, in two lines */
  int b /* inner */, c;
} s;
/** @struct s
@details
More about s.
 */

/** @name a group
Its text. */
/**@{*/
/**
g
 */
int g(void);

/**@}*/
#endif
]], filter([[
/* What the file is for: `a_b <c>` stays.
 *
 *   y = x W^T   [T, d] */
#ifndef X
/* One sentence with @ and <b>.
 * Errors: E_ARG.
 * Thread-safe. */
int f(void);
typedef struct s {
  int a; /* first, in
          * two lines */
  int b /* inner */, c;
} s;
/* More about s. */

/* --- a group ---
 * Its text. */
/* g */
int g(void);

#endif
]]))
end)

test("every public header goes through with its declarations unchanged", function()
  local function bare(text) return (text:gsub("/%*.-%*/", ""):gsub("%s+", " ")) end
  local headers = assert(io.popen(("ls '%s'/include/mlaforge/*.h"):format(T.root)))
  local n = 0
  for path in headers:lines() do
    local f = assert(io.open(path, "rb"))
    local text = f:read("a")
    f:close()
    n = n + 1
    local made = filter(text)
    eq(bare(text), bare(made), path)
    ok(made:find("^/%*%* @file\n"), path .. ": no comment says what the header is for")
    local _, groups = made:gsub("/%*%*@{%*/", "")
    local _, ends = made:gsub("/%*%*@}%*/", "")
    eq(groups, ends, path .. ": groups")
    local _, verbatim = made:gsub("@verbatim", "")
    local _, closed = made:gsub("@endverbatim", "")
    eq(verbatim, closed, path .. ": indented text")
  end
  headers:close()
  ok(n > 10, "only " .. n .. " headers")
end)
