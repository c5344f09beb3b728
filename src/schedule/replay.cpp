#include "schedule/replay.hpp"

#include <functional>

namespace rankwise {

std::size_t Replay::ChannelHash::operator()(const ChannelKey& key) const {
  const std::hash<Index> hash;
  return (hash(key.from) * 0x9E3779B97F4A7C15ULL) ^ (hash(key.to) * 0xC2B2AE3D27D4EB4FULL) ^
         static_cast<std::size_t>(key.tag);
}

Replay::Replay(const std::vector<RankSchedule>& schedules, ReplayVisitor& visitor, bool eager)
    : schedules_(schedules),
      visitor_(visitor),
      eager_(eager),
      step_(schedules.size(), 0),
      outstanding_(schedules.size(), 0),
      op_done_(schedules.size()) {}

const Op& Replay::op_at(const OpRef& ref) const {
  return schedules_[static_cast<std::size_t>(ref.rank)].steps[ref.step].ops[ref.op];
}

void Replay::finish_op(const OpRef& ref) {
  const auto r = static_cast<std::size_t>(ref.rank);
  op_done_[r][ref.op] = true;
  if (--outstanding_[r] == 0) ready_.push_back(ref.rank);
}

void Replay::post(Index rank) {
  const auto r = static_cast<std::size_t>(rank);
  const std::size_t step = step_[r];
  if (step == schedules_[r].steps.size()) return;
  const std::vector<Op>& ops = schedules_[r].steps[step].ops;
  outstanding_[r] = ops.size();
  op_done_[r].assign(ops.size(), false);
  if (ops.empty()) ready_.push_back(rank);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const OpRef own{rank, step, i};
    const Op& op = ops[i];
    if (op.kind == Op::Kind::copy) {
      finish_op(own);
      continue;
    }
    const bool sends = op.kind == Op::Kind::send;
    const ChannelKey key = sends ? ChannelKey{rank, op.peer, op.tag} : ChannelKey{op.peer, rank, op.tag};
    Channel& channel = channels_[key];
    std::deque<OpRef>& partners = sends ? channel.recvs : channel.sends;
    if (sends && eager_) finish_op(own);
    if (partners.empty()) {
      (sends ? channel.sends : channel.recvs).push_back(own);
      continue;
    }
    const OpRef partner = partners.front();
    partners.pop_front();
    visitor_.matched(sends ? own : partner, sends ? partner : own);
    if (!sends || !eager_) finish_op(own);
    if (sends || !eager_) finish_op(partner);
  }
}

std::vector<Waiting> Replay::run() {
  for (std::size_t r = 0; r < schedules_.size(); ++r) post(static_cast<Index>(r));
  while (!ready_.empty()) {
    const Index rank = ready_.back();
    ready_.pop_back();
    const auto r = static_cast<std::size_t>(rank);
    visitor_.completed(rank, step_[r]);
    ++step_[r];
    post(rank);
  }
  std::vector<Waiting> waiting;
  for (std::size_t r = 0; r < schedules_.size(); ++r) {
    if (step_[r] == schedules_[r].steps.size()) continue;
    const std::vector<Op>& ops = schedules_[r].steps[step_[r]].ops;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (op_done_[r][i]) continue;
      waiting.push_back({static_cast<Index>(r), step_[r], ops[i].peer, ops[i].kind == Op::Kind::send});
      break;
    }
  }
  return waiting;
}

std::vector<OpRef> Replay::unreceived() const {
  std::vector<OpRef> left;
  for (const auto& [key, channel] : channels_) left.insert(left.end(), channel.sends.begin(), channel.sends.end());
  return left;
}

}  // namespace rankwise
