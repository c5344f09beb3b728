// Replays the schedules of all ranks against each other: posts each rank's operations as soon as those they come after
// have completed, matches sends with receives (in order, per sender, receiver and tag, as MPI does), and completes a
// step when all its operations have. The trace that comes out holds for any times and sizes: what it means (which
// content moves, how long it takes) is up to the reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedule/schedule.hpp"

namespace rankwise {

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

}  // namespace rankwise
