#include "cost/flows.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace rankwise {

namespace {

constexpr std::size_t one_in = 256;   // flows, which are settled at once
constexpr double least_part = 0.005;  // of what flows take, between two times at which others are settled
constexpr double least_s = 1e-18;     // of a flow, so that all rates are numbers

}  // namespace

void Flows::Ends::make_room(Place place) {
  while (nodes_.size() <= 2 * std::size_t{place}) {
    const std::size_t places = nodes_.size();
    nodes_.insert(nodes_.begin(), places / 2, End{});
    nodes_.resize(2 * places);
    for (std::size_t node = places - 1; node > 0; --node) find_earlier(node);
  }
}

void Flows::Ends::set(const std::vector<End>& ends) {
  constexpr std::size_t steps_of_one = 8;  // as many of the others as one alone takes
  if (ends.size() * steps_of_one < nodes_.size() / 2) {
    for (const End& end : ends) set(end);
    return;
  }
  for (const End& end : ends) nodes_[nodes_.size() / 2 + end.place] = end;
  for (std::size_t node = nodes_.size() / 2 - 1; node > 0; --node) find_earlier(node);
}

void Flows::Ends::set(const End& end) {
  make_room(end.place);
  std::size_t node = nodes_.size() / 2 + end.place;
  nodes_[node] = end;
  while (node /= 2) {
    const End& first = std::min(nodes_[2 * node], nodes_[2 * node + 1]);
    if (first == nodes_[node]) return;
    nodes_[node] = first;
  }
}

void Flows::start(Id id, double now_s, const Message& message, const std::vector<Use>& way) {
  if (free_.empty()) {
    free_.push_back(static_cast<Place>(flows_.size()));
    flows_.emplace_back();
  }
  const Place place = free_.back();
  free_.pop_back();
  Flow& flow = flows_[place];
  flow.id = id;
  flow.left = 1.0;
  flow.since_s = now_s;
  const double own_s = std::max(message.own_s, least_s);
  flow.fastest = 1 / own_s;
  flow.bytes = static_cast<double>(std::max<Index>(1, message.bytes));
  double most = 1.0;  // is asked of a resource
  for (const Use& use : way) {
    if (resources_.size() <= use.resource) resources_.resize(use.resource + 1);
    Resource& resource = resources_[use.resource];
    double spared_s = use.hold.excess_s;  // below 0: the first holds it for longer
    if (resource.flows.empty()) {
      const double most_s = std::max({0.0, use.hold.credit_s, spared_s});
      resource.credit_s = std::min(most_s, resource.credit_s + now_s - std::max(0.0, resource.left_s));
      if (resource.left_s < 0) resource.credit_s = std::max(resource.credit_s, spared_s);
    } else {
      spared_s = std::max(0.0, spared_s);
    }
    spared_s = std::min(spared_s, resource.credit_s);
    resource.credit_s -= std::max(0.0, spared_s);
    const double held_s = use.hold.time_s - spared_s;
    if (held_s <= 0) continue;
    resource.flows.emplace_back(place, static_cast<std::uint32_t>(flow.way.size()));
    flow.way.push_back({use.resource, held_s, static_cast<std::uint32_t>(resource.flows.size() - 1)});
    resource.asked += held_s * flow.fastest;
    if (binds(resource)) change(use.resource, now_s);
    most = std::max(most, resource.asked);
  }
  // Until rates are found it has no more than the others leave it.
  flow.rate = flow.fastest / most;
  ++under_way_;
  count(now_s);
  duration_s_ += 1 / flow.rate;
  ends_.set({now_s + own_s * most, id, place});
}

void Flows::count(double now_s) {
  if (now_s > that_s_ * (1 + rounding)) at_one_time_ = 0;
  ++at_one_time_;
  that_s_ = now_s;
}

void Flows::change(std::size_t resource, double now_s) {
  if (resources_[resource].changed) return;
  if (changed_.empty()) changed_s_ = now_s;
  resources_[resource].changed = true;
  changed_.push_back(resource);
}

double Flows::due_s() const {
  if (changed_.empty()) return never;
  if (under_way_ <= one_in * at_one_time_) return changed_s_;
  return std::max(changed_s_, settled_s_ + least_part * duration_s_ / static_cast<double>(under_way_));
}

Flows::Id Flows::end(double now_s) {
  const Place place = ends_.earliest().place;
  ends_.set({never, 0, place});
  Flow& flow = flows_[place];
  --under_way_;
  count(now_s);
  duration_s_ = under_way_ == 0 ? 0.0 : duration_s_ - 1 / flow.rate;
  for (const Held& held : flow.way) {
    Resource& resource = resources_[held.resource];
    const auto [moved, way] = resource.flows.back();
    flows_[moved].way[way].at = held.at;
    resource.flows[held.at] = {moved, way};
    resource.flows.pop_back();
    resource.left_s = now_s;
    if (binds(resource)) change(held.resource, now_s);
    resource.asked = resource.flows.empty() ? 0.0 : resource.asked - held.held_s * flow.fastest;
  }
  flow.way.clear();
  free_.push_back(place);
  return flow.id;
}

void Flows::settle(double now_s) {
  settled_s_ = now_s;
  for (const std::size_t resource : changed_) gather(resource);
  share();
  for (const std::size_t resource : changed_) resources_[resource].changed = false;
  for (const std::size_t resource : resources_of_them_) resources_[resource].found = false;
  for (const Place place : together_) {
    Flow& flow = flows_[place];
    flow.found = false;
    if (std::abs(flow.rate - flow.rate_before) <= rounding * flow.rate) continue;
    flow.left = std::max(0.0, flow.left - flow.rate_before * (now_s - flow.since_s));
    flow.since_s = now_s;
    duration_s_ += 1 / flow.rate - 1 / flow.rate_before;
    new_ends_.push_back({now_s + flow.left / flow.rate, flow.id, place});
  }
  ends_.set(new_ends_);
  new_ends_.clear();
  changed_.clear();
  resources_of_them_.clear();
  together_.clear();
}

void Flows::gather(std::size_t first) {
  to_visit_.assign(1, first);
  while (!to_visit_.empty()) {
    const std::size_t at = to_visit_.back();
    to_visit_.pop_back();
    Resource& resource = resources_[at];
    if (resource.found) continue;
    resource.found = true;
    resources_of_them_.push_back(at);
    // One that is enough for all binds none, and what changes there now and changed before is known to be changed.
    if (!resource.changed && !binds(resource)) continue;
    for (const auto& [place, way] : resource.flows) {
      if (flows_[place].found) continue;
      flows_[place].found = true;
      together_.push_back(place);
      for (const Held& held : flows_[place].way) to_visit_.push_back(held.resource);
    }
  }
}

void Flows::fix(Flow& flow, double rate) {
  flow.fixed = true;
  --open_;
  flow.rate = rate;
  for (std::size_t i = flow.first_use; i < flow.first_use + flow.uses; ++i) {
    Binding& binding = bindings_[uses_[i].number];
    binding.free = std::max(0.0, binding.free - rate * uses_[i].held_s);
    binding.weight -= uses_[i].weight;
    --binding.open;
  }
}

void Flows::share() {
  bindings_.clear();
  for (const std::size_t at : resources_of_them_) {
    if (!binds(resources_[at])) continue;
    resources_[at].number = static_cast<std::uint32_t>(bindings_.size());
    bindings_.emplace_back();
  }
  uses_.clear();
  by_most_.clear();
  open_ = together_.size();
  for (const Place place : together_) {
    Flow& flow = flows_[place];
    flow.fixed = false;
    flow.rate_before = flow.rate;
    flow.first_use = uses_.size();
    for (const Held& held : flow.way) {
      const Resource& resource = resources_[held.resource];
      if (!binds(resource)) continue;
      uses_.push_back({resource.number, held.held_s, held.held_s / flow.bytes});
      bindings_[resource.number].weight += uses_.back().weight;
      ++bindings_[resource.number].open;
    }
    flow.uses = uses_.size() - flow.first_use;
    by_most_.emplace_back(flow.fastest * flow.bytes, place);
  }
  // The bytes a second of all go up together, until a flow or a resource allows no more. What a resource allows only grows while
  // flows that have less are fixed, so that the least is found by looking at it again.
  const auto allowed = [](const Binding& binding) { return binding.free / binding.weight; };
  for (const std::size_t at : resources_of_them_) {
    if (binds(resources_[at])) levels_.emplace_back(allowed(bindings_[resources_[at].number]), at);
  }
  std::ranges::make_heap(levels_, std::greater{});
  const auto pop = [this] {
    std::ranges::pop_heap(levels_, std::greater{});
    const Level level = levels_.back();
    levels_.pop_back();
    return level;
  };
  const auto least_allowed = [&] {
    while (open_ > 0 && !levels_.empty()) {
      const auto [level, at] = levels_.front();
      const Binding& binding = bindings_[resources_[at].number];
      if (binding.open > 0 && allowed(binding) <= level * (1 + rounding)) return level;
      pop();
      if (binding.open == 0) continue;
      levels_.emplace_back(allowed(binding), at);
      std::ranges::push_heap(levels_, std::greater{});
    }
    return never;
  };
  const auto fill = [&] {
    const auto [level, at] = pop();
    for (const auto& [place, way] : resources_[at].flows) {
      if (!flows_[place].fixed) fix(flows_[place], std::min(level / flows_[place].bytes, flows_[place].fastest));
    }
  };
  const auto forget_fixed = [this] { std::erase_if(by_most_, [this](const auto& one) { return flows_[one.second].fixed; }); };
  // Flows that can take no more than is allowed now have that in any order. As long as that settles most, nothing is sorted.
  for (std::size_t before = 2 * by_most_.size() + 1; 2 * by_most_.size() < before;) {
    before = by_most_.size();
    const double level = least_allowed() * (1 + rounding);
    for (const auto& [most, place] : by_most_) {
      if (most <= level) fix(flows_[place], flows_[place].fastest);
    }
    forget_fixed();
    const double least_most = by_most_.empty() ? never : std::ranges::min_element(by_most_)->first;
    while (least_allowed() * (1 + rounding) < least_most) fill();
    forget_fixed();
  }
  std::ranges::sort(by_most_);
  for (const auto& [most, place] : by_most_) {
    while (!flows_[place].fixed) {
      if (most <= least_allowed() * (1 + rounding)) {
        fix(flows_[place], flows_[place].fastest);
      } else {
        fill();
      }
    }
  }
  levels_.clear();
}

}  // namespace rankwise
