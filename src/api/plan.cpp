#include "api/plan.hpp"

#include <climits>
#include <cstdio>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/environment.hpp"
#include "api/failure.hpp"
#include "api/halo_plan.hpp"
#include "api/machine.hpp"
#include "cart/nodes.hpp"
#include "decide/contest.hpp"
#include "grid/names.hpp"
#include "schedule/algorithms.hpp"
#include "schedule/teams.hpp"

namespace rankwise::api {

namespace {

// What auto chooses from where the program names no algorithm.
std::vector<std::string> with_window() {
  std::vector<std::string> ids;
  for (const ExchangeAlgorithm& algorithm : exchange_algorithms()) {
    if (algorithm.fills_window) ids.emplace_back(algorithm.id);
  }
  return ids;
}

std::vector<int> read_cutoff(const Grid& grid, int ndims, const int cutoff[]) {
  if (ndims != grid.ndim()) {
    refuse_argument("ndims is " + std::to_string(ndims) + " but the communicator's grid has " + std::to_string(grid.ndim()) +
                    " axes: give one cutoff an axis");
  }
  if (cutoff == nullptr) refuse_argument("cutoff is NULL: give one number of layers an axis");
  return {cutoff, cutoff + ndims};
}

ExchangeSpec make(const std::string& algorithm, SendMode mode, const Grid& grid, const std::vector<int>& cutoff,
                  const Request& request, const NodeMap& nodes) {
  if (const std::string reason = why_not(algorithm, mode, request.shell); !reason.empty()) {
    throw Failure(RANKWISE_ERROR_UNSUPPORTED, reason);
  }
  const Window window(cutoff, request.shell);
  constexpr Index most_slots = Index{1} << 24;
  if (window.slots() > most_slots) {
    refuse_argument("the window has " + std::to_string(window.slots()) + " slots, more than 2^24: make the cutoff smaller");
  }
  ExchangeSpec spec{algorithm, mode, grid, window};
  spec.replication = request.replication;
  spec.nodes = nodes;
  check_spec(spec);
  return spec;
}

// "12.3 us", of all candidates.
std::string times_of(const std::vector<Ranked>& ranked) {
  std::string text;
  for (const Ranked& one : ranked) {
    text += (text.empty() ? "" : "; ") + to_string(one.candidate) + formatted(" %.4g us", 1e6 * one.time_s);
  }
  return text;
}

struct Choice {
  std::string algorithm;
  SendMode mode = SendMode::isend;
  std::string why;
};

Choice choose(const Grid& grid, const std::vector<int>& cutoff, const Request& request, const Placement& placement) {
  Question question{grid, cutoff, request.shell, with_window(), {}, {}};
  if (request.mode) question.modes = {*request.mode};
  const KnownMachine& known = known_machine();
  const std::vector<Ranked> ranked = Contest(question, placement).ranked(request.expected_block_bytes, known.machine);
  const Candidate& best = ranked.front().candidate;
  return {best.algorithm, best.mode,
          reason(ranked) + "; for blocks of " + std::to_string(request.expected_block_bytes) + " B by " + known.source + " (" +
              times_of(ranked) + ")"};
}

// Rank 0's choice on all ranks.
void spread(Choice& choice, MPI_Comm comm) {
  std::string text = choice.algorithm + '\n' + to_string(choice.mode) + '\n' + choice.why;
  share_text(comm, text);
  const std::size_t first = text.find('\n');
  const std::size_t second = text.find('\n', first + 1);
  choice = {text.substr(0, first), parse_send_mode(text.substr(first + 1, second - first - 1)), text.substr(second + 1)};
}

// Rank 0 decides for all, by where they sit.
Choice choose_together(const Communicator& comm, const std::vector<int>& cutoff, const Request& request) {
  const Placement placement = placement_on_root(comm);
  Choice choice;
  all_or_none(comm.get(), [&] {
    if (comm.rank() == 0) choice = choose(comm.grid(), cutoff, request, placement);
  });
  spread(choice, comm.get());
  return choice;
}

// Collective. The node of every rank, as MPI tells.
NodeMap nodes_of(MPI_Comm comm) {
  const RankNodes own(comm);
  const Index node = own.node();
  const int ranks = size_of(comm);
  std::vector<Index> node_of_rank(static_cast<std::size_t>(ranks));
  RANKWISE_CHECKED(MPI_Allgather, &node, 1, MPI_INT64_T, node_of_rank.data(), 1, MPI_INT64_T, comm);
  return NodeMap::of(node_of_rank);
}

}  // namespace

Design design_exchange(const Communicator& comm, int ndims, const int cutoff[], const rankwise_exchange_options* options) {
  Agreement agreement;
  Request request;
  std::vector<int> layers(static_cast<std::size_t>(comm.grid().ndim()), 1);
  agreement.attempt([&] { request = read_options(options); });
  agreement.attempt([&] { layers = read_cutoff(comm.grid(), ndims, cutoff); });
  // What no way of sending can serve is refused before anything is decided.
  agreement.attempt([&] {
    Request any;
    any.shell = request.shell;
    static_cast<void>(make("shift", SendMode::isend, comm.grid(), layers, any, {}));
  });
  add_alike(agreement, request);
  for (std::size_t axis = 0; axis < layers.size(); ++axis) {
    agreement.alike("the cutoff of axis " + std::to_string(axis), layers[axis]);
  }
  agreement.reach(comm.get());

  Choice choice{request.algorithm.value_or(""), request.mode.value_or(SendMode::isend), "asked for"};
  if (!request.algorithm) choice = choose_together(comm, layers, request);

  NodeMap nodes;
  if (exchange_algorithm(choice.algorithm).needs_nodes) nodes = nodes_of(comm.get());
  std::optional<Design> design;
  all_or_none(comm.get(), [&] {
    ExchangeSpec spec = make(choice.algorithm, choice.mode, comm.grid(), layers, request, nodes);
    RankSchedule schedule = make_schedule(spec, comm.rank());
    design = Design{std::move(spec), std::move(schedule), std::move(choice.why)};
  });
  return std::move(*design);
}

Plan::Plan(MPI_Comm cart, int ndims, const int cutoff[], const rankwise_exchange_options* options)
    : comm_(cart),
      design_(design_exchange(comm_, ndims, cutoff, options)),
      reduce_schedule_(make_reduce(design_.spec, comm_.rank())),
      own_slot_(static_cast<int>(rankwise::own_slot(design_.spec, comm_.rank()))),
      check_every_call_(environment_flag("RANKWISE_CHECK")),
      import_{BoundSchedule(comm_.get(), design_.schedule, design_.spec.mode, {})},
      reduce_{BoundSchedule(comm_.get(), reduce_schedule_, design_.spec.mode, {adder(), {}})} {
  if (environment_flag("RANKWISE_VERBOSE") && comm_.rank() == 0) std::fprintf(stderr, "rankwise: %s", explain().c_str());
}

std::function<void(std::byte*, const std::byte*, std::size_t)> Plan::adder() {
  return [this](std::byte* into, const std::byte* from, std::size_t bytes) {
    int size = 1;
    RANKWISE_CHECKED(MPI_Type_size, combination_.type, &size);
    RANKWISE_CHECKED(MPI_Reduce_local, from, into, static_cast<int>(bytes / static_cast<std::size_t>(size)), combination_.type,
                     combination_.op);
  };
}

void Plan::close() {
  require_mpi();
  if (under_way_ == UnderWay::import) import_wait();
  if (under_way_ == UnderWay::reduce) reduce_wait();
  comm_.free();
}

// Sizes ------------------------------------------------------------------------------------------------------------

void Plan::set_sizes(std::size_t elements, std::size_t element_bytes) {
  Agreement before;
  before.attempt([&] {
    require_idle("set_sizes");
    if (element_bytes < 1 || element_bytes > INT_MAX) {
      refuse_argument("element_bytes is " + std::to_string(element_bytes) + ": give 1 to 2^31-1");
    }
    if (elements > INT_MAX / element_bytes) {
      refuse_argument(std::to_string(elements) + " elements of " + std::to_string(element_bytes) +
                      " B pass 2^31-1 B, the most a block may have: split the data or make the boxes smaller");
    }
  });
  before.alike("element_bytes", static_cast<std::int64_t>(element_bytes));
  before.reach(comm_.get());

  const std::vector<std::size_t> found = exchange_sizes(comm_.get(), design_.spec, elements);
  sized_ = false;  // should the ranks not agree, nobody goes on with sizes that others do not have
  all_or_none(comm_.get(), [&] {
    require_messages_fit(design_.schedule, found, element_bytes);
    require_messages_fit(reduce_schedule_, found, element_bytes);
    std::vector<std::size_t> starts{0};
    for (const std::size_t count : found) starts.push_back(starts.back() + count);
    placed_.resize(found.size());
    const std::size_t window = found.size() - static_cast<std::size_t>(design_.schedule.passing);
    passing_.resize((starts.back() - starts[window]) * element_bytes);
    elements_ = found;
    starts_ = std::move(starts);
    import_.window = nullptr;  // the same buffer is cut differently now
    reduce_.window = nullptr;
  });
  element_bytes_ = element_bytes;
  sized_ = true;
}

void Plan::require_messages_fit(const RankSchedule& schedule, const std::vector<std::size_t>& elements,
                                std::size_t element_bytes) const {
  for (const Op& op : schedule.ops()) {
    const std::size_t count = op.total(elements);  // no overflow: at most 2^31 slots of 2^31 elements
    if (op.kind == Op::Kind::send && count > INT_MAX / element_bytes) {
      refuse_argument("a message of " + std::to_string(count) + " elements of " + std::to_string(element_bytes) +
                      " B passes 2^31-1 B: make the boxes smaller, or choose direct, whose messages are smallest");
    }
  }
}

// Checks -----------------------------------------------------------------------------------------------------------

void Plan::require_window() const {
  if (!has_teams()) return;
  throw Failure(RANKWISE_ERROR_UNSUPPORTED,
                "a " + design_.spec.algorithm + " plan builds no window: use rankwise_exchange_visit");
}

void Plan::require_slot(int slot) const {
  require_window();
  if (slot >= 0 && slot < slots()) return;
  refuse_argument("slot " + std::to_string(slot) + " does not exist: the window has slots 0 to " + std::to_string(slots() - 1));
}

void Plan::require_sizes() const {
  if (!sized_) refuse_usage("the sizes are not known: call rankwise_exchange_set_sizes first");
}

void Plan::require_idle(const char* call) const {
  if (under_way_ == UnderWay::nothing) return;
  refuse_usage(std::string(under_way_ == UnderWay::import ? "an import" : "a reduce") +
               " is under way: complete it with its wait before " + call);
}

void Plan::require_element(std::size_t element_bytes) const {
  if (element_bytes >= 1 && element_bytes <= element_bytes_) return;
  refuse_argument("an element of " + std::to_string(element_bytes) + " B is not within the 1 to " +
                  std::to_string(element_bytes_) + " B of set_sizes");
}

void Plan::place(Direction& direction, const Buffers& buffers, std::size_t element_bytes) {
  if (buffers.window != nullptr && buffers.window == direction.window && element_bytes == direction.element_bytes) return;
  if (buffers.blocks == nullptr && buffers.window == nullptr && total_elements() > 0) {
    refuse_argument("the buffer is NULL: give room for " + std::to_string(total_elements() * element_bytes) + " B");
  }
  for (std::size_t slot = 0; slot < placed_.size(); ++slot) {
    const std::size_t bytes = elements_[slot] * element_bytes;
    if (slot >= window_slots()) {
      placed_[slot] = {passing_.data() + (starts_[slot] - total_elements()) * element_bytes, bytes};
    } else if (buffers.blocks != nullptr) {
      placed_[slot] = {static_cast<std::byte*>(buffers.blocks[slot]), bytes};
      if (bytes > 0 && placed_[slot].data == nullptr) {
        refuse_argument("the pointer of slot " + std::to_string(slot) + " is NULL: give room for " + std::to_string(bytes) +
                        " B");
      }
    } else {
      placed_[slot] = {static_cast<std::byte*>(buffers.window) + starts_[slot] * element_bytes, bytes};
    }
  }
  direction.exchange.bind(placed_);
  direction.window = buffers.window;
  direction.element_bytes = element_bytes;
}

std::size_t Plan::element_bytes_of(const Combination& combination) {
  if (combination.values_per_element < 1) refuse_argument("values_per_element is below 1: give at least one");
  return static_cast<std::size_t>(combination.values_per_element) *
         static_cast<std::size_t>(reduction_of(combination.type, combination.op).type_bytes);
}

// Moving -----------------------------------------------------------------------------------------------------------

void Plan::start_import(const Buffers& buffers, std::size_t element_bytes) {
  checked("rankwise_exchange_import_start", [&] {
    require_window();
    require_idle("import_start");
    require_sizes();
    require_element(element_bytes);
    place(import_, buffers, element_bytes);
  });
  import_.exchange.start();
  under_way_ = UnderWay::import;
}

void Plan::start_reduce(const Buffers& buffers, const Combination& combination) {
  checked("rankwise_exchange_reduce_start", [&] {
    require_window();
    require_idle("reduce_start");
    require_sizes();
    const std::size_t element_bytes = element_bytes_of(combination);
    require_element(element_bytes);
    place(reduce_, buffers, element_bytes);
  });
  combination_ = combination;
  reduce_.exchange.start();
  under_way_ = UnderWay::reduce;
}

void Plan::finish(UnderWay what, const char* call, Direction& direction) {
  if (under_way_ != what) refuse_usage(std::string("nothing to wait for: call ") + call + " first");
  under_way_ = UnderWay::nothing;
  direction.exchange.wait();
}

void Plan::import_wait() { finish(UnderWay::import, "rankwise_exchange_import_start", import_); }
void Plan::reduce_wait() { finish(UnderWay::reduce, "rankwise_exchange_reduce_start", reduce_); }

// Questions --------------------------------------------------------------------------------------------------------

std::string Plan::explain() const {
  const ExchangeSpec& spec = design_.spec;
  std::string text = "exchange on a grid of " + text_of(spec.grid) + ", " + to_string(spec.window.shell()) + " shell, cutoff";
  for (int axis = 0; axis < spec.grid.ndim(); ++axis) text += " " + std::to_string(spec.window.upper(axis));
  text += ": " + spec.algorithm + ", " + to_string(spec.mode) + "; " + design_.why + "\n";
  const RankSchedule& schedule = design_.schedule;
  text += "rank " + std::to_string(comm_.rank()) + " sends " + std::to_string(schedule.messages_sent()) + " messages with " +
          std::to_string(schedule.blocks_sent()) + " blocks in " + std::to_string(schedule.steps.size()) + " steps";
  if (sized_) {
    text += ", " + std::to_string(schedule.sent(elements_)) + " elements of at most " + std::to_string(element_bytes_) + " B";
  }
  return text + "\n";
}

int Plan::slots() const {
  require_window();
  return static_cast<int>(design_.spec.window.slots());
}

int Plan::own_slot() const {
  require_window();
  return own_slot_;
}

int Plan::slot_of_offset(const int offset[]) const {
  require_window();
  if (offset == nullptr) refuse_argument("offset is NULL: give one number an axis");
  const Window& window = design_.spec.window;
  const Coords coords(offset, offset + window.ndim());
  for (int axis = 0; axis < window.ndim(); ++axis) {
    const Index o = coords[static_cast<std::size_t>(axis)];
    if (o >= -window.lower(axis) && o <= window.upper(axis)) continue;
    refuse_argument("offset " + std::to_string(o) + " on axis " + std::to_string(axis) +
                    " is outside the window: stay within " + std::to_string(-window.lower(axis)) + " to " +
                    std::to_string(window.upper(axis)));
  }
  return static_cast<int>(window.slot(coords));
}

void Plan::offset_of_slot(int slot, int offset[]) const {
  require_slot(slot);
  if (offset == nullptr) refuse_argument("offset is NULL: give room for one number an axis");
  const Coords coords = design_.spec.window.offset(slot);
  for (std::size_t axis = 0; axis < coords.size(); ++axis) offset[axis] = static_cast<int>(coords[axis]);
}

int Plan::slot_rank(int slot) const {
  require_slot(slot);
  const ExchangeSpec& spec = design_.spec;
  const Index rank = rank_at_offset(spec.grid, comm_.rank(), spec.window.offset(slot), +1);
  return rank < 0 ? MPI_PROC_NULL : static_cast<int>(rank);
}

void Plan::slot_crossings(int slot, int crossings[]) const {
  require_slot(slot);
  if (crossings == nullptr) refuse_argument("crossings is NULL: give room for one number an axis");
  const Grid& grid = design_.spec.grid;
  const Coords own = grid.coords(comm_.rank());
  const Coords offset = design_.spec.window.offset(slot);
  for (int axis = 0; axis < grid.ndim(); ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    crossings[i] = grid.periodic(axis) ? static_cast<int>(floor_div(own[i] + offset[i], grid.dim(axis))) : 0;
  }
}

std::size_t Plan::slot_elements(int slot) const {
  require_slot(slot);
  require_sizes();
  return elements_[static_cast<std::size_t>(slot)];
}

std::size_t Plan::slot_start(int slot) const {
  if (slot != slots()) require_slot(slot);
  require_sizes();
  return starts_[static_cast<std::size_t>(slot)];
}

// Team shift through the C API: the schedule lets whole teams meet; here their boxes meet one by one.

namespace {

// The offset between two boxes that meet because their teams do: images differ by the offset between the teams.
Coords offset_between(const ExchangeSpec& spec, const Teams& teams, Index own, Index visiting, const Coords& between) {
  const Coords a = spec.grid.coords(own);
  const Coords b = spec.grid.coords(visiting);
  const Coords team = teams.grid().coords(teams.team_of(own));
  Coords offset(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Index turns = floor_div(team[i] + between[i], teams.grid().dims()[i]);
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

void Plan::visit(const void* own, std::size_t element_bytes, void* result, int values, MPI_Datatype type, MPI_Op operation,
                 rankwise_visit_function function, void* context) {
  const Combination combination{values, type, operation};
  const ExchangeSpec& spec = design_.spec;
  const auto own_index = static_cast<std::size_t>(own_slot_);
  std::size_t result_bytes = 0;
  checked("rankwise_exchange_visit", [&] {
    if (!has_teams()) {
      throw Failure(RANKWISE_ERROR_UNSUPPORTED,
                    "only a team-shift plan delivers block by block: use import, or choose team-shift");
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
    each_slot(op.slots, [&](Index there) {
      const auto other = static_cast<std::size_t>(there);
      const Index visitor = boxes[other];
      for (std::size_t here = 0; here < bytes.size(); ++here) {
        const Index box = boxes[here];
        const Coords apart = offset_between(spec, teams, box, visitor, between);
        if (!within(spec.window, apart)) continue;
        for (std::size_t axis = 0; axis < apart.size(); ++axis) offset[axis] = static_cast<int>(apart[axis]);
        const rankwise_visit pair{slots[here].data,  sums.slots()[here].data, elements_[here],           static_cast<int>(box),
                                  slots[other].data, elements_[other],        static_cast<int>(visitor), offset.data()};
        function(&pair, context);
      }
    });
  };
  Executor(comm_.get(), design_.schedule, spec.mode, slots, {{}, meet}).run();

  combination_ = combination;
  Executor(comm_.get(), reduce_schedule_, spec.mode, sums.slots(), {adder(), {}}).run();
  adder()(static_cast<std::byte*>(result), sums.slots()[own_index].data, bytes[own_index]);
}

}  // namespace rankwise::api
