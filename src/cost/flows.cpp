#include "cost/flows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rankwise {

namespace {

constexpr std::size_t most_settled_at_once = 256;
constexpr double least_s = 1e-18;  // of a flow, so that all rates are numbers

}  // namespace

void Flows::Ends::set(const End& end) {
  while (nodes_.size() <= 2 * std::size_t{end.place}) {
    const std::size_t places = nodes_.size();
    nodes_.insert(nodes_.begin(), places / 2, End{});
    nodes_.resize(2 * places);
    for (std::size_t node = places - 1; node > 0; --node) nodes_[node] = std::min(nodes_[2 * node], nodes_[2 * node + 1]);
  }
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
  flow.fastest = 1 / std::max(message.own_s, least_s);
  flow.bytes = static_cast<double>(std::max<Index>(1, message.bytes));
  double most = 1.0;  // is asked of a resource
  for (const Use& use : way) {
    if (resources_.size() <= use.resource) resources_.resize(use.resource + 1);
    Resource& resource = resources_[use.resource];
    const double spared_s = resource.flows.empty() ? std::min(use.hold.excess_s, now_s - resource.left_s) : 0.0;
    const double held_s = use.hold.time_s - spared_s;
    if (held_s <= 0) continue;
    flow.way.push_back({use.resource, held_s});
    resource.flows.push_back(place);
    resource.asked += held_s * flow.fastest;
    if (binds(resource)) change(use.resource, now_s);
    most = std::max(most, resource.asked);
  }
  // Until rates are found it has no more than the others leave it.
  flow.rate = flow.fastest / most;
  ++under_way_;
  flow.own_s = message.own_s;
  own_s_ += message.own_s;
  ends_.set({now_s + message.own_s * most, id, place});
}

void Flows::change(std::size_t resource, double now_s) {
  if (resources_[resource].changed) return;
  if (changed_.empty()) changed_s_ = now_s;
  resources_[resource].changed = true;
  changed_.push_back(resource);
}

double Flows::due_s() const {
  if (changed_.empty()) return never;
  if (under_way_ <= most_settled_at_once) return changed_s_;
  return std::max(changed_s_, settled_s_ + 0.01 * own_s_ / static_cast<double>(under_way_));
}

Flows::Id Flows::end(double now_s) {
  const Place place = ends_.earliest().place;
  ends_.set({never, 0, place});
  Flow& flow = flows_[place];
  --under_way_;
  own_s_ = under_way_ == 0 ? 0.0 : own_s_ - flow.own_s;
  for (const Held& held : flow.way) {
    Resource& resource = resources_[held.resource];
    const auto at = std::find(resource.flows.begin(), resource.flows.end(), place);
    *at = resource.flows.back();
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
    ends_.set({now_s + flow.left / flow.rate, flow.id, place});
  }
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
    for (const Place place : resource.flows) {
      if (flows_[place].found) continue;
      flows_[place].found = true;
      together_.push_back(place);
      for (const Held& held : flows_[place].way) to_visit_.push_back(held.resource);
    }
  }
}

void Flows::fix(Flow& flow, double rate) {
  flow.fixed = true;
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
  std::sort(by_most_.begin(), by_most_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const auto allowed = [](const Binding& binding) { return binding.free / binding.weight; };
  for (const std::size_t at : resources_of_them_) {
    if (binds(resources_[at])) levels_.push({allowed(bindings_[resources_[at].number]), at});
  }
  for (const auto& [most, next] : by_most_) {
    while (!flows_[next].fixed) {
      while (!levels_.empty()) {
        const auto [level, at] = levels_.top();
        const Binding& binding = bindings_[resources_[at].number];
        if (binding.open > 0 && allowed(binding) <= level * (1 + rounding)) break;
        levels_.pop();
        if (binding.open > 0) levels_.push({allowed(binding), at});
      }
      if (levels_.empty() || most <= levels_.top().first * (1 + rounding)) {
        fix(flows_[next], flows_[next].fastest);
        continue;
      }
      const auto [level, at] = levels_.top();
      levels_.pop();
      for (const Place place : resources_[at].flows) {
        if (!flows_[place].fixed) fix(flows_[place], std::min(level / flows_[place].bytes, flows_[place].fastest));
      }
    }
  }
  levels_ = {};
}

}  // namespace rankwise
