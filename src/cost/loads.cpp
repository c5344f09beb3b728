#include "cost/loads.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "cost/flows.hpp"

namespace rankwise {

namespace {

constexpr std::size_t number(Shared shared) { return static_cast<std::size_t>(shared); }

// Calls each(resource, at the sender's end) for what a message passes over a span.
template <class Each>
void on_its_way(std::size_t span, Each each) {
  if (span < between_nodes) {
    each(number(span == in_socket ? Shared::socket : Shared::sockets), true);
    each(number(Shared::memory), true);
    return;
  }
  each(number(Shared::card_out), true);
  each(number(Shared::card_in), false);
  each(number(Shared::card_both), true);
  each(number(Shared::card_both), false);
  for (std::size_t level = 0; level < span - between_nodes; ++level) {
    each(links_up(level), true);
    each(links_down(level), false);
  }
}

// Which units are counted for a resource.
bool belongs(const UnitCounts& unit, std::size_t resource) {
  if (resource == number(Shared::socket)) return unit.of == UnitCounts::Of::socket;
  if (resource < shared_count) return unit.of == UnitCounts::Of::node;
  return unit.of == UnitCounts::Of::level && (resource - shared_count) / 2 == unit.level;
}

// So many messages of a phase that each hold a unit of a resource for so long.
struct Share {
  double held_s;
  double times;
};

// What a message waits for where it is shared fairly: of each other one as much as it brings itself, at most.
double load_s(std::span<const Share> shares, double own_s) {
  double sum_s = 0.0;
  for (const Share& share : shares) sum_s += share.times * std::min(share.held_s, own_s);
  return sum_s;
}

LinkClass link_of(std::size_t span, std::optional<LinkClass> link) {
  if (span >= between_nodes) return LinkClass::other_node;
  if (span == in_node) return LinkClass::other_socket;
  return std::min(link.value_or(LinkClass::same_socket), LinkClass::same_socket);
}

}  // namespace

Phases find_phases(const Trace& trace, bool waits, const std::function<bool(Trace::Id)>& leaves) {
  Phases phases;
  phases.of.assign(trace.ops.size(), 0);
  // Of each operation how many messages are before it, and how many of these leave their node.
  struct Before {
    std::uint32_t all = 0;
    std::uint32_t leaving = 0;
  };
  std::vector<Before> before(trace.ops.size());
  std::vector<std::vector<std::uint32_t>> known;  // of each step and depth; 0: none yet
  for (const Trace::Event& event : trace.events) {
    if (event.kind == Trace::Kind::posted) {
      const Trace::OpAt& at = trace.ops[event.a];
      if (!waits) continue;
      for (const std::size_t i : at.op->after) {
        const auto other = static_cast<Trace::Id>(at.first + i);
        before[event.a].all = std::max(before[event.a].all, before[other].all + 1);
        before[event.a].leaving = std::max(before[event.a].leaving, before[other].leaving + (leaves(other) ? 1 : 0));
      }
    } else if (event.kind == Trace::Kind::matched) {
      const std::size_t step = trace.ops[event.a].step;
      const std::uint32_t own = waits && leaves(event.a) ? before[event.a].leaving : before[event.a].all;
      before[event.b] = before[event.a];
      if (known.size() <= step) known.resize(step + 1);
      if (known[step].size() <= own) known[step].resize(own + 1, 0);
      if (known[step][own] == 0) known[step][own] = ++phases.count;
      phases.of[event.a] = phases.of[event.b] = known[step][own] - 1;
    }
  }
  return phases;
}

std::vector<Use> find_uses(const std::vector<Passage>& passages, const Phases& phases, const Census& census) {
  // What each message adds to which use, for each partner and span that it has.
  struct Part {
    std::size_t use;
    std::uint32_t partner;
    std::uint32_t span;
    Index messages;
  };
  std::vector<Use> uses;
  std::vector<Part> parts;
  std::uint32_t sizes = 0;
  for (const Passage& passage : passages) sizes = std::max(sizes, passage.size + 1);
  const std::size_t resources = links_up(census.spans - between_nodes - 1);
  constexpr std::uint32_t none = 0xFFFFFFFF;
  std::vector<std::uint32_t> number_of(resources * (phases.count + 1) * link_class_count * sizes, none);
  const auto use_of = [&](std::size_t resource, std::uint32_t phase, LinkClass link, std::uint32_t size) {
    const std::size_t at =
        ((resource * (phases.count + 1) + phase) * link_class_count + static_cast<std::size_t>(link)) * sizes + size;
    if (number_of[at] == none) {
      number_of[at] = static_cast<std::uint32_t>(uses.size());
      uses.push_back({static_cast<std::uint32_t>(resource), phase, link, size, 0});
    }
    return number_of[at];
  };
  std::vector<bool> has(census.links.size() * census.spans, false);
  for (const UnitCounts& unit : census.units) {
    for (std::size_t i = 0; i < has.size(); ++i) has[i] = has[i] || unit.counts[i] > 0;
  }
  for (std::size_t id = 0; id < passages.size(); ++id) {
    const Passage& passage = passages[id];
    if (!passage.moves) continue;
    for (std::size_t span = 0; span < census.spans; ++span) {
      if (!has[passage.partner * census.spans + span]) continue;
      const LinkClass link = link_of(span, census.links[passage.partner]);
      on_its_way(span, [&](std::size_t resource, bool at_sender) {
        if (at_sender != passage.sends) return;
        const auto add = [&](std::uint32_t phase, Index messages) {
          parts.push_back(
              {use_of(resource, phase, link, passage.size), passage.partner, static_cast<std::uint32_t>(span), messages});
        };
        add(phases.of[id], passage.times);
        add(phases.count, passage.times * passage.rounds);
      });
    }
  }
  std::vector<double> times(uses.size());
  for (const UnitCounts& unit : census.units) {
    std::fill(times.begin(), times.end(), 0.0);
    for (const Part& part : parts)
      times[part.use] += static_cast<double>(part.messages) * census.count(unit, part.partner, part.span);
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if (belongs(unit, uses[i].resource)) uses[i].times = std::max(uses[i].times, times[i]);
    }
  }
  std::erase_if(uses, [](const Use& use) { return use.times == 0; });
  std::sort(uses.begin(), uses.end(),
            [](const Use& a, const Use& b) { return std::pair(a.phase, a.resource) < std::pair(b.phase, b.resource); });
  return uses;
}

const Hold& LoadsOfUses::hold(std::size_t resource, LinkClass link, std::size_t size) {
  if (holds_.empty()) holds_.resize(resources() * link_class_count * sizes_.size());
  std::optional<Hold>& known = holds_[(resource * link_class_count + static_cast<std::size_t>(link)) * sizes_.size() + size];
  if (!known) {
    known = machine_.hold(resource, link, sizes_[size] * block_bytes_);
    known->time_s = std::max(0.0, known->time_s);
  }
  return *known;
}

void LoadsOfUses::add_total(std::size_t resource, Index unit, double held_s, double bytes) {
  if (totals_.empty()) totals_.resize(resources());
  std::vector<Total>& units = totals_[resource];
  if (units.size() <= static_cast<std::size_t>(unit)) units.resize(static_cast<std::size_t>(unit) + 1);
  units[static_cast<std::size_t>(unit)].held_s += held_s;
  units[static_cast<std::size_t>(unit)].bytes += bytes;
}

Loads LoadsOfUses::of_representatives(const std::vector<Passage>& passages, const Phases& phases, const std::vector<Use>& uses,
                                      const Census& census) {
  are_representatives_ = true;
  // Of each phase and resource the uses, which lie next to each other, and what one message of each holds it for.
  std::vector<std::uint32_t> first_use(phases.count * resources() + 1, 0);
  std::vector<Share> shares;
  for (const Use& use : uses) {
    if (use.resource >= resources()) continue;  // of a level that the machine lacks
    const double time_s = hold(use.resource, use.link, use.size).time_s;
    if (use.phase < phases.count) {
      shares.push_back({time_s, use.times});
      first_use[use.phase * resources() + use.resource + 1] = static_cast<std::uint32_t>(shares.size());
    } else {
      add_total(use.resource, 0, use.times * time_s, use.times * static_cast<double>(sizes_[use.size] * block_bytes_));
    }
  }
  for (std::size_t i = 1; i < first_use.size(); ++i) first_use[i] = std::max(first_use[i], first_use[i - 1]);
  // How far the messages of each partner go.
  std::vector<std::size_t> spans(census.links.size(), 0);
  for (const UnitCounts& unit : census.units) {
    for (std::size_t i = 0; i < spans.size(); ++i) {
      for (std::size_t span = spans[i] + 1; span < census.spans; ++span) {
        if (census.count(unit, i, span) > 0) spans[i] = span;
      }
    }
  }
  Loads loads{std::vector<double>(passages.size(), 0.0), std::vector<double>(passages.size(), 0.0)};
  for (std::size_t id = 0; id < passages.size(); ++id) {
    if (!passages[id].moves) continue;
    const std::optional<LinkClass> link = census.links[passages[id].link];
    const std::size_t farthest = link == LinkClass::other_node     ? between_nodes + machine_.levels.size()
                                 : link == LinkClass::other_socket ? in_node
                                                                   : in_socket;
    const std::size_t span = std::min(spans[passages[id].link], farthest);
    const LinkClass own = link_of(span, link);
    on_its_way(span, [&](std::size_t resource, bool at_sender) {
      const std::size_t at = phases.of[id] * resources() + resource;
      const std::span sharing(shares.begin() + first_use[at], shares.begin() + first_use[at + 1]);
      const Hold& held = hold(resource, own, passages[id].size);
      const double on_s = sharing.empty() ? 0.0 : load_s(sharing, held.time_s) - held.excess_s;
      loads.way_s[id] = std::max(loads.way_s[id], on_s);
      if (at_sender) loads.out_s[id] = std::max(loads.out_s[id], on_s);
    });
  }
  return loads;
}

const std::vector<LoadsOfUses::Held>& LoadsOfUses::way(const Passage& passage, const Route& route, const Placement& placement) {
  const Location own = placement[passage.rank];
  const Location other = placement[passage.peer];
  const Location& from = passage.sends ? own : other;
  const Location& to = passage.sends ? other : own;
  way_.clear();
  on_its_way(route.span, [&](std::size_t resource, bool at_sender) {
    const Location& end = at_sender ? from : to;
    const Index unit = resource == number(Shared::socket) ? end.socket
                       : resource < shared_count          ? end.node
                                                          : end.node / machine_.levels[(resource - shared_count) / 2].nodes;
    way_.push_back({resource, unit, at_sender, hold(resource, route.link, passage.size)});
  });
  return way_;
}

void LoadsOfUses::count(const std::vector<Passage>& passages, const std::vector<Route>& routes, const Placement& placement) {
  for (std::size_t id = 0; id < passages.size(); ++id) {
    if (!passages[id].moves || !passages[id].sends) continue;
    const double bytes = static_cast<double>(sizes_[passages[id].size] * block_bytes_);
    for (const Held& held : way(passages[id], routes[id], placement)) {
      if (held.hold.time_s > 0) add_total(held.resource, held.unit, held.hold.time_s, bytes);
    }
  }
}

Loads LoadsOfUses::of_all(const std::vector<Passage>& passages, const std::vector<Route>& routes, const Phases& phases,
                          const Placement& placement) {
  count(passages, routes, placement);
  // Of each message the units that it passes; each unit's loads stand phase by phase.
  std::vector<std::vector<std::vector<Share>>> shares(resources());
  for (std::size_t id = 0; id < passages.size(); ++id) {
    if (!passages[id].moves || !passages[id].sends) continue;
    for (const Held& held : way(passages[id], routes[id], placement)) {
      const double time_s = held.hold.time_s;
      if (time_s <= 0) continue;
      std::vector<std::vector<Share>>& of = shares[held.resource];
      const std::size_t at = static_cast<std::size_t>(held.unit) * phases.count + phases.of[id];
      if (of.size() <= at) of.resize((static_cast<std::size_t>(held.unit) + 1) * phases.count);
      const auto alike = std::find_if(of[at].begin(), of[at].end(), [&](const Share& share) { return share.held_s == time_s; });
      if (alike == of[at].end()) {
        of[at].push_back({time_s, 1});
      } else {
        ++alike->times;
      }
    }
  }
  Loads loads{std::vector<double>(passages.size(), 0.0), std::vector<double>(passages.size(), 0.0)};
  for (std::size_t id = 0; id < passages.size(); ++id) {
    if (!passages[id].moves) continue;
    for (const Held& held : way(passages[id], routes[id], placement)) {
      const std::size_t at = static_cast<std::size_t>(held.unit) * phases.count + phases.of[id];
      const double on_s =
          at < shares[held.resource].size() ? load_s(shares[held.resource][at], held.hold.time_s) - held.hold.excess_s : 0.0;
      loads.way_s[id] = std::max(loads.way_s[id], on_s);
      if (held.at_sender) loads.out_s[id] = std::max(loads.out_s[id], on_s);
    }
  }
  return loads;
}

Busiest LoadsOfUses::busiest() const {
  Busiest busiest;
  for (std::size_t resource = 0; resource < totals_.size(); ++resource) {
    for (std::size_t unit = 0; unit < totals_[resource].size(); ++unit) {
      const Total& total = totals_[resource][unit];
      if (total.held_s > busiest.held_s * (1 + Flows::rounding)) {  // what is held as long is as busy
        busiest = {resource, are_representatives_ ? -1 : static_cast<Index>(unit), total.held_s, total.bytes};
      }
    }
  }
  return busiest;
}

}  // namespace rankwise
