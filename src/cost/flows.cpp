#include "cost/flows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rankwise {

namespace {

constexpr std::size_t most_settled_at_once = 256;
constexpr double least_s = 1e-18;  // of a flow, so that all rates are numbers

}  // namespace

void Flows::start(Id id, double now_s, const Message& message, const std::vector<Use>& way) {
  Flow& flow = flows_[id];
  flow.since_s = now_s;
  flow.fastest = 1 / std::max(message.own_s, least_s);
  flow.bytes = static_cast<double>(std::max<Index>(1, message.bytes));
  if (!spare_.empty()) {
    flow.way = std::move(spare_.back());
    spare_.pop_back();
  }
  for (const Use& use : way) {
    if (resources_.size() <= use.resource) resources_.resize(use.resource + 1);
    Resource& resource = resources_[use.resource];
    const double held_s = use.hold.time_s - (resource.flows.empty() ? use.hold.excess_s : 0.0);
    if (held_s <= 0) continue;
    flow.way.push_back({use.resource, held_s});
    resource.flows.push_back(id);
    resource.asked += held_s * flow.fastest;
    if (resource.asked > 1 + rounding) change(use.resource, now_s);
  }
  flow.rate = flow.fastest;
  ++under_way_;
  flow.time_s = message.time_s;
  time_s_ += message.time_s;
  ends_.push({now_s + message.own_s, id, flow.version});
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
  return std::max(changed_s_, settled_s_ + 0.01 * time_s_ / static_cast<double>(under_way_));
}

double Flows::next_s() {
  while (!ends_.empty() && ends_.top().version != flows_[ends_.top().id].version) ends_.pop();
  return ends_.empty() ? never : ends_.top().time_s;
}

Flows::Id Flows::end(double now_s) {
  const Id id = ends_.top().id;
  ends_.pop();
  Flow& flow = flows_[id];
  --under_way_;
  time_s_ = under_way_ == 0 ? 0.0 : time_s_ - flow.time_s;
  ++flow.version;
  for (const Held& held : flow.way) {
    Resource& resource = resources_[held.resource];
    const auto at = std::find(resource.flows.begin(), resource.flows.end(), id);
    *at = resource.flows.back();
    resource.flows.pop_back();
    if (resource.asked > 1 + rounding) change(held.resource, now_s);
    resource.asked = resource.flows.empty() ? 0.0 : resource.asked - held.held_s * flow.fastest;
  }
  flow.way.clear();
  spare_.push_back(std::move(flow.way));
  return id;
}

void Flows::settle(double now_s) {
  settled_s_ = now_s;
  for (const std::size_t resource : changed_) gather(resource);
  for (const Id id : together_) {
    flows_[id].fixed = false;
    flows_[id].rate_before = flows_[id].rate;
  }
  share();
  for (const std::size_t resource : changed_) resources_[resource].changed = false;
  for (const std::size_t resource : resources_of_them_) resources_[resource].found = false;
  for (const Id id : together_) {
    Flow& flow = flows_[id];
    flow.found = false;
    if (std::abs(flow.rate - flow.rate_before) <= rounding * flow.rate) continue;
    flow.left = std::max(0.0, flow.left - flow.rate_before * (now_s - flow.since_s));
    flow.since_s = now_s;
    ends_.push({now_s + flow.left / flow.rate, id, ++flow.version});
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
    if (!resource.changed && resource.asked <= 1 + rounding) continue;
    for (const Id id : resource.flows) {
      if (flows_[id].found) continue;
      flows_[id].found = true;
      together_.push_back(id);
      for (const Held& held : flows_[id].way) to_visit_.push_back(held.resource);
    }
  }
}

void Flows::fix(Flow& flow, double rate) {
  flow.fixed = true;
  flow.rate = rate;
  for (const Held& held : flow.way) {
    Resource& resource = resources_[held.resource];
    resource.free = std::max(0.0, resource.free - rate * held.held_s);
    resource.weight -= weight(flow, held);
    --resource.open;
  }
}

void Flows::share() {
  for (const std::size_t at : resources_of_them_) {
    resources_[at].free = 1.0;
    resources_[at].weight = 0.0;
    resources_[at].open = 0;
  }
  for (const Id id : together_) {
    for (const Held& held : flows_[id].way) {
      resources_[held.resource].weight += weight(flows_[id], held);
      ++resources_[held.resource].open;
    }
  }
  // The bytes a second of all go up together, until a flow or a resource allows no more. What a resource allows only grows while
  // flows that have less are fixed, so that the least is found by looking at it again.
  const auto most = [this](Id id) { return flows_[id].fastest * flows_[id].bytes; };
  std::sort(together_.begin(), together_.end(), [&](Id a, Id b) { return most(a) < most(b); });
  const auto allowed = [this](std::size_t at) { return resources_[at].free / resources_[at].weight; };
  for (const std::size_t at : resources_of_them_) {
    if (binds(resources_[at])) levels_.push({allowed(at), at});
  }
  for (const Id next : together_) {
    while (!flows_[next].fixed) {
      while (!levels_.empty()) {
        const auto [level, at] = levels_.top();
        const bool open = binds(resources_[at]);
        if (open && allowed(at) <= level * (1 + rounding)) break;
        levels_.pop();
        if (open) levels_.push({allowed(at), at});
      }
      if (levels_.empty() || most(next) <= levels_.top().first * (1 + rounding)) {
        fix(flows_[next], flows_[next].fastest);
        continue;
      }
      const auto [level, at] = levels_.top();
      levels_.pop();
      for (const Id id : resources_[at].flows) {
        if (!flows_[id].fixed) fix(flows_[id], std::min(level / flows_[id].bytes, flows_[id].fastest));
      }
    }
  }
  levels_ = {};
}

}  // namespace rankwise
