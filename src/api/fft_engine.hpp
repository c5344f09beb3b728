// A transform with the redistributions around it, of one precision.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "api/fft_request.hpp"
#include "fft/redistribution.hpp"

namespace rankwise::api {

// The boxes that a caller brings, of all ranks; nothing: the transform's own.
struct FftBricks {
  std::optional<std::vector<Box>> in, out;
};

// A way to carry out a transform.
struct FftWay {
  std::array<Index, 2> grid{1, 1};
  TransposeMethod method = TransposeMethod::alltoall;
  Index chunks = 1;
  bool operator==(const FftWay&) const = default;
};

class FftEngine {
 public:
  virtual ~FftEngine() = default;
  // Adds one field's transform to stages. line: reals from one line of real data to the next, of no bricks.
  virtual void add(Stages& stages, Direction direction, const std::byte* from, std::byte* into, Index line, double scale) = 0;
  // Collective: one transform of the engine's own memory, redistributions and all left out.
  virtual void run_own(Direction direction) = 0;
  [[nodiscard]] virtual std::size_t memory_bytes() const = 0;
};

// Collective; alike on all ranks it throws std::invalid_argument, FftUnavailable or std::bad_alloc, but for a lack of memory
// for redistributions, which is thrown where it is.
[[nodiscard]] std::unique_ptr<FftEngine> make_fft_engine(MPI_Comm comm, const FftRequest& request, const FftWay& way,
                                                         const FftBricks& bricks, const FftLibrary& library);

// The box of reals or complex values that a rank has of the array, where the transform likes it so.
[[nodiscard]] Box own_field_box(const Decomposition& decomposition, Index rank);

}  // namespace rankwise::api
