#include "preload/type_map.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace rankwise::preload {

namespace {

constexpr std::size_t most_runs = 1 << 20;  // that are written out; beyond, each becomes a loop
constexpr std::size_t few_runs = 8;

inline void copy(std::byte* into, const std::byte* from, std::size_t bytes) {
  switch (bytes) {
    case 4: std::memcpy(into, from, 4); return;
    case 8: std::memcpy(into, from, 8); return;
    case 16: std::memcpy(into, from, 16); return;
    case 24: std::memcpy(into, from, 24); return;
    default: std::memcpy(into, from, bytes);
  }
}

// Copies that are loops of rows, with one loop more around them. Returns false where there are too many.
bool wrap(BoxCopy& box, long long count, Bytes step, Bytes packed_step) {
  if (box.loops + 1 > most_halo_axes) return false;
  BoxCells extent{};
  BoxSteps from{};
  BoxSteps into{};
  extent[0] = count;
  from[0] = step;
  into[0] = packed_step;
  for (std::size_t i = 0; i < static_cast<std::size_t>(box.loops); ++i) {
    extent[i + 1] = box.loop[i].count;
    from[i + 1] = box.loop[i].from;
    into[i + 1] = box.loop[i].into;
  }
  BoxCopy around = BoxCopy::of_box(box.loops + 1, extent, box.row_bytes, from, into);
  around.from = box.from;
  around.into = box.into;
  box = around;
  return true;
}

}  // namespace

void TypeMap::add_run(Bytes at, std::size_t bytes) {
  if (bytes == 0) return;
  Run* last = runs_.empty() ? nullptr : &runs_.back();
  if (last != nullptr && last->packed + last->bytes == bytes_ && last->at + static_cast<Bytes>(last->bytes) == at) {
    last->bytes += bytes;
  } else {
    runs_.push_back({at, bytes_, bytes});
  }
  bytes_ += bytes;
}

void TypeMap::add_box(const BoxCopy& box) {
  boxes_.push_back(box);
  back_.push_back(box.reversed());
}

void TypeMap::append(const TypeMap& other, Bytes shift) {
  const std::size_t first = bytes_;
  for (const Run& run : other.runs_) {
    bytes_ = first + run.packed;  // so that what continues a run is joined to it
    add_run(run.at + shift, run.bytes);
  }
  for (BoxCopy box : other.boxes_) {
    box.from += shift;
    box.into += static_cast<Bytes>(first);
    add_box(box);
  }
  bytes_ = first + other.bytes_;
}

bool TypeMap::repeat(long long count, Bytes step) {
  if (count == 1) return true;
  if (count <= 0 || bytes_ == 0) {
    *this = TypeMap();
    return true;
  }
  const auto times = static_cast<std::size_t>(count);
  if (const Run* one = as_one_run(); one != nullptr && step == static_cast<Bytes>(one->bytes)) {
    runs_[0].bytes *= times;
    bytes_ *= times;
    return true;
  }
  TypeMap all;
  const bool written_out = boxes_.empty() && (times <= few_runs ? runs_.size() * times <= most_runs
                                                                : runs_.size() > few_runs && runs_.size() <= most_runs / times);
  if (written_out) {
    for (std::size_t i = 0; i < times; ++i) all.append(*this, static_cast<Bytes>(i) * step);
  } else {
    const auto wrapped = [&](BoxCopy box) {
      if (!wrap(box, count, step, static_cast<Bytes>(bytes_))) return false;
      all.add_box(box);
      return true;
    };
    for (const Run& run : runs_) {
      BoxCopy box;
      box.row_bytes = run.bytes;
      box.from = run.at;
      box.into = static_cast<Bytes>(run.packed);
      if (!wrapped(box)) return false;
    }
    for (const BoxCopy& box : boxes_) {
      if (!wrapped(box)) return false;
    }
    all.bytes_ = bytes_ * times;
    // What has become one row is a run.
    if (all.boxes_.size() == 1 && all.boxes_[0].loops == 0) {
      const BoxCopy row = all.boxes_[0];
      all = TypeMap();
      all.add_run(row.from, row.row_bytes);
    }
  }
  *this = std::move(all);
  return true;
}

void TypeMap::pack(const std::byte* memory, std::byte* message) const {
  for (const Run& run : runs_) copy(message + run.packed, memory + run.at, run.bytes);
  for (const BoxCopy& box : boxes_) run(box, message, memory);
}

void TypeMap::unpack(const std::byte* message, std::byte* memory) const {
  for (const Run& run : runs_) copy(memory + run.at, message + run.packed, run.bytes);
  for (const BoxCopy& box : back_) run(box, memory, message);
}

void TypeMap::unpack_first(std::size_t come, const std::byte* message, std::byte* memory) const {
  const auto part = [&](std::byte* into, const std::byte* from, std::size_t bytes) {
    const auto before = static_cast<std::size_t>(from - message);
    if (before < come) std::memcpy(into, from, std::min(bytes, come - before));
  };
  for (const Run& run : runs_) part(memory + run.at, message + run.packed, run.bytes);
  for (const BoxCopy& box : back_) each_row(box, memory, message, part);
}

}  // namespace rankwise::preload
