#include "api/fft_engine.hpp"

#include <new>

#include "fft/knowledge.hpp"

namespace rankwise::api {

Box own_field_box(const Decomposition& decomposition, Index rank) {
  Box box = decomposition.natural(rank);
  box[2].count = decomposition.n[2];
  return box;
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

  void add(Stages& stages, Direction direction, const std::byte* from, std::byte* into, Index line, double scale) override {
    const bool is_forward = direction == Direction::forward;
    auto& first = is_forward ? in_there_ : out_there_;
    auto& behind = is_forward ? out_back_ : in_back_;
    auto* const own = reinterpret_cast<std::byte*>(fft_.data());
    if (first) first->add(stages, from, 0, own, is_forward ? padded_ : 0, nullptr);
    fft_.add(stages, direction, {first ? nullptr : from, behind ? nullptr : into, line, scale});
    if (behind) behind->add(stages, own, is_forward ? 0 : padded_, into, 0, nullptr);
  }

  void run_own(Direction direction) override { fft_.run(direction); }

  [[nodiscard]] std::size_t memory_bytes() const override {
    std::size_t bytes = fft_.memory_bytes();
    for (const auto* part : {&in_there_, &in_back_, &out_there_, &out_back_}) {
      if (*part) bytes += (*part)->memory_bytes();
    }
    return bytes;
  }

 private:
  Fft3d<Real> fft_;
  Index padded_;
  std::optional<Redistribution> in_there_, in_back_, out_there_, out_back_;
};

}  // namespace

std::unique_ptr<FftEngine> make_fft_engine(MPI_Comm comm, const FftRequest& request, const FftWay& way,
                                           const FftBricks& bricks, const FftLibrary& library) {
  const FftSpec spec{.decomposition = {request.n, request.is_real, way.grid},
                     .order = request.order,
                     .method = way.method,
                     .planning = request.planning(),
                     .may_idle = true,
                     .chunks = way.chunks,
                     .knowledge = knowledge_file(request.is_double ? "wisdom-double" : "wisdom-single")};
  if (request.is_double) return std::make_unique<Engine<double>>(comm, spec, bricks, library);
  return std::make_unique<Engine<float>>(comm, spec, bricks, library);
}

}  // namespace rankwise::api
