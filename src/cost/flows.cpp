#include "cost/flows.hpp"

#include <algorithm>

namespace rankwise {

namespace {

constexpr std::size_t few = 256;
constexpr double least_s = 1e-18;  // of a flow, so that all rates are numbers

}  // namespace

void Flows::start(Id id, double now_s, double own_s, Index bytes, const std::vector<Use>& way) {
  Flow& flow = flows_[id];
  flow.since_s = now_s;
  flow.fastest = 1 / std::max(own_s, least_s);
  flow.bytes = static_cast<double>(std::max<Index>(1, bytes));
  for (const Use& use : way) {
    if (resources_.size() <= use.resource) resources_.resize(use.resource + 1);
    Resource& resource = resources_[use.resource];
    const double held_s = use.hold.time_s - (resource.flows.empty() ? use.hold.excess_s : 0.0);
    if (held_s <= 0) continue;
    flow.way.push_back({use.resource, held_s});
    resource.flows.push_back(id);
    resource.asked += held_s * flow.fastest;
    change(use.resource, now_s);
  }
  flow.rate = flow.fastest;
  ++under_way_;
  own_s_ += 1 / flow.fastest;
  ends_.push({now_s + own_s, id, flow.version});
}

void Flows::change(std::size_t resource, double now_s) {
  if (resources_[resource].changed) return;
  if (changed_.empty()) changed_s_ = now_s;
  resources_[resource].changed = true;
  changed_.push_back(resource);
}

double Flows::due_s() const {
  if (changed_.empty()) return never;
  if (under_way_ <= few) return changed_s_;
  return std::max(changed_s_, settled_s_ + 0.01 * own_s_ / static_cast<double>(under_way_));
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
  own_s_ = under_way_ == 0 ? 0.0 : own_s_ - 1 / flow.fastest;
  ++flow.version;
  for (const Held& held : flow.way) {
    Resource& resource = resources_[held.resource];
    const auto at = std::find(resource.flows.begin(), resource.flows.end(), id);
    *at = resource.flows.back();
    resource.flows.pop_back();
    resource.asked = resource.flows.empty() ? 0.0 : resource.asked - held.held_s * flow.fastest;
    change(held.resource, now_s);
  }
  flow.way = {};
  return id;
}

void Flows::settle(double now_s) {
  settled_s_ = now_s;
  for (const std::size_t resource : changed_) gather(resource);
  for (const Id id : together_) {
    Flow& flow = flows_[id];
    flow.left = std::max(0.0, flow.left - flow.rate * (now_s - flow.since_s));
    flow.since_s = now_s;
    flow.fixed = false;
  }
  share();
  for (const std::size_t resource : changed_) resources_[resource].changed = false;
  for (const std::size_t resource : resources_of_them_) resources_[resource].found = false;
  for (const Id id : together_) {
    Flow& flow = flows_[id];
    flow.found = false;
    ends_.push({now_s + flow.left / flow.rate, id, ++flow.version});
  }
  changed_.clear();
  resources_of_them_.clear();
  together_.clear();
}

void Flows::gather(std::size_t first) {
  std::vector<std::size_t> to_visit{first};
  while (!to_visit.empty()) {
    const std::size_t at = to_visit.back();
    to_visit.pop_back();
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
      for (const Held& held : flows_[id].way) to_visit.push_back(held.resource);
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
  std::vector<Id> open;
  for (const Id id : together_) {
    for (const Held& held : flows_[id].way) {
      resources_[held.resource].weight += weight(flows_[id], held);
      ++resources_[held.resource].open;
    }
    open.push_back(id);
  }
  while (!open.empty()) {
    // The bytes a second that each can have before a resource, or a flow, allows no more.
    double bytes_per_s = never;
    for (const std::size_t at : resources_of_them_) {
      const Resource& resource = resources_[at];
      if (binds(resource)) bytes_per_s = std::min(bytes_per_s, resource.free / resource.weight);
    }
    for (const Id id : open) bytes_per_s = std::min(bytes_per_s, flows_[id].fastest * flows_[id].bytes);
    const double most = bytes_per_s * (1 + rounding);
    std::vector<Id> bound;
    for (const Id id : open) {
      const Flow& flow = flows_[id];
      const bool bounded = std::any_of(flow.way.begin(), flow.way.end(), [&](const Held& held) {
        const Resource& resource = resources_[held.resource];
        return binds(resource) && resource.free <= most * resource.weight;
      });
      if (bounded || flow.fastest * flow.bytes <= most) bound.push_back(id);
    }
    for (const Id id : bound) fix(flows_[id], std::min(bytes_per_s / flows_[id].bytes, flows_[id].fastest));
    std::erase_if(open, [this](Id id) { return flows_[id].fixed; });
  }
}

}  // namespace rankwise
