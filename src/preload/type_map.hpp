// What an MPI datatype says, as bytes: where in memory the bytes of a message come from, in the order in which they travel.
#pragma once

#include <cstddef>
#include <vector>

#include "halo/copy.hpp"

namespace rankwise::preload {

class TypeMap {
 public:
  struct Run {
    Bytes at = 0;            // in memory, from the buffer's address
    std::size_t packed = 0;  // in the message
    std::size_t bytes = 0;
  };

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  // The one run of bytes that this is; null where it is several.
  [[nodiscard]] const Run* as_one_run() const { return runs_.size() == 1 && boxes_.empty() ? &runs_[0] : nullptr; }

  void add_run(Bytes at, std::size_t bytes);
  // Behind what is there, its memory moved by so many bytes.
  void append(const TypeMap& other, Bytes shift);
  // Leaves out what another fills: what comes next begins at this place of the message.
  void skip(std::size_t packed) { bytes_ = packed; }
  // This, count times, each `step` bytes of memory after the one before. False where it would nest too deeply.
  [[nodiscard]] bool repeat(long long count, Bytes step);

  void pack(const std::byte* memory, std::byte* message) const;
  void unpack(const std::byte* message, std::byte* memory) const;
  // Of a message that is shorter than this, what has come.
  void unpack_first(std::size_t come, const std::byte* message, std::byte* memory) const;

 private:
  std::vector<Run> runs_;
  std::vector<BoxCopy> boxes_;  // from memory into the message
  std::vector<BoxCopy> back_;   // the same the other way
  std::size_t bytes_ = 0;

  void add_box(const BoxCopy& box);
};

}  // namespace rankwise::preload
