// Import and reduce through the C API: every algorithm, send mode and shell, with blocks of different sizes on every
// rank and in every round.
#include <algorithm>
#include <map>

#include "fixture.hpp"

namespace rankwise_test {
namespace {

// The window of one plan after set_sizes.
class WindowView {
 public:
  explicit WindowView(rankwise_exchange plan) : plan_(plan) {
    ok(rankwise_exchange_slots(plan, &slots));
    ok(rankwise_exchange_own_slot(plan, &own));
    ok(rankwise_exchange_slot_start(plan, slots, &elements));
  }
  [[nodiscard]] int rank(int slot) const {
    int rank = -99;
    ok(rankwise_exchange_slot_rank(plan_, slot, &rank));
    return rank;
  }
  [[nodiscard]] std::size_t start(int slot) const {
    std::size_t start = 0;
    ok(rankwise_exchange_slot_start(plan_, slot, &start));
    return start;
  }
  [[nodiscard]] std::size_t count(int slot) const {
    std::size_t count = 99;
    ok(rankwise_exchange_slot_elements(plan_, slot, &count));
    return count;
  }
  int slots = 0;
  int own = -1;
  std::size_t elements = 0;

 private:
  rankwise_exchange plan_;
};

std::string describe(const Variant& variant) {
  return "algorithm " + std::to_string(variant.algorithm) + " mode " + std::to_string(variant.mode) + " shell " +
         std::to_string(variant.shell);
}

void expect_import(rankwise_exchange plan, int round) {
  const int me = world_rank();
  const WindowView view(plan);
  std::vector<std::int64_t> window(view.elements + 1, -7);
  for (std::size_t i = 0; i < view.count(view.own); ++i) window[view.start(view.own) + i] = value_of(me, round, i);
  ok(rankwise_exchange_import_start(plan, window.data(), sizeof(std::int64_t)));
  ok(rankwise_exchange_import_wait(plan));
  for (int slot = 0; slot < view.slots; ++slot) {
    const int from = view.rank(slot);
    ASSERT_EQ(view.count(slot), from == MPI_PROC_NULL ? 0 : elements_of(from, round)) << "slot " << slot;
    for (std::size_t i = 0; i < view.count(slot); ++i) {
      ASSERT_EQ(window[view.start(slot) + i], value_of(from, round, i)) << "slot " << slot << " element " << i;
    }
  }
  EXPECT_EQ(window.back(), -7) << "wrote past the window";
}

void expect_import_of_blocks(rankwise_exchange plan, int round) {
  // Each block in memory of its own, two values an element.
  const WindowView view(plan);
  std::vector<std::vector<std::int32_t>> memory(static_cast<std::size_t>(view.slots));
  std::vector<void*> blocks;
  for (int slot = 0; slot < view.slots; ++slot) {
    auto& block = memory[static_cast<std::size_t>(view.slots - 1 - slot)];
    block.assign(2 * view.count(slot), slot == view.own ? world_rank() + 1 : -1);
    blocks.push_back(block.data());
  }
  ok(rankwise_exchange_import_blocks_start(plan, blocks.data(), 2 * sizeof(std::int32_t)));
  blocks.assign(blocks.size(), nullptr);
  ok(rankwise_exchange_import_wait(plan));
  for (int slot = 0; slot < view.slots; ++slot) {
    const auto& block = memory[static_cast<std::size_t>(view.slots - 1 - slot)];
    EXPECT_EQ(std::count(block.begin(), block.end(), view.rank(slot) + 1), static_cast<std::ptrdiff_t>(block.size()))
        << "slot " << slot << " round " << round;
  }
}

// Every rank gives each of its slots a number; the owner must get the sum of those of all ranks that hold its block.
void expect_reduce(rankwise_exchange plan, int round) {
  const int me = world_rank();
  const WindowView view(plan);
  const auto given = [round](int rank, int slot, std::size_t i) {
    return 1.0 * rank + 100.0 * slot + 1e4 * static_cast<double>(i) + 1e6 * round;
  };
  std::vector<double> window(view.elements);
  // What goes to whom, told by other means: one table of rank x rank sums, for element 0, and how many contribute.
  std::vector<double> sums(static_cast<std::size_t>(2 * world_size()), 0.0);
  for (int slot = 0; slot < view.slots; ++slot) {
    const int owner = view.rank(slot);
    for (std::size_t i = 0; i < view.count(slot); ++i) window[view.start(slot) + i] = given(me, slot, i);
    if (owner == MPI_PROC_NULL) continue;
    sums[static_cast<std::size_t>(2 * owner)] += given(me, slot, 0);
    sums[static_cast<std::size_t>(2 * owner + 1)] += 1.0;
  }
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), 2 * world_size(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  ok(rankwise_exchange_reduce_start(plan, window.data(), 1, MPI_DOUBLE, MPI_SUM));
  ok(rankwise_exchange_reduce_wait(plan));
  const double first = sums[static_cast<std::size_t>(2 * me)];
  const double contributions = sums[static_cast<std::size_t>(2 * me + 1)];
  for (std::size_t i = 0; i < view.count(view.own); ++i) {
    // All numbers are whole and small: the sums are exact.
    ASSERT_EQ(window[view.start(view.own) + i], first + contributions * 1e4 * static_cast<double>(i)) << "element " << i;
  }
}

TEST(Api, EveryWayMovesBlocksOfAnySizeBothWays) {
  const std::vector<GridShape> all_shapes = shapes();
  const std::vector<Variant> all_variants = variants();
  for (std::size_t s = 0; s < all_shapes.size(); ++s) {
    const GridShape& shape = all_shapes[s];
    const Cart cart(shape.dims, shape.periods);
    for (std::size_t w = 0; w < all_variants.size(); ++w) {
      // Many ranks share few processors: there each way takes one shape in turn, another one for each number of ranks.
      const std::size_t turn = w + static_cast<std::size_t>(world_size());
      if (world_size() > 2 && turn % all_shapes.size() != s) continue;
      const Variant& variant = all_variants[w];
      SCOPED_TRACE(describe(variant) + " ndims " + std::to_string(shape.dims.size()));
      Plan plan(cart, shape.cutoff, options(variant.algorithm, variant.mode, variant.shell));
      ASSERT_EQ(plan.result, RANKWISE_SUCCESS) << rankwise_last_error();
      for (int round = 0; round < 2; ++round) {
        ok(rankwise_exchange_set_sizes(plan.handle, elements_of(world_rank(), round), sizeof(std::int64_t)));
        expect_import(plan.handle, round);
        expect_import_of_blocks(plan.handle, round);
        expect_import(plan.handle, round);
        expect_reduce(plan.handle, round);
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(Api, SumsComeInTheSameOrderEveryTime) {
  const Cart cart({world_size()}, {1});
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(describe(variant));
    Plan plan(cart, {2}, options(variant.algorithm, variant.mode, variant.shell));
    ok(rankwise_exchange_set_sizes(plan.handle, 5, sizeof(double)));
    const WindowView view(plan.handle);
    std::vector<double> first;
    for (int again = 0; again < 8; ++again) {
      // Numbers whose sum depends on the order.
      std::vector<double> window(view.elements);
      for (std::size_t i = 0; i < window.size(); ++i) {
        window[i] = (i % 3 == 0 ? 1e17 : 1.0) / static_cast<double>(3 * i + 7 + static_cast<std::size_t>(world_rank()));
      }
      ok(rankwise_exchange_reduce_start(plan.handle, window.data(), 1, MPI_DOUBLE, MPI_SUM));
      ok(rankwise_exchange_reduce_wait(plan.handle));
      const auto own = window.begin() + static_cast<std::ptrdiff_t>(view.start(view.own));
      const std::vector<double> sum(own, own + 5);
      if (again == 0) first = sum;
      ASSERT_EQ(sum, first) << "repetition " << again;
    }
  }
}

TEST(Api, OtherOperationsAndTypesReduceToo) {
  const Cart cart({world_size()}, {1});
  Plan plan(cart, {1}, options(RANKWISE_ALGORITHM_DIRECT));
  ok(rankwise_exchange_set_sizes(plan.handle, 2, 8));
  std::vector<int> window(6, world_rank());
  ok(rankwise_exchange_reduce_start(plan.handle, window.data(), 1, MPI_INT, MPI_MAX));
  ok(rankwise_exchange_reduce_wait(plan.handle));
  const int n = world_size();
  EXPECT_EQ(window[2], std::max({world_rank(), (world_rank() + 1) % n, (world_rank() + n - 1) % n}));
}

TEST(Api, PlansOfOneCommunicatorDoNotMixTheirMessages) {
  const Cart cart({world_size()}, {1});
  Plan one(cart, {1}, options(RANKWISE_ALGORITHM_DIRECT));
  Plan other(cart, {1}, options(RANKWISE_ALGORITHM_SHIFT));
  ok(rankwise_exchange_set_sizes(one.handle, 1, sizeof(int)));
  ok(rankwise_exchange_set_sizes(other.handle, 1, sizeof(int)));
  std::vector<int> a{-1, world_rank(), -1};
  std::vector<int> b{-1, 100 + world_rank(), -1};
  ok(rankwise_exchange_import_start(one.handle, a.data(), sizeof(int)));
  ok(rankwise_exchange_import_start(other.handle, b.data(), sizeof(int)));
  ok(rankwise_exchange_import_wait(other.handle));
  ok(rankwise_exchange_import_wait(one.handle));
  const int up = (world_rank() + 1) % world_size();
  EXPECT_EQ(a[2], up);
  EXPECT_EQ(b[2], 100 + up);
}

TEST(Api, SlotsTellWhereTheyAre) {
  const Cart cart({world_size(), 1}, {1, 0});
  Plan plan(cart, {2, 1}, options(RANKWISE_ALGORITHM_AUTO));
  int slots = 0;
  ok(rankwise_exchange_slots(plan.handle, &slots));
  EXPECT_EQ(slots, 15);
  for (int slot = 0; slot < slots; ++slot) {
    int offset[2] = {99, 99};
    int back = -1;
    int rank = -99;
    int crossings[2] = {99, 99};
    ok(rankwise_exchange_offset_of_slot(plan.handle, slot, offset));
    ok(rankwise_exchange_slot_of_offset(plan.handle, offset, &back));
    EXPECT_EQ(back, slot);
    ok(rankwise_exchange_slot_rank(plan.handle, slot, &rank));
    ok(rankwise_exchange_slot_crossings(plan.handle, slot, crossings));
    EXPECT_EQ(crossings[1], 0);
    if (offset[1] != 0) {
      EXPECT_EQ(rank, MPI_PROC_NULL);
    } else {
      EXPECT_EQ(rank + crossings[0] * world_size(), world_rank() + offset[0]);
    }
  }
}

TEST(Api, FortranHandlesMakePlansToo) {
  const Cart cart({world_size()}, {1});
#if MPI_VERSION >= 5
  const rankwise_fint comm = MPI_Comm_toint(cart.get());
  const rankwise_fint type = MPI_Type_toint(MPI_INT);
  const rankwise_fint op = MPI_Op_toint(MPI_SUM);
#else
  const rankwise_fint comm = MPI_Comm_c2f(cart.get());
  const rankwise_fint type = MPI_Type_c2f(MPI_INT);
  const rankwise_fint op = MPI_Op_c2f(MPI_SUM);
#endif
  const int cutoff = 1;
  rankwise_exchange plan = nullptr;
  ok(rankwise_exchange_create_f(comm, 1, &cutoff, nullptr, &plan));
  ok(rankwise_exchange_set_sizes(plan, 1, sizeof(int)));
  std::vector<int> window{1, 1, 1};
  ok(rankwise_exchange_reduce_start_f(plan, window.data(), 1, type, op));
  ok(rankwise_exchange_reduce_wait(plan));
  EXPECT_EQ(window[1], 3);
  ok(rankwise_exchange_destroy(&plan));
}

TEST(Api, ExplainSaysWhatAndWhyAndFitsAnyBuffer) {
  const Cart cart({world_size()}, {1});
  Plan plan(cart, {2}, options(RANKWISE_ALGORITHM_AUTO));
  std::size_t length = 0;
  ok(rankwise_exchange_explain(plan.handle, nullptr, 0, &length));
  std::string text(length, '?');
  ok(rankwise_exchange_explain(plan.handle, text.data(), text.size(), nullptr));
  EXPECT_NE(text.find("cutoff 2"), std::string::npos) << text;
  EXPECT_NE(text.find("direct"), std::string::npos) << text;
  EXPECT_EQ(text.back(), '\0');
  char little[5] = "????";
  ok(rankwise_exchange_explain(plan.handle, little, sizeof little, nullptr));
  EXPECT_EQ(std::string(little), text.substr(0, 4));
}

// The worst of the visits: every ordered pair of boxes within the cutoff, images included, exactly once.
struct Meetings {
  std::map<std::pair<int, std::vector<int>>, int> seen;  // (whose box, offset) -> how often on this rank
  bool right = true;
  int ndims = 1;
};

extern "C" void meet(const rankwise_visit* visit, void* context) {
  auto& meetings = *static_cast<Meetings*>(context);
  const std::vector<int> offset(visit->offset, visit->offset + meetings.ndims);
  ++meetings.seen[{visit->own_rank, offset}];
  const auto* own = static_cast<const double*>(visit->own);
  const auto* visiting = static_cast<const double*>(visit->visiting);
  for (std::size_t i = 0; i < visit->own_elements; ++i) {
    meetings.right = meetings.right && own[i] == visit->own_rank + 0.5;
    for (std::size_t j = 0; j < visit->visiting_elements; ++j) {
      meetings.right = meetings.right && visiting[j] == visit->visiting_rank + 0.5;
      static_cast<double*>(visit->result)[i] += visiting[j];
    }
  }
}

TEST(Api, TeamShiftLetsAllBoxesMeetOnce) {
  for (const GridShape& shape : shapes()) {
    const Cart cart(shape.dims, shape.periods);
    // What each rank must get: the values of its window, by another algorithm.
    Plan reference(cart, shape.cutoff, options(RANKWISE_ALGORITHM_DIRECT));
    for (int c = 1; c <= world_size(); ++c) {
      SCOPED_TRACE("replication " + std::to_string(c) + " ndims " + std::to_string(shape.dims.size()));
      rankwise_exchange_options o = options(RANKWISE_ALGORITHM_TEAM_SHIFT);
      o.replication = c;
      Plan plan(cart, shape.cutoff, o);
      if (plan.result != RANKWISE_SUCCESS) {
        EXPECT_EQ(plan.result, RANKWISE_ERROR_ARGUMENT) << rankwise_last_error();
        EXPECT_NE(std::string(rankwise_last_error()).find("fit"), std::string::npos) << rankwise_last_error();
        continue;
      }
      const std::size_t mine = elements_of(world_rank(), 1);
      ok(rankwise_exchange_set_sizes(plan.handle, mine, sizeof(double)));
      ok(rankwise_exchange_set_sizes(reference.handle, mine, sizeof(double)));
      const WindowView view(reference.handle);
      double expected = 1000.0;
      for (int slot = 0; slot < view.slots; ++slot) {
        expected += static_cast<double>(view.count(slot)) * (view.rank(slot) + 0.5);
      }
      const std::vector<double> own(mine, world_rank() + 0.5);
      std::vector<double> result(mine, 1000.0);
      Meetings meetings;
      meetings.ndims = static_cast<int>(shape.dims.size());
      ok(rankwise_exchange_visit(plan.handle, own.data(), sizeof(double), result.data(), 1, MPI_DOUBLE, MPI_SUM, meet,
                                 &meetings));
      EXPECT_TRUE(meetings.right);
      for (const double sum : result) EXPECT_EQ(sum, expected);
      for (const auto& [what, times] : meetings.seen) EXPECT_EQ(times, 1) << "box of rank " << what.first;
      // Empty blocks meet, too: over all ranks as many meetings as there are slots that hold a block.
      std::int64_t counts[2] = {static_cast<std::int64_t>(meetings.seen.size()), 0};
      for (int slot = 0; slot < view.slots; ++slot) counts[1] += view.rank(slot) == MPI_PROC_NULL ? 0 : 1;
      MPI_Allreduce(MPI_IN_PLACE, counts, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
      EXPECT_EQ(counts[0], counts[1]);
    }
  }
}

}  // namespace
}  // namespace rankwise_test
