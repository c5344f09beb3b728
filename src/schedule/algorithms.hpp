// What an exchange algorithm is, in one table: a row says all that others ask of it. To add one: its file, which describes
// it, and in algorithms.cpp its functions and a row.
#pragma once

#include <span>
#include <string_view>

#include "schedule/schedule.hpp"

namespace rankwise {

// What algorithms that build a window share: the import reversed, and what belongs in the slots of the window.
[[nodiscard]] RankSchedule reversed_import(const ExchangeSpec& spec, Index rank);
[[nodiscard]] std::vector<Index> window_origins(const ExchangeSpec& spec, Index rank);
[[nodiscard]] Index window_centre(const ExchangeSpec& spec, Index rank);
[[nodiscard]] std::vector<SlotOf> window_contributions(const ExchangeSpec& spec, Index rank);

struct ExchangeAlgorithm {
  std::string_view id;
  int c_value;  // of the enumeration rankwise_algorithm in rankwise.h
  std::string_view summary;
  std::string_view source;
  std::string_view costed_as = id;  // the algorithm whose messages it sends, where that is another
  // Why it cannot be combined with a send mode or a shell; empty when it can.
  std::string_view (*why_not)(SendMode mode, Shell shell);
  // What make_schedule, make_reduce, origins, own_slot and contributions_to give; but for the first, as a window needs it.
  RankSchedule (*make)(const ExchangeSpec& spec, Index rank);
  // Likewise make_alike, where no mode blocks; null: none of its messages are alike, or few.
  RankSchedule (*make_alike)(const ExchangeSpec& spec, Index rank) = nullptr;
  RankSchedule (*make_reduce)(const ExchangeSpec& spec, Index rank) = reversed_import;
  std::vector<Index> (*origins)(const ExchangeSpec& spec, Index rank) = window_origins;
  Index (*own_slot)(const ExchangeSpec& spec, Index rank) = window_centre;
  std::vector<SlotOf> (*contributions_to)(const ExchangeSpec& spec, Index rank) = window_contributions;

  bool fills_window = false;  // by a program's own messages, knowing no more than the grid: what `auto` may take
  bool by_axis = false;       // it goes axis by axis
  bool takes_turns = false;   // ranks of even and of odd coordinates take turns where sends block
  bool needs_nodes = false;   // it needs ExchangeSpec::nodes
  bool has_teams = false;     // ranks pool their boxes; no window is built, and a round always includes the way back
};

// All algorithms, in the order of tables.
[[nodiscard]] std::span<const ExchangeAlgorithm> exchange_algorithms();
// Throws std::invalid_argument, naming the ids that exist.
[[nodiscard]] const ExchangeAlgorithm& exchange_algorithm(std::string_view id);

}  // namespace rankwise
