#include "cost/placement.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

namespace rankwise {

LinkClass link_between(const Location& a, const Location& b) {
  if (a.node != b.node) return LinkClass::other_node;
  if (a.socket != b.socket) return LinkClass::other_socket;
  if (a.core == b.core) return LinkClass::same_core;
  return a.cache >= 0 && a.cache == b.cache ? LinkClass::shared_cache : LinkClass::same_socket;
}

Route route_between(const Location& a, const Location& b, const std::vector<Index>& levels) {
  const LinkClass link = link_between(a, b);
  if (link != LinkClass::other_node) return {link, link == LinkClass::other_socket ? in_node : in_socket};
  const auto apart = std::ranges::count_if(levels, [&](Index nodes) { return a.node / nodes != b.node / nodes; });
  return {link, between_nodes + static_cast<std::size_t>(apart)};
}

Placement Placement::blocked(Index ranks, Index ranks_per_node, Index per_socket, Index per_cache) {
  if (ranks < 1) invalid("a placement of " + std::to_string(ranks) + " ranks places nobody: give at least 1");
  if (ranks_per_node < 1) {
    invalid("ranks per node " + std::to_string(ranks_per_node) + " is too small: it must be at least 1");
  }
  if (per_socket < 0 || per_cache < 0) invalid("ranks per socket or cache are negative: give at least 1");
  Placement placement;
  placement.ranks_ = ranks;
  placement.per_node_ = std::min(ranks, ranks_per_node);
  placement.nodes_ = (ranks - 1) / ranks_per_node + 1;
  placement.per_socket_ = per_socket == 0 ? placement.per_node_ : std::min(per_socket, placement.per_node_);
  placement.per_cache_ = per_cache;
  placement.has_sockets_ = placement.per_socket_ < placement.per_node_;
  placement.only_nodes_ = !placement.has_sockets_ && per_cache == 0;
  return placement;
}

namespace {

// Throws where one number is used on two nodes.
void require_one_node(const std::vector<Location>& locations, Index Location::* part, const char* what) {
  std::unordered_map<Index, Index> node_of;
  for (const Location& location : locations) {
    const auto [known, added] = node_of.try_emplace(location.*part, location.node);
    if (!added && known->second != location.node) {
      invalid(std::string(what) + " " + std::to_string(location.*part) + " lies on nodes " + std::to_string(known->second) +
              " and " + std::to_string(location.node) + ": number them over the machine");
    }
  }
}

// How nodes are filled one after the other, each alike, and their sockets likewise; nothing for others.
struct Blocks {
  Index per_node;
  Index per_socket;
};

std::optional<Blocks> blocks_of(const std::vector<Location>& locations) {
  const auto ranks = static_cast<Index>(locations.size());
  const auto first_elsewhere = [&](Index Location::* part) {
    return std::find_if(locations.begin(), locations.end(), [&](const Location& l) { return l.*part != locations[0].*part; }) -
           locations.begin();
  };
  const Blocks blocks{first_elsewhere(&Location::node), first_elsewhere(&Location::socket)};
  const Index sockets = (blocks.per_node - 1) / blocks.per_socket + 1;
  for (Index rank = 0; rank < ranks; ++rank) {
    const Location& location = locations[static_cast<std::size_t>(rank)];
    const Index node = rank / blocks.per_node;
    const Index socket = node * sockets + rank % blocks.per_node / blocks.per_socket;
    if (location != Location{node, socket, rank, -1}) return {};
  }
  return blocks;
}

}  // namespace

Placement::Placement(std::vector<Location> locations) : locations_(std::move(locations)) {
  if (locations_.empty()) invalid("a placement of 0 ranks places nobody: give one location a rank");
  ranks_ = static_cast<Index>(locations_.size());
  for (const Location& location : locations_) {
    if (location.node < 0 || location.socket < 0 || location.core < 0) {
      invalid("a location of the placement is negative: count nodes, sockets and cores from 0");
    }
    nodes_ = std::max(nodes_, location.node + 1);
  }
  if (nodes_ > (Index{1} << 31)) invalid("the placement numbers its nodes beyond 2^31: number them from 0");
  if (const std::optional<Blocks> blocks = blocks_of(locations_)) {
    *this = blocked(ranks_, blocks->per_node, blocks->per_socket);
    return;
  }
  require_one_node(locations_, &Location::socket, "socket");
  std::unordered_map<Index, Index> socket_of;
  for (const Location& location : locations_) {
    const auto [known, added] = socket_of.try_emplace(location.node, location.socket);
    has_sockets_ = has_sockets_ || (!added && known->second != location.socket);
  }
}

Placement Placement::on_nodes(std::span<const std::int32_t> node_of_rank, std::span<const std::int32_t> socket_of_rank) {
  if (!socket_of_rank.empty() && socket_of_rank.size() != node_of_rank.size()) {
    invalid(std::to_string(node_of_rank.size()) + " ranks have nodes and " + std::to_string(socket_of_rank.size()) +
            " sockets: give each rank both");
  }
  std::vector<Location> locations;
  locations.reserve(node_of_rank.size());
  for (std::size_t rank = 0; rank < node_of_rank.size(); ++rank) {
    const std::int32_t node = node_of_rank[rank];
    locations.push_back({node, socket_of_rank.empty() ? node : socket_of_rank[rank], static_cast<Index>(rank), -1});
  }
  Placement placement(std::move(locations));
  placement.only_nodes_ = !placement.has_sockets_;
  return placement;
}

Placement Placement::with_levels(std::vector<Index> nodes_of_unit) const {
  for (std::size_t i = 0; i < nodes_of_unit.size(); ++i) {
    if (nodes_of_unit[i] < 1 || (i > 0 && nodes_of_unit[i] < nodes_of_unit[i - 1])) {
      invalid("the levels of switches do not grow: name the inner ones first");
    }
  }
  Placement copy = *this;
  copy.levels_ = std::move(nodes_of_unit);
  return copy;
}

Index Placement::most_on_a_node() const {
  if (locations_.empty()) return per_node_;
  std::unordered_map<Index, Index> ranks_of;
  Index most = 0;
  for (const Location& location : locations_) most = std::max(most, ++ranks_of[location.node]);
  return most;
}

Placement Placement::listed() const {
  Placement placement = *this;
  for (Index rank = static_cast<Index>(locations_.size()); rank < ranks_; ++rank) {
    placement.locations_.push_back((*this)[rank]);
  }
  return placement;
}

Location Placement::operator[](Index rank) const {
  if (!locations_.empty()) return locations_[static_cast<std::size_t>(rank)];
  const Index node = rank / per_node_;
  const Index within = rank % per_node_;
  const Index sockets = (per_node_ - 1) / per_socket_ + 1;
  const Index socket = node * sockets + within / per_socket_;
  if (per_cache_ == 0) return {node, socket, rank, -1};
  const Index caches = (per_socket_ - 1) / per_cache_ + 1;
  return {node, socket, rank, socket * caches + within % per_socket_ / per_cache_};
}

namespace {

// Up to so many lookups at a partner everything is counted.
constexpr Index few_lookups = 1 << 15;
constexpr Index most_nodes = 16;
constexpr Index least_ranks = 512;  // of small nodes more are counted, so that ranks of every kind are seen
constexpr Index most_units = 4;     // of a level above
constexpr Index most_lookups = 1 << 27;
constexpr double whole_share = 1024.0;  // shares are counted in parts of it, so that those of a million ranks have a sum

// Finds the ranks at some offsets from a rank: what each axis adds to its number is looked up.
class PartnerRanks {
 public:
  PartnerRanks(const Grid& grid, const std::vector<Partner>& partners, const std::vector<Reach>& reach)
      : grid_(grid), reach_(reach), axes_(grid.dims().size()) {
    Index stride = 1;
    for (std::size_t axis = axes_.size(); axis-- > 0;) {
      axes_[axis].stride = stride;
      stride *= grid.dims()[axis];
    }
    for (const Partner& partner : partners) {
      for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
        std::vector<Index>& steps = axes_[axis].steps;
        const auto known = std::find(steps.begin(), steps.end(), partner.offset[axis]);
        which_.push_back(static_cast<std::uint32_t>(known - steps.begin()));
        if (known == steps.end()) steps.push_back(partner.offset[axis]);
      }
    }
    for (Axis& axis : axes_) axis.adds.resize(axis.steps.size());
  }

  // Partners that follow each other, each a step further along the last axis.
  struct Run {
    std::size_t first;
    std::size_t end;
    std::size_t step;  // of the first
  };
  // Those of some partners, given in ascending order.
  [[nodiscard]] std::vector<Run> runs(const std::vector<std::size_t>& partners) const {
    std::vector<Run> list;
    const std::size_t last = axes_.size() - 1;
    for (const std::size_t i : partners) {
      const std::uint32_t* which = which_.data() + i * axes_.size();
      if (!list.empty() && i == list.back().end && which[last] == list.back().step + i - list.back().first &&
          std::equal(which, which + last, which - axes_.size())) {
        ++list.back().end;
      } else {
        list.push_back({i, i + 1, which[last]});
      }
    }
    return list;
  }

  void stand_at(Index rank, const Coords& coords) {
    rank_ = rank;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      Axis& axis = axes_[i];
      if (axis.at == coords[i]) continue;
      axis.at = coords[i];
      for (std::size_t step = 0; step < axis.steps.size(); ++step) {
        const Index moved = grid_.shifted(static_cast<int>(i), coords[i], axis.steps[step]);
        const Index by = moved - coords[i];
        const bool is_there = moved >= 0 && (reach_.empty() || (-reach_[i].lower <= by && by <= reach_[i].upper));
        axis.adds[step] = is_there ? by * axis.stride : nowhere;
      }
      const auto is_there = [](Index by) { return by != nowhere; };
      const auto first = std::find_if(axis.adds.begin(), axis.adds.end(), is_there);
      axis.first = static_cast<std::size_t>(first - axis.adds.begin());
      axis.end = static_cast<std::size_t>(std::find_if_not(first, axis.adds.end(), is_there) - axis.adds.begin());
      axis.is_whole = std::none_of(axis.adds.begin() + static_cast<std::ptrdiff_t>(axis.end), axis.adds.end(), is_there);
    }
  }

  // Calls all(first, end, inside) for partners of a run that are there, all of them in or all out of the ranks from begin to
  // end, else one(partner, rank) for each.
  template <class All, class One>
  void visit(const Run& run, Index begin, Index end, All&& all, One&& one) const {
    const std::uint32_t* which = which_.data() + run.first * axes_.size();
    Index row = rank_ - axes_.back().at;  // where it begins
    for (std::size_t axis = 0; axis + 1 < axes_.size(); ++axis) row += axes_[axis].adds[which[axis]];
    if (row < 0) return;
    const Index row_end = row + grid_.dims().back();
    const bool inside = row >= begin && row_end <= end;
    if (!axes_.back().is_whole || !(inside || row >= end || row_end <= begin)) {
      for (std::size_t i = run.first; i < run.end; ++i) {
        const Index other = rank_of(i);
        if (other >= 0) one(i, other);
      }
      return;
    }
    const std::size_t first = std::max(run.step, axes_.back().first);
    const std::size_t stop = std::min(run.step + (run.end - run.first), axes_.back().end);
    if (first < stop) all(run.first + (first - run.step), run.first + (stop - run.step), inside);
  }

  // Below 0 where there is none.
  [[nodiscard]] Index rank_of(std::size_t partner) const {
    const std::uint32_t* which = which_.data() + partner * axes_.size();
    Index rank = rank_;
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) rank += axes_[axis].adds[which[axis]];
    return rank;
  }

 private:
  static constexpr Index nowhere = std::numeric_limits<Index>::min() / 64;
  struct Axis {
    Index stride = 1;
    Index at = -1;
    std::vector<Index> steps;
    std::vector<Index> adds;
    std::size_t first = 0;  // of the steps that lead somewhere
    std::size_t end = 0;
    bool is_whole = false;  // no other step does
  };
  const Grid& grid_;
  const std::vector<Reach>& reach_;
  std::vector<Axis> axes_;
  std::vector<std::uint32_t> which_;  // of each partner and axis: index into its steps
  Index rank_ = 0;
};

// How many of a rank's partners are how far; of two ranks the one farther from its partners is the greater: it has more
// on other nodes or, of as many, more on other sockets, and so on.
class Distances {
 public:
  void add(LinkClass link, Index partners = 1) {
    farthest_first_[link_class_count - 1 - static_cast<std::size_t>(link)] += partners;
  }
  friend bool operator>(const Distances& a, const Distances& b) { return a.farthest_first_ > b.farthest_first_; }

 private:
  std::array<Index, link_class_count> farthest_first_{};
};

// Finds, of each kind, the rank farthest from its partners.
class Farthest {
 public:
  void note(std::size_t kind, Index rank, const Distances& distances) {
    if (most_.size() <= kind) most_.resize(kind + 1);
    if (most_[kind].rank < 0 || distances > most_[kind].distances) most_[kind] = {rank, distances};
  }
  [[nodiscard]] Index rank(std::size_t kind) const { return kind < most_.size() ? most_[kind].rank : -1; }

 private:
  struct Most {
    Index rank = -1;
    Distances distances;
  };
  std::vector<Most> most_;
};

}  // namespace

Layout::Layout(const Grid& ranks, const Placement& placement, std::function<void()> between)
    : placement_(placement), between_(std::move(between)) {
  if (placement.ranks() != ranks.size()) {
    invalid("the placement has " + std::to_string(placement.ranks()) + " ranks, the grid " + std::to_string(ranks.size()) +
            ": give one location a rank");
  }
  if (placement.is_blocked()) return;
  first_.assign(static_cast<std::size_t>(placement.nodes()) + 1, 0);
  for (Index rank = 0; rank < placement.ranks(); ++rank) ++first_[static_cast<std::size_t>(placement.node(rank)) + 1];
  for (std::size_t node = 1; node < first_.size(); ++node) first_[node] += first_[node - 1];
  ranks_by_node_.resize(static_cast<std::size_t>(placement.ranks()));
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  for (Index rank = 0; rank < placement.ranks(); ++rank) {
    ranks_by_node_[next[static_cast<std::size_t>(placement.node(rank))]++] = rank;
    if (placement.knows_only_nodes()) node_of_.push_back(static_cast<std::int32_t>(placement.node(rank)));
  }
}

std::vector<Index> Layout::chosen(Index units, Index ranks, std::size_t partners, Index most) const {
  const bool all =
      !placement_.is_blocked() || units <= most || ranks <= few_lookups / std::max<Index>(1, static_cast<Index>(partners));
  const Index count = all ? units : most;
  std::vector<Index> list;
  for (Index i = 0; i < count; ++i) list.push_back(all ? i : i * (units - 1) / (count - 1));
  return list;
}

std::shared_ptr<const Census> Layout::census(const Grid& grid, const std::vector<Partner>& partners,
                                             const std::vector<Reach>& reach, bool members, const std::vector<Index>& label,
                                             const std::function<Index(Index, const Coords&)>& kind_of,
                                             const Share& share) const {
  for (const Known& known : known_) {
    if (known.label == label && known.periodic == grid.periodic() && known.partners == partners && known.reach == reach) {
      return known.census;
    }
  }
  auto census = std::make_shared<const Census>(count(grid, partners, reach, members, kind_of, share));
  known_.push_back({grid.periodic(), label, partners, reach, census});
  return census;
}

Census Layout::count(const Grid& grid, const std::vector<Partner>& partners, const std::vector<Reach>& reach, bool members,
                     const std::function<Index(Index, const Coords&)>& kind_of, const Share& share) const {
  const auto link_of = [](bool inside) { return inside ? LinkClass::same_socket : LinkClass::other_node; };
  const std::size_t levels = placement_.levels().size();
  Census census;
  census.spans = 3 + levels;
  if (share) census.whole = whole_share;
  std::vector<std::optional<LinkClass>> farthest(partners.size());
  Farthest lonely;
  std::vector<std::vector<std::size_t>> of_kind;
  for (std::size_t i = 0; i < partners.size(); ++i) {
    const auto kind = static_cast<std::size_t>(partners[i].kind);
    if (of_kind.size() <= kind) of_kind.resize(kind + 1);
    of_kind[kind].push_back(i);
  }
  std::size_t lookups = 0;  // of one rank, at most
  for (const std::vector<std::size_t>& own : of_kind) lookups = std::max(lookups, own.size());
  PartnerRanks ranks_of_partners(grid, partners, reach);
  std::vector<std::vector<PartnerRanks::Run>> runs_of_kind;
  for (const std::vector<std::size_t>& own : of_kind) runs_of_kind.push_back(ranks_of_partners.runs(own));
  std::set<UnitCounts> found;
  std::vector<std::pair<Index, UnitCounts>> sockets;  // of the node at hand

  // Adds what the ranks of a node do to the counts of a unit, and to those of its sockets.
  const auto visit = [&](Index node, UnitCounts& unit) {
    const Index begin = placement_.is_blocked() ? node * placement_.ranks_per_node()
                                                : static_cast<Index>(first_[static_cast<std::size_t>(node)]);
    const Index end = placement_.is_blocked() ? std::min(placement_.ranks(), begin + placement_.ranks_per_node())
                                              : static_cast<Index>(first_[static_cast<std::size_t>(node) + 1]);
    const bool plain = levels == 0 && placement_.knows_only_nodes();
    const bool by_node = plain && placement_.is_blocked();
    std::vector<std::int32_t> more(by_node ? 2 * (partners.size() + 1) : 0,
                                   0);  // than the partner before: in the node, outside
    const bool by_socket = unit.of == UnitCounts::Of::node && placement_.has_sockets();
    Coords coords(grid.dims().size());
    for (Index at = begin; at < end; ++at) {
      const Index rank = placement_.is_blocked() ? at : ranks_by_node_[static_cast<std::size_t>(at)];
      Index rest = rank;
      for (std::size_t axis = coords.size(); axis-- > 0; rest /= grid.dims()[axis]) coords[axis] = rest % grid.dims()[axis];
      const Index kind = kind_of(rank, coords);
      if (kind < 0 || kind >= static_cast<Index>(of_kind.size()) || of_kind[static_cast<std::size_t>(kind)].empty()) continue;
      if (between_ && lookups > few_lookups) between_();
      ranks_of_partners.stand_at(rank, coords);
      const auto weight = [&](std::size_t partner) {
        return share ? static_cast<std::int32_t>(std::ceil(whole_share * share(coords, partners[partner]))) : 1;
      };
      Distances distances;
      if (by_node) {
        for (const PartnerRanks::Run& run : runs_of_kind[static_cast<std::size_t>(kind)]) {
          ranks_of_partners.visit(
              run, begin, end,
              [&](std::size_t first, std::size_t stop, bool inside) {
                more[2 * first + (inside ? 0 : 1)] += weight(first);
                more[2 * stop + (inside ? 0 : 1)] -= weight(first);
                distances.add(link_of(inside), static_cast<Index>(stop - first));
              },
              [&](std::size_t i, Index other) {
                const bool inside = other >= begin && other < end;
                unit.counts[i * census.spans + (inside ? in_socket : between_nodes)] += static_cast<std::uint32_t>(weight(i));
                distances.add(link_of(inside));
              });
        }
        lonely.note(static_cast<std::size_t>(kind), rank, distances);
        continue;
      }
      if (plain) {
        for (const std::size_t i : of_kind[static_cast<std::size_t>(kind)]) {
          const Index other = ranks_of_partners.rank_of(i);
          if (other < 0) continue;
          const bool inside = node_of_[static_cast<std::size_t>(other)] == node;
          unit.counts[i * census.spans + (inside ? in_socket : between_nodes)] += static_cast<std::uint32_t>(weight(i));
          distances.add(link_of(inside));
        }
        lonely.note(static_cast<std::size_t>(kind), rank, distances);
        continue;
      }
      const Location own = placement_[rank];
      std::uint32_t* of_socket = nullptr;
      if (by_socket) {
        auto known = std::find_if(sockets.begin(), sockets.end(), [&](const auto& s) { return s.first == own.socket; });
        if (known == sockets.end()) {
          sockets.push_back({own.socket, {UnitCounts::Of::socket, 0, std::vector<std::uint32_t>(unit.counts.size(), 0)}});
          known = std::prev(sockets.end());
        }
        of_socket = known->second.counts.data();
      }
      for (const std::size_t i : of_kind[static_cast<std::size_t>(kind)]) {
        const Index other = ranks_of_partners.rank_of(i);
        if (other < 0) continue;
        const auto [link, span] = route_between(own, placement_[other], placement_.levels());
        unit.counts[i * census.spans + span] += static_cast<std::uint32_t>(weight(i));
        if (of_socket != nullptr) of_socket[i * census.spans + span] += static_cast<std::uint32_t>(weight(i));
        if (!farthest[i] || *farthest[i] < link) farthest[i] = link;
        distances.add(link);
      }
      lonely.note(static_cast<std::size_t>(kind), rank, distances);
    }
    for (std::size_t outside = 0; outside < 2; ++outside) {
      std::int32_t ranks = 0;
      for (std::size_t i = 0; by_node && i < partners.size(); ++i) {
        ranks += more[2 * i + outside];
        unit.counts[i * census.spans + (outside == 0 ? in_socket : between_nodes)] += static_cast<std::uint32_t>(ranks);
      }
    }
  };

  const std::size_t size = partners.size() * census.spans;
  const Index each = std::max<Index>(1, placement_.is_blocked() ? placement_.ranks_per_node() : 1);
  const Index affordable = most_lookups / (each * std::max<Index>(1, static_cast<Index>(lookups)));
  const Index count = std::clamp(affordable, most_units, std::max(most_nodes, least_ranks / each));
  for (const Index node : chosen(placement_.nodes(), placement_.ranks(), lookups, count)) {
    UnitCounts unit{UnitCounts::Of::node, 0, std::vector<std::uint32_t>(size, 0)};
    sockets.clear();
    visit(node, unit);
    found.insert(std::move(unit));
    for (auto& [socket, counts] : sockets) found.insert(std::move(counts));
  }
  for (std::size_t level = 0; level < levels; ++level) {
    const Index nodes = placement_.levels()[level];
    const Index units = (placement_.nodes() - 1) / nodes + 1;
    for (const Index u : chosen(units, placement_.ranks(), lookups, most_units)) {
      UnitCounts unit{UnitCounts::Of::level, level, std::vector<std::uint32_t>(size, 0)};
      for (Index node = u * nodes; node < std::min(placement_.nodes(), (u + 1) * nodes); ++node) visit(node, unit);
      found.insert(std::move(unit));
    }
  }
  census.units.assign(found.begin(), found.end());
  std::optional<LinkClass> farthest_of_all;
  for (std::size_t i = 0; i < partners.size(); ++i) {
    // The plain ones were counted only.
    for (const UnitCounts& unit : census.units) {
      if (farthest[i] == LinkClass::other_node) break;
      if (census.count(unit, i, between_nodes) > 0) farthest[i] = LinkClass::other_node;
      if (!farthest[i] && census.count(unit, i, in_socket) > 0) farthest[i] = LinkClass::same_socket;
    }
    const Index rank = members ? -1 : lonely.rank(static_cast<std::size_t>(partners[i].kind));
    Index other = -1;
    if (rank >= 0) {
      ranks_of_partners.stand_at(rank, grid.coords(rank));
      other = ranks_of_partners.rank_of(i);
    }
    census.links.push_back(other < 0 ? farthest[i] : link_between(placement_[rank], placement_[other]));
    farthest_of_all = std::max(farthest_of_all, census.links.back());
  }
  // No rank of its kind was among those counted: as far away as any.
  for (std::optional<LinkClass>& link : census.links) link = link ? link : farthest_of_all;
  return census;
}

}  // namespace rankwise
