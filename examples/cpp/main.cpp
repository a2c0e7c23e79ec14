// The library from C++17: its handles under RAII, its failures as exceptions.
#include <mlaforge/mlaforge.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct CtxDelete { void operator()(mlaf_ctx *c) const { mlaf_ctx_destroy(c); } };
struct PlanRelease { void operator()(mlaf_plan *p) const { mlaf_plan_release(p); } };
using Ctx = std::unique_ptr<mlaf_ctx, CtxDelete>;
using Plan = std::unique_ptr<mlaf_plan, PlanRelease>;

void check(const Ctx &ctx, mlaf_status status) {
  if (status == MLAF_OK) return;
  std::string why(4096, '\0');
  mlaf_ctx_last_message(ctx.get(), why.data(), why.size());
  throw std::runtime_error(std::string(mlaf_status_name(status)) + ": " + why.c_str());
}

Ctx open_context(const char *device) {
  mlaf_ctx_opts opts = MLAF_CTX_OPTS_INIT;
  mlaf_ctx *raw = nullptr;
  std::string why(4096, '\0');
  opts.device = device;
  if (mlaf_ctx_create(&opts, &raw, why.data(), why.size()) != MLAF_OK) throw std::runtime_error(why.c_str());
  return Ctx(raw);
}

// Device memory with the lifetime of the object.
template <typename T>
class Buffer {
 public:
  Buffer(const Ctx &ctx, std::size_t n) : ctx_(ctx), n_(n) { check(ctx, mlaf_mem_alloc(ctx.get(), n * sizeof(T), &data_)); }
  Buffer(const Ctx &ctx, const std::vector<T> &from) : Buffer(ctx, from.size()) {
    check(ctx, mlaf_mem_write(ctx.get(), data_, from.data(), n_ * sizeof(T)));
  }
  ~Buffer() { mlaf_mem_free(ctx_.get(), data_); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  T *get() const { return static_cast<T *>(data_); }
  std::vector<T> read() const {
    std::vector<T> out(n_);
    check(ctx_, mlaf_mem_read(ctx_.get(), out.data(), data_, n_ * sizeof(T)));
    return out;
  }

 private:
  const Ctx &ctx_;
  std::size_t n_;
  void *data_ = nullptr;
};

int run() {
  constexpr int heads = 16, rank = 512, columns = 576, page = 64, batch = 2, pages = 3;
  constexpr std::uint16_t one = 0x3f80; // bf16
  Ctx ctx = open_context(std::getenv("MLAF_DEVICE"));
  mlaf_mla_decode_problem problem = MLAF_MLA_DECODE_PROBLEM_INIT;
  problem.batch = batch;
  problem.ctx = 100;
  mlaf_plan *raw = nullptr;
  check(ctx, mlaf_mla_decode_plan_create(ctx.get(), &problem, nullptr, &raw));
  Plan plan(raw);

  Buffer<std::uint16_t> q(ctx, std::vector<std::uint16_t>(batch * heads * columns, 0x3c00));
  Buffer<std::uint16_t> cache(ctx, std::vector<std::uint16_t>(pages * page * columns, one));
  Buffer<std::int32_t> qo(ctx, {0, 1, 2}), kv(ctx, {0, 2, 3}), indices(ctx, {2, 0, 1}), last(ctx, {36, 64});
  Buffer<std::uint16_t> o(ctx, batch * heads * rank);
  Buffer<unsigned char> workspace(ctx, mlaf_plan_workspace_size(plan.get(), batch));
  mlaf_mla_decode_args a = MLAF_MLA_DECODE_ARGS_INIT;
  a.batch = batch;
  a.total_q = batch;
  a.num_pages = pages;
  a.scale = 0.07f;
  a.q = q.get();
  a.ckv = cache.get();
  a.qo_indptr = qo.get();
  a.kv_indptr = kv.get();
  a.kv_indices = indices.get();
  a.kv_last_page_lens = last.get();
  a.o = o.get();
  a.workspace = workspace.get();
  a.workspace_size = mlaf_plan_workspace_size(plan.get(), batch);
  check(ctx, mlaf_mla_decode_execute(plan.get(), &a, nullptr));
  check(ctx, mlaf_sync(ctx.get(), nullptr));

  std::size_t wrong = 0;
  for (std::uint16_t x : o.read()) wrong += x != one; // V is all ones, so O is
  std::cout << "mlaforge " << mlaf_version() << " from C++ on " << mlaf_ctx_target(ctx.get()) << ": " << wrong
            << " outputs wrong\n";
  return wrong != 0;
}

} // namespace

int main() {
  try {
    return run();
  } catch (const std::exception &why) {
    std::cerr << why.what() << "\n";
    return 1;
  }
}
