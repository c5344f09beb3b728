#include "fft/engine.hpp"

#include <new>

#include "fft/library.hpp"

namespace rankwise {

Box own_field_box(const Decomposition& decomposition, Index rank) {
  Box box = decomposition.natural(rank);
  box[2].count = decomposition.n[2];
  return box;
}

std::string to_string(const FftVariant& variant) {
  std::string text = std::to_string(variant.grid[0]) + "x" + std::to_string(variant.grid[1]) + " " + to_string(variant.method);
  if (variant.chunks > 1) text += " in " + std::to_string(variant.chunks) + " slices";
  if (variant.together > 1) text += ", " + std::to_string(variant.together) + " fields together";
  if (variant.in_flight > 1) text += ", " + std::to_string(variant.in_flight) + " by turns";
  return text;
}

namespace {

template <typename Real>
class Engine final : public FftEngine {
 public:
  using Value = std::complex<Real>;

  Engine(MPI_Comm comm, const FftSpec& spec, const FftBricks& bricks, const FftLibrary& library)
      : fft_(comm, spec, library), padded_(spec.decomposition.real ? 2 * spec.decomposition.complex_points() : 0) {
    const Decomposition& d = spec.decomposition;
    std::vector<Box> field, spectrum;
    for (Index rank = 0; rank < d.ranks(); ++rank) {
      field.push_back(own_field_box(d, rank));
      spectrum.push_back(spec.order == Order::natural ? d.natural(rank) : d.transposed(rank));
    }
    if (bricks.in) {
      const std::size_t bytes = d.real ? sizeof(Real) : sizeof(Value);
      in_there_.emplace(comm, *bricks.in, field, bytes);
      in_back_.emplace(comm, field, *bricks.in, bytes);
    }
    if (bricks.out) {
      out_there_.emplace(comm, *bricks.out, spectrum, sizeof(Value));
      out_back_.emplace(comm, spectrum, *bricks.out, sizeof(Value));
    }
    for (const auto* part : {&in_there_, &in_back_, &out_there_, &out_back_}) {
      if (*part && !(*part)->is_there()) throw std::bad_alloc();
    }
  }

  void add(Stages& stages, Direction direction, const FftMemory& memory, Index fields) override {
    const bool is_forward = direction == Direction::forward;
    auto& first = is_forward ? in_there_ : out_there_;
    auto& behind = is_forward ? out_back_ : in_back_;
    for (Index field = 0; first && field < fields; ++field) {
      first->add(stages, {memory.of_field(field).from}, own_memory(is_forward, field, fields), nullptr);
    }
    fft_.add(stages, direction,
             {first ? nullptr : memory.from, behind ? nullptr : memory.into, memory.line, memory.scale, fields,
              memory.from_stride, memory.into_stride, memory.next});
    for (Index field = 0; behind && field < fields; ++field) {
      const auto own = own_memory(!is_forward, field, fields);
      behind->add(stages, {own.at, own.line, own.plane}, {memory.of_field(field).into}, nullptr);
    }
  }

  [[nodiscard]] std::size_t memory_bytes() const override {
    std::size_t bytes = fft_.memory_bytes();
    for (const auto* part : {&in_there_, &in_back_, &out_there_, &out_back_}) {
      if (*part) bytes += (*part)->memory_bytes();
    }
    return bytes;
  }

 private:
  // Where the transform has a field, of so many, in its own array: before it (is_field) or after.
  [[nodiscard]] Redistribution::Memory<std::byte> own_memory(bool is_field, Index field, Index fields) {
    const Box box = is_field ? fft_.input_box() : fft_.output_box();
    const Index plane = box[1].count * box[2].count;
    const bool by_turns = !is_field && fft_.fields_take_turns();
    auto* const at = reinterpret_cast<std::byte*>(fft_.data() + field * (by_turns ? plane : volume(box)));
    return {at, is_field ? padded_ : box[2].count, by_turns ? fields * plane : 0};
  }

  Fft3d<Real> fft_;
  Index padded_;
  std::optional<Redistribution> in_there_, in_back_, out_there_, out_back_;
};

}  // namespace

FftBatch::FftBatch(MPI_Comm comm, const FftQuestion& question, const FftVariant& variant, const FftBricks& bricks,
                   const FftLibrary& library)
    : batch_(question.batch), together_(std::min(variant.together, question.batch)) {
  const FftSpec spec{.decomposition = {question.n, question.is_real, variant.grid},
                     .order = question.order,
                     .method = variant.method,
                     .planning = question.planning,
                     .may_idle = true,
                     .chunks = variant.chunks,
                     .fields = together_,
                     .last_fields = batch_ % together_,
                     .by_turns = variant.in_flight > 1,
                     .knowledge = knowledge_file(question.is_double ? "wisdom-double" : "wisdom-single")};
  for (Index i = 0; i < std::min(variant.in_flight, (batch_ + together_ - 1) / together_); ++i) {
    if (question.is_double) {
      engines_.push_back(std::make_unique<Engine<double>>(comm, spec, bricks, library));
    } else {
      engines_.push_back(std::make_unique<Engine<float>>(comm, spec, bricks, library));
    }
  }
}

void FftBatch::add(Stages& stages, Direction direction, const FftMemory& memory) {
  std::vector<Stages> streams(engines_.size());
  for (Index first = 0; first < batch_; first += together_) {
    const auto turn = static_cast<std::size_t>(first / together_) % engines_.size();
    FftMemory now = memory.of_field(first);
    if (first + together_ < batch_ && engines_.size() == 1) now.next = memory.of_field(first + together_).from;
    engines_[turn]->add(streams[turn], direction, now, std::min(together_, batch_ - first));
  }
  stages.append(streams.size() == 1 ? std::move(streams.front()) : Stages::by_turns(std::move(streams)));
}

std::size_t FftBatch::memory_bytes() const {
  std::size_t bytes = 0;
  for (const auto& engine : engines_) bytes += engine->memory_bytes();
  return bytes;
}

}  // namespace rankwise
