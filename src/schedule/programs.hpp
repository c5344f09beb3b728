// Schedules without a window: of observed programs, of transposes, and of what exchanges are made of.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/schedule.hpp"

namespace rankwise {

// Schedules of a program that was observed: phase after phase, in which ranks compute and then have messages in flight.

// Message i of a phase, between ranks; messages are sorted by phase. Blocks are of one byte.
struct PhasedMessages {
  std::span<const std::int32_t> phase;
  std::span<const std::int32_t> from;
  std::span<const std::int32_t> to;
  std::span<const Index> bytes;
};

// The schedules of all ranks. compute_s: of each phase and rank (phase-major), before its messages.
// Throws std::invalid_argument where a phase or rank does not exist, or a size is negative.
[[nodiscard]] std::vector<RankSchedule> phased_schedules(Index ranks, const PhasedMessages& messages,
                                                         std::span<const double> compute_s);

// The transpose of a distributed array as a schedule: a personalised all-to-all, pairwise.
//
// Slots 0..P-1 hold what goes to each rank, slots P..2P-1 what comes from each. In step s = 1..P-1 rank r sends to r + s
// and receives from r - s (modulo P), both at once; its own block is copied along with the first. Blocks may have
// different sizes.

// Throws std::invalid_argument for a rank that does not exist.
[[nodiscard]] RankSchedule make_transpose(Index ranks, Index rank);

// The ways in which transposes are carried out. alltoall: MPI_Alltoallv, all at once. pairwise: as above. node_aware: in three
// steps, what a node has for another gathered on one of its ranks, sent at once, and handed out there (halo/node_aware.hpp).
enum class TransposeMethod { alltoall, pairwise, node_aware };

// What exchanges are made of, as schedules of two ranks: the way in which an exchange meets them is the way to time them.

// step: `hops` steps one after the other of `width` messages each way, each forwarding what the last one brought.
// chain: `hops` times there and back, one message at a time, each forwarding what came (blocking modes).
// collective: `width` messages each way as one MPI neighbourhood collective.
// copy, add: `width` blocks copied, or added to others, on both ranks.
struct Ingredient {
  enum class Kind { step, chain, collective, copy, add };
  Kind kind = Kind::step;
  SendMode mode = SendMode::isend;
  int hops = 1;
  int width = 1;
  Index a = 0;  // the two ranks; all others stand by
  Index b = 1;
};

// Throws std::invalid_argument for an unknown name, a chain of sends that do not block, more than 64 hops or messages, and
// one rank in place of two.
[[nodiscard]] Ingredient::Kind parse_ingredient_kind(const std::string& name);
void check_ingredient(const Ingredient& ingredient);

// Slot 0 is the rank's own block; every message has a slot of its own.
[[nodiscard]] RankSchedule make_ingredient(const Ingredient& ingredient, Index rank);
// Of each slot: the rank whose block comes there, -1: none.
[[nodiscard]] std::vector<Index> ingredient_origins(const Ingredient& ingredient, Index rank);

}  // namespace rankwise
