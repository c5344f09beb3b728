#include "fft/buffer.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

namespace rankwise {

Buffer::Buffer(std::size_t bytes) : Buffer(bytes, std::nothrow) {
  if (data_ == nullptr) throw std::bad_alloc();
}

Buffer::Buffer(std::size_t bytes, const std::nothrow_t&) : bytes_(bytes) {
  constexpr std::size_t large_page = std::size_t{1} << 21;
  const std::size_t alignment = bytes >= large_page ? large_page : 64;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  data_ = static_cast<std::byte*>(std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded));
  if (data_ == nullptr) return;
  if (alignment == large_page) madvise(data_, rounded, MADV_HUGEPAGE);  // a wish: what it answers does not matter
  std::memset(data_, 0, bytes);
}

Buffer::~Buffer() { std::free(data_); }

}  // namespace rankwise
