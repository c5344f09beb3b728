// The C API of 3-D FFTs: handles and the boundary that no exception crosses. What the calls do is in fft_plan.cpp.
#include <memory>

#include "api/fft_plan.hpp"
#include "api/fortran_handles.hpp"
#include "api/handles.hpp"
#include "api/versioned.hpp"
#include "rankwise/rankwise.h"

using namespace rankwise::api;

struct rankwise_fft_plan : HandleOf<FftPlan> {
  static constexpr std::uint64_t kind = 2;
};

namespace {

using FftHandles = Handles<rankwise_fft_plan>;
constexpr const char* fft_maker = "rankwise_fft_create";

FftPlan& fft_of(rankwise_fft handle) { return FftHandles::plan_of(handle, fft_maker); }

}  // namespace

rankwise_result rankwise_fft_options_init(rankwise_fft_options* options, size_t struct_size) {
  return guarded([&] { fill(options, struct_size, default_fft_options()); });
}

rankwise_result rankwise_fft_create(MPI_Comm comm, const int64_t n[3], const rankwise_fft_box* in, const rankwise_fft_box* out,
                                    const rankwise_fft_options* options, rankwise_fft* plan) {
  return guarded([&] {
    if (plan == nullptr) refuse_argument("plan is NULL: give the handle to fill, on all ranks");
    *plan = nullptr;
    *plan = FftHandles::all().make(std::make_unique<FftPlan>(comm, n, in, out, options));
  });
}

rankwise_result rankwise_fft_create_f(rankwise_fint comm, const int64_t n[3], const rankwise_fft_box* in,
                                      const rankwise_fft_box* out, const rankwise_fft_options* options, rankwise_fft* plan) {
  return rankwise_fft_create(comm_of(comm), n, in, out, options, plan);
}

rankwise_result rankwise_fft_boxes(rankwise_fft plan, rankwise_fft_box* in, rankwise_fft_box* out) {
  return guarded([&] { fft_of(plan).boxes(in, out); });
}

rankwise_result rankwise_fft_elements(rankwise_fft plan, int64_t* in, int64_t* out) {
  return guarded([&] { fft_of(plan).elements(in, out); });
}

rankwise_result rankwise_fft_forward(rankwise_fft plan, const void* in, size_t in_bytes, void* out, size_t out_bytes,
                                     double scale) {
  return guarded([&] { fft_of(plan).run(rankwise::Direction::forward, {in, in_bytes, out, out_bytes}, scale); });
}

rankwise_result rankwise_fft_backward(rankwise_fft plan, const void* out, size_t out_bytes, void* in, size_t in_bytes,
                                      double scale) {
  return guarded([&] { fft_of(plan).run(rankwise::Direction::backward, {out, out_bytes, in, in_bytes}, scale); });
}

rankwise_result rankwise_fft_begin(rankwise_fft plan, int forward, const void* from, size_t from_bytes, void* into,
                                   size_t into_bytes, double scale) {
  return guarded([&] {
    const auto direction = forward != 0 ? rankwise::Direction::forward : rankwise::Direction::backward;
    fft_of(plan).begin(direction, {from, from_bytes, into, into_bytes}, scale);
  });
}

rankwise_result rankwise_fft_test(rankwise_fft plan, int* done) {
  return guarded([&] {
    if (done == nullptr) refuse_argument("done is NULL: give the flag to fill");
    *done = fft_of(plan).test() ? 1 : 0;
  });
}

rankwise_result rankwise_fft_end(rankwise_fft plan) {
  return guarded([&] { fft_of(plan).end(); });
}

rankwise_result rankwise_fft_explain(rankwise_fft plan, char* text, size_t capacity, size_t* length) {
  return guarded([&] { give_text(fft_of(plan).explain(), text, capacity, length); });
}

rankwise_result rankwise_fft_destroy(rankwise_fft* plan) {
  return guarded([&] { FftHandles::all().destroy(plan, fft_maker); });
}
