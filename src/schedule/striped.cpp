// Exchanges that know nodes: a block crosses from its node to another once, however many ranks need it there, and is
// handed out inside (Bienz, Gropp and Olson 2019, J. Parallel Distrib. Comput. 130, and 2020, Int. J. High Perform.
// Comput. Appl. 34). What ranks of one node need of each other goes straight, in the first step.
//
// striped    1. the blocks that another node needs are gathered by one rank of theirs; 2. it sends them in one message;
//            3. the rank that gets it hands them out. All pairs of nodes, each way, are dealt evenly over a node's ranks.
// leader     the same, all by the first rank of each node.
// two-step   every rank sends its block itself, once to each node that needs it, to the ranks there in turn; those hand it
//            out. Nothing is gathered: the first two steps are one.
//
// The slots are the window, then those of blocks that a rank only passes on. On the way back these hold nothing at first:
// what arrives is added up there and goes on as one sum.
//
// Blocking modes post all receives of a step before its first send: a rank that is not further than any other always finds
// its receivers ready, so that no rank can wait for ever.
#include <algorithm>
#include <map>
#include <set>

#include "schedule/algorithms.hpp"

namespace rankwise {

namespace {

enum class Deal { striped, leader, two_step };

Deal deal_of(const std::string& algorithm) {
  return algorithm == "leader" ? Deal::leader : algorithm == "two-step" ? Deal::two_step : Deal::striped;
}

using Ranks = std::vector<Index>;

// The ranks whose blocks cross to a node from each partner, and from it to each, ascending.
struct Traffic {
  std::map<Index, Ranks> in;
  std::map<Index, Ranks> out;
};

void make_unique(Ranks& ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
}

// One rank's part.
class Part {
 public:
  Part(const ExchangeSpec& spec, Index rank)
      : spec_(spec),
        nodes_(spec.nodes),
        deal_(deal_of(spec.algorithm)),
        rank_(rank),
        node_(nodes_.node_of(rank)),
        origins_(window_origins(spec, rank)) {
    for (Index slot = 0; slot < spec.window.slots(); ++slot) {
      if (const Index origin = origins_[static_cast<std::size_t>(slot)]; origin >= 0) slots_of_[origin].push_back(slot);
    }
    // The own block's slot is the centre, wherever its images are.
    Ranks& own = slots_of_[rank];
    std::iter_swap(own.begin(), std::find(own.begin(), own.end(), spec.window.centre()));
    find_partners();
    find_passing();
  }

  [[nodiscard]] const std::vector<Index>& origins() const { return origins_; }

  [[nodiscard]] RankSchedule schedule() const {
    RankSchedule schedule;
    schedule.slots = static_cast<Index>(origins_.size());
    schedule.passing = schedule.slots - spec_.window.slots();
    const std::size_t across = deal_ == Deal::two_step ? 0 : 1;
    schedule.steps.resize(across + 2);
    Step& within = schedule.steps.front();
    Step& between = schedule.steps[across];
    Step& last = schedule.steps[across + 1];
    add_copies(within, rank_, {});
    for (const auto& [owner, slots] : slots_of_) {
      if (owner != rank_ && nodes_.node_of(owner) == node_) receive(within, owner, 0, {owner});
    }
    for (const auto& [from, owners] : crossing_here_) receive(between, from, 1, owners);
    for (const auto& [from, owners] : handed_here_) receive(last, from, 2, owners);
    send(within, 0, inside_);
    send(between, 1, crossing_);
    send(last, 2, handed_on_);
    for (Step& step : schedule.steps) chain_sends(step, spec_.mode);
    return schedule;
  }

 private:
  // By peer, the owners of the blocks in one message.
  using Messages = std::map<Index, Ranks>;

  // Calls each for all ranks that a rank needs (sign +1), or that need it (-1): itself too, and images one by one.
  template <typename Each>
  void each_around(Index rank, int sign, Each each) const {
    around(spec_.grid.coords(rank), sign, 0, 0, each);
  }

  template <typename Each>
  void around(const Coords& centre, int sign, int axis, Index cell, Each& each) const {
    if (axis == spec_.grid.ndim()) {
      each(cell);
      return;
    }
    for (Index o = -spec_.window.lower(axis); o <= spec_.window.upper(axis); ++o) {
      const Index c = spec_.grid.shifted(axis, centre[static_cast<std::size_t>(axis)], sign * o);
      if (c >= 0) around(centre, sign, axis + 1, cell * spec_.grid.dim(axis) + c, each);
    }
  }

  const Traffic& traffic(Index node) {
    const auto [known, added] = traffic_.try_emplace(node);
    Traffic& traffic = known->second;
    if (!added) return traffic;
    // Partners mostly come several times in a row.
    const auto noting = [node](std::map<Index, Ranks>& side) {
      return [&side, last = node, owners = static_cast<Ranks*>(nullptr), node](Index partner, Index owner) mutable {
        if (partner == node) return;
        if (partner != last) owners = &side[partner];
        last = partner;
        if (owners->empty() || owners->back() != owner) owners->push_back(owner);
      };
    };
    auto note_in = noting(traffic.in);
    auto note_out = noting(traffic.out);
    for (Index i = 0; i < nodes_.members(node); ++i) {
      const Index member = nodes_.member(node, i);
      each_around(member, +1, [&](Index needed) { note_in(nodes_.node_of(needed), needed); });
      each_around(member, -1, [&](Index needs) { note_out(nodes_.node_of(needs), member); });
    }
    for (auto* side : {&traffic.in, &traffic.out}) {
      for (auto& [partner, ranks] : *side) make_unique(ranks);
    }
    return traffic;
  }

  // The rank of a node that has to do with what crosses to a partner, or comes from it.
  Index handler(Index node, Index partner, bool outward) {
    if (deal_ == Deal::leader) return nodes_.member(node, 0);
    const auto& [in, out] = traffic(node);
    const auto before = std::distance(in.begin(), in.lower_bound(partner)) +
                        std::distance(out.begin(), out.lower_bound(partner)) + (!outward && out.contains(partner) ? 1 : 0);
    const auto all = static_cast<Index>(in.size() + out.size());
    return nodes_.member(node, static_cast<Index>(before) * nodes_.members(node) / all);
  }

  // Who sends, and who receives, the i-th of the blocks that cross between two nodes.
  Index sender(Index from, Index to, Index owner) { return deal_ == Deal::two_step ? owner : handler(from, to, true); }
  Index receiver(Index from, Index to, std::size_t i) {
    if (deal_ != Deal::two_step) return handler(to, from, false);
    return nodes_.member(to, (from + static_cast<Index>(i)) % nodes_.members(to));
  }

  void find_partners() {
    const Traffic own = traffic(node_);
    each_around(rank_, -1, [&](Index needs) {
      if (needs != rank_ && nodes_.node_of(needs) == node_) inside_[needs] = {rank_};
    });
    for (const auto& [to, owners] : own.out) {
      for (std::size_t i = 0; i < owners.size(); ++i) {
        const Index by = sender(node_, to, owners[i]);
        if (by == rank_) crossing_[receiver(node_, to, i)].push_back(owners[i]);
        if (by != rank_ && owners[i] == rank_) inside_[by] = {rank_};
      }
    }
    for (const auto& [from, owners] : own.in) {
      for (std::size_t i = 0; i < owners.size(); ++i) {
        const Index by = receiver(from, node_, i);
        if (by != rank_ && slots_of_.contains(owners[i])) handed_here_[by].push_back(owners[i]);
        if (by != rank_) continue;
        crossing_here_[sender(from, node_, owners[i])].push_back(owners[i]);
        each_around(owners[i], -1, [&](Index needs) {
          if (needs != rank_ && nodes_.node_of(needs) == node_) handed_on_[needs].push_back(owners[i]);
        });
      }
    }
    // Both ends list the blocks of a message in the order of their owners.
    for (Messages* messages : {&handed_here_, &handed_on_}) {
      for (auto& [peer, owners] : *messages) make_unique(owners);
    }
  }

  // Gives a slot to each block that is only passed on.
  void find_passing() {
    std::set<Index> passing;
    for (const Messages* messages : {&crossing_, &crossing_here_}) {
      for (const auto& [peer, owners] : *messages) {
        for (const Index owner : owners) {
          if (!slots_of_.contains(owner)) passing.insert(owner);
        }
      }
    }
    for (const Index owner : passing) {
      slots_of_[owner] = {static_cast<Index>(origins_.size())};
      origins_.push_back(owner);
    }
  }

  [[nodiscard]] std::vector<SlotRange> ranges(const Ranks& owners) const {
    std::vector<SlotRange> ranges;
    for (const Index owner : owners) join_slots(ranges, {slots_of_.at(owner).front(), 1});
    return ranges;
  }

  void add_copies(Step& step, Index owner, const std::vector<std::size_t>& after) const {
    const Ranks& slots = slots_of_.at(owner);
    for (std::size_t i = 1; i < slots.size(); ++i) {
      step.ops.push_back({Op::Kind::copy, rank_, 0, {{slots[i], 1}}, {{slots[0], 1}}, after});
    }
  }

  void receive(Step& step, Index from, int tag, const Ranks& owners) const {
    const std::size_t arrival = step.ops.size();
    step.ops.push_back({Op::Kind::recv, from, tag, ranges(owners), {}, {}});
    for (const Index owner : owners) add_copies(step, owner, {arrival});
  }

  // Every rank begins with the peers after itself, so that they do not all begin with the same.
  void send(Step& step, int tag, const Messages& messages) const {
    const auto add = [&](auto first, auto last) {
      for (; first != last; ++first) step.ops.push_back({Op::Kind::send, first->first, tag, ranges(first->second), {}, {}});
    };
    const auto next = messages.upper_bound(rank_);
    add(next, messages.end());
    add(messages.begin(), next);
  }

  const ExchangeSpec& spec_;
  const NodeMap& nodes_;
  Deal deal_;
  Index rank_;
  Index node_;
  std::vector<Index> origins_;       // of each slot
  std::map<Index, Ranks> slots_of_;  // by owner: where its block arrives, then its images
  std::map<Index, Traffic> traffic_;
  Messages inside_;         // the own block to ranks of the node that need it or send it on
  Messages crossing_;       // to other nodes
  Messages crossing_here_;  // from other nodes
  Messages handed_on_;      // what came from other nodes, to ranks of the node
  Messages handed_here_;
};

}  // namespace

RankSchedule make_node_aware(const ExchangeSpec& spec, Index rank) { return Part(spec, rank).schedule(); }
std::vector<Index> node_aware_origins(const ExchangeSpec& spec, Index rank) { return Part(spec, rank).origins(); }

}  // namespace rankwise
