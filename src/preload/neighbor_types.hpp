// MPI's datatypes decoded, and what cannot be decoded, as messages are made of it.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "preload/type_map.hpp"

namespace rankwise::preload {

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
