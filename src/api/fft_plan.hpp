// The plan behind a handle of a 3-D FFT. The meaning, errors and collectiveness of all functions are those of rankwise.h.
#pragma once

#include <memory>
#include <string>

#include "api/communicator.hpp"
#include "api/options.hpp"

namespace rankwise::api {

class FftPlan {
 public:
  FftPlan(MPI_Comm comm, const std::int64_t n[3], const rankwise_fft_box* in, const rankwise_fft_box* out,
          const rankwise_fft_options* options);

  void boxes(rankwise_fft_box* in, rankwise_fft_box* out) const;
  void elements(std::int64_t* in, std::int64_t* out) const;

  void forward(const void* in, std::size_t in_bytes, void* out, std::size_t out_bytes, double scale) {
    run(Direction::forward, {in, in_bytes, out, out_bytes}, scale);
  }
  void backward(const void* out, std::size_t out_bytes, void* in, std::size_t in_bytes, double scale) {
    run(Direction::backward, {out, out_bytes, in, in_bytes}, scale);
  }
  void begin(int forward, const void* from, std::size_t from_bytes, void* into, std::size_t into_bytes, double scale);
  [[nodiscard]] bool test();
  void end();
  [[nodiscard]] std::string explain() const;
  void close();

 private:
  // A caller's memory on the side that is read, and on the one that is written.
  struct Memory {
    const void* from;
    std::size_t from_bytes;
    void* into;
    std::size_t into_bytes;
  };
  void run(Direction direction, const Memory& memory, double scale);

  // What this rank has of one side.
  struct Side {
    Box box;
    std::size_t element_bytes = 1;
    Index line = 0;      // elements from one line to the next
    Index stride = 0;    // from one field to the next
    Index elements = 0;  // of all fields
    [[nodiscard]] Index of_a_field() const { return box[0].count * box[1].count * line; }
    [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(elements) * element_bytes; }
  };

  void take_boxes(const rankwise_fft_box* in, const rankwise_fft_box* out);
  void choose();
  void lay_out();
  void prepare();
  void compose(Direction direction, const Memory& memory, double scale, bool whole);
  void check(const Memory& memory, const Side& from, const Side& into) const;

  enum class State { idle, under_way, complete, broken };
  State state_ = State::idle;
  Duplicate comm_;
  int ranks_ = 1;
  FftRequest request_;
  FftBricks bricks_;
  FftVariant variant_;
  std::string why_;
  Side in_, out_;
  std::unique_ptr<FftBatch> engine_;  // from the first transform, or the trials, on
  Stages stages_;
};

}  // namespace rankwise::api
