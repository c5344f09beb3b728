// What the algorithms of halos, shared memory and saved patterns refuse: the same error on all ranks where create agrees.
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "fixture.hpp"

namespace rankwise_test {
namespace {

void expect_on_all(rankwise_result result, rankwise_result expected, const std::string& part) {
  EXPECT_EQ(result, expected) << rankwise_last_error();
  EXPECT_NE(std::string(rankwise_last_error()).find(part), std::string::npos) << rankwise_last_error();
}

bool is_last() { return world_rank() == world_size() - 1; }

rankwise_result create(const Cart& cart, const rankwise_field& field, const rankwise_halo_options* options = nullptr,
                       int nfields = 1) {
  rankwise_halo halo = nullptr;
  const rankwise_result result = rankwise_halo_create(cart.get(), nfields, &field, options, &halo);
  EXPECT_EQ(halo == nullptr, result != RANKWISE_SUCCESS);
  rankwise_halo_destroy(&halo);
  return result;
}

class HaloMisuse : public ::testing::Test {
 protected:
  HaloMisuse() {
    rankwise_field_default(&field);
    rankwise_field_array(&field, values.data(), 8, 1, &extent, &width, &width);
    rankwise_halo_options_default(&options);
  }
  const Cart cart{{world_size()}, {1}};
  const int extent = 4;
  const int width = 1;
  std::vector<double> values = std::vector<double>(64, 0.0);
  rankwise_field field;
  rankwise_halo_options options;
};

TEST_F(HaloMisuse, CreateRefusesOnAllRanks) {
  EXPECT_EQ(create(cart, field), RANKWISE_SUCCESS);
  expect_on_all(create(cart, field, nullptr, 0), RANKWISE_ERROR_ARGUMENT, "nfields is 0");
  expect_on_all(create(cart, field, nullptr, 65), RANKWISE_ERROR_ARGUMENT, "at most 64");
  rankwise_field wrong = field;
  wrong.extent[0] = is_last() ? 0 : 4;
  expect_on_all(create(cart, wrong), RANKWISE_ERROR_ARGUMENT, "extent of 0");
  wrong = field;
  wrong.struct_size = 3;
  expect_on_all(create(cart, wrong), RANKWISE_ERROR_ARGUMENT, "rankwise_field_default");
  rankwise_halo_options o = options;
  o.lower[0] = is_last() ? -1 : 1;
  expect_on_all(create(cart, field, &o), RANKWISE_ERROR_ARGUMENT, "options.lower[0] is -1");
  o = options;
  o.algorithm = 9;
  expect_on_all(create(cart, field, &o), RANKWISE_ERROR_ARGUMENT, "options.algorithm is 9");
  o = options;
  o.algorithm = RANKWISE_HALO_STAGED;
  o.corners = 0;
  expect_on_all(create(cart, field, &o), RANKWISE_ERROR_UNSUPPORTED, "staged");
  o = options;
  o.upper[0] = 4 * 65;
  expect_on_all(create(cart, field, &o), RANKWISE_ERROR_UNSUPPORTED, "more than 64 boxes on axis 0");
  rankwise_field twice[2] = {field, field};
  rankwise_halo halo = nullptr;
  expect_on_all(rankwise_halo_create(cart.get(), 2, twice, nullptr, &halo), RANKWISE_ERROR_ARGUMENT, "share memory");
  if (world_size() == 1) return;
  o = options;
  o.lower[0] = is_last() ? 2 : 1;
  expect_on_all(create(cart, field, &o), RANKWISE_ERROR_ARGUMENT, "the lower width of axis 0 differs");
  wrong = field;
  wrong.element_bytes = is_last() ? 4 : 8;
  expect_on_all(create(cart, wrong), RANKWISE_ERROR_ARGUMENT, "element_bytes");
}

TEST_F(HaloMisuse, BoxesSideBySideMustFit) {
  if (world_size() == 1) return;
  const Cart plane({world_size(), 1}, {0, 0});
  rankwise_field two = field;
  two.ndims = 2;
  two.extent[1] = is_last() ? 5 : 4;
  two.stride[1] = 64;
  expect_on_all(create(plane, two), RANKWISE_ERROR_ARGUMENT, "boxes side by side must fit");
}

TEST_F(HaloMisuse, InterleavedFieldsAreApart) {
  // x and y of 6 points, one after the other.
  rankwise_field both[2] = {field, field};
  for (rankwise_field& each : both) each.stride[0] = 16;
  both[0].data = values.data() + 2;
  both[1].data = values.data() + 3;
  rankwise_halo halo = nullptr;
  ok(rankwise_halo_create(cart.get(), 2, both, nullptr, &halo));
  ok(rankwise_halo_destroy(&halo));
}

TEST_F(HaloMisuse, CallsMustComeInOrder) {
  rankwise_halo halo = nullptr;
  ok(rankwise_halo_create(cart.get(), 1, &field, nullptr, &halo));
  expect_on_all(rankwise_halo_wait(halo), RANKWISE_ERROR_USAGE, "rankwise_halo_start first");
  int done = 0;
  expect_on_all(rankwise_halo_test(halo, &done), RANKWISE_ERROR_USAGE, "rankwise_halo_start first");
  ok(rankwise_halo_start(halo, 0, nullptr, nullptr));
  expect_on_all(rankwise_halo_start(halo, 0, nullptr, nullptr), RANKWISE_ERROR_USAGE, "under way");
  const auto reduce = [&](MPI_Datatype type, MPI_Op op) {
    return rankwise_halo_reduce_start(halo, 0, nullptr, nullptr, type, op);
  };
  expect_on_all(reduce(MPI_DOUBLE, MPI_SUM), RANKWISE_ERROR_USAGE, "under way");
  ok(rankwise_halo_wait(halo));
  expect_on_all(reduce(MPI_LONG_DOUBLE, MPI_SUM), RANKWISE_ERROR_ARGUMENT, "not made of");
  expect_on_all(reduce(MPI_DOUBLE, MPI_OP_NULL), RANKWISE_ERROR_ARGUMENT, "MPI_OP_NULL");
  expect_on_all(rankwise_neighbors_lists(halo, nullptr, nullptr), RANKWISE_ERROR_USAGE, "halos of lists");
  expect_on_all(rankwise_neighbors_places(halo, nullptr), RANKWISE_ERROR_USAGE, "halos of lists");
  rankwise_field other = field;
  other.extent[0] = 3;
  expect_on_all(rankwise_halo_start(halo, 1, &other, nullptr), RANKWISE_ERROR_ARGUMENT, "not that of create");
  char text[400] = "";
  ok(rankwise_halo_explain(halo, text, sizeof text, nullptr));
  EXPECT_NE(std::string(text).find("sends"), std::string::npos) << text;
  const rankwise_halo copy = halo;
  ok(rankwise_halo_start(halo, 0, nullptr, nullptr));
  ok(rankwise_halo_destroy(&halo));  // completes what is under way
  expect_on_all(rankwise_halo_start(copy, 0, nullptr, nullptr), RANKWISE_ERROR_USAGE, "destroyed");
  expect_on_all(rankwise_halo_start(nullptr, 0, nullptr, nullptr), RANKWISE_ERROR_USAGE, "NULL");
}

TEST_F(HaloMisuse, CheckingEveryCallTellsAllRanksOfOneRanksMistake) {
  setenv("RANKWISE_CHECK", "1", 1);
  rankwise_halo halo = nullptr;
  ok(rankwise_halo_create(cart.get(), 1, &field, nullptr, &halo));
  unsetenv("RANKWISE_CHECK");
  rankwise_field wrong = field;
  if (is_last()) wrong.data = nullptr;
  expect_on_all(rankwise_halo_start(halo, 1, &wrong, nullptr), RANKWISE_ERROR_ARGUMENT,
                "rank " + std::to_string(world_size() - 1) + ": the data of field 0 is NULL");
  ok(rankwise_halo_destroy(&halo));
}

TEST_F(HaloMisuse, EdgesMustHaveTwoEnds) {
  const int me = world_rank();
  const int next = (me + 1) % world_size();
  const int before = (me + world_size() - 1) % world_size();
  const auto edges = [&](int nsend, int skey, int nrecv, int rkey) {
    rankwise_halo halo = nullptr;
    const rankwise_result result = rankwise_neighbors_create(MPI_COMM_WORLD, nsend, &next, &skey, nrecv, &before, &rkey, &halo);
    rankwise_halo_destroy(&halo);
    return result;
  };
  EXPECT_EQ(edges(1, 4, 1, 4), RANKWISE_SUCCESS);
  expect_on_all(edges(1, 4, is_last() ? 0 : 1, 4), RANKWISE_ERROR_ARGUMENT, "sender only");
  expect_on_all(edges(is_last() ? 0 : 1, 4, 1, 4), RANKWISE_ERROR_ARGUMENT, "receiver only");
  expect_on_all(edges(1, 4, 1, 5), RANKWISE_ERROR_ARGUMENT, "under key");
  rankwise_halo halo = nullptr;
  const int far = world_size();
  const int key = 1;
  expect_on_all(rankwise_neighbors_create(MPI_COMM_WORLD, 1, &far, &key, 0, nullptr, nullptr, &halo), RANKWISE_ERROR_ARGUMENT,
                "give a rank of the communicator");
  const int twice[2] = {0, 0};
  expect_on_all(rankwise_neighbors_create(MPI_COMM_WORLD, 2, twice, twice, 0, nullptr, nullptr, &halo), RANKWISE_ERROR_ARGUMENT,
                "a key of its own");
}

TEST_F(HaloMisuse, ListsMustMatchAtBothEnds) {
  const int me = world_rank();
  const int next = (me + 1) % world_size();
  const int before = (me + world_size() - 1) % world_size();
  const int key = 3;
  rankwise_halo halo = nullptr;
  ok(rankwise_neighbors_create(MPI_COMM_WORLD, 1, &next, &key, 1, &before, &key, &halo));
  rankwise_field list;
  rankwise_field_default(&list);
  list.data = values.data();
  expect_on_all(rankwise_halo_start(halo, 1, &list, nullptr), RANKWISE_ERROR_USAGE, "rankwise_neighbors_lists");
  const rankwise_list send = {3, 0, nullptr};
  rankwise_list recv = {2, 3, nullptr};
  expect_on_all(rankwise_neighbors_lists(halo, &send, &recv), RANKWISE_ERROR_ARGUMENT,
                "sends 3 elements, but its receiver takes 2");
  recv.count = 3;
  ok(rankwise_neighbors_lists(halo, &send, &recv));
  const int below[1] = {-1};
  const rankwise_list bad = {1, 0, below};
  expect_on_all(rankwise_neighbors_lists(halo, &bad, &recv), RANKWISE_ERROR_ARGUMENT, "below 0");
  // Lists that were refused are not there.
  expect_on_all(rankwise_neighbors_places(halo, &recv), RANKWISE_ERROR_USAGE, "rankwise_neighbors_lists first");
  ok(rankwise_neighbors_lists(halo, &send, nullptr));
  expect_on_all(rankwise_halo_reduce_start(halo, 1, &list, nullptr, MPI_DOUBLE, MPI_SUM), RANKWISE_ERROR_USAGE, "recv lists");
  recv.count = 2;
  expect_on_all(rankwise_neighbors_places(halo, &recv), RANKWISE_ERROR_ARGUMENT, "sends 3 elements, but its receiver takes 2");
  expect_on_all(rankwise_neighbors_places(halo, nullptr), RANKWISE_ERROR_ARGUMENT, "recv is NULL");
  recv.count = 3;
  ok(rankwise_neighbors_places(halo, &recv));
  ok(rankwise_halo_start(halo, 1, &list, nullptr));
  ok(rankwise_halo_wait(halo));
  ok(rankwise_halo_destroy(&halo));
}

TEST_F(HaloMisuse, AMessageOfAnotherLengthIsAnErrorAndNoAbort) {
  if (world_size() == 1) return;
  const int me = world_rank();
  const int other = me ^ 1;
  const bool pairs = other < world_size();
  const int key = 3;
  rankwise_halo halo = nullptr;
  ok(rankwise_neighbors_create(MPI_COMM_WORLD, pairs ? 1 : 0, &other, &key, pairs ? 1 : 0, &other, &key, &halo));
  const rankwise_list send = {3, 0, nullptr};
  ok(rankwise_neighbors_lists(halo, &send, nullptr));
  rankwise_field list;
  rankwise_field_default(&list);
  list.data = values.data();
  list.element_bytes = me % 2 == 0 ? 8 : 16;
  ok(rankwise_halo_start(halo, 1, &list, nullptr));
  const rankwise_result result = rankwise_halo_wait(halo);
  if (pairs) {
    EXPECT_EQ(result, RANKWISE_ERROR_ARGUMENT) << rankwise_last_error();
    const std::string message = rankwise_last_error();
    EXPECT_NE(message.find("rank " + std::to_string(other)), std::string::npos) << message;
  }
  ok(rankwise_halo_destroy(&halo));
}

// Algorithms, memory and files ---------------------------------------------------------------------------------------

class HaloModes : public ::testing::Test {
 protected:
  HaloModes() {
    ok(rankwise_halo_alloc(sizeof(double) * 8, &memory));
    describe(static_cast<double*>(memory));
    rankwise_halo_options_default(&options);
  }
  ~HaloModes() override { rankwise_halo_free(&memory); }

  void describe(double* array) {
    const int extent = 6;
    const int width = 1;
    rankwise_field_default(&field);
    rankwise_field_array(&field, array, sizeof(double), 1, &extent, &width, &width);
  }
  rankwise_result create(rankwise_halo* halo) { return rankwise_halo_create(cart.get(), 1, &field, &options, halo); }
  rankwise_result create() {
    rankwise_halo halo = nullptr;
    const rankwise_result result = create(&halo);
    rankwise_halo_destroy(&halo);
    return result;
  }

  const Cart cart{{world_size()}, {1}};
  void* memory = nullptr;
  rankwise_field field;
  rankwise_halo_options options;
};

TEST_F(HaloModes, OptionsAndTheEnvironmentMustNameWhatThereIs) {
  options.exchanges = world_rank() == world_size() - 1 ? -1 : 100;
  expect_on_all(create(), RANKWISE_ERROR_ARGUMENT, "options.exchanges is -1");
  if (world_size() > 1) {
    options.exchanges = 100 + world_rank();
    expect_on_all(create(), RANKWISE_ERROR_ARGUMENT, "the number of exchanges differs");
  }
  options.exchanges = 0;
  options.algorithm = RANKWISE_HALO_LEADER + 1;
  expect_on_all(create(), RANKWISE_ERROR_ARGUMENT, "options.algorithm is 8");
  options.algorithm = RANKWISE_HALO_AUTO;
  setenv("RANKWISE_HALO", "fastest", 1);
  expect_on_all(create(), RANKWISE_ERROR_ARGUMENT, "auto, direct, staged, persistent");
  setenv("RANKWISE_HALO", "persistent", 1);
  rankwise_halo halo = nullptr;
  ok(create(&halo));
  unsetenv("RANKWISE_HALO");
  char text[2000];
  ok(rankwise_halo_explain(halo, text, sizeof text, nullptr));
  EXPECT_NE(std::string(text).find("persistent; asked for"), std::string::npos) << text;
  ok(rankwise_halo_destroy(&halo));
  setenv("RANKWISE_PROFILE", "/nowhere/machine.json", 1);
  if (world_size() > 1) expect_on_all(create(), RANKWISE_ERROR_ARGUMENT, "RANKWISE_PROFILE");
  unsetenv("RANKWISE_PROFILE");
}

TEST_F(HaloModes, AStructOfAnOlderVersionIsRight) {
  options.struct_size = offsetof(rankwise_halo_options, exchanges);
  EXPECT_EQ(create(), RANKWISE_SUCCESS) << rankwise_last_error();
  options.struct_size = offsetof(rankwise_halo_options, upper);
  expect_on_all(create(), RANKWISE_ERROR_ARGUMENT, "struct_size");
}

TEST_F(HaloModes, AWindowNeedsMemoryThatOthersRead) {
  options.algorithm = RANKWISE_HALO_WINDOW;
  std::vector<double> own(8);
  rankwise_halo halo = nullptr;
  if (world_size() > 1) {
    ok(create(&halo));
    rankwise_field other = field;
    other.data = own.data() + 1;
    expect_on_all(rankwise_halo_start(halo, 1, &other, nullptr), RANKWISE_ERROR_ARGUMENT, "rankwise_halo_alloc");
    ok(rankwise_halo_start(halo, 0, nullptr, nullptr));
    ok(rankwise_halo_wait(halo));
    ok(rankwise_halo_destroy(&halo));
  }
  describe(own.data());
  expect_on_all(create(), RANKWISE_ERROR_UNSUPPORTED, "rankwise_halo_alloc");
}

TEST_F(HaloModes, OnlyWhatWasAllocatedIsFreedAndOnce) {
  std::vector<double> own(8);
  void* wrong = own.data();
  expect_on_all(rankwise_halo_free(&wrong), RANKWISE_ERROR_ARGUMENT, "not from rankwise_halo_alloc");
  void* inside = static_cast<double*>(memory) + 1;
  expect_on_all(rankwise_halo_free(&inside), RANKWISE_ERROR_ARGUMENT, "not from rankwise_halo_alloc");
  void* copy = memory;
  ok(rankwise_halo_free(&memory));
  EXPECT_EQ(memory, nullptr);
  ok(rankwise_halo_free(&memory));
  expect_on_all(rankwise_halo_free(&copy), RANKWISE_ERROR_ARGUMENT, "has been freed");
  expect_on_all(rankwise_halo_free(nullptr), RANKWISE_ERROR_ARGUMENT, "NULL");
  expect_on_all(rankwise_halo_alloc(8, nullptr), RANKWISE_ERROR_ARGUMENT, "NULL");
  ok(rankwise_halo_alloc(0, &memory));
  EXPECT_NE(memory, nullptr);
}

TEST_F(HaloModes, ListsTakeTheirAlgorithmsOnAllRanks) {
  rankwise_halo boxes = nullptr;
  ok(create(&boxes));
  expect_on_all(rankwise_neighbors_algorithm(boxes, RANKWISE_HALO_DIRECT), RANKWISE_ERROR_USAGE, "halos of lists");
  ok(rankwise_halo_destroy(&boxes));
  rankwise_halo lists = nullptr;
  ok(rankwise_neighbors_create(MPI_COMM_WORLD, 0, nullptr, nullptr, 0, nullptr, nullptr, &lists));
  expect_on_all(rankwise_neighbors_algorithm(lists, RANKWISE_HALO_STAGED), RANKWISE_ERROR_UNSUPPORTED, "halos of boxes");
  expect_on_all(rankwise_neighbors_algorithm(lists, 77), RANKWISE_ERROR_ARGUMENT, "algorithm is 77");
  if (world_size() > 1) {
    const int differs = world_rank() == 0 ? RANKWISE_HALO_DIRECT : RANKWISE_HALO_LEADER;
    expect_on_all(rankwise_neighbors_algorithm(lists, differs), RANKWISE_ERROR_ARGUMENT, "differs between ranks");
  }
  ok(rankwise_neighbors_algorithm(lists, RANKWISE_HALO_AUTO));
  ok(rankwise_neighbors_algorithm(lists, RANKWISE_HALO_LEADER));
  expect_on_all(rankwise_halo_save(lists, "x.json"), RANKWISE_ERROR_USAGE, "nothing has been exchanged");
  ok(rankwise_halo_destroy(&lists));
}

TEST_F(HaloModes, ListsNameElementsThatThereCanBe) {
  const int self = world_rank(), key = 0, below[1] = {-1};
  rankwise_halo lists = nullptr;
  ok(rankwise_neighbors_create(MPI_COMM_WORLD, 1, &self, &key, 1, &self, &key, &lists));
  for (const rankwise_list& wrong : {rankwise_list{SIZE_MAX, 0, nullptr}, rankwise_list{1, SIZE_MAX - 5, nullptr}}) {
    EXPECT_EQ(rankwise_neighbors_lists(lists, &wrong, nullptr), RANKWISE_ERROR_ARGUMENT);
    EXPECT_NE(std::string(rankwise_last_error()).find("send[0] has"), std::string::npos) << rankwise_last_error();
  }
  const rankwise_list negative{1, 0, below};
  EXPECT_EQ(rankwise_neighbors_lists(lists, &negative, nullptr), RANKWISE_ERROR_ARGUMENT);
  EXPECT_NE(std::string(rankwise_last_error()).find("send[0].index[0] is below 0"), std::string::npos) << rankwise_last_error();
  ok(rankwise_halo_destroy(&lists));
}

TEST_F(HaloModes, APatternIsSavedWhereAFileCanBeWritten) {
  rankwise_halo halo = nullptr;
  ok(create(&halo));
  expect_on_all(rankwise_halo_save(halo, nullptr), RANKWISE_ERROR_ARGUMENT, "path is NULL");
  expect_on_all(rankwise_halo_save(halo, "/nowhere/halo.json"), RANKWISE_ERROR_ARGUMENT, "cannot be written");
  const std::string path = ::testing::TempDir() + "rankwise_halo_" + std::to_string(world_size()) + ".json";
  ok(rankwise_halo_save(halo, path.c_str()));
  if (world_rank() == 0) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    EXPECT_NE(text.str().find("\"ranks\": " + std::to_string(world_size())), std::string::npos) << text.str();
    const bool pair = text.str().find("{\"source\": 0, \"dest\": 1, \"bytes\": [") != std::string::npos;
    EXPECT_EQ(pair, world_size() > 1) << text.str();
    std::remove(path.c_str());
  }
  ok(rankwise_halo_destroy(&halo));
}

}  // namespace
}  // namespace rankwise_test
