// Collectives as schedules: who sends which blocks of the data to whom in each round, by the algorithms of MPI libraries.
//
// The data of a collective are blocks, the same numbers on all ranks. Of bcast, reduce, allreduce, scan and reduce_scatter
// they are the pieces of one vector; of gather, scatter and allgather block r is rank r's; of alltoall block i * ranks + j goes
// from rank i to rank j; barrier has one without bytes. A message that adds is combined with what its receiver holds.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/schedule.hpp"

namespace rankwise {

// A collective on ranks 0..ranks-1 by an algorithm.
struct CollectiveSpec {
  std::string kind;  // bcast, reduce, allreduce, allgather, alltoall, reduce_scatter(_block), gather, scatter, barrier, scan
  std::string algorithm;
  Index ranks = 1;
  Index bytes = 0;          // of the vector; of one block where blocks belong to ranks
  Index segment_bytes = 0;  // of a piece that travels on its own; 0: all at once
  Index root = 0;
  Index radix = 2;          // children of a rank in trees, chains of a chain
  NodeMap nodes = {};       // for node-aware algorithms: who shares a node
  std::string within = {};  // their algorithms inside nodes, and among one leader of each
  std::string between = {};
  std::vector<Index> counts = {};  // bytes of each block where they differ; empty: `bytes` each
};

using Blocks = std::vector<SlotRange>;

// The largest power of two that is no more than a number of ranks.
[[nodiscard]] inline Index power_below(Index ranks) {
  return static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(ranks)));
}

struct CollectiveMessage {
  Index round = 0;
  Index from = 0;
  Index to = 0;
  Blocks blocks;
  bool adds = false;
};

// The ranks that take part in (a stage of) a collective, the root first, and the blocks that stand for each.
struct Team {
  std::vector<Index> ranks;
  std::vector<Blocks> part;
  std::vector<Blocks> pieces;  // of all that there is, as it is sent piece by piece

  [[nodiscard]] Index size() const { return static_cast<Index>(ranks.size()); }
  // The blocks of members first, first + 1, ..., counted around.
  [[nodiscard]] Blocks parts(Index first, Index count) const;
  [[nodiscard]] Blocks all() const;
};

// Takes down messages round by round.
class Rounds {
 public:
  // Messages between members of a team, in the current round, or so many later.
  void send(const Team& team, Index from, Index to, Blocks blocks, bool adds = false, Index later = 0);
  void next() { ++now_; }
  void seek(Index round) { now_ = round; }
  [[nodiscard]] Index now() const { return now_; }
  [[nodiscard]] Index last() const { return last_; }
  [[nodiscard]] std::size_t mark() const { return messages_.size(); }
  // Turns the messages since a mark, which began in a round, into their reverse in time, and goes on after them.
  void reverse(std::size_t mark, Index first, bool adds);
  [[nodiscard]] std::vector<CollectiveMessage>& messages() { return messages_; }

 private:
  std::vector<CollectiveMessage> messages_;
  Index now_ = 0;
  Index last_ = -1;  // the last round with a message
};

// How a vector is divided: not at all, into halves, into one piece for each rank, or for each of the largest power of two of
// them.
enum class Divides : std::uint8_t { nothing, halves, ranks, power };
enum class Needs : std::uint8_t { nothing, power_of_two, even_ranks, nodes };

// A row of the table of algorithms.
struct CollectiveAlgorithm {
  std::string_view kind;
  std::string_view id;
  std::string_view summary;
  std::string_view source;
  void (*make)(Rounds& rounds, const Team& team, const CollectiveSpec& spec);
  Divides divides = Divides::nothing;
  Needs needs = Needs::nothing;
  bool segments = false;  // it may send piece by piece
  bool has_radix = false;
};

// All algorithms, by kind.
[[nodiscard]] std::span<const CollectiveAlgorithm> collective_algorithms();
// Throws std::invalid_argument, naming the kinds or ids that exist.
[[nodiscard]] const CollectiveAlgorithm& collective_algorithm(std::string_view kind, std::string_view id);
// Why a spec has no schedule; empty where it has one. Throws std::invalid_argument for an unknown kind or algorithm.
[[nodiscard]] std::string why_not(const CollectiveSpec& spec);

// A collective's messages, ordered by round, and the bytes of its blocks: block i has bytes offset[i] to offset[i + 1].
struct CollectivePlan {
  std::vector<CollectiveMessage> messages;
  std::vector<Index> offset;
  Index rounds = 0;

  [[nodiscard]] Index bytes(const CollectiveMessage& message) const;
};
// Throws std::invalid_argument like why_not, and with its reason.
[[nodiscard]] CollectivePlan plan_collective(const CollectiveSpec& spec);

// The schedules of all ranks, a round a step. in_bytes: a slot is a byte, to be priced with blocks of one byte; else a slot is a
// block, further ones hold what arrives while its place is still sent from, and a copy adds it.
[[nodiscard]] std::vector<RankSchedule> collective_schedules(const CollectiveSpec& spec, bool in_bytes);

// What is wrong with the collective: every rank must end with the right blocks, each contribution in them once.
[[nodiscard]] std::vector<std::string> check_collective(const CollectiveSpec& spec, const std::vector<RankSchedule>& schedules);

}  // namespace rankwise
