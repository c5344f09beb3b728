#include "grid/grid.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

namespace rankwise {

void invalid(const std::string& message) { throw std::invalid_argument(message); }

Grid::Grid(std::vector<Index> dims, std::vector<bool> periodic) : dims_(std::move(dims)), periodic_(std::move(periodic)) {
  if (dims_.empty()) invalid("the grid has no axis: give one size an axis, as in 50x48");
  if (periodic_.empty()) periodic_.assign(dims_.size(), false);
  if (periodic_.size() != dims_.size()) {
    invalid("the grid has " + std::to_string(dims_.size()) + " axes but " + std::to_string(periodic_.size()) +
            " periodic flags: give one flag an axis");
  }
  constexpr Index limit = Index{1} << 62;
  for (const Index d : dims_) {
    if (d < 1) invalid("the grid has an axis of size " + std::to_string(d) + ": every axis needs at least 1 cell");
    if (size_ > limit / d) invalid("the grid has more than 2^62 cells: make it smaller");
    size_ *= d;
  }
}

Index Grid::cell(const Coords& coords) const {
  Index cell = 0;
  for (std::size_t i = 0; i < dims_.size(); ++i) cell = cell * dims_[i] + coords[i];
  return cell;
}

Coords Grid::coords(Index cell) const {
  Coords coords(dims_.size());
  for (std::size_t i = dims_.size(); i-- > 0;) {
    coords[i] = cell % dims_[i];
    cell /= dims_[i];
  }
  return coords;
}

Index Grid::middle() const {
  Coords middle = dims_;
  for (Index& coordinate : middle) coordinate /= 2;
  return cell(middle);
}

Index Grid::cell_at_offset(const Coords& coords, const Coords& offset, int sign) const {
  Index cell = 0;
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    const Index c = shifted(static_cast<int>(i), coords[i], sign * offset[i]);
    if (c < 0) return -1;
    cell = cell * dims_[i] + c;
  }
  return cell;
}

namespace {

constexpr Index max_component = Index{1} << 31;
constexpr std::size_t max_offsets = 100'000;
constexpr int max_ndim = 64;
constexpr Index max_weight = Index{1} << 20;

void check_ndim(int ndim) {
  if (ndim < 1 || ndim > max_ndim) {
    invalid("a stencil has 1 to " + std::to_string(max_ndim) + " axes, not " + std::to_string(ndim) +
            ": give the grid's number of axes");
  }
}

std::string axes(std::size_t count) { return std::to_string(count) + (count == 1 ? " axis" : " axes"); }

std::string to_text(const Coords& offset) {
  std::string text;
  for (const Index component : offset) {
    if (!text.empty()) text += ',';
    text += std::to_string(component);
  }
  return text;
}

// What a message can show of a text that a user gave: short, on one line, printable ASCII.
std::string shown(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::string clean;
  for (const char c : text.substr(0, longest)) clean += c >= ' ' && c <= '~' ? c : '?';
  return "'" + clean + (text.size() > longest ? "..." : "") + "'";
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(separator);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// The whole text as a number within the limit of a component; false where it is none.
bool read_number(std::string_view text, Index& number) {
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && number >= -max_component && number <= max_component;
}

void add_both_ways(std::vector<Coords>& offsets, std::size_t ndim, std::size_t axis, Index distance) {
  for (const Index component : {distance, -distance}) {
    Coords offset(ndim, 0);
    offset[axis] = component;
    offsets.push_back(std::move(offset));
  }
}

std::vector<Coords> along_axes(std::size_t ndim, std::size_t axes_used) {
  std::vector<Coords> offsets;
  for (std::size_t axis = 0; axis < axes_used; ++axis) add_both_ways(offsets, ndim, axis, 1);
  return offsets;
}

std::vector<Coords> moore(std::string_view text, std::size_t ndim) {
  Index reach = 0;
  if (!read_number(trimmed(text), reach) || reach < 1) {
    invalid("stencil moore:K needs a whole number K of at least 1, not " + shown(text) + ": write it as moore:1");
  }
  std::size_t count = 1;
  for (std::size_t axis = 0; axis < ndim; ++axis) {
    count *= static_cast<std::size_t>(2 * reach + 1);
    if (count - 1 > max_offsets) {
      invalid("stencil moore:" + std::to_string(reach) + " has more than " + std::to_string(max_offsets) + " offsets on " +
              axes(ndim) + ": make K smaller");
    }
  }
  std::vector<Coords> offsets;
  offsets.reserve(count - 1);
  Coords offset(ndim, -reach);
  for (std::size_t i = 0; i < count; ++i) {
    if (std::ranges::any_of(offset, [](Index component) { return component != 0; })) offsets.push_back(offset);
    for (std::size_t axis = ndim; axis-- > 0;) {
      if (++offset[axis] <= reach) break;
      offset[axis] = -reach;
    }
  }
  return offsets;
}

Stencil explicit_stencil(std::string_view text, int ndim) {
  std::vector<Coords> offsets;
  std::vector<Index> weights;
  for (std::string_view part : split(text, ';')) {
    Index weight = 1;
    if (const auto star = part.find('*'); star != std::string_view::npos) {
      const std::string_view after = trimmed(part.substr(star + 1));
      if (!read_number(after, weight)) {
        invalid("stencil weight " + shown(after) +
                " is not a whole number: write an offset with its weight as 1,0*8, and all weights times the same number");
      }
      part = trimmed(part.substr(0, star));
    }
    weights.push_back(weight);
    if (part.empty()) {
      invalid("stencil " + shown(text) + " has an empty offset: separate offsets by one semicolon, as in 1,0;-1,0");
    }
    Coords offset;
    for (const std::string_view number : split(part, ',')) {
      Index component = 0;
      if (!read_number(number, component)) {
        invalid("stencil offset " + shown(part) +
                " is not a list of whole numbers of magnitude up to 2^31: write it "
                "as 1,0");
      }
      offset.push_back(component);
    }
    offsets.push_back(std::move(offset));
  }
  return Stencil(ndim, std::move(offsets), std::move(weights));
}

}  // namespace

Stencil::Stencil(int ndim, std::vector<Coords> offsets, std::vector<Index> weights)
    : ndim_(ndim), offsets_(std::move(offsets)), weights_(std::move(weights)) {
  check_ndim(ndim);
  if (offsets_.empty()) invalid("the stencil has no offset: give at least one, as in 1,0");
  if (offsets_.size() > max_offsets) {
    invalid("the stencil has " + std::to_string(offsets_.size()) + " offsets: at most " + std::to_string(max_offsets) +
            " are possible");
  }
  std::set<Coords> seen;
  for (const Coords& offset : offsets_) {
    const auto dimensions = static_cast<std::size_t>(ndim);
    if (offset.size() != dimensions) {
      invalid("stencil offset " + shown(to_text(offset)) + " has " + std::to_string(offset.size()) +
              (offset.size() == 1 ? " component" : " components") + " but the grid has " + axes(dimensions) +
              ": give one component an axis");
    }
    if (std::ranges::any_of(offset, [](Index c) { return c < -max_component || c > max_component; })) {
      invalid("stencil offset " + shown(to_text(offset)) + " is too far: components go up to 2^31");
    }
    if (std::ranges::all_of(offset, [](Index c) { return c == 0; })) {
      invalid("stencil offset " + shown(to_text(offset)) + " leads from a cell to itself: remove it");
    }
    if (!seen.insert(offset).second) {
      invalid("stencil offset " + shown(to_text(offset)) + " is given twice: give each offset once");
    }
  }
  if (weights_.empty()) weights_.assign(offsets_.size(), 1);
  if (weights_.size() != offsets_.size()) {
    invalid("the stencil has " + std::to_string(offsets_.size()) + " offsets but " + std::to_string(weights_.size()) +
            " weights: give one weight an offset");
  }
  for (const Index weight : weights_) {
    if (weight < 1 || weight > max_weight) {
      invalid("stencil weight " + std::to_string(weight) +
              " is out of range: weights are whole numbers from 1 to 2^20, so divide all of them by the same number");
    }
    total_weight_ += weight;
  }
}

Stencil parse_stencil(std::string_view text, int ndim) {
  const std::string_view name = trimmed(text);
  check_ndim(ndim);
  const auto dimensions = static_cast<std::size_t>(ndim);
  constexpr std::string_view moore_prefix = "moore:";
  if (name == "nearest-neighbor") return Stencil(ndim, along_axes(dimensions, dimensions));
  if (name == "nearest-neighbor-with-hops") {
    std::vector<Coords> offsets = along_axes(dimensions, dimensions);
    for (const Index distance : {Index{2}, Index{3}}) add_both_ways(offsets, dimensions, 0, distance);
    return Stencil(ndim, std::move(offsets));
  }
  if (name == "component") {
    if (ndim == 1) {
      invalid("stencil component leaves out the last axis and the grid has only one: take nearest-neighbor");
    }
    return Stencil(ndim, along_axes(dimensions, dimensions - 1));
  }
  if (name.starts_with(moore_prefix)) return Stencil(ndim, moore(name.substr(moore_prefix.size()), dimensions));
  if (name.find_first_not_of("+-.0123456789,;* \t") != std::string_view::npos || name.empty()) {
    invalid("stencil " + shown(text) +
            " is unknown: take nearest-neighbor, nearest-neighbor-with-hops, component, moore:K, or offsets such as "
            "1,0;-1,0");
  }
  return explicit_stencil(name, ndim);
}

}  // namespace rankwise
