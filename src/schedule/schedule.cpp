#include "schedule/schedule.hpp"

#include <array>
#include <numeric>
#include <utility>

namespace rankwise {

namespace {

constexpr std::array<std::pair<const char*, SendMode>, 3> send_modes{{
    {"ssend", SendMode::ssend}, {"send", SendMode::send}, {"isend", SendMode::isend}}};

struct Algorithm {
  const char* id;
  RankSchedule (*make)(const ExchangeSpec&, Index);
};
constexpr std::array<Algorithm, 1> algorithms{{{"shift", make_shift}}};

}  // namespace

SendMode parse_send_mode(const std::string& name) {
  for (const auto& [id, mode] : send_modes) {
    if (name == id) return mode;
  }
  invalid("send mode '" + name + "' is unknown: choose ssend, send or isend");
}

std::string to_string(SendMode mode) {
  for (const auto& [id, value] : send_modes) {
    if (mode == value) return id;
  }
  return "?";
}

Window::Window(std::vector<int> cutoff) : cutoff_(std::move(cutoff)) {
  if (cutoff_.empty()) invalid("the cutoff has no axis: give the number of layers an axis");
  constexpr Index limit = Index{1} << 40;
  for (const int k : cutoff_) {
    if (k < 1) invalid("cutoff " + std::to_string(k) + " is below 1: give at least one layer");
    const Index width = 2 * Index{k} + 1;
    if (slots_ > limit / width) invalid("the window has more than 2^40 slots: make the cutoff smaller");
    slots_ *= width;
  }
}

Index Window::slot(const Coords& offset) const {
  Index slot = 0;
  for (std::size_t i = 0; i < cutoff_.size(); ++i) slot = slot * (2 * cutoff_[i] + 1) + offset[i] + cutoff_[i];
  return slot;
}

Coords Window::offset(Index slot) const {
  Coords offset(cutoff_.size());
  for (std::size_t i = cutoff_.size(); i-- > 0;) {
    const Index width = 2 * cutoff_[i] + 1;
    offset[i] = slot % width - cutoff_[i];
    slot /= width;
  }
  return offset;
}

Index Op::blocks() const {
  return std::accumulate(slots.begin(), slots.end(), Index{0},
                         [](Index sum, const SlotRange& range) { return sum + range.count; });
}

Index RankSchedule::messages_sent() const {
  Index messages = 0;
  for (const Step& step : steps) {
    for (const Op& op : step.ops) messages += op.kind == Op::Kind::send ? 1 : 0;
  }
  return messages;
}

Index RankSchedule::blocks_sent() const {
  Index blocks = 0;
  for (const Step& step : steps) {
    for (const Op& op : step.ops) blocks += op.kind == Op::Kind::send ? op.blocks() : 0;
  }
  return blocks;
}

RankSchedule make_schedule(const ExchangeSpec& spec, Index rank) {
  if (spec.window.ndim() != spec.grid.ndim()) {
    invalid("the cutoff has " + std::to_string(spec.window.ndim()) + " axes, the grid " +
            std::to_string(spec.grid.ndim()) + ": give one cutoff an axis");
  }
  if (rank < 0 || rank >= spec.grid.size()) {
    invalid("rank " + std::to_string(rank) + " is outside the grid of " + std::to_string(spec.grid.size()) +
            " ranks");
  }
  for (const Algorithm& algorithm : algorithms) {
    if (spec.algorithm == algorithm.id) return algorithm.make(spec, rank);
  }
  invalid("exchange algorithm '" + spec.algorithm + "' is unknown: choose shift");
}

std::vector<RankSchedule> make_schedules(const ExchangeSpec& spec) {
  std::vector<RankSchedule> schedules;
  schedules.reserve(static_cast<std::size_t>(spec.grid.size()));
  for (Index rank = 0; rank < spec.grid.size(); ++rank) schedules.push_back(make_schedule(spec, rank));
  return schedules;
}

Index origin_of_slot(const ExchangeSpec& spec, Index rank, Index slot) {
  Coords coords = spec.grid.coords(rank);
  const Coords offset = spec.window.offset(slot);
  for (int axis = 0; axis < spec.grid.ndim(); ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    coords[i] = spec.grid.shifted(axis, coords[i], offset[i]);
    if (coords[i] < 0) return -1;
  }
  return spec.grid.cell(coords);
}

}  // namespace rankwise
