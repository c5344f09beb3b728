// Replays the schedules of all ranks against each other: posts the operations of each rank's current step, matches
// sends with receives (in order, per sender, receiver and tag, as MPI does), and completes a step when all its
// operations have. What a match or a completion means (time, content) is up to the visitor.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "schedule/schedule.hpp"

namespace rankwise {

// Where an operation stands: schedules[rank].steps[step].ops[op].
struct OpRef {
  Index rank = 0;
  std::size_t step = 0;
  std::size_t op = 0;
};

// What a replay found out when ranks could not go on.
struct Waiting {
  Index rank;
  std::size_t step;
  Index peer;       // the first rank that this one waits for
  bool sends;       // it waits to send to the peer (else to receive from it)
};

class ReplayVisitor {
 public:
  virtual ~ReplayVisitor() = default;
  // A send and its receive are both posted.
  virtual void matched(const OpRef& send, const OpRef& recv) = 0;
  // All operations of the step have completed; called once for each step, in an order that respects matching.
  virtual void completed(Index rank, std::size_t step) = 0;
};

class Replay {
 public:
  // eager: a send completes when it is posted, whether or not its receive is (MPI's buffered small messages).
  Replay(const std::vector<RankSchedule>& schedules, ReplayVisitor& visitor, bool eager);

  // Runs to the end; returns the ranks that are left waiting (empty: every rank finished).
  [[nodiscard]] std::vector<Waiting> run();

  // Sends that no receive ever took (only possible when eager).
  [[nodiscard]] std::vector<OpRef> unreceived() const;

 private:
  struct Channel {
    std::deque<OpRef> sends;
    std::deque<OpRef> recvs;
  };
  struct ChannelKey {
    Index from;
    Index to;
    int tag;
    bool operator==(const ChannelKey&) const = default;
  };
  struct ChannelHash {
    std::size_t operator()(const ChannelKey& key) const;
  };

  [[nodiscard]] const Op& op_at(const OpRef& ref) const;
  void post(Index rank);
  void finish_op(const OpRef& ref);

  const std::vector<RankSchedule>& schedules_;
  ReplayVisitor& visitor_;
  bool eager_;
  std::vector<std::size_t> step_;           // current step of each rank
  std::vector<std::size_t> outstanding_;    // operations of it that have not completed
  std::vector<std::vector<bool>> op_done_;  // which of them have
  std::vector<Index> ready_;                // ranks whose step has completed
  std::unordered_map<ChannelKey, Channel, ChannelHash> channels_;
};

}  // namespace rankwise
