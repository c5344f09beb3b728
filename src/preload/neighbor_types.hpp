// MPI's datatypes: what they say, as bytes, and how messages are made of them.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "halo/copy.hpp"

namespace rankwise::preload {

// What an MPI datatype says, as bytes: where in memory the bytes of a message come from, in the order in which they travel.

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

// MPI's datatypes decoded, and what cannot be decoded, as messages are made of it.

// What travels between two ranks, or of one edge: pieces of memory in the order of the message.
class Content {
 public:
  Content() = default;
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;
  Content(Content&& other) noexcept : map_(std::move(other.map_)), foreign_(std::move(other.foreign_)), bytes_(other.bytes_) {
    other.foreign_.clear();
  }
  Content& operator=(Content&&) = delete;
  ~Content();

  // Adds count elements of a type at a place. Returns MPI's error where it is none that may travel.
  [[nodiscard]] int add(long long count, MPI_Datatype type, Bytes at, MPI_Comm comm);
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  // Where its bytes lie one after the other, and so need no packing.
  [[nodiscard]] const TypeMap::Run* in_place() const { return foreign_.empty() ? map_.as_one_run() : nullptr; }
  [[nodiscard]] int pack(const std::byte* memory, std::byte* message, MPI_Comm comm) const;
  // come: the bytes of the message, which may be less than bytes().
  [[nodiscard]] int unpack(std::size_t come, const std::byte* message, std::byte* memory, MPI_Comm comm) const;

 private:
  struct Foreign {  // left to MPI_Pack: pair types, darray, what has more than six loops
    MPI_Datatype type;
    long long count;
    Bytes at;
    Bytes extent;
    std::size_t packed;
    std::size_t bytes_each;
  };
  TypeMap map_;
  std::vector<Foreign> foreign_;
  std::size_t bytes_ = 0;
};

[[nodiscard]] bool is_predefined(MPI_Datatype type) noexcept;

}  // namespace rankwise::preload
