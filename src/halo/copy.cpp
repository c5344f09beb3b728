#include "halo/copy.hpp"

#include <algorithm>
#include <numeric>
#include <type_traits>

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

// Calls known with a size that loops are unrolled for, as a constant; any for others.
template <class Known, class Any>
void by_size(std::size_t size, Known known, Any any) {
  switch (size) {
    case 4: return known(std::integral_constant<std::size_t, 4>{});
    case 8: return known(std::integral_constant<std::size_t, 8>{});
    case 12: return known(std::integral_constant<std::size_t, 12>{});
    case 16: return known(std::integral_constant<std::size_t, 16>{});
    case 24: return known(std::integral_constant<std::size_t, 24>{});
    case 32: return known(std::integral_constant<std::size_t, 32>{});
    case 48: return known(std::integral_constant<std::size_t, 48>{});
    case 64: return known(std::integral_constant<std::size_t, 64>{});
    default: any();
  }
}

// Elements without gaps between them are one row.
bool is_one_row(std::size_t size, Bytes count, Bytes stride) { return stride == static_cast<Bytes>(size) && count > 4; }

}  // namespace

void gather(std::size_t size, Bytes count, const std::byte* from, Bytes stride, std::byte* into) {
  if (is_one_row(size, count, stride)) {
    std::memcpy(into, from, size * static_cast<std::size_t>(count));
    return;
  }
  by_size(
      size, [&](auto known) { gather<known>(count, from, stride, into); },
      [&] {
        for (Bytes i = 0; i < count; ++i) std::memcpy(into + i * static_cast<Bytes>(size), from + i * stride, size);
      });
}

void scatter(std::size_t size, Bytes count, const std::byte* from, std::byte* into, Bytes stride) {
  if (is_one_row(size, count, stride)) {
    std::memcpy(into, from, size * static_cast<std::size_t>(count));
    return;
  }
  by_size(
      size, [&](auto known) { scatter<known>(count, from, into, stride); },
      [&] {
        for (Bytes i = 0; i < count; ++i) std::memcpy(into + i * stride, from + i * static_cast<Bytes>(size), size);
      });
}

// A loop for each known size, not a question of the size for each element.
void gather(std::size_t size, std::span<const int> at, const std::byte* from, Bytes stride, std::byte* into) {
  const auto each = [&](auto bytes) {
    for (const int place : at) {
      std::memcpy(into, from + place * stride, bytes);
      into += bytes;
    }
  };
  by_size(size, each, [&] { each(size); });
}

void scatter(std::size_t size, std::span<const int> at, const std::byte* from, std::byte* into, Bytes stride) {
  const auto each = [&](auto bytes) {
    for (const int place : at) {
      std::memcpy(into + place * stride, from, bytes);
      from += bytes;
    }
  };
  by_size(size, each, [&] { each(size); });
}

void run(const BoxCopy& copy, std::byte* into, const std::byte* from) {
  by_size(
      copy.row_bytes, [&](auto known) { run_rows<known>(copy, into, from); },
      [&] {
        each_row(copy, into, from, [](std::byte* to, const std::byte* source, std::size_t n) { std::memcpy(to, source, n); });
      });
}

void touch(const BoxCopy& copy, const std::byte* from) {
  constexpr std::size_t page_bytes = 4096;
  BoxCopy read = copy;  // to nowhere
  read.into = 0;
  for (BoxCopy::Loop& loop : read.loop) loop.into = 0;
  each_row(read, nullptr, from, [](std::byte*, const std::byte* row, std::size_t bytes) {
    if (bytes == 0) return;
    for (std::size_t at = 0; at < bytes; at += page_bytes) static_cast<void>(*static_cast<const volatile std::byte*>(row + at));
    static_cast<void>(*static_cast<const volatile std::byte*>(row + bytes - 1));
  });
}

}  // namespace rankwise
