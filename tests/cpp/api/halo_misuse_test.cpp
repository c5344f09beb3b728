// What the algorithms of halos, shared memory and saved patterns refuse: the same error on all ranks where create agrees.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "fixture.hpp"

namespace rankwise_test {
namespace {

void expect(rankwise_result result, rankwise_result expected, const std::string& part) {
  EXPECT_EQ(result, expected) << rankwise_last_error();
  EXPECT_NE(std::string(rankwise_last_error()).find(part), std::string::npos) << rankwise_last_error();
}

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
  expect(create(), RANKWISE_ERROR_ARGUMENT, "options.exchanges is -1");
  if (world_size() > 1) {
    options.exchanges = 100 + world_rank();
    expect(create(), RANKWISE_ERROR_ARGUMENT, "the number of exchanges differs");
  }
  options.exchanges = 0;
  options.algorithm = RANKWISE_HALO_LEADER + 1;
  expect(create(), RANKWISE_ERROR_ARGUMENT, "options.algorithm is 8");
  options.algorithm = RANKWISE_HALO_AUTO;
  setenv("RANKWISE_HALO", "fastest", 1);
  expect(create(), RANKWISE_ERROR_ARGUMENT, "auto, direct, staged, persistent");
  setenv("RANKWISE_HALO", "persistent", 1);
  rankwise_halo halo = nullptr;
  ok(create(&halo));
  unsetenv("RANKWISE_HALO");
  char text[2000];
  ok(rankwise_halo_explain(halo, text, sizeof text, nullptr));
  EXPECT_NE(std::string(text).find("persistent; asked for"), std::string::npos) << text;
  ok(rankwise_halo_destroy(&halo));
  setenv("RANKWISE_PROFILE", "/nowhere/machine.json", 1);
  if (world_size() > 1) expect(create(), RANKWISE_ERROR_ARGUMENT, "RANKWISE_PROFILE");
  unsetenv("RANKWISE_PROFILE");
}

TEST_F(HaloModes, AStructOfAnOlderVersionIsRight) {
  options.struct_size = offsetof(rankwise_halo_options, exchanges);
  EXPECT_EQ(create(), RANKWISE_SUCCESS) << rankwise_last_error();
  options.struct_size = offsetof(rankwise_halo_options, upper);
  expect(create(), RANKWISE_ERROR_ARGUMENT, "struct_size");
}

TEST_F(HaloModes, AWindowNeedsMemoryThatOthersRead) {
  options.algorithm = RANKWISE_HALO_WINDOW;
  std::vector<double> own(8);
  rankwise_halo halo = nullptr;
  if (world_size() > 1) {
    ok(create(&halo));
    rankwise_field other = field;
    other.data = own.data() + 1;
    expect(rankwise_halo_start(halo, 1, &other, nullptr), RANKWISE_ERROR_ARGUMENT, "rankwise_halo_alloc");
    ok(rankwise_halo_start(halo, 0, nullptr, nullptr));
    ok(rankwise_halo_wait(halo));
    ok(rankwise_halo_destroy(&halo));
  }
  describe(own.data());
  expect(create(), RANKWISE_ERROR_UNSUPPORTED, "rankwise_halo_alloc");
}

TEST_F(HaloModes, OnlyWhatWasAllocatedIsFreedAndOnce) {
  std::vector<double> own(8);
  void* wrong = own.data();
  expect(rankwise_halo_free(&wrong), RANKWISE_ERROR_ARGUMENT, "not from rankwise_halo_alloc");
  void* inside = static_cast<double*>(memory) + 1;
  expect(rankwise_halo_free(&inside), RANKWISE_ERROR_ARGUMENT, "not from rankwise_halo_alloc");
  void* copy = memory;
  ok(rankwise_halo_free(&memory));
  EXPECT_EQ(memory, nullptr);
  ok(rankwise_halo_free(&memory));
  expect(rankwise_halo_free(&copy), RANKWISE_ERROR_ARGUMENT, "has been freed");
  expect(rankwise_halo_free(nullptr), RANKWISE_ERROR_ARGUMENT, "NULL");
  expect(rankwise_halo_alloc(8, nullptr), RANKWISE_ERROR_ARGUMENT, "NULL");
  ok(rankwise_halo_alloc(0, &memory));
  EXPECT_NE(memory, nullptr);
}

TEST_F(HaloModes, ListsTakeTheirAlgorithmsOnAllRanks) {
  rankwise_halo boxes = nullptr;
  ok(create(&boxes));
  expect(rankwise_neighbors_algorithm(boxes, RANKWISE_HALO_DIRECT), RANKWISE_ERROR_USAGE, "halos of lists");
  ok(rankwise_halo_destroy(&boxes));
  rankwise_halo lists = nullptr;
  ok(rankwise_neighbors_create(MPI_COMM_WORLD, 0, nullptr, nullptr, 0, nullptr, nullptr, &lists));
  expect(rankwise_neighbors_algorithm(lists, RANKWISE_HALO_STAGED), RANKWISE_ERROR_UNSUPPORTED, "halos of boxes");
  expect(rankwise_neighbors_algorithm(lists, 77), RANKWISE_ERROR_ARGUMENT, "algorithm is 77");
  if (world_size() > 1) {
    const int differs = world_rank() == 0 ? RANKWISE_HALO_DIRECT : RANKWISE_HALO_LEADER;
    expect(rankwise_neighbors_algorithm(lists, differs), RANKWISE_ERROR_ARGUMENT, "differs between ranks");
  }
  ok(rankwise_neighbors_algorithm(lists, RANKWISE_HALO_LEADER));
  expect(rankwise_halo_save(lists, "x.json"), RANKWISE_ERROR_USAGE, "nothing has been exchanged");
  ok(rankwise_halo_destroy(&lists));
}

TEST_F(HaloModes, APatternIsSavedWhereAFileCanBeWritten) {
  rankwise_halo halo = nullptr;
  ok(create(&halo));
  expect(rankwise_halo_save(halo, nullptr), RANKWISE_ERROR_ARGUMENT, "path is NULL");
  expect(rankwise_halo_save(halo, "/nowhere/halo.json"), RANKWISE_ERROR_ARGUMENT, "cannot be written");
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
