#include "schedule/programs.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "grid/names.hpp"

namespace rankwise {

std::vector<RankSchedule> phased_schedules(Index ranks, const PhasedMessages& messages, std::span<const double> compute_s) {
  if (ranks < 1 || compute_s.size() % static_cast<std::size_t>(ranks) != 0) {
    invalid("computing is given for every phase and rank");
  }
  const auto phases = static_cast<Index>(compute_s.size()) / ranks;
  const std::size_t count = messages.phase.size();
  if (messages.from.size() != count || messages.to.size() != count || messages.bytes.size() != count) {
    invalid("every message has a phase, two ranks and a size");
  }
  std::vector<RankSchedule> schedules(static_cast<std::size_t>(ranks));
  std::size_t at = 0;
  for (Index phase = 0; phase < phases; ++phase) {
    for (Index rank = 0; rank < ranks; ++rank) {
      Step computing;
      Op op{Op::Kind::compute, rank, 0, {}, {}, {}};
      op.compute_s = compute_s[static_cast<std::size_t>(phase * ranks + rank)];
      if (op.compute_s > 0) computing.ops.push_back(std::move(op));
      auto& steps = schedules[static_cast<std::size_t>(rank)].steps;
      steps.push_back(std::move(computing));
      steps.emplace_back();
    }
    for (; at < count && messages.phase[at] == phase; ++at) {
      const Index from = messages.from[at];
      const Index to = messages.to[at];
      const Index bytes = messages.bytes[at];
      if (from < 0 || from >= ranks || to < 0 || to >= ranks) invalid("a message is of a rank that does not exist");
      if (bytes < 0) invalid("a message has less than no bytes");
      RankSchedule& sender = schedules[static_cast<std::size_t>(from)];
      RankSchedule& receiver = schedules[static_cast<std::size_t>(to)];
      sender.slots = std::max(sender.slots, bytes);
      receiver.slots = std::max(receiver.slots, bytes);
      sender.steps.back().ops.push_back({Op::Kind::send, to, 0, {{0, bytes}}, {}, {}});
      receiver.steps.back().ops.push_back({Op::Kind::recv, from, 0, {{0, bytes}}, {}, {}});
    }
  }
  if (at < count) invalid("messages are sorted by phase, and every phase exists");
  return schedules;
}

RankSchedule make_transpose(Index ranks, Index rank) {
  if (rank < 0 || rank >= ranks) {
    invalid("rank " + std::to_string(rank) + " does not exist among " + std::to_string(ranks));
  }
  RankSchedule schedule;
  schedule.slots = 2 * ranks;
  Step own;
  own.ops.push_back({Op::Kind::copy, rank, 0, {{ranks + rank, 1}}, {{rank, 1}}, {}});
  if (ranks == 1) schedule.steps.push_back(own);
  for (Index s = 1; s < ranks; ++s) {
    const Index to = (rank + s) % ranks;
    const Index from = (rank + ranks - s) % ranks;
    Step step = s == 1 ? own : Step{};
    step.ops.push_back({Op::Kind::recv, from, 0, {{ranks + from, 1}}, {}, {}});
    step.ops.push_back({Op::Kind::send, to, 0, {{to, 1}}, {}, {}});
    schedule.steps.push_back(std::move(step));
  }
  return schedule;
}

namespace {

constexpr std::array<Name<Ingredient::Kind>, 5> kinds{{{"step", Ingredient::Kind::step},
                                                       {"chain", Ingredient::Kind::chain},
                                                       {"collective", Ingredient::Kind::collective},
                                                       {"copy", Ingredient::Kind::copy},
                                                       {"add", Ingredient::Kind::add}}};

bool takes_part(const Ingredient& one, Index rank) { return rank == one.a || rank == one.b; }

// What hop number `hop` (from 0) of chain j brings.
Index slot_of(const Ingredient& one, int hop, int j) { return 1 + Index{hop} * one.width + j; }

Op message(Op::Kind kind, Index peer, int tag, Index slot) { return {kind, peer, tag, {{slot, 1}}, {}, {}}; }

// The receives and sends of one hop; tags tell chains and hops apart.
void add_hop(const Ingredient& one, Index peer, int hop, Step& step) {
  for (int j = 0; j < one.width; ++j) {
    step.ops.push_back(message(Op::Kind::recv, peer, hop * one.width + j, slot_of(one, hop, j)));
  }
  for (int j = 0; j < one.width; ++j) {
    step.ops.push_back(message(Op::Kind::send, peer, hop * one.width + j, hop > 0 ? slot_of(one, hop - 1, j) : 0));
  }
}

void add_steps(const Ingredient& one, Index peer, RankSchedule& schedule) {
  if (one.mode != SendMode::isend_self) {
    for (int hop = 0; hop < one.hops; ++hop) {
      Step step;
      add_hop(one, peer, hop, step);
      chain_sends(step, one.mode);
      schedule.steps.push_back(std::move(step));
    }
    return;
  }
  Step step;  // as shift does: chain after chain, each send after the receive of what it forwards
  for (int j = 0; j < one.width; ++j) {
    for (int hop = 0; hop < one.hops; ++hop) {
      const int tag = hop * one.width + j;
      step.ops.push_back(message(Op::Kind::recv, peer, tag, slot_of(one, hop, j)));
      step.ops.push_back(message(Op::Kind::send, peer, tag, hop > 0 ? slot_of(one, hop - 1, j) : 0));
      if (hop > 0) step.ops.back().after.push_back(step.ops.size() - 4);
    }
  }
  schedule.steps.push_back(std::move(step));
}

void add_chain(const Ingredient& one, Index rank, RankSchedule& schedule) {
  for (int hop = 0; hop < 2 * one.hops; ++hop) {
    const bool sends = (hop % 2 == 0) == (rank == one.a);
    const Index peer = rank == one.a ? one.b : one.a;
    const Index there = (hop + 1) / 2;  // how many have come so far, or the number of the one that comes
    Step step;
    step.ops.push_back(sends ? message(Op::Kind::send, peer, 0, there) : message(Op::Kind::recv, peer, 0, 1 + hop / 2));
    schedule.steps.push_back(std::move(step));
  }
}

// copy: the own block into each slot; add: each block of the second half to one of the first.
void add_work(const Ingredient& one, Index rank, RankSchedule& schedule) {
  Step step;
  for (int j = 0; j < one.width; ++j) {
    const bool adds = one.kind == Ingredient::Kind::add;
    const Index into = adds ? j : 1 + j;
    const Index from = adds ? one.width + j : 0;
    step.ops.push_back({Op::Kind::copy, rank, 0, {{into, 1}}, {{from, 1}}, {}, 0.0, adds});
  }
  schedule.steps.push_back(std::move(step));
}

}  // namespace

Ingredient::Kind parse_ingredient_kind(const std::string& name) { return parsed(kinds, name, "ingredient"); }

void check_ingredient(const Ingredient& ingredient) {
  constexpr int most = 64;
  if (ingredient.hops < 1 || ingredient.hops > most || ingredient.width < 1 || ingredient.width > most) {
    invalid("an ingredient has 1 to 64 hops of 1 to 64 messages");
  }
  if (ingredient.a == ingredient.b || ingredient.a < 0 || ingredient.b < 0) invalid("an ingredient needs two ranks");
  if (ingredient.kind == Ingredient::Kind::chain && !is_blocking(ingredient.mode)) {
    invalid("a chain is of sends that block: choose ssend or send");
  }
}

RankSchedule make_ingredient(const Ingredient& ingredient, Index rank) {
  check_ingredient(ingredient);
  RankSchedule schedule;
  const bool is_chain = ingredient.kind == Ingredient::Kind::chain;
  schedule.slots = is_chain                                   ? 1 + ingredient.hops
                   : ingredient.kind == Ingredient::Kind::add ? 2 * ingredient.width
                                                              : 1 + Index{ingredient.hops} * ingredient.width;
  schedule.neighborhood = ingredient.kind == Ingredient::Kind::collective;
  if (!takes_part(ingredient, rank)) return schedule;
  const Index peer = rank == ingredient.a ? ingredient.b : ingredient.a;
  switch (ingredient.kind) {
    case Ingredient::Kind::step: add_steps(ingredient, peer, schedule); break;
    case Ingredient::Kind::chain: add_chain(ingredient, rank, schedule); break;
    case Ingredient::Kind::collective:
      schedule.steps.emplace_back();
      add_hop(ingredient, peer, 0, schedule.steps.back());
      break;
    case Ingredient::Kind::copy:
    case Ingredient::Kind::add: add_work(ingredient, rank, schedule); break;
  }
  return schedule;
}

std::vector<Index> ingredient_origins(const Ingredient& ingredient, Index rank) {
  std::vector<Index> found(static_cast<std::size_t>(make_ingredient(ingredient, rank).slots), -1);
  if (!takes_part(ingredient, rank)) return found;
  const Index peer = rank == ingredient.a ? ingredient.b : ingredient.a;
  found[0] = rank;
  for (std::size_t slot = 1; slot < found.size(); ++slot) {
    const std::size_t hop = (slot - 1) / static_cast<std::size_t>(ingredient.width);
    const bool of_peer = ingredient.kind != Ingredient::Kind::copy && hop % 2 == 0;
    found[slot] = ingredient.kind == Ingredient::Kind::chain ? ingredient.a : of_peer ? peer : rank;
  }
  return found;
}

}  // namespace rankwise
