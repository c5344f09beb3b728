#include "api/halo_boxes.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "api/environment.hpp"
#include "mpi/mpi.hpp"

namespace rankwise::api {

namespace {

// Tags of what is in flight together.
constexpr int setup_tag = 1;
constexpr int box_back_tag = 32;

constexpr std::size_t most_layers = 64;
constexpr Index no_box = -1;  // said of a place beyond an open border

Index code_of(const std::vector<int>& order) {
  Index code = 1;
  for (const int axis : order) code = code * 8 + axis;
  return code;
}

std::uint64_t mark_of(const HaloMessage& message) {
  std::uint64_t mark = 14695981039346656037ULL;
  for (const HaloSection& section : message.sections) mark = (mark ^ section.bytes) * 1099511628211ULL;
  return mark;
}

std::string widths_of(const HaloSpec& spec) {
  std::string text;
  for (std::size_t a = 0; a < spec.lower.size(); ++a) {
    text += (a > 0 ? "," : "") + std::to_string(spec.lower[a]);
    if (spec.upper[a] != spec.lower[a]) text += "+" + std::to_string(spec.upper[a]);
  }
  return text;
}

}  // namespace

HaloBoxes::HaloBoxes(MPI_Comm cart, int nfields, const rankwise_field* fields, const rankwise_halo_options* options)
    : comm_(cart), spec_{comm_.grid(), comm_.rank(), {}, {}, true, {}, {}} {
  Agreement asked;
  asked.attempt([&] { read(nfields, fields, options); });
  asked.alike("nfields", nfields);
  asked.alike("the algorithm (by its number)", request_.algorithm);
  asked.alike("whether there are corners", request_.corners ? 1 : 0);
  const auto axes = static_cast<std::size_t>(comm_.grid().ndim());
  for (std::size_t a = 0; a < axes; ++a) {
    const std::string on = " of axis " + std::to_string(a);
    asked.alike("the lower width" + on, a < request_.lower.size() ? request_.lower[a] : 0);
    asked.alike("the upper width" + on, a < request_.upper.size() ? request_.upper[a] : 0);
  }
  asked.alike("the number of exchanges", request_.exchanges);
  asked.reach(comm_.get());

  agree_on_order();
  learn_lines();
  all_or_none(comm_.get(), [&] {
    halo_ = make_halo(spec_, HaloRoute::direct);
    require_apart(spec_, data_);
    if (axes > most_halo_axes) refuse_argument("the grid has too many axes for a halo");
    const std::span<const HaloStage> back(&halo_.back, 1);
    back_.emplace(comm_.rank(), back, direct_transports(comm_.get(), back, box_back_tag));
  });
  prove(halo_);
  make_variants();
  if (environment_flag("RANKWISE_VERBOSE") && comm_.rank() == 0) std::fprintf(stderr, "rankwise: %s", explain().c_str());
}

void HaloBoxes::read(int nfields, const rankwise_field* fields, const rankwise_halo_options* options) {
  const Fields given(nfields, fields);
  if (given.size() == 0) refuse_argument("nfields is 0: give at least one field");
  const int axes = comm_.grid().ndim();
  if (axes > RANKWISE_MAX_DIMS) {
    throw Failure(RANKWISE_ERROR_UNSUPPORTED, "the grid has more than " + std::to_string(RANKWISE_MAX_DIMS) + " axes");
  }
  request_ = read_request(options, axes);
  spec_.lower = request_.lower;
  spec_.upper = request_.upper;
  spec_.corners = request_.corners;
  for (std::size_t f = 0; f < given.size(); ++f) {
    spec_.fields.push_back(read_field(given[f], f, axes));
    data_.push_back(static_cast<std::byte*>(given[f].data));
  }
}

void HaloBoxes::agree_on_order() {
  Agreement alike;
  std::vector<int> order = order_of(spec_.fields.front());
  for (std::size_t f = 0; f < spec_.fields.size(); ++f) {
    const HaloField& field = spec_.fields[f];
    const std::string of = " of fields[" + std::to_string(f) + "]";
    alike.alike("element_bytes" + of, static_cast<Index>(field.element_bytes));
    alike.alike("ndims" + of, field.ndim);
    for (std::size_t a = 0; a < most_halo_axes; ++a) {
      const bool in_grid = a < field.lines.size();
      alike.alike("the overlap on axis " + std::to_string(a) + of, in_grid ? field.lines[a].overlap : 0);
      alike.alike("the extent on axis " + std::to_string(a) + of, in_grid ? 0 : field.extent[a]);
    }
    if (field.ndim != spec_.fields.front().ndim) order.clear();
  }
  // Where the ranks' arrays lie in different orders, none is better than another.
  const std::size_t most = alike.maximise(code_of(order));
  const std::size_t least = alike.maximise(-code_of(order));
  alike.reach(comm_.get());
  if (alike.largest(most) == -alike.largest(least)) spec_.order = order;
}

Index HaloBoxes::pass_on(int axis, int direction, const std::vector<Index>& out, std::vector<Index>& in) const {
  const Grid& grid = comm_.grid();
  Coords offset(static_cast<std::size_t>(grid.ndim()), 0);
  offset[static_cast<std::size_t>(axis)] = direction;
  const Index to = rank_at_offset(grid, comm_.rank(), offset, +1);
  const Index from = rank_at_offset(grid, comm_.rank(), offset, -1);
  const auto rank_or_none = [](Index rank) { return rank < 0 ? MPI_PROC_NULL : static_cast<int>(rank); };
  check_mpi(
      MPI_Sendrecv(out.data(), static_cast<int>(out.size()), MPI_INT64_T, rank_or_none(to), setup_tag, in.data(),
                   static_cast<int>(in.size()), MPI_INT64_T, rank_or_none(from), setup_tag, comm_.get(), MPI_STATUS_IGNORE),
      "MPI_Sendrecv");
  return from;
}

// Ranks next to each other on an axis must have the same extents on all others.
void HaloBoxes::compare_faces() const {
  std::vector<Index> own;
  for (const HaloField& field : spec_.fields) own.insert(own.end(), field.extent.begin(), field.extent.end());
  std::vector<Index> other(own.size());
  Agreement faces;
  for (int axis = 0; axis < comm_.grid().ndim(); ++axis) {
    const Index below = pass_on(axis, +1, own, other);
    if (below < 0) continue;
    faces.attempt([&] {
      for (std::size_t i = 0; i < own.size(); ++i) {
        const std::size_t a = i % most_halo_axes;
        if (a == static_cast<std::size_t>(axis) || own[i] == other[i]) continue;
        refuse_argument("field " + std::to_string(i / most_halo_axes) + " has an extent of " + std::to_string(own[i]) +
                        " on axis " + std::to_string(a) + ", its neighbour rank " + std::to_string(below) + " on axis " +
                        std::to_string(axis) + " one of " + std::to_string(other[i]) + ": boxes side by side must fit");
      }
    });
  }
  faces.reach(comm_.get());
}

// Passes the extents one rank further along every axis, both ways. Whether any rank needs more.
bool HaloBoxes::spread_lines() {
  const std::size_t fields = spec_.fields.size();
  Index missing = 0;
  for (int axis = 0; axis < comm_.grid().ndim(); ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    for (const int direction : {+1, -1}) {
      // What came from one side last goes on to the other.
      std::vector<Index> out(fields);
      std::vector<Index> in(fields, no_box);
      for (std::size_t f = 0; f < fields; ++f) {
        const HaloLine& line = spec_.fields[f].lines[a];
        const std::vector<Index>& known = direction > 0 ? line.below : line.above;
        out[f] = known.empty() ? line.extent : known.back();
      }
      pass_on(axis, direction, out, in);
      for (std::size_t f = 0; f < fields; ++f) {
        HaloLine& line = spec_.fields[f].lines[a];
        std::vector<Index>& known = direction > 0 ? line.below : line.above;
        if (known.empty() || known.back() != no_box) known.push_back(in[f]);
        const Index width = std::max(spec_.lower[a], spec_.upper[a]);
        const bool needs_more = known.back() != no_box && reaches_further(known, line.overlap, width);
        if (needs_more) missing = std::max(missing, axis + Index{1});
      }
    }
  }
  RANKWISE_CHECKED(MPI_Allreduce, MPI_IN_PLACE, &missing, 1, MPI_INT64_T, MPI_MAX, comm_.get());
  if (missing > 0 && spec_.fields.front().lines.front().below.size() >= most_layers) {
    throw Failure(RANKWISE_ERROR_UNSUPPORTED, "the halo reaches over more than " + std::to_string(most_layers) +
                                                  " boxes on axis " + std::to_string(missing - 1) +
                                                  ": make the widths smaller, or the boxes larger");
  }
  return missing > 0;
}

void HaloBoxes::learn_lines() {
  compare_faces();
  while (spread_lines()) {
  }
  for (HaloField& field : spec_.fields) {
    for (HaloLine& line : field.lines) {
      std::erase(line.below, no_box);
      std::erase(line.above, no_box);
    }
  }
}

void HaloBoxes::prove(const Halo& halo) const {
  const auto digests = [](const std::vector<HaloMessage>& messages) {
    std::vector<MessageDigest> marks;
    for (const HaloMessage& message : messages) marks.push_back({static_cast<int>(message.peer), setup_tag, mark_of(message)});
    return marks;
  };
  Agreement proof;
  for (const HaloStage& stage : halo.stages) {
    proof.attempt([&] { compare_messages(comm_.get(), digests(stage.sends), digests(stage.receives)); });
  }
  proof.reach(comm_.get());
}

std::uint64_t HaloBoxes::take(const Fields& fields, const int active[]) {
  if (fields.size() != 0 && fields.size() != data_.size()) {
    refuse_argument("nfields is " + std::to_string(fields.size()) + ": give the " + std::to_string(data_.size()) +
                    " fields of create, or 0 and NULL");
  }
  const std::uint64_t moving = bits(data_.size(), active);
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const HaloField& known = spec_.fields[f];
    const rankwise_field& given = fields[f];
    bool alike = given.element_bytes == known.element_bytes && given.ndims == known.ndim;
    for (std::size_t a = 0; alike && a < static_cast<std::size_t>(known.ndim); ++a) {
      alike = given.extent[a] == known.extent[a] && given.stride[a] == known.step[a];
    }
    if (!alike) refuse_argument("field " + std::to_string(f) + " is not that of create: only its address may change");
    if (reads_ && given.data != data_[f] && place_of(given.data).segment.descriptor < 0) {
      refuse_argument("field " + std::to_string(f) + " is not in memory of rankwise_halo_alloc, as that of create was, which " +
                      "other ranks read: allocate it likewise");
    }
    data_[f] = static_cast<std::byte*>(given.data);
  }
  for (std::size_t f = 0; f < data_.size(); ++f) {
    if ((moving >> f & 1) != 0 && data_[f] == nullptr) refuse_argument("the data of field " + std::to_string(f) + " is NULL");
  }
  if (checks_every_call()) require_apart(spec_, data_);
  return moving;
}

bool HaloBoxes::advance(bool wait) {
  if (!is_back_) return variants_[now()]->advance(wait);
  if (wait) back_->wait();
  const bool done = wait || back_->test();
  if (done) is_back_ = false;
  return done;
}

std::string HaloBoxes::explain() const {
  std::size_t messages = 0;
  std::size_t bytes = 0;
  std::size_t read = 0;
  for (const HaloStage& stage : current().stages) {
    messages += stage.sends.size();
    read += stage.pulls.size();
    for (const HaloMessage& message : stage.sends) bytes += message.bytes();
  }
  std::size_t foreign = 0;
  std::size_t foreign_bytes = 0;
  for (const HaloRegion& region : halo_.regions) {
    if (region.peer == comm_.rank()) continue;
    ++foreign;
    foreign_bytes += region.bytes;
  }
  const auto number = [](std::size_t n) { return std::to_string(n); };
  return "halo on a grid of " + text_of(spec_.grid) + ", " + number(spec_.fields.size()) + " fields, widths " +
         widths_of(spec_) + (spec_.corners ? ", with edges and corners" : ", faces") + ": " +
         halo_algorithm_name(variants_[now()]->algorithm()) + "; " + why_ + trial_state() + "\nrank " +
         std::to_string(comm_.rank()) + (read > 0 ? " reads the memory of " + number(read) + " ranks and" : "") + " sends " +
         number(messages) + " messages with " + number(bytes) + " B in " + number(current().stages.size()) +
         " steps for a halo of " + number(halo_.regions.size()) + " regions, of which " + number(foreign) + " with " +
         number(foreign_bytes) + " B belong to other ranks\n";
}

std::string HaloBoxes::header() const {
  const auto list = [](std::size_t count, auto each) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += (i > 0 ? ", " : "") + std::string(each(i));
    return "[" + text + "]";
  };
  const Grid& grid = spec_.grid;
  const auto axes = static_cast<std::size_t>(grid.ndim());
  const auto dim = [&](std::size_t a) { return std::to_string(grid.dim(static_cast<int>(a))); };
  const auto wraps = [&](std::size_t a) { return grid.periodic(static_cast<int>(a)) ? "true" : "false"; };
  const auto element = [&](std::size_t f) { return std::to_string(spec_.fields[f].element_bytes); };
  return "\"grid\": " + list(axes, dim) + ", \"periodic\": " + list(axes, wraps) +
         ", \"fields\": " + list(spec_.fields.size(), element) + ", ";
}

std::string HaloBoxes::pairs() const {
  std::string text;
  for (const HaloMessage& message : halo_.stages.front().sends) {
    std::vector<std::size_t> bytes;
    std::size_t rows = 0;
    for (const HaloSection& section : message.sections) {
      bytes.push_back(section.bytes);
      for (const BoxCopy& copy : section.copies) rows += copy.bytes() / std::max(copy.row_bytes, std::size_t{1});
    }
    add_pair(text, static_cast<int>(message.peer), bytes, rows);
  }
  return text;
}

}  // namespace rankwise::api
