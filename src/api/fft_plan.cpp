#include "api/fft_plan.hpp"

#include <algorithm>
#include <bit>
#include <functional>

#include "api/machine.hpp"
#include "fft/choice.hpp"

namespace rankwise::api {

namespace {

// The library of local FFTs, loaded once in a process. Throws Failure.
const FftLibrary& local_library() {
  try {
    static const FftLibrary library;
    return library;
  } catch (const FftUnavailable& error) {
    throw Failure(RANKWISE_ERROR_UNSUPPORTED, error.what());
  }
}

Box box_of(const rankwise_fft_box& given) {
  Box box;
  for (std::size_t axis = 0; axis < 3; ++axis) box[axis] = {given.lower[axis], given.size[axis]};
  return box;
}

std::string text_of(const std::array<Index, 2>& grid) { return std::to_string(grid[0]) + "x" + std::to_string(grid[1]); }

}  // namespace

FftPlan::FftPlan(MPI_Comm comm, const std::int64_t n[3], const rankwise_fft_box* in, const rankwise_fft_box* out,
                 const rankwise_fft_options* options)
    : comm_(comm) {
  RANKWISE_CHECKED(MPI_Comm_size, comm_.get(), &ranks_);
  Agreement agreement;
  std::int64_t library = 0;
  agreement.attempt([&] {
    request_ = read_fft_request(n, options, ranks_);
    library = local_library().name() == "fftw" ? 1 : 2;
  });
  add_alike(agreement, request_);
  agreement.alike("whether boxes in are given", in != nullptr);
  agreement.alike("whether boxes out are given", out != nullptr);
  agreement.alike("the FFT library (1: fftw, 2: mkl)", library);
  agreement.reach(comm_.get());
  take_boxes(in, out);
  choose();
  all_or_none(comm_.get(), [&] { lay_out(); });
  if (request_.is_tried()) prepare();
}

void FftPlan::take_boxes(const rankwise_fft_box* in, const rankwise_fft_box* out) {
  const auto all_of = [&](const rankwise_fft_box* own, const char* what, Index last) {
    static_assert(sizeof(rankwise_fft_box) == 6 * sizeof(std::int64_t));
    std::vector<rankwise_fft_box> given(static_cast<std::size_t>(ranks_));
    RANKWISE_CHECKED(MPI_Allgather, own, 6, MPI_INT64_T, given.data(), 6, MPI_INT64_T, comm_.get());
    std::vector<Box> boxes;
    for (const rankwise_fft_box& box : given) boxes.push_back(box_of(box));
    check_cover({request_.n[0], request_.n[1], last}, boxes, what);  // the same on all ranks
    return boxes;
  };
  if (in != nullptr) bricks_.in = all_of(in, "in", request_.n[2]);
  if (out == nullptr) return;
  bricks_.out = all_of(out, "out", request_.is_real ? request_.n[2] / 2 + 1 : request_.n[2]);
  request_.order = Order::transposed;  // whatever is asked for: the caller has its own
}

void FftPlan::choose() {
  const KnownMachine* known = nullptr;
  all_or_none(comm_.get(), [&] { known = &known_machine(); });
  FftChoice choice = choose_fft(comm_.get(), request_, local_library(), known->machine, known->source, request_.is_tried());
  variant_ = choice.variant;
  why_ = std::move(choice.why);
}

void FftPlan::lay_out() {
  const Decomposition d{request_.n, request_.is_real, variant_.grid};
  const auto rank = static_cast<std::size_t>(comm_.rank());
  const std::size_t real_bytes = request_.is_double ? sizeof(double) : sizeof(float);
  in_.box = bricks_.in ? (*bricks_.in)[rank] : own_field_box(d, comm_.rank());
  in_.element_bytes = request_.is_real ? real_bytes : 2 * real_bytes;
  in_.line = in_.box[2].count;
  if (request_.is_real && request_.in_place && !bricks_.in) in_.line = 2 * d.complex_points();
  out_.box = bricks_.out                        ? (*bricks_.out)[rank]
             : request_.order == Order::natural ? d.natural(comm_.rank())
                                                : d.transposed(comm_.rank());
  out_.element_bytes = 2 * real_bytes;
  out_.line = out_.box[2].count;

  // In place a field begins at the same byte on both sides.
  const auto bytes = [](const Side& side) { return static_cast<std::size_t>(side.of_a_field()) * side.element_bytes; };
  const std::size_t larger = (std::max(bytes(in_), bytes(out_)) + 2 * real_bytes - 1) / (2 * real_bytes) * (2 * real_bytes);
  for (const auto& [side, asked, name] :
       {std::tuple{&in_, request_.stride[0], "stride_in"}, {&out_, request_.stride[1], "stride_out"}}) {
    const Index usual = request_.in_place ? static_cast<Index>(larger / side->element_bytes) : side->of_a_field();
    side->stride = asked != 0 ? asked : usual;
    if (request_.batch > 1 && side->stride < side->of_a_field()) {
      refuse_argument("options." + std::string(name) + " is " + std::to_string(side->stride) + " but a field has " +
                      std::to_string(side->of_a_field()) + " elements on this rank: give as many or more, or 0");
    }
    side->elements = (request_.batch - 1) * side->stride + side->of_a_field();
  }
  if (request_.in_place && request_.batch > 1 &&
      static_cast<std::size_t>(in_.stride) * in_.element_bytes != static_cast<std::size_t>(out_.stride) * out_.element_bytes) {
    refuse_argument("options.stride_in and stride_out differ in bytes: in place a field lies where its spectrum does");
  }
  if (request_.in_place && request_.batch > 1 && static_cast<std::size_t>(in_.stride) * in_.element_bytes < larger) {
    refuse_argument("options.stride_in is less than a field and its spectrum need in place: give 0");
  }
}

// Collective.
void FftPlan::prepare() {
  if (engine_) return;
  const auto make = [&] {
    try {
      engine_ = std::make_unique<FftBatch>(comm_.get(), request_, variant_, bricks_, local_library());
    } catch (const FftUnavailable& error) {
      throw Failure(RANKWISE_ERROR_UNSUPPORTED, error.what());
    } catch (const std::bad_alloc&) {
      throw Failure(RANKWISE_ERROR_MEMORY, "no memory left for the buffers of this transform: take more ranks or fewer points");
    }
  };
  try {
    all_or_none(comm_.get(), make);
  } catch (...) {
    engine_.reset();
    throw;
  }
}

void FftPlan::boxes(rankwise_fft_box* in, rankwise_fft_box* out) const {
  for (const auto& [side, into] : {std::pair{&in_, in}, {&out_, out}}) {
    if (into == nullptr) continue;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      into->lower[axis] = side->box[axis].first;
      into->size[axis] = side->box[axis].count;
    }
  }
}

void FftPlan::elements(std::int64_t* in, std::int64_t* out) const {
  if (in != nullptr) *in = in_.elements;
  if (out != nullptr) *out = out_.elements;
}

void FftPlan::check(const Memory& memory, const Side& from, const Side& into) const {
  if (state_ == State::under_way || state_ == State::complete) {
    refuse_usage("a transform is under way: complete it with rankwise_fft_end first");
  }
  if (state_ == State::broken) refuse_usage("a transform of this plan has failed: destroy it and create another one");
  const auto require = [&](const Side& side, const void* data, std::size_t bytes) {
    const std::string what = &side == &in_ ? "in" : "out";
    if (side.elements > 0 && data == nullptr) refuse_argument(what + " is NULL: give memory of rankwise_fft_elements");
    if (bytes < side.bytes()) {
      refuse_argument(what + " has " + std::to_string(bytes) + " B but " + std::to_string(side.elements) + " elements of " +
                      std::to_string(side.element_bytes) + " B are needed: ask rankwise_fft_elements");
    }
    if (reinterpret_cast<std::uintptr_t>(data) % (request_.is_double ? sizeof(double) : sizeof(float)) != 0) {
      refuse_argument(what + " does not begin at a whole number of reals in memory: give memory of malloc");
    }
  };
  require(from, memory.from, memory.from_bytes);
  require(into, memory.into, memory.into_bytes);
  if (memory.from == memory.into && (request_.in_place || from.elements == 0)) return;
  const auto* const first = static_cast<const std::byte*>(memory.from);
  const auto* const second = static_cast<const std::byte*>(memory.into);
  const std::less<const std::byte*> before;
  if (before(first, second + into.bytes()) && before(second, first + from.bytes())) {
    refuse_argument("in and out share memory: set options.in_place and give the same address, or two arrays");
  }
}

// Collective: the same call, with memory that is enough, on all ranks.
void FftPlan::compose(Direction direction, const Memory& memory, double scale, bool whole) {
  const bool is_forward = direction == Direction::forward;
  const Side& from = is_forward ? in_ : out_;
  const Side& into = is_forward ? out_ : in_;
  Agreement agreement;
  agreement.attempt([&] { check(memory, from, into); });
  agreement.alike("the direction (1: forward)", is_forward);
  agreement.alike("the call (1: begin)", !whole);
  agreement.alike("the scale (by its bits)", std::bit_cast<std::int64_t>(scale));
  agreement.reach(comm_.get());
  prepare();
  const auto stride = [](const Side& side) { return static_cast<std::size_t>(side.stride) * side.element_bytes; };
  engine_->add(stages_, direction,
               {static_cast<const std::byte*>(memory.from), static_cast<std::byte*>(memory.into), stride(from), stride(into),
                in_.line, scale});
}

void FftPlan::run(Direction direction, const Memory& memory, double scale) {
  compose(direction, memory, scale, true);
  state_ = State::broken;
  stages_.run();
  state_ = State::idle;
}

void FftPlan::begin(int forward, const void* from, std::size_t from_bytes, void* into, std::size_t into_bytes, double scale) {
  compose(forward != 0 ? Direction::forward : Direction::backward, {from, from_bytes, into, into_bytes}, scale, false);
  state_ = State::broken;
  stages_.begin();
  state_ = State::under_way;
}

bool FftPlan::test() {
  if (state_ == State::complete) return true;
  if (state_ != State::under_way) refuse_usage("nothing to test: call rankwise_fft_begin first");
  state_ = State::broken;
  const bool done = stages_.test();
  state_ = done ? State::complete : State::under_way;
  return done;
}

void FftPlan::end() {
  if (state_ != State::under_way && state_ != State::complete) {
    refuse_usage("nothing to end: call rankwise_fft_begin first");
  }
  if (state_ == State::under_way) {
    state_ = State::broken;
    stages_.end();
  }
  state_ = State::idle;
}

std::string FftPlan::explain() const {
  const auto& n = request_.n;
  std::string text = "3-D FFT of " + std::to_string(n[0]) + "x" + std::to_string(n[1]) + "x" + std::to_string(n[2]) +
                     (request_.is_real ? " reals" : " complex values") + (request_.is_double ? ", double" : ", single") +
                     " precision, " + std::to_string(request_.batch) + (request_.batch == 1 ? " field\n" : " fields\n");
  text += "grid " + text_of(variant_.grid) + (variant_.grid[1] == 1 ? " (slabs)" : " (pencils)") + ", transposes by " +
          to_string(variant_.method) + (variant_.chunks > 1 ? " in " + std::to_string(variant_.chunks) + " slices" : "") +
          (variant_.together > 1 ? ", " + std::to_string(variant_.together) + " fields together" : "") +
          (variant_.in_flight > 1 ? ", one group exchanged while the next is transformed" : "") + ": " + why_ + "\n";
  text += "local FFTs by " + local_library().version() + "\n";
  for (const auto& [side, is_own, name] : {std::tuple{&in_, !bricks_.in, "in"}, {&out_, !bricks_.out, "out"}}) {
    text += std::string(name) + ": " + text_of(side->box) + (is_own ? "" : ", redistributed") + "\n";
  }
  if (!engine_) return text + "memory: none before the first transform\n";
  return text + "memory: " + std::to_string(engine_->memory_bytes()) + " B of buffers on this rank\n";
}

void FftPlan::close() {
  require_mpi();
  if (state_ == State::under_way) stages_.end();
  engine_.reset();
  comm_.free();
}

}  // namespace rankwise::api
