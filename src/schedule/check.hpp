// Proves schedules. Under rendezvous semantics (no buffering at all) no ranks wait for each other for ever; no message
// lands where another operation of the step still reads; and, of
// - an import: every rank ends with exactly the blocks of its window, each delivered once;
// - visits: every ordered pair of boxes within the window (images of a box apart) interacts exactly once;
// - the way back: every contribution arrives at the rank it belongs to, exactly once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/schedule.hpp"

namespace rankwise {

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
