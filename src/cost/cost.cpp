#include "cost/cost.hpp"

#include <algorithm>
#include <utility>

namespace rankwise {

TimeCurve::TimeCurve(std::vector<TimeLine> lines) : lines_(std::move(lines)) {
  if (lines_.empty()) invalid("a time curve needs at least one line");
  for (std::size_t i = 1; i < lines_.size(); ++i) {
    if (lines_[i].from_bytes <= lines_[i - 1].from_bytes) invalid("the lines of a time curve are not in order of size");
  }
}

double TimeCurve::operator()(Index size_bytes) const {
  auto next = std::upper_bound(lines_.begin(), lines_.end(), size_bytes,
                               [](Index size, const TimeLine& line) { return size < line.from_bytes; });
  const TimeLine& line = next == lines_.begin() ? *next : *std::prev(next);
  return line.alpha_s + line.beta_s_per_byte * static_cast<double>(size_bytes);
}

std::string to_string(LinkClass link) {
  static constexpr std::array names{"same-core", "same-socket", "other-socket", "other-node"};
  return names[static_cast<std::size_t>(link)];
}

LinkClass link_between(const Location& a, const Location& b) {
  if (a.node != b.node) return LinkClass::other_node;
  if (a.socket != b.socket) return LinkClass::other_socket;
  return a.core != b.core ? LinkClass::same_socket : LinkClass::same_core;
}

}  // namespace rankwise
