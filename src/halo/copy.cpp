#include "halo/copy.hpp"

#include <algorithm>
#include <numeric>

namespace rankwise {

BoxCopy BoxCopy::of_box(int ndim, const BoxCells& extent, std::size_t element_bytes, const BoxSteps& from,
                        const BoxSteps& into) {
  BoxCopy copy;
  copy.row_bytes = element_bytes;
  std::array<std::size_t, most_halo_axes> order{};
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto count = static_cast<std::size_t>(ndim);
  const auto step = [&](std::size_t axis) { return from[axis] < 0 ? -from[axis] : from[axis]; };
  std::stable_sort(order.begin(), order.begin() + ndim, [&](std::size_t a, std::size_t b) { return step(a) > step(b); });
  // From the innermost axis outwards; what continues the row or the loop within it is joined to that.
  std::array<Loop, most_halo_axes> inside_out{};
  std::size_t loops = 0;
  for (std::size_t i = count; i-- > 0;) {
    const Loop loop{extent[order[i]], from[order[i]], into[order[i]]};
    if (loop.count == 1) continue;
    const auto row = static_cast<Bytes>(copy.row_bytes);
    if (loops == 0 && loop.from == row && loop.into == row) {
      copy.row_bytes *= static_cast<std::size_t>(loop.count);
      continue;
    }
    if (loops > 0) {
      Loop& inner = inside_out[loops - 1];
      if (loop.from == inner.count * inner.from && loop.into == inner.count * inner.into) {
        inner.count *= loop.count;
        continue;
      }
    }
    inside_out[loops++] = loop;
  }
  copy.loops = static_cast<int>(loops);
  for (std::size_t i = 0; i < loops; ++i) copy.loop[i] = inside_out[loops - 1 - i];
  return copy;
}

std::size_t BoxCopy::bytes() const {
  std::size_t all = row_bytes;
  for (int i = 0; i < loops; ++i) all *= static_cast<std::size_t>(loop[static_cast<std::size_t>(i)].count);
  return all;
}

BoxCopy BoxCopy::reversed() const {
  BoxCopy back = *this;
  std::swap(back.from, back.into);
  for (Loop& each : back.loop) std::swap(each.from, each.into);
  return back;
}

namespace {

// Rows of a size that the compiler knows become loads and stores; a call of memcpy would take several times as long.
template <std::size_t row>
void run_rows(const BoxCopy& copy, std::byte* into, const std::byte* from) {
  each_row(copy, into, from, [](std::byte* to, const std::byte* source, std::size_t) { std::memcpy(to, source, row); });
}

// Elements of a known size become loads and stores.
template <std::size_t size>
void gather(Bytes count, const std::byte* from, Bytes stride, std::byte* into) {
  for (Bytes i = 0; i < count; ++i) std::memcpy(into + i * static_cast<Bytes>(size), from + i * stride, size);
}
template <std::size_t size>
void scatter(Bytes count, const std::byte* from, std::byte* into, Bytes stride) {
  for (Bytes i = 0; i < count; ++i) std::memcpy(into + i * stride, from + i * static_cast<Bytes>(size), size);
}

}  // namespace

void gather(std::size_t size, Bytes count, const std::byte* from, Bytes stride, std::byte* into) {
  if (stride == static_cast<Bytes>(size) && count > 4) {
    std::memcpy(into, from, size * static_cast<std::size_t>(count));
    return;
  }
  switch (size) {
    case 4: return gather<4>(count, from, stride, into);
    case 8: return gather<8>(count, from, stride, into);
    case 16: return gather<16>(count, from, stride, into);
    case 24: return gather<24>(count, from, stride, into);
    case 32: return gather<32>(count, from, stride, into);
    default:
      for (Bytes i = 0; i < count; ++i) std::memcpy(into + i * static_cast<Bytes>(size), from + i * stride, size);
  }
}

void scatter(std::size_t size, Bytes count, const std::byte* from, std::byte* into, Bytes stride) {
  if (stride == static_cast<Bytes>(size) && count > 4) {
    std::memcpy(into, from, size * static_cast<std::size_t>(count));
    return;
  }
  switch (size) {
    case 4: return scatter<4>(count, from, into, stride);
    case 8: return scatter<8>(count, from, into, stride);
    case 16: return scatter<16>(count, from, into, stride);
    case 24: return scatter<24>(count, from, into, stride);
    case 32: return scatter<32>(count, from, into, stride);
    default:
      for (Bytes i = 0; i < count; ++i) std::memcpy(into + i * stride, from + i * static_cast<Bytes>(size), size);
  }
}

void run(const BoxCopy& copy, std::byte* into, const std::byte* from) {
  switch (copy.row_bytes) {
    case 4: return run_rows<4>(copy, into, from);
    case 8: return run_rows<8>(copy, into, from);
    case 12: return run_rows<12>(copy, into, from);
    case 16: return run_rows<16>(copy, into, from);
    case 24: return run_rows<24>(copy, into, from);
    case 32: return run_rows<32>(copy, into, from);
    case 48: return run_rows<48>(copy, into, from);
    case 64: return run_rows<64>(copy, into, from);
    default:
      each_row(copy, into, from, [](std::byte* to, const std::byte* source, std::size_t n) { std::memcpy(to, source, n); });
  }
}

}  // namespace rankwise
