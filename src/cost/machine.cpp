#include "cost/machine.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

namespace rankwise {

TimeCurve::TimeCurve(std::vector<TimeLine> lines, Index largest_bytes)
    : lines_(std::move(lines)), largest_bytes_(largest_bytes) {
  if (lines_.empty()) invalid("a time curve needs at least one line");
  for (std::size_t i = 1; i < lines_.size(); ++i) {
    if (lines_[i].from_bytes <= lines_[i - 1].from_bytes) invalid("the lines of a time curve are not in order of size");
  }
  const auto consider = [this](const TimeLine& on, Index bytes) {
    const double time_s = on.alpha_s + on.beta_s_per_byte * static_cast<double>(bytes);
    if (bytes > 0 && time_s > 0) lane_ = std::max(lane_, static_cast<double>(bytes) / time_s);
  };
  for (std::size_t i = 0; i + 1 < lines_.size(); ++i) {
    consider(lines_[i], lines_[i].from_bytes);
    consider(lines_[i], lines_[i + 1].from_bytes);
  }
  const TimeLine& last = lines_.back();
  consider(last, last.from_bytes);
  if (largest_bytes > last.from_bytes) {
    consider(last, largest_bytes);
  } else if (largest_bytes <= 0 && last.beta_s_per_byte > 0) {
    lane_ = std::max(lane_, 1 / last.beta_s_per_byte);
  }
}

const TimeLine& TimeCurve::line(Index size_bytes) const {
  auto next = std::upper_bound(lines_.begin(), lines_.end(), size_bytes,
                               [](Index size, const TimeLine& line) { return size < line.from_bytes; });
  return next == lines_.begin() ? *next : *std::prev(next);
}

double TimeCurve::operator()(Index size_bytes) const {
  const TimeLine& on = line(size_bytes);
  return on.alpha_s + on.beta_s_per_byte * static_cast<double>(size_bytes);
}

double TimeCurve::hold_s(Index size_bytes) const {
  const double time_s = (*this)(size_bytes);
  return time_s - std::clamp(line(size_bytes).alpha_s, 0.001 * time_s, 0.999 * time_s);
}

TimeCurve TimeCurve::scaled(double latency, double alone_s, double bandwidth) const {
  const double empty_s = (*this)(0);
  const double scaled_s = empty_s + (latency - 1) * std::min(empty_s, alone_s);
  std::vector<TimeLine> lines = lines_;
  for (TimeLine& line : lines) {
    line.alpha_s = scaled_s + (line.alpha_s - empty_s) / bandwidth;
    line.beta_s_per_byte /= bandwidth;
  }
  return TimeCurve(std::move(lines), largest_bytes_);
}

double StepCosts::step_s(bool first, Index messages, Index size_bytes) const {
  const auto n = static_cast<double>(messages);
  const double one_s = (first ? start_1 : later_1)(size_bytes);
  if (messages <= 1) return one_s;
  const double two_s = std::max(one_s, (first ? start_2 : later_2)(size_bytes));
  if (!first) return one_s + (n - 1) * (two_s - one_s);
  return two_s + (n - 2) / 2 * std::max(0.0, start_4(size_bytes) - two_s);
}

double LinkCost::gap(Index size_bytes) const {
  if (exchange_gap) return (*exchange_gap)(size_bytes);
  return send.lane() > 0 ? static_cast<double>(size_bytes) / send.lane() : 0.0;
}

namespace {

constexpr std::array link_class_names{"same-core", "shared-cache", "same-socket", "other-socket", "other-node"};
static_assert(link_class_names.size() == link_class_count);

void check_resource(const std::optional<Resource>& resource, const char* name) {
  if (!resource) return;
  if (!(resource->bytes_per_s > 0) || !std::isfinite(resource->bytes_per_s)) {
    invalid(std::string("the rate of the ") + name + " is not above 0: give bytes a second");
  }
  if (!(resource->least_s >= 0) || !std::isfinite(resource->least_s)) {
    invalid(std::string("the message rate of the ") + name + " is not above 0: give messages a second");
  }
}

// Scales the times of a link as TimeCurve::scaled does, what a further message in flight takes by a latency of its own.
void scale(LinkCost& link, double latency, double gap_latency, double alone_s, double bandwidth) {
  const auto scale_one = [&](TimeCurve& curve) { curve = curve.scaled(latency, alone_s, bandwidth); };
  for (TimeCurve* curve : {&link.send, &link.ssend, &link.exchange}) scale_one(*curve);
  if (link.exchange_gap) link.exchange_gap = link.exchange_gap->scaled(gap_latency, alone_s, bandwidth);
  if (link.acknowledgement_s) *link.acknowledgement_s *= latency;
  for (std::optional<StepCosts>& costs : link.steps) {
    if (!costs) continue;
    for (TimeCurve* curve : {&costs->start_1, &costs->start_2, &costs->start_4, &costs->later_1, &costs->later_2})
      scale_one(*curve);
    for (std::optional<TimeCurve>* curve : {&costs->chain_start, &costs->chain}) {
      if (*curve) scale_one(**curve);
    }
  }
}

}  // namespace

std::string to_string(LinkClass link) { return link_class_names[static_cast<std::size_t>(link)]; }

std::optional<LinkClass> find_link_class(const std::string& name) {
  const auto found = std::find(link_class_names.begin(), link_class_names.end(), name);
  if (found == link_class_names.end()) return std::nullopt;
  return static_cast<LinkClass>(found - link_class_names.begin());
}

std::optional<LinkClass> Machine::stand_in(LinkClass link) const {
  const auto wanted = static_cast<std::size_t>(link);
  if (links[wanted]) return link;
  if (link == LinkClass::other_node) return std::nullopt;
  for (std::size_t farther = wanted + 1; farther < static_cast<std::size_t>(LinkClass::other_node); ++farther) {
    if (links[farther]) return static_cast<LinkClass>(farther);
  }
  for (std::size_t nearer = wanted; nearer-- > 0;) {
    if (links[nearer]) return static_cast<LinkClass>(nearer);
  }
  return std::nullopt;
}

double Resource::rate(Index size_bytes) const {
  if (exchange_shares.empty()) return bytes_per_s;
  const auto above = std::lower_bound(exchange_shares.begin(), exchange_shares.end(), size_bytes,
                                      [](const auto& row, Index size) { return row.first < size; });
  if (above == exchange_shares.begin()) return bytes_per_s * above->second;
  const auto below = std::prev(above);
  if (above == exchange_shares.end()) return bytes_per_s * below->second;
  const double part = static_cast<double>(size_bytes - below->first) / static_cast<double>(above->first - below->first);
  return bytes_per_s * (below->second + part * (above->second - below->second));
}

double Resource::passing_bytes(Index size_bytes) const {
  if (segment_bytes <= 0) return static_cast<double>(size_bytes);
  constexpr Index frame_header_bytes = 66;    // of Ethernet, IPv4, and TCP with time stamps
  constexpr Index message_header_bytes = 18;  // of the MPI: Open MPI 4.1 sends 21, MPICH 5.0 over UCX 13
  const Index sent_bytes = size_bytes + message_header_bytes;
  const Index frames = (sent_bytes + segment_bytes - 1) / segment_bytes;
  const double payload = static_cast<double>(segment_bytes) / static_cast<double>(segment_bytes + frame_header_bytes);
  return static_cast<double>(sent_bytes + frames * frame_header_bytes) * payload;
}

double Resource::credit_s(const TimeCurve& time) const {
  if (segment_bytes <= 0) return 0.0;
  constexpr Index large = 4;  // frames, more than a bucket's
  std::optional<double> smallest_s;
  for (const TimeLine& line : time.lines()) {
    if (line.from_bytes < large * segment_bytes) continue;
    const double excess_s = passing_bytes(line.from_bytes) / rate(line.from_bytes) - time.hold_s(line.from_bytes);
    smallest_s = std::min(smallest_s.value_or(excess_s), excess_s);
  }
  return std::max(0.0, smallest_s.value_or(0.0));
}

Hold Machine::hold(std::size_t resource, LinkClass link, Index size_bytes) const {
  const std::optional<Resource>* shared = nullptr;
  std::optional<Resource> of_level;
  switch (static_cast<Shared>(resource)) {
    case Shared::socket: shared = &socket; break;
    case Shared::sockets: shared = &sockets; break;
    case Shared::memory: shared = &memory; break;
    case Shared::card_out:
    case Shared::card_in: shared = &card; break;
    case Shared::card_both:
      if (!card || !card->half_duplex) return {};
      shared = &card;
      break;
    default: {
      const std::size_t level = (resource - shared_count) / 2;
      if (level >= levels.size()) return {};
      of_level = Resource{levels[level].up_bytes_per_s};
      if (card) of_level->segment_bytes = card->segment_bytes;
      shared = &of_level;
    }
  }
  if (!*shared && shared != &card) return {};
  const std::optional<LinkClass> known = stand_in(link);
  if (!known) return {};
  const LinkCost& cost = *links[static_cast<std::size_t>(*known)];
  const double alone_s = cost.send.hold_s(size_bytes);
  // A card of unknown rate passes what one message does, or as seen in a burst of messages between two ranks.
  if (!*shared) return {cost.exchange_gap ? std::min(alone_s, (*cost.exchange_gap)(size_bytes)) : alone_s};
  const double lane = cost.send.lane();
  const double rate = (*shared)->rate(size_bytes);
  const double held_s = lane > 0 ? alone_s * lane / std::max(rate, lane) : 0.0;
  // In caches one message is faster than many that share the memory; on a network it is so by its first bytes only.
  const bool binds = resource >= static_cast<std::size_t>(Shared::card_out);
  const double passing_s = binds ? (*shared)->passing_bytes(size_bytes) / rate : 0.0;
  const double excess_s = std::max(0.0, passing_s - alone_s);
  return {std::max({held_s, passing_s, (*shared)->least_s}), excess_s, excess_s > 0 ? (*shared)->credit_s(cost.send) : 0.0};
}

Machine Machine::alone() const {
  Machine machine = *this;
  const std::optional<LinkCost>& network = links[static_cast<std::size_t>(LinkClass::other_node)];
  if (!card && network) machine.card = Resource{network->send.lane()};
  if (machine.card) machine.card->segment_bytes = 0;
  for (std::optional<LinkCost>& link : machine.links) {
    if (link)
      *link = LinkCost{link->send, link->send, link->send, TimeCurve({{0, 0.0, 0.0}}), 0.0, {}, link->rendezvous_from_bytes};
  }
  return machine;
}

Machine Machine::quickest(std::vector<Index> sizes) const {
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  std::vector<TimeLine> lines;
  for (const Index size : sizes) {
    std::optional<double> least_s;
    for (const std::optional<LinkCost>& link : links) {
      if (!link) continue;
      for (const TimeCurve* curve : {&link->send, &link->ssend, &link->exchange}) {
        least_s = std::min(least_s.value_or((*curve)(size)), (*curve)(size));
      }
    }
    lines.push_back({size, std::max(0.0, least_s.value_or(0.0)), 0.0});
  }
  const TimeCurve nothing({{0, 0.0, 0.0}});
  const TimeCurve least = lines.empty() ? nothing : TimeCurve(std::move(lines));
  Machine machine;
  machine.links[static_cast<std::size_t>(LinkClass::same_socket)] = LinkCost{least, least, least, nothing, 0.0, {}, {}};
  return machine;
}

Machine Machine::with_network(double latency, double bandwidth) const {
  for (const double factor : {latency, bandwidth}) {
    if (!(factor > 0) || !std::isfinite(factor)) invalid("a factor of the network is not above 0: give at least a small one");
  }
  Machine machine = *this;
  if (std::optional<LinkCost>& link = machine.links[static_cast<std::size_t>(LinkClass::other_node)]) {
    scale(*link, latency, 1.0, link->send(0), bandwidth);
  }
  if (machine.card) machine.card->bytes_per_s *= bandwidth;
  for (SwitchLevel& level : machine.levels) level.up_bytes_per_s *= bandwidth;
  return machine;
}

Machine Machine::slower(const Factors& factors) const {
  Machine machine = *this;
  for (std::size_t i = 0; i < link_class_count; ++i) {
    const double factor = factors.links[i];
    if (machine.links[i]) scale(*machine.links[i], factor, factor, std::numeric_limits<double>::infinity(), 1 / factor);
  }
  if (machine.card) machine.card->bytes_per_s /= factors.card;
  if (machine.memory) machine.memory->bytes_per_s /= factors.memory;
  if (machine.socket) machine.socket->bytes_per_s /= factors.socket;
  if (machine.sockets) machine.sockets->bytes_per_s /= factors.sockets;
  return machine;
}

std::optional<Machine> Machine::with_handshakes_covered() const {
  if (!card || card->exchange_shares.empty()) return std::nullopt;
  const double smallest = card->exchange_shares.front().second;
  Machine machine = *this;
  bool slower = false;
  for (auto& [size, share] : machine.card->exchange_shares) {
    if (!(share < smallest)) continue;
    share = std::sqrt(share * smallest);
    slower = true;
  }
  return slower ? std::optional(std::move(machine)) : std::nullopt;
}

std::optional<Machine> Machine::in_streams() const {
  const auto is_less = [](const auto& row) { return row.second < sound_share; };
  if (!card || std::ranges::none_of(card->exchange_shares, is_less)) return std::nullopt;
  Machine machine = *this;
  machine.card->exchange_shares.clear();
  return machine;
}

std::optional<Machine> Machine::where_sends_may_go_on() const {
  Machine machine = *this;
  bool unknown = false;
  for (std::optional<LinkCost>& link : machine.links) {
    if (!link || link->rendezvous_from_bytes) continue;
    link->rendezvous_from_bytes = std::numeric_limits<Index>::max();
    unknown = true;
  }
  return unknown ? std::optional(std::move(machine)) : std::nullopt;
}

void Machine::check() const {
  check_resource(card, "card");
  check_resource(memory, "memory");
  check_resource(socket, "socket");
  check_resource(sockets, "link between sockets");
  Index nodes = 1;
  for (const SwitchLevel& level : levels) {
    if (level.nodes < nodes || level.nodes < 1) invalid("the levels of switches do not grow: name the inner ones first");
    if (!(level.up_bytes_per_s > 0)) invalid("the rate of the links up is not above 0: give bytes a second");
    nodes = level.nodes;
  }
}

}  // namespace rankwise
