// Rounds of a tile that a warpgroup of the Hopper kernels has rows for.
//@ needs("CAUSAL", "KEYS")
MLAF_DEV int keys_all_see(const math& c, const tile& f) { return CAUSAL ? smaller(f.seen + c.row, f.keys) : f.keys; }

// True if it has rows for this warpgroup.
MLAF_DEV bool mine(const math& c, const tile& f) { return f.rounds > 0 && f.rows > c.row; }

// The rounds that its rows see something of; those above are passed.
MLAF_DEV int rounds_here(const math& c, const tile& f) {
  if (!CAUSAL) return f.rounds;
  return larger(1, smaller(f.rounds, (f.seen + c.row + 63 + KEYS - 1) / KEYS));
}
