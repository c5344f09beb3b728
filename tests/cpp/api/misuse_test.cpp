// Bad input and calls out of order: a code and a message, on every rank alike, and nobody hangs.
#include <climits>
#include <cstdlib>
#include <cstring>

#include "fixture.hpp"

namespace rankwise_test {
namespace {

// All ranks must have got this result, with a message that holds `part`.
void expect_on_all(rankwise_result result, rankwise_result expected, const std::string& part) {
  int least = result;
  int most = result;
  MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  EXPECT_EQ(least, expected) << rankwise_last_error();
  EXPECT_EQ(most, expected) << rankwise_last_error();
  EXPECT_NE(std::string(rankwise_last_error()).find(part), std::string::npos) << rankwise_last_error();
}

rankwise_result create(MPI_Comm comm, std::vector<int> cutoff, const rankwise_exchange_options* o = nullptr) {
  rankwise_exchange plan = nullptr;
  const rankwise_result result = rankwise_exchange_create(comm, static_cast<int>(cutoff.size()), cutoff.data(), o, &plan);
  EXPECT_EQ(plan == nullptr, result != RANKWISE_SUCCESS);
  rankwise_exchange_destroy(&plan);
  return result;
}

// One rank (the last) differs from the others.
bool odd_one_out() { return world_size() > 1 && world_rank() == world_size() - 1; }

class Misuse : public ::testing::Test {
 protected:
  const Cart cart{{world_size()}, {1}};
};

TEST_F(Misuse, CommunicatorsWithoutAGridAreRefused) {
  expect_on_all(create(MPI_COMM_NULL, {1}), RANKWISE_ERROR_ARGUMENT, "MPI_COMM_NULL");
  expect_on_all(create(MPI_COMM_WORLD, {1}), RANKWISE_ERROR_ARGUMENT, "MPI_Cart_create");
  expect_on_all(create(cart.get(), {1, 1}), RANKWISE_ERROR_ARGUMENT, "has 1 axes");
}

TEST_F(Misuse, CutoffsMustBePositiveSmallAndAlike) {
  for (const int k : {0, -1, INT_MIN}) expect_on_all(create(cart.get(), {k}), RANKWISE_ERROR_ARGUMENT, "cutoff");
  expect_on_all(create(cart.get(), {INT_MAX}), RANKWISE_ERROR_ARGUMENT, "cutoff smaller");
  if (world_size() == 1) return;
  expect_on_all(create(cart.get(), {odd_one_out() ? 2 : 1}), RANKWISE_ERROR_ARGUMENT, "differs between ranks, from 1 to 2");
  // An error on one rank is an error on all, and says whose it was.
  expect_on_all(create(cart.get(), {odd_one_out() ? 0 : 1}), RANKWISE_ERROR_ARGUMENT, "cutoff");
}

TEST_F(Misuse, TheHeadersNumbersAreThoseOfTheTable) {
  const std::vector<std::pair<const char*, rankwise_algorithm>> named{
      {"direct", RANKWISE_ALGORITHM_DIRECT},
      {"neighbor-alltoall", RANKWISE_ALGORITHM_NEIGHBOR_ALLTOALL},
      {"shift", RANKWISE_ALGORITHM_SHIFT},
      {"comb", RANKWISE_ALGORITHM_COMB},
      {"team-shift", RANKWISE_ALGORITHM_TEAM_SHIFT},
      {"striped", RANKWISE_ALGORITHM_STRIPED},
      {"leader", RANKWISE_ALGORITHM_LEADER},
      {"two-step", RANKWISE_ALGORITHM_TWO_STEP},
      {"shift-posted", RANKWISE_ALGORITHM_SHIFT_POSTED}};
  EXPECT_EQ(named.size(), rankwise::exchange_algorithms().size());
  for (const auto& [id, value] : named) EXPECT_EQ(rankwise::exchange_algorithm(id).c_value, value) << id;
}

TEST_F(Misuse, OptionsMustBeFilledKnownAndAlike) {
  rankwise_exchange_options o;
  std::memset(&o, 0, sizeof o);
  expect_on_all(create(cart.get(), {1}, &o), RANKWISE_ERROR_ARGUMENT, "rankwise_exchange_options_default");
  o = options(RANKWISE_ALGORITHM_DIRECT);
  o.algorithm = 77;
  expect_on_all(create(cart.get(), {1}, &o), RANKWISE_ERROR_ARGUMENT, "options.algorithm is 77");
  o = options(RANKWISE_ALGORITHM_NEIGHBOR_ALLTOALL, RANKWISE_SEND_SSEND);
  expect_on_all(create(cart.get(), {1}, &o), RANKWISE_ERROR_UNSUPPORTED, "neighbor-alltoall");
  if (world_size() == 1) return;
  o = options(odd_one_out() ? RANKWISE_ALGORITHM_SHIFT : RANKWISE_ALGORITHM_DIRECT);
  expect_on_all(create(cart.get(), {1}, &o), RANKWISE_ERROR_ARGUMENT, "the algorithm");
  o = options(RANKWISE_ALGORITHM_DIRECT);
  o.struct_size = odd_one_out() ? 3 : sizeof o;
  expect_on_all(create(cart.get(), {1}, &o), RANKWISE_ERROR_ARGUMENT,
                "rank " + std::to_string(world_size() - 1) + ": options.struct_size");
}

TEST_F(Misuse, OptionsOfANewerVersionServeWhenTheirNewFieldsAreUnused) {
  struct {
    rankwise_exchange_options known;
    int unknown;
  } newer;
  ASSERT_EQ(rankwise_exchange_options_init(&newer.known, sizeof newer), RANKWISE_SUCCESS);
  EXPECT_EQ(newer.known.struct_size, sizeof newer);
  EXPECT_EQ(create(cart.get(), {1}, &newer.known), RANKWISE_SUCCESS);
  newer.unknown = 1;
  expect_on_all(create(cart.get(), {1}, &newer.known), RANKWISE_ERROR_UNSUPPORTED, "update");
}

TEST_F(Misuse, ReplicationMustFit) {
  rankwise_exchange_options o = options(RANKWISE_ALGORITHM_TEAM_SHIFT);
  for (const int c : {0, -3, world_size() + 1}) {
    o.replication = c;
    expect_on_all(create(cart.get(), {1}, &o), RANKWISE_ERROR_ARGUMENT, "replication");
  }
  o = options(RANKWISE_ALGORITHM_SHIFT);
  o.replication = 2;
  expect_on_all(create(cart.get(), {1}, &o), RANKWISE_ERROR_ARGUMENT, "replication");
}

TEST_F(Misuse, SizesMustNotOverflow) {
  Plan plan(cart, {1}, options(RANKWISE_ALGORITHM_SHIFT));
  const std::size_t huge = ~std::size_t{0};
  expect_on_all(rankwise_exchange_set_sizes(plan.handle, huge, 8), RANKWISE_ERROR_ARGUMENT, "2^31-1");
  expect_on_all(rankwise_exchange_set_sizes(plan.handle, 1, 0), RANKWISE_ERROR_ARGUMENT, "element_bytes");
  expect_on_all(rankwise_exchange_set_sizes(plan.handle, 1, huge), RANKWISE_ERROR_ARGUMENT, "element_bytes");
  expect_on_all(rankwise_exchange_set_sizes(plan.handle, odd_one_out() ? huge : 1, world_size() == 1 ? 0 : 8),
                RANKWISE_ERROR_ARGUMENT, world_size() == 1 ? "" : "rank " + std::to_string(world_size() - 1));
  if (world_size() > 1) {
    expect_on_all(rankwise_exchange_set_sizes(plan.handle, 1, odd_one_out() ? 4 : 8), RANKWISE_ERROR_ARGUMENT,
                  "element_bytes differs");
  }
  // Refused sizes leave no plan half changed: it still works.
  EXPECT_EQ(rankwise_exchange_set_sizes(plan.handle, 1, 8), RANKWISE_SUCCESS);
}

TEST_F(Misuse, MessagesOfManyBlocksMustNotOverflowEither) {
  if (world_size() == 1) return;  // a rank alone sends nothing
  const Cart plane({world_size(), 1}, {1, 1});
  Plan plan(plane, {1, 1}, options(RANKWISE_ALGORITHM_SHIFT));
  // A block of 1 GiB may go alone, three of them in one message may not.
  expect_on_all(rankwise_exchange_set_sizes(plan.handle, std::size_t{1} << 27, 8), RANKWISE_ERROR_ARGUMENT, "message");
  Plan direct(plane, {1, 1}, options(RANKWISE_ALGORITHM_DIRECT));
  EXPECT_EQ(rankwise_exchange_set_sizes(direct.handle, std::size_t{1} << 27, 8), RANKWISE_SUCCESS);
}

TEST_F(Misuse, CallsMustComeInOrder) {
  Plan plan(cart, {1}, options(RANKWISE_ALGORITHM_DIRECT));
  std::vector<double> window(3, 0.0);
  expect_on_all(rankwise_exchange_import_start(plan.handle, window.data(), 8), RANKWISE_ERROR_USAGE, "set_sizes");
  EXPECT_EQ(rankwise_exchange_set_sizes(plan.handle, 1, 8), RANKWISE_SUCCESS);
  expect_on_all(rankwise_exchange_import_wait(plan.handle), RANKWISE_ERROR_USAGE, "import_start");
  expect_on_all(rankwise_exchange_reduce_wait(plan.handle), RANKWISE_ERROR_USAGE, "reduce_start");

  EXPECT_EQ(rankwise_exchange_import_start(plan.handle, window.data(), 8), RANKWISE_SUCCESS);
  expect_on_all(rankwise_exchange_import_start(plan.handle, window.data(), 8), RANKWISE_ERROR_USAGE, "under way");
  expect_on_all(rankwise_exchange_reduce_start(plan.handle, window.data(), 1, MPI_DOUBLE, MPI_SUM), RANKWISE_ERROR_USAGE,
                "an import is under way");
  expect_on_all(rankwise_exchange_reduce_wait(plan.handle), RANKWISE_ERROR_USAGE, "reduce_start");
  expect_on_all(rankwise_exchange_set_sizes(plan.handle, 1, 8), RANKWISE_ERROR_USAGE, "under way");
  EXPECT_EQ(rankwise_exchange_import_wait(plan.handle), RANKWISE_SUCCESS);
  expect_on_all(rankwise_exchange_import_wait(plan.handle), RANKWISE_ERROR_USAGE, "import_start");
}

TEST_F(Misuse, WrongBuffersTypesAndOperationsAreRefused) {
  Plan plan(cart, {1}, options(RANKWISE_ALGORITHM_DIRECT));
  EXPECT_EQ(rankwise_exchange_set_sizes(plan.handle, 1, 8), RANKWISE_SUCCESS);
  std::vector<double> window(3, 0.0);
  expect_on_all(rankwise_exchange_import_start(plan.handle, nullptr, 8), RANKWISE_ERROR_ARGUMENT, "NULL");
  expect_on_all(rankwise_exchange_import_blocks_start(plan.handle, nullptr, 8), RANKWISE_ERROR_ARGUMENT, "NULL");
  void* const blocks[3] = {window.data(), nullptr, window.data()};
  expect_on_all(rankwise_exchange_import_blocks_start(plan.handle, blocks, 8), RANKWISE_ERROR_ARGUMENT, "slot 1");
  expect_on_all(rankwise_exchange_import_start(plan.handle, window.data(), 9), RANKWISE_ERROR_ARGUMENT, "9 B");
  expect_on_all(rankwise_exchange_import_start(plan.handle, window.data(), 0), RANKWISE_ERROR_ARGUMENT, "0 B");
  const auto reduce = [&](int values, MPI_Datatype type, MPI_Op op) {
    return rankwise_exchange_reduce_start(plan.handle, window.data(), values, type, op);
  };
  expect_on_all(reduce(0, MPI_DOUBLE, MPI_SUM), RANKWISE_ERROR_ARGUMENT, "values_per_element");
  expect_on_all(reduce(2, MPI_DOUBLE, MPI_SUM), RANKWISE_ERROR_ARGUMENT, "16 B");
  expect_on_all(reduce(1, MPI_DATATYPE_NULL, MPI_SUM), RANKWISE_ERROR_ARGUMENT, "MPI_DATATYPE_NULL");
  expect_on_all(reduce(1, MPI_DOUBLE, MPI_OP_NULL), RANKWISE_ERROR_ARGUMENT, "MPI_OP_NULL");
  MPI_Datatype pair = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_FLOAT, &pair);
  MPI_Type_commit(&pair);
  expect_on_all(reduce(1, pair, MPI_SUM), RANKWISE_ERROR_ARGUMENT, "intrinsic");
  MPI_Type_free(&pair);
}

TEST_F(Misuse, DestroyedPlansAreTold) {
  rankwise_exchange plan = nullptr;
  const int cutoff = 1;
  ASSERT_EQ(rankwise_exchange_create(cart.get(), 1, &cutoff, nullptr, &plan), RANKWISE_SUCCESS);
  const rankwise_exchange copy = plan;
  ASSERT_EQ(rankwise_exchange_destroy(&plan), RANKWISE_SUCCESS);
  EXPECT_EQ(plan, nullptr);
  EXPECT_EQ(rankwise_exchange_destroy(&plan), RANKWISE_SUCCESS);
  int slots = 0;
  expect_on_all(rankwise_exchange_slots(plan, &slots), RANKWISE_ERROR_USAGE, "NULL");
  expect_on_all(rankwise_exchange_slots(copy, &slots), RANKWISE_ERROR_USAGE, "destroyed");
  expect_on_all(rankwise_exchange_set_sizes(copy, 1, 8), RANKWISE_ERROR_USAGE, "destroyed");
  rankwise_exchange again = copy;
  expect_on_all(rankwise_exchange_destroy(&again), RANKWISE_ERROR_USAGE, "destroyed");
}

TEST_F(Misuse, DestroyCompletesWhatIsUnderWay) {
  rankwise_exchange plan = nullptr;
  const int cutoff = 1;
  ASSERT_EQ(rankwise_exchange_create(cart.get(), 1, &cutoff, nullptr, &plan), RANKWISE_SUCCESS);
  ASSERT_EQ(rankwise_exchange_set_sizes(plan, 1, 4), RANKWISE_SUCCESS);
  std::vector<int> window{-1, world_rank(), -1};
  ASSERT_EQ(rankwise_exchange_import_start(plan, window.data(), 4), RANKWISE_SUCCESS);
  EXPECT_EQ(rankwise_exchange_destroy(&plan), RANKWISE_SUCCESS);
  EXPECT_EQ(window[2], (world_rank() + 1) % world_size());
}

TEST_F(Misuse, QuestionsRefuseWhatIsOutsideTheWindow) {
  Plan plan(cart, {1}, options(RANKWISE_ALGORITHM_DIRECT));
  int answer = 0;
  std::size_t elements = 0;
  const int far = 2;
  EXPECT_EQ(rankwise_exchange_slot_of_offset(plan.handle, &far, &answer), RANKWISE_ERROR_ARGUMENT);
  EXPECT_EQ(rankwise_exchange_slot_rank(plan.handle, 3, &answer), RANKWISE_ERROR_ARGUMENT);
  EXPECT_EQ(rankwise_exchange_slot_rank(plan.handle, -1, &answer), RANKWISE_ERROR_ARGUMENT);
  EXPECT_EQ(rankwise_exchange_slot_rank(plan.handle, 0, nullptr), RANKWISE_ERROR_ARGUMENT);
  EXPECT_EQ(rankwise_exchange_slot_elements(plan.handle, 0, &elements), RANKWISE_ERROR_USAGE);
}

TEST_F(Misuse, TeamShiftHasVisitsAndTheOthersWindows) {
  Plan teams(cart, {1}, options(RANKWISE_ALGORITHM_TEAM_SHIFT));
  EXPECT_EQ(rankwise_exchange_set_sizes(teams.handle, 1, 8), RANKWISE_SUCCESS);
  double window[3] = {0.0, 0.0, 0.0};
  int slots = 0;
  expect_on_all(rankwise_exchange_import_start(teams.handle, window, 8), RANKWISE_ERROR_UNSUPPORTED, "visit");
  expect_on_all(rankwise_exchange_slots(teams.handle, &slots), RANKWISE_ERROR_UNSUPPORTED, "visit");
  expect_on_all(rankwise_exchange_visit(teams.handle, window, 8, window, 1, MPI_DOUBLE, MPI_SUM, nullptr, nullptr),
                RANKWISE_ERROR_ARGUMENT, "callback");
  Plan direct(cart, {1}, options(RANKWISE_ALGORITHM_DIRECT));
  const auto never = [](const rankwise_visit*, void*) { FAIL(); };
  expect_on_all(rankwise_exchange_visit(direct.handle, window, 8, window, 1, MPI_DOUBLE, MPI_SUM, never, nullptr),
                RANKWISE_ERROR_UNSUPPORTED, "team-shift");
}

TEST_F(Misuse, TheEnvironmentDecidesWhatIsLeftOpen) {
  const auto explained = [&](const rankwise_exchange_options& o) {
    Plan plan(cart, {1}, o);
    char text[1000] = "";
    rankwise_exchange_explain(plan.handle, text, sizeof text, nullptr);
    return std::string(text);
  };
  setenv("RANKWISE_ALGORITHM", "comb", 1);
  setenv("RANKWISE_SEND_MODE", "ssend", 1);
  EXPECT_NE(explained(options(RANKWISE_ALGORITHM_AUTO)).find("comb, ssend"), std::string::npos);
  EXPECT_NE(explained(options(RANKWISE_ALGORITHM_SHIFT, RANKWISE_SEND_ISEND)).find("shift, isend"), std::string::npos);
  setenv("RANKWISE_ALGORITHM", "fastest", 1);
  expect_on_all(create(cart.get(), {1}), RANKWISE_ERROR_ARGUMENT, "RANKWISE_ALGORITHM is 'fastest'");
  unsetenv("RANKWISE_ALGORITHM");
  setenv("RANKWISE_SEND_MODE", "transport-pigeon", 1);
  expect_on_all(create(cart.get(), {1}), RANKWISE_ERROR_ARGUMENT, "transport-pigeon");
  unsetenv("RANKWISE_SEND_MODE");
}

TEST_F(Misuse, CheckingEveryCallTellsAllRanksOfOneRanksMistake) {
  setenv("RANKWISE_CHECK", "1", 1);
  Plan plan(cart, {1}, options(RANKWISE_ALGORITHM_DIRECT));
  unsetenv("RANKWISE_CHECK");
  EXPECT_EQ(rankwise_exchange_set_sizes(plan.handle, 1, 8), RANKWISE_SUCCESS);
  std::vector<double> window(3, 0.0);
  const bool wrong = world_rank() == world_size() - 1;
  expect_on_all(rankwise_exchange_import_start(plan.handle, wrong ? nullptr : window.data(), 8), RANKWISE_ERROR_ARGUMENT,
                "rank " + std::to_string(world_size() - 1) + ": the buffer is NULL");
}

TEST_F(Misuse, AnotherOrderOnOneRankIsToldToAll) {
  setenv("RANKWISE_CHECK", "1", 1);
  Plan plan(cart, {1}, options(RANKWISE_ALGORITHM_DIRECT));
  unsetenv("RANKWISE_CHECK");
  EXPECT_EQ(rankwise_exchange_set_sizes(plan.handle, 1, 8), RANKWISE_SUCCESS);
  if (world_size() == 1) return;
  std::vector<double> window(3, 0.0);
  expect_on_all(odd_one_out() ? rankwise_exchange_reduce_start(plan.handle, window.data(), 1, MPI_DOUBLE, MPI_SUM)
                              : rankwise_exchange_import_start(plan.handle, window.data(), 8),
                RANKWISE_ERROR_USAGE,
                odd_one_out() ? "here in rankwise_exchange_reduce_start" : "here in rankwise_exchange_import_start");
  EXPECT_EQ(rankwise_exchange_import_start(plan.handle, window.data(), 8), RANKWISE_SUCCESS);
  EXPECT_EQ(rankwise_exchange_import_wait(plan.handle), RANKWISE_SUCCESS);
}

TEST_F(Misuse, HandlesThatAreNoneAreTold) {
  std::vector<std::uint64_t> memory(64, 7);  // what a caller may hold by mistake
  auto* const none = reinterpret_cast<rankwise_exchange>(memory.data());
  expect_on_all(rankwise_exchange_import_wait(none), RANKWISE_ERROR_USAGE, "this is no plan");
  expect_on_all(rankwise_exchange_destroy(nullptr), RANKWISE_ERROR_ARGUMENT, "NULL");
}

TEST_F(Misuse, ErrorsOfMpiArePassedOn) {
  EXPECT_EQ(rankwise_last_mpi_error(), MPI_SUCCESS);
  EXPECT_STREQ(rankwise_result_string(RANKWISE_ERROR_MPI), "error of MPI");
  EXPECT_STREQ(rankwise_result_string(static_cast<rankwise_result>(6)), "internal error of rankwise");
  EXPECT_EQ(rankwise_version(), RANKWISE_VERSION);
}

}  // namespace
}  // namespace rankwise_test
