//@ needs("TOKENS")
// Rows of a box of x (launch flag 8192): no more than there are tokens, since a copy of rows beyond a tensor takes longer than
// one of rows within. What lies in shared memory behind them is anything; it only reaches sums of tokens that nobody writes.
MLAF_DEV u32 x_rows(i64 tokens) { return tokens < TOKENS ? (u32)tokens : TOKENS; }
