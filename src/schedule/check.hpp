// Proves schedules. Under rendezvous semantics (no buffering at all) no ranks wait for each other for ever; no message
// lands where another operation of the step still reads; and, of
// - an import: every rank ends with exactly the blocks of its window, each delivered once;
// - visits: every ordered pair of boxes within the window (images of a box apart) interacts exactly once;
// - the way back: every contribution arrives at the rank it belongs to, exactly once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedule/schedule.hpp"

namespace rankwise {

// Replays the schedules of all ranks against each other: posts each rank's operations as soon as those they come after
// have completed, matches sends with receives (in order, per sender, receiver and tag, as MPI does), and completes a
// step when all its operations have. The trace that comes out holds for any times and sizes: what it means (which
// content moves, how long it takes) is up to the reader.

// What a rank waited for when it could not go on.
struct Waiting {
  Index rank;
  std::size_t step;
  Index peer;  // the first rank that this one waits for
  bool sends;  // it waits to send to the peer (else to receive from it)
};

struct Trace {
  using Id = std::uint32_t;

  // All operations: rank by rank, step by step.
  struct OpAt {
    Id rank;
    Id step;
    Id first;  // the first operation of the step
    const Op* op;
  };
  // posted: a is an operation that needs to wait for no other any more; visits and copies are done with it.
  // matched: send a and receive b are both posted. completed: rank a has completed step b.
  enum class Kind : std::uint8_t { posted, matched, completed };
  struct Event {
    Kind kind;
    Id a;
    Id b;
  };

  std::vector<OpAt> ops;
  std::vector<Event> events;
  std::vector<Waiting> waiting;  // the ranks that never finish; empty when the schedule is right
};

// eager: a send completes when it is posted, whether or not its receive is (MPI's buffered small messages). The trace
// points into the schedules, which must outlive it. Throws std::invalid_argument for more than 2^32 operations.
[[nodiscard]] Trace replay(const std::vector<RankSchedule>& schedules, bool eager);

// What is wrong, one sentence each, the first few of each kind; empty when the schedules (of all ranks) are right.
// held, expected: of each rank's slots, the block that is there from the start and that which must come there; -1: none.
[[nodiscard]] std::vector<std::string> check_delivery(const std::vector<RankSchedule>& schedules,
                                                      const std::vector<std::vector<Index>>& held,
                                                      const std::vector<std::vector<Index>>& expected);

// What a slot must hold in the end: the contributions of these slots of these ranks, each once (or at least once).
struct ExpectedSum {
  Index rank = 0;
  Index slot = 0;
  std::vector<SlotOf> from;
  bool once = true;
};

// What is wrong with schedules of which some receives add and others replace. held: of each rank's slots the contribution that
// is there from the start; without a rank (-1): none.
[[nodiscard]] std::vector<std::string> check_sums(const std::vector<RankSchedule>& schedules,
                                                  const std::vector<std::vector<SlotOf>>& held,
                                                  const std::vector<ExpectedSum>& expected);

// The same for schedules that were made for spec, or altered since.
[[nodiscard]] std::vector<std::string> check_schedules(const ExchangeSpec& spec, const std::vector<RankSchedule>& schedules);
[[nodiscard]] std::vector<std::string> check_reduces(const ExchangeSpec& spec, const std::vector<RankSchedule>& schedules);

// Both of what make_schedules and make_reduces give.
[[nodiscard]] std::vector<std::string> check_exchange(const ExchangeSpec& spec);

// What must hold of schedules before anybody can follow them: every rank, slot, place and operation that they name exists.

// What is wrong, one sentence for each rank that is; empty when the schedules (of all ranks) can be followed. slots: how many slots
// each rank's schedule speaks of; adds: whether what arrives is to be added up; not given: it may or may not.
[[nodiscard]] std::vector<std::string> find_malformed(const std::vector<RankSchedule>& schedules,
                                                      const std::vector<std::size_t>& slots, std::optional<bool> adds);

}  // namespace rankwise
