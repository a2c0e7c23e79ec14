// XLA's handlers for mlaforge: one for launches by mlaf_run, one for decode calls. Compiled by mlaforge/jax.py against the headers that jax ships,
// once for each platform: -DMLAF_JAX_GPU takes stream and scratch memory from XLA. The library is reached by addresses that bind() is given.
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

// The order is that in which library.py hands them over.
struct Library {
  void *ctx;
  int64_t emulated;
  int (*run)(void *plan, const char *operation, const void *args, void *stream);
  int (*call_run)(void *ctx, const void *call, void *stream);
  int (*plan_for)(void *ctx, const char *problem, const void *opts, void **plan);
  int (*add)(void *ctx, void *host, size_t bytes, uint32_t flags);
  int (*remove)(void *ctx, void *host, size_t bytes);
  size_t (*message)(void *ctx, char *text, size_t size);
} library;

ffi::Error Failure() {
  char text[4096] = "";
  library.message(library.ctx, text, sizeof text);
  return ffi::Error::InvalidArgument(std::string("mlaforge: ") + text);
}

// Plans by problem, made at the first launch of each; they live as long as the process.
void *PlanOf(const std::string &problem) {
  static std::mutex lock;
  static std::map<std::string, void *> plans;
  std::lock_guard<std::mutex> held(lock);
  void *&plan = plans[problem];
  if (!plan && library.plan_for(library.ctx, problem.c_str(), nullptr, &plan)) plan = nullptr;
  return plan;
}

// Arguments and results in order; on an emulator their memory is the device's while this lives.
class Buffers {
 public:
  Buffers(ffi::RemainingArgs args, ffi::RemainingRets rets) {
    for (size_t i = 0; i < args.size(); i++)
      if (auto x = args.get<ffi::AnyBuffer>(i)) Add(x->untyped_data(), x->size_bytes());
    for (size_t i = 0; i < rets.size(); i++)
      if (auto x = rets.get<ffi::AnyBuffer>(i)) Add((*x)->untyped_data(), (*x)->size_bytes());
  }
  ~Buffers() {
    for (auto &[data, bytes] : registered_) library.remove(library.ctx, data, bytes);
  }
  // The structure with addresses of buffers in place: `places` are triples of offset in it, buffer, and offset in that.
  bool Fill(std::vector<uint8_t> &args, ffi::Span<const int64_t> places) const {
    for (size_t i = 0; i + 2 < places.size(); i += 3) {
      if (places[i + 1] >= (int64_t)data_.size() || places[i] + sizeof(void *) > args.size()) return false;
      char *address = static_cast<char *>(data_[places[i + 1]]) + places[i + 2];
      std::memcpy(&args[places[i]], &address, sizeof address);
    }
    return good_;
  }

 private:
  void Add(void *data, size_t bytes) {
    data_.push_back(data);
    if (!library.emulated || !bytes) return;
    good_ = !library.add(library.ctx, data, bytes, 0) && good_;
    if (good_) registered_.emplace_back(data, bytes);
  }
  std::vector<void *> data_;
  std::vector<std::pair<void *, size_t>> registered_;
  bool good_ = true;
};

ffi::Error Launch(void *stream, ffi::RemainingArgs args, ffi::RemainingRets rets, std::string_view operation, std::string_view problem,
                  ffi::Span<const uint8_t> filled, ffi::Span<const int64_t> places) {
  std::vector<uint8_t> bytes(filled.begin(), filled.end());
  Buffers buffers(args, rets);
  if (!buffers.Fill(bytes, places)) return Failure();
  void *plan = PlanOf(std::string(problem));
  if (!plan || library.run(plan, std::string(operation).c_str(), bytes.data(), stream)) return Failure();
  return ffi::Error::Success();
}

void *Scratch(void *user, size_t bytes) {
  auto got = static_cast<ffi::ScratchAllocator *>(user)->Allocate(bytes, 256);
  return got ? *got : nullptr;
}

ffi::Error Decode(void *stream, ffi::ScratchAllocator *scratch, ffi::RemainingArgs args, ffi::RemainingRets rets, int64_t alloc_at,
                  ffi::Span<const uint8_t> filled, ffi::Span<const int64_t> places) {
  std::vector<uint8_t> bytes(filled.begin(), filled.end());
  Buffers buffers(args, rets);
  if (!buffers.Fill(bytes, places)) return Failure();
  if (scratch) {  // mlaf_call.alloc, then alloc_user
    void *(*allocate)(void *, size_t) = Scratch;
    std::memcpy(&bytes[alloc_at], &allocate, sizeof allocate);
    std::memcpy(&bytes[alloc_at + sizeof allocate], &scratch, sizeof scratch);
  }
  return library.call_run(library.ctx, bytes.data(), stream) ? Failure() : ffi::Error::Success();
}

#ifdef MLAF_JAX_GPU
ffi::Error LaunchHere(void *stream, ffi::RemainingArgs args, ffi::RemainingRets rets, std::string_view operation, std::string_view problem,
                      ffi::Span<const uint8_t> filled, ffi::Span<const int64_t> places) {
  return Launch(stream, args, rets, operation, problem, filled, places);
}
ffi::Error DecodeHere(void *stream, ffi::ScratchAllocator scratch, ffi::RemainingArgs args, ffi::RemainingRets rets, int64_t alloc_at,
                      ffi::Span<const uint8_t> filled, ffi::Span<const int64_t> places) {
  return Decode(stream, &scratch, args, rets, alloc_at, filled, places);
}
#define LAUNCH_CONTEXT .Ctx<ffi::PlatformStream<void *>>()
#define DECODE_CONTEXT .Ctx<ffi::PlatformStream<void *>>().Ctx<ffi::ScratchAllocator>()
#define TRAITS         , {ffi::Traits::kCmdBufferCompatible}
#else
ffi::Error LaunchHere(ffi::RemainingArgs args, ffi::RemainingRets rets, std::string_view operation, std::string_view problem,
                      ffi::Span<const uint8_t> filled, ffi::Span<const int64_t> places) {
  return Launch(nullptr, args, rets, operation, problem, filled, places);
}
ffi::Error DecodeHere(ffi::RemainingArgs args, ffi::RemainingRets rets, int64_t alloc_at, ffi::Span<const uint8_t> filled,
                      ffi::Span<const int64_t> places) {
  return Decode(nullptr, nullptr, args, rets, alloc_at, filled, places);
}
#define LAUNCH_CONTEXT
#define DECODE_CONTEXT
#define TRAITS
#endif

}  // namespace

// Traits are an argument more, which has to be there before the macro counts its arguments.
#define DEFINE(...) XLA_FFI_DEFINE_HANDLER_SYMBOL(__VA_ARGS__)

extern "C" void mlaf_jax_bind(const Library *given) { library = *given; }

DEFINE(mlaf_jax_launch, LaunchHere,
                              ffi::Ffi::Bind() LAUNCH_CONTEXT.RemainingArgs()
                                  .RemainingRets()
                                  .Attr<std::string_view>("operation")
                                  .Attr<std::string_view>("problem")
                                  .Attr<ffi::Span<const uint8_t>>("args")
                                  .Attr<ffi::Span<const int64_t>>("places") TRAITS);
DEFINE(mlaf_jax_decode, DecodeHere,
                              ffi::Ffi::Bind() DECODE_CONTEXT.RemainingArgs()
                                  .RemainingRets()
                                  .Attr<int64_t>("alloc_at")
                                  .Attr<ffi::Span<const uint8_t>>("args")
                                  .Attr<ffi::Span<const int64_t>>("places") TRAITS);
