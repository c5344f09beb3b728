// What messages that are in flight together do to the resources that they share.
//
// Schedules are one program on all ranks, so that equal steps meet in time. A phase is what is in flight together: the
// messages of one step; where senders wait for their receivers, those of a step with as many before them in their chain (of
// messages between nodes as many of these: those inside a node take no time compared with them).
// A resource is held by the messages of a phase for the sum of their times (Machine::hold_s), so that a message that meets
// others on its way waits for what is longer than its own time; and no round takes less than all that a resource is held for.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cost/placement.hpp"
#include "schedule/check.hpp"

namespace rankwise {

// A message of a schedule's trace, as loads see it; copies and visits have no size.
struct Passage {
  std::uint32_t rank = 0;
  std::uint32_t peer = 0;
  std::uint32_t size = 0;  // index into the sizes of the walk
  // Where representatives stand for all, indices into the census: of its partner, and of the one whose link it takes: a message
  // takes that of its sender's.
  std::uint32_t partner = 0;
  std::uint32_t link = 0;
  Index times = 1;   // how many like it, in flight with it, it stands for
  Index rounds = 1;  // how often its step is done
  bool moves = false;
  bool sends = false;
};

// The phase of each operation of a trace; a receive's is that of its message.
struct Phases {
  std::vector<std::uint32_t> of;
  std::uint32_t count = 0;
};

// waits: a send after others is in flight only when they have arrived. leaves: whether an operation's message leaves its node.
[[nodiscard]] Phases find_phases(const Trace& trace, bool waits, const std::function<bool(Trace::Id)>& leaves);

// How often resources are passed in a phase, by messages of one size over one class of link.
struct Use {
  std::uint32_t resource;
  std::uint32_t phase;  // Phases::count: in the whole round
  LinkClass link;
  std::uint32_t size;
  double times;
};

// Of the representatives: the most of any unit that was counted.
[[nodiscard]] std::vector<Use> find_uses(const std::vector<Passage>& passages, const Phases& phases, const Census& census);

// The resource that is held longest, in one round.
struct Busiest {
  std::size_t resource = 0;
  Index unit = -1;  // its number; -1 where representatives stand for all
  double held_s = 0.0;
  double bytes = 0.0;
};

// What the loads of one part of a round are for one block size on one machine.
struct Loads {
  // Of each operation: the largest load of a resource on its message's way, less its own excess there.
  std::vector<double> way_s;
  std::vector<double> out_s;  // likewise, on its sender's side
};

class LoadsOfUses {
 public:
  LoadsOfUses(const std::vector<Index>& sizes, Index block_bytes, const Machine& machine)
      : sizes_(sizes), block_bytes_(block_bytes), machine_(machine) {}

  // Of the representatives. Adds what the part holds to the totals of the round.
  [[nodiscard]] Loads of_representatives(const std::vector<Passage>& passages, const Phases& phases,
                                         const std::vector<Use>& uses, const Census& census);
  // Of all ranks. routes: of the passages, also below.
  [[nodiscard]] Loads of_all(const std::vector<Passage>& passages, const std::vector<Route>& routes, const Phases& phases,
                             const Placement& placement);

  // A unit of a resource that a message passes.
  struct Held {
    std::size_t resource;
    Index unit;
    bool at_sender;
    Hold hold;
  };
  // What a message between two ranks passes, until the next call.
  [[nodiscard]] const std::vector<Held>& way(const Passage& passage, const Route& route, const Placement& placement);
  // Adds what messages hold to the totals of the round.
  void count(const std::vector<Passage>& passages, const std::vector<Route>& routes, const Placement& placement);

  [[nodiscard]] Busiest busiest() const;
  [[nodiscard]] std::size_t resources() const { return links_up(machine_.levels.size()); }

 private:
  struct Total {
    double held_s = 0.0;
    double bytes = 0.0;
  };
  [[nodiscard]] const Hold& hold(std::size_t resource, LinkClass link, std::size_t size);
  void add_total(std::size_t resource, Index unit, double held_s, double bytes);

  const std::vector<Index>& sizes_;
  Index block_bytes_;
  const Machine& machine_;
  std::vector<std::optional<Hold>> holds_;  // of resource, link and size, once asked for
  std::vector<Held> way_;
  std::vector<std::vector<Total>> totals_;  // of each resource and unit (of the representatives: one)
  bool are_representatives_ = false;
};

}  // namespace rankwise
