// Team shift through the C API: the schedule lets whole teams meet; here their boxes meet one by one.
#include <cstring>
#include <vector>

#include "api/plan.hpp"
#include "schedule/teams.hpp"

namespace rankwise::api {

namespace {

// The offset between two boxes that meet because their teams do: images are told apart by the way between the teams.
Coords offset_between(const ExchangeSpec& spec, const Teams& teams, Index own, Index visiting, const Coords& between) {
  const Coords a = spec.grid.coords(own);
  const Coords b = spec.grid.coords(visiting);
  const Coords team = teams.grid().coords(teams.team_of(own));
  Coords offset(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Index turns = floored_quotient(team[i] + between[i], teams.grid().dims()[i]);
    offset[i] = b[i] + turns * spec.grid.dims()[i] - a[i];
  }
  return offset;
}

bool within(const Window& window, const Coords& offset) {
  for (int axis = 0; axis < window.ndim(); ++axis) {
    const Index o = offset[static_cast<std::size_t>(axis)];
    if (o < -window.lower(axis) || o > window.upper(axis)) return false;
  }
  return true;
}

}  // namespace

void Plan::visit(const void* own, std::size_t element_bytes, void* result, const Combination& combination,
                 rankwise_visit_function function, void* context) {
  const ExchangeSpec& spec = design_.spec;
  const auto own_index = static_cast<std::size_t>(own_slot_);
  std::size_t result_bytes = 0;
  checked("rankwise_exchange_visit", [&] {
    if (!has_teams()) {
      throw Failure(RANKWISE_ERROR_UNSUPPORTED, "only a team-shift plan has visits: use import, or choose team-shift");
    }
    require_sizes();
    require_element(element_bytes);
    result_bytes = element_bytes_of(combination);
    require_element(result_bytes);
    if (function == nullptr) refuse_argument("the callback is NULL: give a function to call for every pair of boxes");
    if (elements_[own_index] > 0 && (own == nullptr || result == nullptr)) {
      refuse_argument("own or result is NULL: give a block of " + std::to_string(elements_[own_index]) + " elements");
    }
  });

  std::vector<std::size_t> bytes;
  for (const std::size_t count : elements_) bytes.push_back(count * element_bytes);
  SlotStorage blocks(design_.schedule, bytes);
  // The own block is only read, and so stays where the caller has it.
  std::vector<SlotBuffer> slots = blocks.slots();
  slots[own_index].data = static_cast<std::byte*>(const_cast<void*>(own));

  // One result for each box of the team; this rank's own starts apart from the caller's, which may hold something.
  bytes.resize(static_cast<std::size_t>(reduce_schedule_.slots));
  for (std::size_t slot = 0; slot < bytes.size(); ++slot) bytes[slot] = elements_[slot] * result_bytes;
  SlotStorage sums(reduce_schedule_, bytes);

  const Teams teams(spec);
  const std::vector<Index> boxes = origins(spec, comm_.rank());
  const auto meet = [&](const Op& op) {
    const Coords between = teams.window().offset(op.tag);
    std::vector<int> offset(static_cast<std::size_t>(spec.grid.ndim()));
    for (const SlotRange& range : op.slots) {
      for (Index there = range.first; there < range.first + range.count; ++there) {
        const Index visitor = boxes[static_cast<std::size_t>(there)];
        for (std::size_t here = 0; here < bytes.size(); ++here) {
          const Index box = boxes[here];
          const Coords apart = offset_between(spec, teams, box, visitor, between);
          if (!within(spec.window, apart)) continue;
          for (std::size_t axis = 0; axis < apart.size(); ++axis) offset[axis] = static_cast<int>(apart[axis]);
          const auto other = static_cast<std::size_t>(there);
          const rankwise_visit pair{
              slots[here].data,  sums.slots()[here].data, elements_[here],           static_cast<int>(box),
              slots[other].data, elements_[other],        static_cast<int>(visitor), offset.data()};
          function(&pair, context);
        }
      }
    }
  };
  Executor(comm_.get(), design_.schedule, spec.mode, slots, {{}, meet}).run();

  combination_ = combination;
  Executor(comm_.get(), reduce_schedule_, spec.mode, sums.slots(), {adder(), {}}).run();
  adder()(static_cast<std::byte*>(result), sums.slots()[own_index].data, bytes[own_index]);
}

}  // namespace rankwise::api
