#include "schedule/check.hpp"

#include <map>
#include <utility>

#include "schedule/replay.hpp"

namespace rankwise {

namespace {

constexpr std::size_t most_findings = 10;
constexpr Index nothing = -1;

std::string at(Index rank, std::size_t step) {
  return "rank " + std::to_string(rank) + " in step " + std::to_string(step);
}

// Follows the blocks: content[rank][slot] is the rank whose block lies there.
class ContentVisitor final : public ReplayVisitor {
 public:
  ContentVisitor(const ExchangeSpec& spec, const std::vector<RankSchedule>& schedules)
      : schedules_(schedules),
        content_(schedules.size(), std::vector<Index>(static_cast<std::size_t>(spec.window.slots()), nothing)) {
    for (std::size_t r = 0; r < schedules.size(); ++r) {
      content_[r][static_cast<std::size_t>(spec.window.centre())] = static_cast<Index>(r);
    }
  }

  void matched(const OpRef& send, const OpRef& recv) override {
    const std::vector<Index> blocks = read(send.rank, op_at(send).slots, send.step);
    if (static_cast<Index>(blocks.size()) != op_at(recv).blocks()) {
      find(at(recv.rank, recv.step) + " expects " + std::to_string(op_at(recv).blocks()) + " blocks from rank " +
           std::to_string(send.rank) + ", which sends " + std::to_string(blocks.size()));
    }
    arriving_[recv.rank].emplace_back(&op_at(recv), blocks);
  }

  void completed(Index rank, std::size_t step) override {
    for (const Op& op : schedules_[static_cast<std::size_t>(rank)].steps[step].ops) {
      if (op.kind == Op::Kind::copy) arriving_[rank].emplace_back(&op, read(rank, op.source, step));
    }
    for (const auto& [op, blocks] : arriving_[rank]) write(rank, op->slots, blocks, step);
    arriving_[rank].clear();
  }

  void find(std::string finding) {
    if (findings.size() < most_findings) findings.push_back(std::move(finding));
  }

  [[nodiscard]] const std::vector<Index>& content(std::size_t rank) const { return content_[rank]; }

  std::vector<std::string> findings;

 private:
  [[nodiscard]] const Op& op_at(const OpRef& ref) const {
    return schedules_[static_cast<std::size_t>(ref.rank)].steps[ref.step].ops[ref.op];
  }

  [[nodiscard]] std::vector<Index> read(Index rank, const std::vector<SlotRange>& ranges, std::size_t step) {
    std::vector<Index> blocks;
    for (const SlotRange& range : ranges) {
      for (Index slot = range.first; slot < range.first + range.count; ++slot) {
        blocks.push_back(content_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(slot)]);
      }
    }
    for (const Index block : blocks) {
      if (block != nothing) continue;
      find(at(rank, step) + " sends a slot that it has not received");
      break;
    }
    return blocks;
  }

  void write(Index rank, const std::vector<SlotRange>& ranges, const std::vector<Index>& blocks, std::size_t step) {
    std::size_t i = 0;
    for (const SlotRange& range : ranges) {
      for (Index slot = range.first; slot < range.first + range.count && i < blocks.size(); ++slot, ++i) {
        Index& held = content_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(slot)];
        if (held != nothing) {
          find(at(rank, step) + " receives slot " + std::to_string(slot) + " a second time");
        }
        held = blocks[i];
      }
    }
  }

  const std::vector<RankSchedule>& schedules_;
  std::vector<std::vector<Index>> content_;
  std::map<Index, std::vector<std::pair<const Op*, std::vector<Index>>>> arriving_;
};

std::string describe(const Waiting& waiting) {
  return "rank " + std::to_string(waiting.rank) + (waiting.sends ? " waits to send to " : " waits to receive from ") +
         "rank " + std::to_string(waiting.peer) + " in step " + std::to_string(waiting.step);
}

// Follows who waits for whom from the first waiting rank until a rank repeats, or one that does not wait.
std::string explain(const std::vector<Waiting>& waiting) {
  std::map<Index, const Waiting*> by_rank;
  for (const Waiting& w : waiting) by_rank[w.rank] = &w;
  std::vector<const Waiting*> chain;
  std::map<Index, std::size_t> position;
  const Waiting* current = &waiting.front();
  while (current != nullptr && !position.contains(current->rank)) {
    position[current->rank] = chain.size();
    chain.push_back(current);
    const auto next = by_rank.find(current->peer);
    current = next == by_rank.end() ? nullptr : next->second;
  }
  const std::size_t start = current == nullptr ? 0 : position[current->rank];
  std::string text = current == nullptr ? "no partner: " : "deadlock: ";
  for (std::size_t i = start; i < chain.size(); ++i) text += (i > start ? ", " : "") + describe(*chain[i]);
  if (current == nullptr) text += ", which has finished";
  return text;
}

}  // namespace

std::vector<std::string> check_schedules(const ExchangeSpec& spec, const std::vector<RankSchedule>& schedules) {
  ContentVisitor visitor(spec, schedules);
  Replay replay(schedules, visitor, /*eager=*/false);
  const std::vector<Waiting> waiting = replay.run();
  if (!waiting.empty()) visitor.find(explain(waiting));
  for (std::size_t r = 0; r < schedules.size(); ++r) {
    const auto rank = static_cast<Index>(r);
    for (Index slot = 0; slot < spec.window.slots(); ++slot) {
      const Index expected = origin_of_slot(spec, rank, slot);
      const Index found = visitor.content(r)[static_cast<std::size_t>(slot)];
      if (found == expected) continue;
      const std::string where = "rank " + std::to_string(rank) + ", slot " + std::to_string(slot);
      visitor.find(found == nothing ? where + " misses the block of rank " + std::to_string(expected)
                                    : where + " holds the block of rank " + std::to_string(found) + ", not of " +
                                          (expected == nothing ? "any rank" : "rank " + std::to_string(expected)));
    }
  }
  return std::move(visitor.findings);
}

}  // namespace rankwise
