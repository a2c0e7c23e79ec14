// All arguments that every block of a kernel of CDNA needs, in one trip to memory: each branch ahead of some of them would be a
// trip of its own.
template <class ARGS>
MLAF_DEV void fetch_arguments(const ARGS& a) {
  asm volatile("" ::"s"(a.x), "s"(a.w), "s"(a.y), "s"(a.x_token), "s"(a.x_head), "s"(a.w_row), "s"(a.w_head), "s"(a.y_token),
               "s"(a.y_head), "s"(a.tokens));
}
