// Which exchange is fastest: the cost of every candidate, their order, and the reason in words.
//
// One decision for all who ask: the C API's `auto` and `rankwise choose`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cost/walk.hpp"
#include "decide/representatives.hpp"

namespace rankwise {

// A way to carry out an exchange.
struct Candidate {
  std::string algorithm;
  SendMode mode = SendMode::isend;
  Index replication = 1;  // c of team-shift
};

// A candidate and what it costs.
struct Ranked {
  Candidate candidate;
  double time_s = 0.0;
  double low_s = 0.0;  // as of Cost
  double high_s = 0.0;
  double empty_s = 0.0;  // of it with blocks of 0 B: what the number of messages costs
  Index messages = 0;    // of the rank that sends most
  Index bytes = 0;       // likewise
  Index steps = 0;       // one after the other, of the import or the way back
  Busiest busiest = {};  // what ranks share and hold longest
};

// What is exchanged, and who may do it. Empty lists: all there are.
struct Question {
  Grid grid;
  std::vector<int> cutoff;
  Shell shell = Shell::full;
  std::vector<std::string> algorithms;
  std::vector<SendMode> modes;
  std::vector<Index> replications;  // empty: 2, 4 and 8 where they fit
  NodeMap nodes = {};               // for those that know nodes; a contest puts in those of its placement
};

// All candidates that fit a question, in the order in which equals are ranked: a plain isend first. Throws
// std::invalid_argument where none fits, with the reason.
[[nodiscard]] std::vector<Candidate> candidates(const Question& question);

// The candidates of a question, their schedules walked once so that many sizes and machines can be asked for.
class Contest {
 public:
  // between: called before each walk is made or priced, for a question may take seconds; what it throws ends that. Throws
  // std::invalid_argument where no candidate fits, or the placement is of another number of ranks.
  Contest(Question question, const Placement& placement, std::function<void()> between = [] {});
  Contest(Contest&&) = default;  // not copied, like its walks
  Contest& operator=(Contest&&) = default;

  // The candidates, fastest first. Throws std::invalid_argument where the machine lacks a link.
  [[nodiscard]] std::vector<Ranked> ranked(Index block_bytes, const Machine& machine) const;
  // The fastest of them, and any one; empty_s is not found, which is half the work.
  [[nodiscard]] Ranked first(Index block_bytes, const Machine& machine) const;
  [[nodiscard]] Ranked ranked_one(const Candidate& candidate, Index block_bytes, const Machine& machine) const;
  // The numbers of blocks that the messages of a candidate have.
  [[nodiscard]] std::vector<Index> message_blocks(const Candidate& candidate) const;

 private:
  struct Entry {
    Candidate candidate;
    std::size_t walk;  // candidates that cost the same share one
  };
  [[nodiscard]] const Entry& entry_of(const Candidate& candidate) const;
  // All, in their own order, without empty_s.
  [[nodiscard]] std::vector<Ranked> priced(Index block_bytes, const Machine& machine) const;

  std::vector<Entry> entries_;
  std::vector<Walk> walks_;
  std::function<void()> between_;
};

// Why the first is ahead of the others, in words: which term decides, against the fastest rival of another algorithm
// (in another mode, where there is no other algorithm). Those whose intervals overlap are not clearly different; intervals_s
// are of each candidate, in order, where more is known than Ranked has.
[[nodiscard]] std::string reason(std::vector<Ranked> ranked, const std::vector<std::pair<double, double>>& intervals_s = {});

// "comb, isend" or "team-shift c=4, isend".
[[nodiscard]] std::string to_string(const Candidate& candidate);

}  // namespace rankwise
