// A batch of transforms with the redistributions around them, of either precision, by one way.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fft/decomposition.hpp"
#include "fft/transform.hpp"

namespace rankwise {

// What is to be transformed, and what of the way is fixed.
struct FftQuestion {
  std::array<Index, 3> n{1, 1, 1};
  bool is_real = false;
  bool is_double = true;
  Order order = Order::transposed;
  Planning planning = Planning::measure;
  bool in_place = false;
  Index batch = 1;
  std::optional<TransposeMethod> method = {};  // nothing: choose
  std::array<Index, 2> grid{0, 0};             // 0, 0: choose
  Index chunks = 0;                            // 0: choose
  Index together = 0;                          // likewise
  Index in_flight = 0;                         // likewise
};

// A way to carry it out.
struct FftVariant {
  std::array<Index, 2> grid{1, 1};
  TransposeMethod method = TransposeMethod::alltoall;
  Index chunks = 1;
  Index together = 1;   // fields whose blocks travel as one message
  Index in_flight = 1;  // 2: while one group of them is exchanged, the next one is transformed
  bool operator==(const FftVariant&) const = default;
};
[[nodiscard]] std::string to_string(const FftVariant& variant);

// The boxes that a caller brings, of all ranks; nothing: the transform's own.
struct FftBricks {
  std::optional<std::vector<Box>> in, out;
};

// A caller's batch: strides are bytes from one field to the next.
struct FftMemory {
  const std::byte* from = nullptr;
  std::byte* into = nullptr;
  std::size_t from_stride = 0, into_stride = 0;
  Index line = 0;  // reals from one line of real data to the next, of no bricks
  double scale = 1.0;
  const std::byte* next = nullptr;  // read soon
  [[nodiscard]] FftMemory of_field(Index field) const {
    const auto fields = static_cast<std::size_t>(field);
    return {from + fields * from_stride, into + fields * into_stride, from_stride, into_stride, line, scale, nullptr};
  }
};

// Transforms so many fields at a time.
class FftEngine {
 public:
  virtual ~FftEngine() = default;
  virtual void add(Stages& stages, Direction direction, const FftMemory& memory, Index fields) = 0;
  [[nodiscard]] virtual std::size_t memory_bytes() const = 0;
};

class FftBatch {
 public:
  // Collective; alike on all ranks it throws std::invalid_argument, FftUnavailable or std::bad_alloc, but for a lack of memory
  // for redistributions, which is thrown where it is.
  FftBatch(MPI_Comm comm, const FftQuestion& question, const FftVariant& variant, const FftBricks& bricks,
           const FftLibrary& library);

  // Adds the transform of all fields to stages.
  void add(Stages& stages, Direction direction, const FftMemory& memory);
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  Index batch_, together_;
  std::vector<std::unique_ptr<FftEngine>> engines_;  // by turns
};

// The box of reals or complex values that a rank has of the array, where the transform likes it so.
[[nodiscard]] Box own_field_box(const Decomposition& decomposition, Index rank);

}  // namespace rankwise
