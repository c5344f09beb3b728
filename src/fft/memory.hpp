// The memory of transforms.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <new>
#include <span>
#include <utility>

namespace rankwise {

// Memory for large arrays: aligned, in large pages where the system has them (strided passes touch a page a line).

class Buffer {
 public:
  explicit Buffer(std::size_t bytes);                // zeros; throws std::bad_alloc
  Buffer(std::size_t bytes, const std::nothrow_t&);  // is_there() says whether there was memory
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(data_, other.data_);
    return *this;
  }

  [[nodiscard]] bool is_there() const { return data_ != nullptr; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  template <typename Value>
  [[nodiscard]] Value* as() const {
    return reinterpret_cast<Value*>(data_);
  }

 private:
  std::size_t bytes_;
  std::byte* data_;
};

// Whether the ranks of a transform get the memory that it needs.

// Collective. Throws std::invalid_argument, on all ranks alike, when some node has less memory available than its ranks need
// together, of which each needs so many bytes.
void require_memory(MPI_Comm comm, double bytes);

// Collective: whether so many bytes of each rank leave at least half of the memory that is available on every node.
[[nodiscard]] bool is_little(MPI_Comm comm, std::size_t bytes);

}  // namespace rankwise
