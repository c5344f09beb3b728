#include "schedule/check.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "schedule/algorithms.hpp"
#include "schedule/teams.hpp"

namespace rankwise {

namespace {

bool within(const std::vector<SlotRange>& ranges, Index slots) {
  return std::ranges::all_of(ranges, [&](const SlotRange& range) {
    return range.first >= 0 && range.count >= 0 && range.first <= slots && range.count <= slots - range.first;
  });
}

// Whether some operations of a step wait for each other in a circle: taken away one by one, those that wait for none stay over.
bool goes_round(const Step& step) {
  std::vector<std::size_t> left(step.ops.size());
  std::vector<std::vector<std::size_t>> later(step.ops.size());
  std::vector<std::size_t> free;
  for (std::size_t i = 0; i < step.ops.size(); ++i) {
    left[i] = step.ops[i].after.size();
    for (const std::size_t before : step.ops[i].after) later[before].push_back(i);
    if (left[i] == 0) free.push_back(i);
  }
  for (std::size_t k = 0; k < free.size(); ++k) {
    for (const std::size_t i : later[free[k]]) {
      if (--left[i] == 0) free.push_back(i);
    }
  }
  return free.size() < step.ops.size();
}

std::string why_not(const Op& op, std::size_t operations, Index slots, std::size_t ranks) {
  const bool travels = op.moves();
  if (travels && (op.peer < 0 || op.peer >= static_cast<Index>(ranks))) return "names rank " + std::to_string(op.peer);
  if (!within(op.slots, slots) || !within(op.source, slots)) return "names slots beyond its " + std::to_string(slots);
  if (op.kind == Op::Kind::copy && op.blocks() != count_slots(op.source)) {
    return "copies " + std::to_string(count_slots(op.source)) + " slots to " + std::to_string(op.blocks());
  }
  const auto missing = std::ranges::find_if(op.after, [&](std::size_t before) { return before >= operations; });
  if (missing != op.after.end()) return "comes after operation " + std::to_string(*missing);
  return "";
}

std::string why_not(const RankSchedule& schedule, Index slots, std::size_t ranks) {
  if (schedule.slots != slots) return "has " + std::to_string(schedule.slots) + " slots, not " + std::to_string(slots);
  if (schedule.passing < 0 || schedule.passing > slots) return "passes on " + std::to_string(schedule.passing) + " slots";
  const auto beyond = [&](Index place) { return place < 0 || place >= slots; };
  const bool has_each = schedule.place.empty() || schedule.place.size() == static_cast<std::size_t>(slots);
  if (!has_each || std::ranges::any_of(schedule.place, beyond)) return "has no place for each of its slots";
  for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
    const Step& step = schedule.steps[s];
    for (std::size_t i = 0; i < step.ops.size(); ++i) {
      const std::string why = why_not(step.ops[i], step.ops.size(), slots, ranks);
      if (!why.empty()) return "in step " + std::to_string(s) + ", operation " + std::to_string(i) + " " + why;
    }
    if (goes_round(step)) return "in step " + std::to_string(s) + " has operations that come after themselves";
  }
  return "";
}

}  // namespace

std::vector<std::string> find_malformed(const std::vector<RankSchedule>& schedules, const std::vector<std::size_t>& slots,
                                        std::optional<bool> adds) {
  if (schedules.size() != slots.size()) {
    return {"there are schedules of " + std::to_string(schedules.size()) + " ranks, not of " + std::to_string(slots.size())};
  }
  std::vector<std::string> findings;
  for (std::size_t rank = 0; rank < schedules.size(); ++rank) {
    std::string why = why_not(schedules[rank], static_cast<Index>(slots[rank]), schedules.size());
    const auto differs = [&](const Op& op) {
      return (op.kind == Op::Kind::recv || op.kind == Op::Kind::copy) && op.adds != adds;
    };
    const auto has_one = [&](const Step& step) { return std::ranges::any_of(step.ops, differs); };
    if (adds && std::ranges::any_of(schedules[rank].steps, has_one)) {
      why = *adds ? "does not add up what arrives" : "adds up what arrives";
    }
    if (!why.empty()) findings.push_back("rank " + std::to_string(rank) + " " + why);
  }
  return findings;
}

namespace {

constexpr std::size_t most_findings = 10;

std::string name(Index rank) { return "rank " + std::to_string(rank); }
std::string at(Index rank, std::size_t step) { return name(rank) + " in step " + std::to_string(step); }

class Findings {
 public:
  void add(std::string finding) {
    if (list_.size() < most_findings) list_.push_back(std::move(finding));
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(list_); }

 private:
  std::vector<std::string> list_;
};

std::string describe(const Waiting& waiting) {
  return name(waiting.rank) + (waiting.sends ? " waits to send to " : " waits to receive from ") + name(waiting.peer) +
         " in step " + std::to_string(waiting.step);
}

// Follows who waits for whom from the first waiting rank until a rank repeats, or one that does not wait.
std::string explain(const std::vector<Waiting>& waiting) {
  std::map<Index, const Waiting*> by_rank;
  for (const Waiting& w : waiting) by_rank[w.rank] = &w;
  std::vector<const Waiting*> chain;
  std::map<Index, std::size_t> position;
  const Waiting* current = &waiting.front();
  while (current != nullptr && !position.contains(current->rank)) {
    position[current->rank] = chain.size();
    chain.push_back(current);
    const auto next = by_rank.find(current->peer);
    current = next == by_rank.end() ? nullptr : next->second;
  }
  const std::size_t start = current == nullptr ? 0 : position[current->rank];
  std::string text = current == nullptr ? "no partner: " : "deadlock: ";
  for (std::size_t i = start; i < chain.size(); ++i) text += (i > start ? ", " : "") + describe(*chain[i]);
  if (current == nullptr) text += ", which has finished";
  return text;
}

// Whether operation b of a step comes after a, however indirectly.
bool comes_after(const Step& step, std::size_t b, std::size_t a) {
  const std::vector<std::size_t>& before = step.ops[b].after;
  return std::any_of(before.begin(), before.end(), [&](std::size_t i) { return i == a || comes_after(step, i, a); });
}

// Finds messages that land in memory which another operation of the step may be using at the same time.
void find_races(Index rank, const RankSchedule& schedule, Findings& findings) {
  struct Use {
    std::size_t op;
    bool writes;
  };
  for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
    const Step& step = schedule.steps[s];
    std::map<Index, std::vector<Use>> uses;  // of each place
    for (std::size_t i = 0; i < step.ops.size(); ++i) {
      const Op& op = step.ops[i];
      const bool writes = op.kind == Op::Kind::recv || op.kind == Op::Kind::copy;
      each_slot(op.slots, [&](Index slot) { uses[schedule.place_of(slot)].push_back({i, writes}); });
      each_slot(op.source, [&](Index slot) { uses[schedule.place_of(slot)].push_back({i, false}); });
    }
    for (const auto& [place, users] : uses) {
      for (std::size_t i = 0; i < users.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          const bool both_add = users[i].writes && users[j].writes && step.ops[users[i].op].adds && step.ops[users[j].op].adds;
          if (users[i].op == users[j].op || both_add || (!users[i].writes && !users[j].writes)) continue;
          if (comes_after(step, users[i].op, users[j].op) || comes_after(step, users[j].op, users[i].op)) continue;
          findings.add(at(rank, s) + " receives into place " + std::to_string(place) + " while it is in use");
        }
      }
    }
  }
}

// What the slots of all ranks hold while a trace is followed. Content: what a place holds, with an empty value.
template <typename Content>
class Contents {
 public:
  Contents(const std::vector<RankSchedule>& schedules, Findings& findings)
      : schedules_(schedules), findings_(findings), held_(schedules.size()), delivered_(schedules.size()) {
    for (std::size_t r = 0; r < schedules.size(); ++r) {
      held_[r].resize(static_cast<std::size_t>(schedules[r].places()));
      delivered_[r].assign(static_cast<std::size_t>(schedules[r].slots), false);
    }
  }

  struct Held {
    Index slot = -1;  // which of the slots of the place
    Content content{};
  };

  void put(Index rank, Index slot, Content content) {
    held(rank, slot) = {slot, std::move(content)};
    delivered_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(slot)] = true;
  }

  [[nodiscard]] bool delivered(Index rank, Index slot) const {
    return delivered_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(slot)];
  }

  [[nodiscard]] Held& held(Index rank, Index slot) {
    const auto r = static_cast<std::size_t>(rank);
    return held_[r][static_cast<std::size_t>(schedules_[r].place_of(slot))];
  }

  [[nodiscard]] std::vector<Content> read(Index rank, const std::vector<SlotRange>& ranges, std::size_t step,
                                          const char* what) {
    std::vector<Content> contents;
    bool missing = false;
    each_slot(ranges, [&](Index slot) {
      const Held& found = held(rank, slot);
      missing = missing || found.slot != slot;
      contents.push_back(found.slot == slot ? found.content : Content{});
    });
    if (missing) findings_.add(at(rank, step) + " " + what + " a slot that it has not received");
    return contents;
  }

 private:
  const std::vector<RankSchedule>& schedules_;
  Findings& findings_;
  std::vector<std::vector<Held>> held_;  // by rank and place
  std::vector<std::vector<bool>> delivered_;
};

// Follows a trace: calls move(rank, op, step, contents) for all that arrives by message or copy, visit(rank, op, step)
// for visits.
template <typename Content, typename Move, typename Visit>
void follow(const Trace& trace, Contents<Content>& contents, Findings& findings, Move move, Visit visit) {
  for (const Trace::Event& event : trace.events) {
    if (event.kind == Trace::Kind::completed) continue;
    const Trace::OpAt& a = trace.ops[event.a];
    if (event.kind == Trace::Kind::posted) {
      if (a.op->kind == Op::Kind::copy) {
        move(a.rank, *a.op, a.step, contents.read(a.rank, a.op->source, a.step, "copies"));
      } else if (a.op->kind == Op::Kind::visit) {
        visit(a.rank, *a.op, a.step);
      }
      continue;
    }
    const Trace::OpAt& b = trace.ops[event.b];
    std::vector<Content> sent = contents.read(a.rank, a.op->slots, a.step, "sends");
    if (a.op->blocks() != b.op->blocks()) {
      findings.add(at(b.rank, b.step) + " expects " + std::to_string(b.op->blocks()) + " blocks from " + name(a.rank) +
                   ", which sends " + std::to_string(a.op->blocks()));
      sent.resize(static_cast<std::size_t>(b.op->blocks()));
    }
    move(b.rank, *b.op, b.step, std::move(sent));
  }
}

template <typename Row>
std::vector<std::size_t> sizes_of(const std::vector<Row>& rows) {
  std::vector<std::size_t> sizes;
  for (const Row& row : rows) sizes.push_back(row.size());
  return sizes;
}

// Whether schedules name only what there is, so that they can be followed.
bool well_formed(const std::vector<RankSchedule>& schedules, const std::vector<std::size_t>& slots, std::optional<bool> adds,
                 Findings& findings) {
  std::vector<std::string> malformed = find_malformed(schedules, slots, adds);
  for (std::string& finding : malformed) findings.add(std::move(finding));
  return malformed.empty();
}

Trace replayed(const std::vector<RankSchedule>& schedules, Findings& findings) {
  for (std::size_t r = 0; r < schedules.size(); ++r) find_races(static_cast<Index>(r), schedules[r], findings);
  Trace trace = replay(schedules, /*eager=*/false);
  if (!trace.waiting.empty()) findings.add(explain(trace.waiting));
  return trace;
}

// The visits that took place: for each team and offset of its window, the ranks whose blocks came.
class Meetings {
 public:
  explicit Meetings(const ExchangeSpec& spec) : spec_(spec), teams_(spec) {}

  void note(Index rank, const Op& op, const std::vector<Index>& blocks) {
    met_[{teams_.team_of(rank), op.tag}].push_back(blocks);
  }

  // Box by box, so that the proof does not lean on how teams were made.
  void check(Findings& findings) const {
    for (Index box = 0; box < spec_.grid.size(); ++box) {
      const Coords coords = spec_.grid.coords(box);
      const Index team = teams_.team_of(first_rank(box));
      for (Index slot = 0; slot < spec_.window.slots(); ++slot) {
        const Coords offset = spec_.window.offset(slot);
        const Index other = rank_at_offset(spec_.grid, box, offset, +1);
        if (other < 0) continue;
        const auto visits = met_.find({team, teams_.window().slot(teams_.team_offset(coords, offset))});
        Index times = 0;
        if (visits != met_.end()) {
          for (const std::vector<Index>& blocks : visits->second) {
            times += std::count(blocks.begin(), blocks.end(), first_rank(other));
          }
        }
        if (times == 1) continue;
        findings.add("the boxes of " + name(first_rank(box)) + " and " + name(first_rank(other)) + " (slot " +
                     std::to_string(slot) + " of its window) meet " + std::to_string(times) + " times, not once");
      }
    }
  }

 private:
  [[nodiscard]] Index first_rank(Index box) const {
    return spec_.team_boxes == TeamBoxes::replicated ? box * spec_.replication : box;
  }

  const ExchangeSpec& spec_;
  Teams teams_;
  std::map<std::pair<Index, Index>, std::vector<std::vector<Index>>> met_;
};

// Follows schedules that bring blocks; visit(contents, rank, op, step) sees every visit.
template <typename Visit>
void follow_blocks(const std::vector<RankSchedule>& schedules, const std::vector<std::vector<Index>>& held,
                   const std::vector<std::vector<Index>>& expected, Findings& findings, Visit visit) {
  constexpr Index nothing = -1;
  Contents<Index> contents(schedules, findings);
  const auto each_of = [&](const std::vector<std::vector<Index>>& blocks, auto each) {
    for (std::size_t r = 0; r < blocks.size(); ++r) {
      for (std::size_t slot = 0; slot < blocks[r].size(); ++slot) {
        if (blocks[r][slot] != nothing) each(static_cast<Index>(r), static_cast<Index>(slot), blocks[r][slot]);
      }
    }
  };
  each_of(held, [&](Index rank, Index slot, Index block) { contents.put(rank, slot, block); });
  const Trace trace = replayed(schedules, findings);
  const auto move = [&](Index rank, const Op& op, std::size_t step, const std::vector<Index>& blocks) {
    std::size_t i = 0;
    each_slot(op.slots, [&](Index slot) {
      if (contents.delivered(rank, slot)) {
        findings.add(at(rank, step) + " receives slot " + std::to_string(slot) + " a second time");
      }
      const Index block = blocks[i++];
      contents.put(rank, slot, block);
      const Index origin = expected[static_cast<std::size_t>(rank)][static_cast<std::size_t>(slot)];
      if (block == origin) return;
      findings.add(name(rank) + ", slot " + std::to_string(slot) + " gets " +
                   (block == nothing ? "nothing" : "the block of " + name(block)) + ", not " +
                   (origin == nothing ? "nothing" : "that of " + name(origin)));
    });
  };
  follow(trace, contents, findings, move, [&](Index rank, const Op& op, std::size_t step) { visit(contents, rank, op, step); });
  each_of(expected, [&](Index rank, Index slot, Index block) {
    if (!contents.delivered(rank, slot)) {
      findings.add(name(rank) + ", slot " + std::to_string(slot) + " misses the block of " + name(block));
    }
  });
}

}  // namespace

std::vector<std::string> check_delivery(const std::vector<RankSchedule>& schedules, const std::vector<std::vector<Index>>& held,
                                        const std::vector<std::vector<Index>>& expected) {
  Findings findings;
  if (!well_formed(schedules, sizes_of(expected), /*adds=*/false, findings)) return findings.take();
  follow_blocks(schedules, held, expected, findings, [](Contents<Index>&, Index, const Op&, std::size_t) {});
  return findings.take();
}

std::vector<std::string> check_schedules(const ExchangeSpec& spec, const std::vector<RankSchedule>& schedules) {
  Findings findings;
  std::vector<std::vector<Index>> held;
  std::vector<std::vector<Index>> expected;
  for (Index rank = 0; rank < spec.ranks(); ++rank) {
    expected.push_back(origins(spec, rank));
    held.emplace_back(expected.back().size(), -1);
    if (const Index own = own_slot(spec, rank); own >= 0) held.back()[static_cast<std::size_t>(own)] = rank;
  }
  if (!well_formed(schedules, sizes_of(expected), /*adds=*/false, findings)) return findings.take();
  const bool visiting = exchange_algorithm(spec.algorithm).has_teams;
  std::vector<Meetings> meetings;
  if (visiting) meetings.emplace_back(spec);
  follow_blocks(schedules, held, expected, findings,
                [&](Contents<Index>& contents, Index rank, const Op& op, std::size_t step) {
                  if (visiting) meetings.front().note(rank, op, contents.read(rank, op.slots, step, "visits"));
                });
  if (visiting) meetings.front().check(findings);
  return findings.take();
}

namespace {

// held, expected: as check_sums. adds: as find_malformed.
std::vector<std::string> sums(const std::vector<RankSchedule>& schedules, const std::vector<std::vector<SlotOf>>& held,
                              const std::vector<ExpectedSum>& expected, std::optional<bool> adds) {
  Findings findings;
  if (!well_formed(schedules, sizes_of(held), adds, findings)) return findings.take();
  using Sum = std::vector<std::pair<Index, Index>>;  // the slots (rank, slot) that went into it
  Contents<Sum> contents(schedules, findings);
  for (std::size_t r = 0; r < schedules.size(); ++r) {
    const Index empty = schedules[r].slots - schedules[r].passing;  // a slot that passes on holds an empty sum
    for (Index slot = 0; slot < schedules[r].slots; ++slot) {
      const auto& [rank, number] = held[r][static_cast<std::size_t>(slot)];
      if (slot >= empty) contents.put(static_cast<Index>(r), slot, Sum{});
      if (slot < empty && rank >= 0) contents.put(static_cast<Index>(r), slot, Sum{{rank, number}});
    }
  }
  const Trace trace = replayed(schedules, findings);
  const auto move = [&](Index rank, const Op& op, std::size_t, std::vector<Sum> arrived) {
    std::size_t i = 0;
    each_slot(op.slots, [&](Index slot) {
      Sum& what = arrived[i++];
      auto& into = contents.held(rank, slot);
      if (op.adds) {
        if (into.slot < 0) findings.add(name(rank) + " adds to slot " + std::to_string(slot) + ", which holds nothing");
        into.content.insert(into.content.end(), what.begin(), what.end());
      } else {
        contents.put(rank, slot, std::move(what));
      }
    });
  };
  follow(trace, contents, findings, move, [](Index, const Op&, std::size_t) {});
  for (const ExpectedSum& wanted : expected) {
    Sum& found = contents.held(wanted.rank, wanted.slot).content;
    Sum right;
    for (const auto& [from, slot] : wanted.from) right.emplace_back(from, slot);
    std::ranges::sort(found);
    std::ranges::sort(right);
    if (found == right) continue;
    std::map<std::pair<Index, Index>, int> times;
    for (const auto& source : found) ++times[source];
    const std::set<std::pair<Index, Index>> missing(right.begin(), right.end());
    const auto contribution = [&](const std::pair<Index, Index>& source) {
      return "the contribution of " + name(source.first) + ", slot " + std::to_string(source.second);
    };
    for (const auto& source : missing) {
      if (!times.contains(source)) findings.add(name(wanted.rank) + " misses " + contribution(source));
    }
    for (const auto& [source, count] : times) {
      if (!missing.contains(source)) {
        findings.add(name(wanted.rank) + " gets " + contribution(source) + ", which is not its own");
      } else if (count > 1 && wanted.once) {
        findings.add(name(wanted.rank) + " gets " + contribution(source) + " " + std::to_string(count) + " times");
      }
    }
  }
  return findings.take();
}

}  // namespace

std::vector<std::string> check_sums(const std::vector<RankSchedule>& schedules, const std::vector<std::vector<SlotOf>>& held,
                                    const std::vector<ExpectedSum>& expected) {
  return sums(schedules, held, expected, std::nullopt);
}

std::vector<std::string> check_reduces(const ExchangeSpec& spec, const std::vector<RankSchedule>& schedules) {
  std::vector<std::vector<SlotOf>> held;
  std::vector<ExpectedSum> expected;
  for (Index rank = 0; rank < spec.ranks(); ++rank) {
    const RankSchedule made = make_reduce(spec, rank);
    std::vector<SlotOf>& of_rank = held.emplace_back(static_cast<std::size_t>(made.slots), SlotOf{-1, 0});
    for (Index slot = 0; slot < made.slots - made.passing; ++slot) of_rank[static_cast<std::size_t>(slot)] = {rank, slot};
    const Index own = own_slot(spec, rank);
    if (own >= 0) expected.push_back({rank, own, contributions_to(spec, rank)});
  }
  return sums(schedules, held, expected, true);
}

std::vector<std::string> check_exchange(const ExchangeSpec& spec) {
  std::vector<std::string> findings = check_schedules(spec, make_schedules(spec));
  for (std::string& finding : check_reduces(spec, make_reduces(spec))) findings.push_back("way back: " + finding);
  return findings;
}

}  // namespace rankwise
