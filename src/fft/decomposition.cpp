#include "fft/decomposition.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

#include "grid/names.hpp"
#include "mpi/mpi.hpp"

namespace rankwise {

Index Decomposition::local_values(Index rank) const {
  return std::max({volume(natural(rank)), volume(middle(rank)), volume(transposed(rank))});
}

void check(const Decomposition& decomposition, bool may_idle) {
  const auto& [n, real, grid] = decomposition;
  for (const Index points : n) {
    if (points < 1 || points > (Index{1} << 20)) {
      invalid("an axis of " + std::to_string(points) + " points cannot be transformed: take 1 to 1048576");
    }
  }
  for (const Index ranks : grid) {
    if (ranks < 1) invalid("a process grid needs at least 1 rank on each axis");
  }
  if (may_idle) return;
  // Each transpose divides one axis and makes another whole.
  const Index most0 = std::min(n[0], n[1]);
  const Index most1 = std::min(n[1], decomposition.complex_points());
  if (grid[0] > most0 || grid[1] > most1) {
    invalid("the process grid " + std::to_string(grid[0]) + "x" + std::to_string(grid[1]) +
            " has more ranks than pencils: at most " + std::to_string(most0) + "x" + std::to_string(most1) +
            " fits these axes, take fewer ranks or another grid");
  }
}

std::string text_of(const Box& box) {
  std::string text;
  for (const Share& share : box) {
    const std::string end = std::to_string(share.first + share.count - 1);
    text += (text.empty() ? "" : " x ") + (share.count > 0 ? std::to_string(share.first) + ".." + end : std::string("none"));
  }
  return text;
}

namespace {

constexpr std::array<Name<Order>, 2> orders{{{"natural", Order::natural}, {"transposed", Order::transposed}}};

}  // namespace

Order parse_order(const std::string& name) { return parsed(orders, name, "order"); }
std::string to_string(Order order) { return named(orders, order); }

std::array<Index, 2> usual_grid(const std::array<Index, 3>& n, bool real, Index ranks) {
  std::array<Index, 2> best{ranks, 1};
  if (ranks <= std::min(n[0], n[1])) return best;
  for (Index p1 = ranks; p1 >= 1; --p1) {
    if (ranks % p1 != 0) continue;
    const Decomposition other{n, real, {p1, ranks / p1}};
    if (other.local_values(0) < Decomposition{n, real, best}.local_values(0)) best = other.grid;
  }
  return best;
}

namespace {

// Empty where they do not meet.
Box common(const Box& a, const Box& b) {
  Box both;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const Index first = std::max(a[axis].first, b[axis].first);
    const Index end = std::min(a[axis].first + a[axis].count, b[axis].first + b[axis].count);
    both[axis] = {first, std::max<Index>(0, end - first)};
  }
  return both;
}

std::size_t bytes_of(const Box& box, std::size_t element_bytes) {
  return static_cast<std::size_t>(volume(box)) * element_bytes;
}

}  // namespace

void check_cover(const std::array<Index, 3>& n, const std::vector<Box>& boxes, const char* what) {
  const std::string side = std::string("the box ") + what + " of rank ";
  Index points = 0;
  std::vector<std::size_t> filled;
  for (std::size_t rank = 0; rank < boxes.size(); ++rank) {
    const Box& box = boxes[rank];
    const bool is_empty = std::ranges::any_of(box, [](const Share& share) { return share.count == 0; });
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const Share& share = box[axis];
      if (share.count < 0) {
        invalid(side + std::to_string(rank) + " has a size of " + std::to_string(share.count) + " on axis " +
                std::to_string(axis) + ": give 0 or more");
      }
      if (!is_empty && (share.first < 0 || share.first > n[axis] || share.count > n[axis] - share.first)) {
        invalid(side + std::to_string(rank) + " is " + text_of(box) + ", beyond the " + std::to_string(n[axis]) +
                " points of axis " + std::to_string(axis) + ": give boxes within the array");
      }
    }
    if (is_empty) continue;
    points += volume(box);
    filled.push_back(rank);
  }
  // In order of the first axis, a box can meet only those that begin before it ends there.
  std::ranges::sort(filled, {}, [&](std::size_t rank) { return boxes[rank][0].first; });
  for (std::size_t i = 0; i < filled.size(); ++i) {
    const Box& box = boxes[filled[i]];
    for (std::size_t k = i + 1; k < filled.size() && boxes[filled[k]][0].first < box[0].first + box[0].count; ++k) {
      if (volume(common(box, boxes[filled[k]])) == 0) continue;
      const auto [one, other] = std::minmax(filled[i], filled[k]);
      invalid("the boxes " + std::string(what) + " of ranks " + std::to_string(one) + " (" + text_of(boxes[one]) + ") and " +
              std::to_string(other) + " (" + text_of(boxes[other]) + ") overlap: give every point to one rank");
    }
  }
  const Index all = n[0] * n[1] * n[2];
  if (points != all) {
    invalid("the boxes " + std::string(what) + " leave " + std::to_string(all - points) + " of " + std::to_string(all) +
            " points to nobody: give every point to one rank");
  }
}

std::vector<Redistribution::Part> Redistribution::parts(const Box& own, const std::vector<Box>& others,
                                                        std::size_t element_bytes) {
  std::vector<Part> all;
  std::size_t offset = 0;
  for (const Box& other : others) {
    all.push_back({common(own, other), offset});
    offset += bytes_of(all.back().box, element_bytes);
  }
  return all;
}

Redistribution::Redistribution(MPI_Comm comm, const std::vector<Box>& from, const std::vector<Box>& into,
                               std::size_t element_bytes, std::size_t piece_bytes)
    : element_bytes_(element_bytes),
      from_(from[static_cast<std::size_t>(rank_of(comm))]),
      into_(into[static_cast<std::size_t>(rank_of(comm))]),
      sends_(parts(from_, into, element_bytes)),
      receives_(parts(into_, from, element_bytes)),
      out_(bytes_of(from_, element_bytes), std::nothrow),
      in_(bytes_of(into_, element_bytes), std::nothrow) {
  const auto blocks_of = [&](const std::vector<Part>& parts) {
    BlocksOfRanks blocks;
    for (const Part& part : parts) {
      blocks.offsets.push_back(part.offset);
      blocks.sizes.push_back(bytes_of(part.box, element_bytes));
    }
    return blocks;
  };
  const BlocksOfRanks sends = blocks_of(sends_);
  for (std::size_t peer = 0; peer < sends.sizes.size(); ++peer) {
    if (sends.sizes[peer] == 0 || static_cast<int>(peer) == rank_of(comm)) continue;
    ++messages_;
    message_bytes_ += sends.sizes[peer];
  }
  const BlockVariant variant{.piece_bytes = piece_bytes > 0 ? piece_bytes : BlockVariant::usual_piece_bytes};
  blocks_.emplace(comm, variant, sends, blocks_of(receives_), out_.as<std::byte>(), in_.as<std::byte>());
}

template <class Byte, class Copy>
void Redistribution::each_line(const Box& own, Memory<Byte> memory, const std::vector<Part>& parts, Copy copy) const {
  const Index line = memory.line > 0 ? memory.line : own[2].count;
  const Index plane = memory.plane > 0 ? memory.plane : own[1].count * line;
  for (const Part& part : parts) {
    const Box& box = part.box;
    if (volume(box) == 0) continue;
    const std::size_t bytes = static_cast<std::size_t>(box[2].count) * element_bytes_;
    std::size_t at = part.offset;
    for (Index x = box[0].first - own[0].first; x < box[0].first - own[0].first + box[0].count; ++x) {
      for (Index y = box[1].first - own[1].first; y < box[1].first - own[1].first + box[1].count; ++y) {
        const Index place = x * plane + y * line + box[2].first - own[2].first;
        copy(memory.at + static_cast<std::size_t>(place) * element_bytes_, at, bytes);
        at += bytes;
      }
    }
  }
}

void Redistribution::add(Stages& stages, Memory<const std::byte> from, Memory<std::byte> into, double* exchange_s) {
  stages.add([this, from] {
    each_line(from_, from, sends_, [&](const std::byte* place, std::size_t packed, std::size_t bytes) {
      std::memcpy(out_.as<std::byte>() + packed, place, bytes);
    });
  });
  stages.add(*blocks_, exchange_s);
  stages.add([this, into] {
    each_line(into_, into, receives_, [&](std::byte* place, std::size_t packed, std::size_t bytes) {
      std::memcpy(place, in_.as<std::byte>() + packed, bytes);
    });
  });
}

}  // namespace rankwise
