// What exchanges are made of, as schedules of two ranks: the way in which an exchange meets them is the way to time them.
#pragma once

#include <vector>

#include "schedule/schedule.hpp"

namespace rankwise {

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
