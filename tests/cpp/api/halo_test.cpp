// Halos under real ranks: every element of a halo is that of its owner, whatever the boxes; misuse is told; and between start
// and wait nothing is collective and no memory is taken.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <utility>

#include "../rounds.hpp"
#include "fixture.hpp"
#include "hooks.hpp"

namespace rankwise_test {
namespace {

// Elements in memory of the program's own, or such as other ranks can read.
class Values {
 public:
  Values() = default;
  ~Values() {
    if (shared_ != nullptr) rankwise_halo_free(&shared_);
  }
  Values(Values&& other) noexcept : own_(std::move(other.own_)), shared_(std::exchange(other.shared_, nullptr)) {}
  Values& operator=(Values&&) = delete;
  void assign(std::size_t count, double value, bool shared) {
    if (shared) {
      ok(rankwise_halo_alloc(count * sizeof(double), &shared_));
    } else {
      own_.resize(count);
    }
    std::fill_n(data(), count, value);
  }
  [[nodiscard]] double* data() { return shared_ != nullptr ? static_cast<double*>(shared_) : own_.data(); }
  [[nodiscard]] double& operator[](std::size_t i) { return data()[i]; }
  [[nodiscard]] double operator[](std::size_t i) const { return const_cast<Values*>(this)->data()[i]; }

 private:
  std::vector<double> own_;
  void* shared_ = nullptr;
};

// One field of a rank: its box in the whole grid, and memory with a halo around it.
struct Box {
  std::vector<int> start;  // of the own elements, in the whole
  std::vector<int> extent;
  std::vector<int> whole;  // extents of the whole
  std::vector<int> lower;
  std::vector<int> upper;
  std::vector<bool> periodic;
  Values values;

  [[nodiscard]] std::size_t volume() const {
    std::size_t all = 1;
    for (std::size_t a = 0; a < extent.size(); ++a) all *= static_cast<std::size_t>(extent[a] + lower[a] + upper[a]);
    return all;
  }
  // Calls each(index, number of the element in the whole or -1, on how many axes it lies outside).
  template <class Each>
  void each(Each call) const {
    std::vector<int> at(extent.size(), 0);
    for (std::size_t i = 0; i < volume(); ++i) {
      long number = 0;
      int outside = 0;
      for (std::size_t a = 0; a < at.size(); ++a) {
        int place = at[a] - lower[a];
        outside += place < 0 || place >= extent[a] ? 1 : 0;
        place += start[a];
        if (periodic[a]) place = ((place % whole[a]) + whole[a]) % whole[a];
        number = number < 0 || place < 0 || place >= whole[a] ? -1 : number * whole[a] + place;
      }
      call(i, number, outside);
      for (std::size_t a = at.size(); a-- > 0;) {
        if (++at[a] < extent[a] + lower[a] + upper[a]) break;
        at[a] = 0;
      }
    }
  }
};

// The same boxes on all ranks, from one seed.
struct Case {
  std::vector<int> dims, periods, lower, upper;
  int corners = 1;
  std::vector<std::vector<std::vector<int>>> extents;  // of each field, axis and coordinate
};

Case random_case(unsigned seed) {
  std::mt19937 random(seed);
  const auto draw = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  Case made;
  made.dims.assign(static_cast<std::size_t>(draw(1, 3)), 0);
  MPI_Dims_create(world_size(), static_cast<int>(made.dims.size()), made.dims.data());
  std::shuffle(made.dims.begin(), made.dims.end(), random);
  made.corners = draw(0, 2) > 0 ? 1 : 0;
  for (std::size_t a = 0; a < made.dims.size(); ++a) {
    made.periods.push_back(draw(0, 1));
    made.lower.push_back(draw(0, 4));
    made.upper.push_back(draw(0, 4));
  }
  for (int f = draw(1, 3); f > 0; --f) {
    made.extents.emplace_back();
    for (const int dim : made.dims) {
      made.extents.back().emplace_back();
      for (int c = 0; c < dim; ++c) made.extents.back().back().push_back(draw(1, 9));
    }
  }
  return made;
}

Case cube(int n, int width, std::size_t fields) {
  Case made{{0, 0, 0}, {1, 1, 1}, {width, width, width}, {width, width, width}, 1, {}};
  MPI_Dims_create(world_size(), 3, made.dims.data());
  std::vector<std::vector<int>> extents;
  for (const int dim : made.dims) extents.emplace_back(static_cast<std::size_t>(dim), n);
  made.extents.assign(fields, extents);
  return made;
}

class Halo {
 public:
  explicit Halo(const Case& of, int algorithm = RANKWISE_HALO_AUTO, bool shared = false, int exchanges = 4000)
      : cart_(of.dims, of.periods) {
    int coords[3];
    MPI_Cart_coords(cart_.get(), world_rank(), static_cast<int>(of.dims.size()), coords);
    for (const auto& extents : of.extents) {
      Box box;
      for (std::size_t a = 0; a < of.dims.size(); ++a) {
        const auto& on_axis = extents[a];
        box.start.push_back(std::accumulate(on_axis.begin(), on_axis.begin() + coords[a], 0));
        box.extent.push_back(on_axis[static_cast<std::size_t>(coords[a])]);
        box.whole.push_back(std::accumulate(on_axis.begin(), on_axis.end(), 0));
        box.periodic.push_back(of.periods[a] != 0);
      }
      box.lower = of.lower;
      box.upper = of.upper;
      box.values.assign(box.volume(), -1.0, shared);
      boxes.push_back(std::move(box));
    }
    fields.resize(boxes.size());
    for (std::size_t f = 0; f < boxes.size(); ++f) {
      rankwise_field_default(&fields[f]);
      Box& box = boxes[f];
      ok(rankwise_field_array(&fields[f], box.values.data(), sizeof(double), static_cast<int>(box.extent.size()),
                              box.extent.data(), box.lower.data(), box.upper.data()));
    }
    rankwise_halo_options_default(&options);
    options.algorithm = algorithm;
    options.corners = of.corners;
    options.exchanges = exchanges;
    std::copy(of.lower.begin(), of.lower.end(), options.lower);
    std::copy(of.upper.begin(), of.upper.end(), options.upper);
    result = rankwise_halo_create(cart_.get(), static_cast<int>(fields.size()), fields.data(), &options, &handle);
  }
  ~Halo() { rankwise_halo_destroy(&handle); }
  Halo(const Halo&) = delete;
  Halo& operator=(const Halo&) = delete;

  void fill(int round) {
    for (Box& box : boxes) {
      box.each([&](std::size_t i, long number, int outside) {
        box.values[i] = outside == 0 ? static_cast<double>(number) + 1e6 * round : -1.0;
      });
    }
  }
  // Elements of fields that did not move keep their -1.
  [[nodiscard]] int wrong(int round, const std::vector<int>& active) const {
    int count = 0;
    for (std::size_t f = 0; f < boxes.size(); ++f) {
      boxes[f].each([&](std::size_t i, long number, int outside) {
        const bool comes = outside == 0 || (number >= 0 && active[f] != 0 && (options.corners == 1 || outside == 1));
        if (boxes[f].values[i] != (comes ? static_cast<double>(number) + 1e6 * round : -1.0)) ++count;
      });
    }
    return count;
  }

  rankwise_halo handle = nullptr;
  rankwise_result result;
  rankwise_halo_options options;
  std::vector<rankwise_field> fields;
  std::vector<Box> boxes;
  [[nodiscard]] MPI_Comm comm() const { return cart_.get(); }

 private:
  Cart cart_;
};

// The same on all ranks: a failure of one ends the loop on all.
bool all_well(bool well) {
  int all = well ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all == 1;
}

// Wrong elements of all ranks after so many exchanges, in one of which a field does not move.
int wrong_after(Halo& halo, int rounds) {
  std::vector<int> active(halo.fields.size(), 1);
  int wrong = 0;
  for (int round = 1; round <= rounds; ++round) {
    active[0] = round == 3 ? 0 : 1;
    halo.fill(round);
    // Nobody's elements may be read while they are filled.
    ok(rankwise_halo_start(halo.handle, 0, nullptr, round == 1 ? nullptr : active.data()));
    for (int done = 0; round == 2 && done == 0;) ok(rankwise_halo_test(halo.handle, &done));
    ok(rankwise_halo_wait(halo.handle));
    wrong += halo.wrong(round, active);
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return wrong;
}

TEST(ApiHalo, RandomBoxesHoldTheirNeighboursElements) {
  constexpr int all[] = {RANKWISE_HALO_DIRECT,   RANKWISE_HALO_STAGED,     RANKWISE_HALO_PERSISTENT, RANKWISE_HALO_WINDOW,
                         RANKWISE_HALO_TWO_STEP, RANKWISE_HALO_THREE_STEP, RANKWISE_HALO_LEADER};
  for (unsigned seed = 0; seed < static_cast<unsigned>(rounds(28, 4)); ++seed) {
    const Case of = random_case(seed);
    for (const int algorithm : {all[seed % 7], all[(seed + 2) % 7], all[(seed + 3) % 7]}) {
      if (algorithm == RANKWISE_HALO_STAGED && of.corners == 0) continue;
      Halo halo(of, algorithm, algorithm == RANKWISE_HALO_WINDOW);
      if (algorithm == RANKWISE_HALO_WINDOW && halo.result == RANKWISE_ERROR_UNSUPPORTED) continue;  // no neighbours here
      ASSERT_EQ(halo.result, RANKWISE_SUCCESS) << rankwise_last_error();
      ASSERT_EQ(wrong_after(halo, 3), 0) << "seed " << seed << ", algorithm " << algorithm;
    }
  }
}

// Who reads others' memory must let messages get on, too long to be sent before they are received.
TEST(ApiHalo, LetsMessagesGetOnWhileItWaitsOrIsAsked) {
  if (world_size() < 2) return;
  Halo halo(cube(6, 1, 1), RANKWISE_HALO_WINDOW, true);
  ASSERT_EQ(halo.result, RANKWISE_SUCCESS) << rankwise_last_error();
  std::vector<char> message(std::size_t{4} << 20);
  const auto bytes = static_cast<int>(message.size());
  for (const bool asks : {false, true}) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (world_rank() == 0) MPI_Irecv(message.data(), bytes, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &request);
    if (world_rank() == 1) MPI_Send(message.data(), bytes, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
    ok(rankwise_halo_start(halo.handle, 0, nullptr, nullptr));
    for (int done = 0; asks && done == 0;) ok(rankwise_halo_test(halo.handle, &done));
    ok(rankwise_halo_wait(halo.handle));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

TEST(ApiHalo, AutoIsRightWhileItTriesAndSaysWhatItFound) {
  for (const bool shared : {false, true}) {
    for (unsigned seed = 40; seed < 40 + static_cast<unsigned>(rounds(4, 2)); ++seed) {
      Halo halo(random_case(seed), RANKWISE_HALO_AUTO, shared, 1200);
      ASSERT_EQ(halo.result, RANKWISE_SUCCESS) << rankwise_last_error();
      std::string text = "to be tried";
      for (int i = 0; i < 40 && text.find("to be tried") != std::string::npos; ++i) {
        ASSERT_EQ(wrong_after(halo, 16), 0) << "seed " << seed;
        text.resize(4096);
        ok(rankwise_halo_explain(halo.handle, text.data(), text.size(), nullptr));
      }
      EXPECT_EQ(text.find("to be tried"), std::string::npos) << text;
    }
  }
}

TEST(ApiHalo, NoTrialWithoutExchangesToCome) {
  Halo halo(cube(4, 1, 1), RANKWISE_HALO_AUTO, false, 0);
  char text[4096];
  ok(rankwise_halo_explain(halo.handle, text, sizeof text, nullptr));
  EXPECT_EQ(std::string(text).find("tried"), std::string::npos) << text;
}

TEST(ApiHalo, TheWayBackAddsEveryGhostOnceToItsOwner) {
  for (unsigned seed = 100; seed < 100 + static_cast<unsigned>(rounds(15, 5)); ++seed) {
    const Case of = random_case(seed);
    Halo halo(of);
    ASSERT_EQ(halo.result, RANKWISE_SUCCESS) << rankwise_last_error();
    const auto mark = [](std::size_t f, std::size_t i) {
      return static_cast<double>((world_rank() * 31 + static_cast<int>(f)) % 97 + static_cast<int>(i % 89));
    };
    // What all ranks' halos hold, added up by element, against what the owners get.
    std::vector<std::vector<double>> expected;
    for (std::size_t f = 0; f < halo.boxes.size(); ++f) {
      Box& box = halo.boxes[f];
      const int all = std::accumulate(box.whole.begin(), box.whole.end(), 1, std::multiplies<>());
      std::vector<double> sums(static_cast<std::size_t>(all), 0.0);
      box.each([&](std::size_t i, long number, int outside) {
        box.values[i] = outside == 0 ? 0.0 : mark(f, i);
        const bool counts = number >= 0 && outside > 0 && (of.corners == 1 || outside == 1);
        if (counts) sums[static_cast<std::size_t>(number)] += box.values[i];
      });
      MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      expected.push_back(std::move(sums));
    }
    ok(rankwise_halo_reduce_start(halo.handle, 0, nullptr, nullptr, MPI_DOUBLE, MPI_SUM));
    ok(rankwise_halo_wait(halo.handle));
    int wrong = 0;
    for (std::size_t f = 0; f < halo.boxes.size(); ++f) {
      halo.boxes[f].each([&](std::size_t i, long number, int outside) {
        if (outside == 0 && halo.boxes[f].values[i] != expected[f][static_cast<std::size_t>(number)]) ++wrong;
      });
    }
    ASSERT_TRUE(all_well(wrong == 0)) << "seed " << seed;
  }
}

TEST(ApiHalo, ReductionsTakeTheLargestOrAnyOperationOfMpi) {
  for (const MPI_Op op : {MPI_MAX, MPI_MIN, MPI_PROD}) {
    Halo halo(cube(3, 1, 1));
    Box& box = halo.boxes[0];
    box.each([&](std::size_t i, long, int outside) { box.values[i] = outside == 0 ? 2.0 : 3.0; });
    ok(rankwise_halo_reduce_start(halo.handle, 0, nullptr, nullptr, MPI_DOUBLE, op));
    ok(rankwise_halo_wait(halo.handle));
    const std::size_t corner = 25 + 5 + 1;  // of the own elements: it has images in 7 halos
    EXPECT_EQ(box.values[corner], op == MPI_MAX ? 3.0 : op == MPI_MIN ? 2.0 : 2.0 * 2187.0);
    EXPECT_EQ(box.values[2 * 25 + 2 * 5 + 2], 2.0);
  }
}

// exact: whether every partner gets one message; reads: in place of messages.
void check_one(Halo& halo, bool exact, bool reads) {
  std::vector<int> partners;
  for (int dx = -1; dx <= 1; ++dx) {
    for (int dy = -1; dy <= 1; ++dy) {
      for (int dz = -1; dz <= 1; ++dz) {
        int coords[3];
        MPI_Cart_coords(halo.comm(), world_rank(), 3, coords);
        const int moved[3] = {coords[0] + dx, coords[1] + dy, coords[2] + dz};
        int rank = 0;
        MPI_Cart_rank(halo.comm(), moved, &rank);
        if (rank != world_rank()) partners.push_back(rank);
      }
    }
  }
  std::ranges::sort(partners);
  const auto distinct = static_cast<int>(std::ranges::unique(partners).begin() - partners.begin());
  halo.fill(1);
  const int some[3] = {1, 0, 1};
  for (int round = 0; round < 3; ++round) {
    const Counted counted;
    ok(rankwise_halo_start(halo.handle, 0, nullptr, round == 2 ? some : nullptr));
    ok(rankwise_halo_wait(halo.handle));
    EXPECT_EQ(collectives, 0);
    EXPECT_EQ(allocations, 0);
    const int expected = reads && std::getenv("MPIR_CVAR_NUM_CLIQUES") == nullptr ? 0 : distinct;
    EXPECT_TRUE(!exact || messages == expected) << messages;
  }
  const Counted counted;
  ok(rankwise_halo_reduce_start(halo.handle, 0, nullptr, nullptr, MPI_DOUBLE, MPI_SUM));
  ok(rankwise_halo_wait(halo.handle));
  EXPECT_EQ(collectives, 0);
  EXPECT_EQ(allocations, 0);
  EXPECT_EQ(messages, distinct);
}

TEST(ApiHalo, NothingIsCollectiveNorTakesMemoryAndPartnersGetOneMessage) {
  constexpr int algorithms[] = {RANKWISE_HALO_DIRECT,   RANKWISE_HALO_PERSISTENT, RANKWISE_HALO_WINDOW,
                                RANKWISE_HALO_TWO_STEP, RANKWISE_HALO_THREE_STEP, RANKWISE_HALO_LEADER};
  for (const int algorithm : algorithms) {
    Halo halo(cube(6, 1, 3), algorithm, algorithm == RANKWISE_HALO_WINDOW);
    if (world_size() == 1 && algorithm == RANKWISE_HALO_WINDOW) {
      EXPECT_EQ(halo.result, RANKWISE_ERROR_UNSUPPORTED);
      continue;
    }
    ASSERT_EQ(halo.result, RANKWISE_SUCCESS) << rankwise_last_error();
    const bool straight = algorithm == RANKWISE_HALO_DIRECT || algorithm == RANKWISE_HALO_PERSISTENT;
    const bool one_node = std::getenv("MPIR_CVAR_NUM_CLIQUES") == nullptr;
    check_one(halo, straight || one_node, algorithm == RANKWISE_HALO_WINDOW);
  }
}

TEST(ApiHalo, FortranOrderAndOtherAddressesAreRight) {
  const Cart cart({world_size(), 1}, {1, 1});
  // Two arrays a(x, y), the first axis the fastest, 4 x 3 own elements and a halo of 1.
  std::vector<std::vector<double>> arrays(2, std::vector<double>(6 * 5, -1.0));
  rankwise_field field;
  rankwise_field_default(&field);
  field.ndims = 2;
  field.extent[0] = 4, field.extent[1] = 3;
  field.stride[0] = 8, field.stride[1] = 48;
  field.data = nullptr;
  rankwise_halo halo = nullptr;
  ok(rankwise_halo_create(cart.get(), 1, &field, nullptr, &halo));
  EXPECT_EQ(rankwise_halo_start(halo, 0, nullptr, nullptr), RANKWISE_ERROR_ARGUMENT);
  for (auto& array : arrays) {
    for (int y = 0; y < 3; ++y) {
      for (int x = 0; x < 4; ++x) array[static_cast<std::size_t>((y + 1) * 6 + x + 1)] = world_rank() * 100 + y * 10 + x;
    }
    field.data = array.data() + 7;
    ok(rankwise_halo_start(halo, 1, &field, nullptr));
    ok(rankwise_halo_wait(halo));
    const int right = (world_rank() + 1) % world_size();
    EXPECT_EQ(array[5], right * 100 + 20);  // beyond the upper x, below y: the last row of the rank behind
    EXPECT_EQ(array[6 + 5], right * 100);
  }
  ok(rankwise_halo_destroy(&halo));
}

// Lists --------------------------------------------------------------------------------------------------------------

TEST(ApiNeighbors, ListsGoForwardAndBackWithSelfAndRepeatedEdges) {
  const int n = world_size();
  const int me = world_rank();
  // Two edges to the next rank and one to oneself.
  const int next = (me + 1) % n;
  const int before = (me + n - 1) % n;
  const int dest[] = {next, me, next};
  const int skey[] = {5, 9, 2};
  const int source[] = {me, before, before};
  const int rkey[] = {9, 2, 5};
  rankwise_halo halo = nullptr;
  ok(rankwise_neighbors_create(MPI_COMM_WORLD, 3, dest, skey, 3, source, rkey, &halo));
  const int odd[] = {7, 1, 2, 3};
  const rankwise_list send[] = {{4, 0, odd}, {2, 0, nullptr}, {1, 4, nullptr}};
  const rankwise_list recv[] = {{2, 10, nullptr}, {1, 12, nullptr}, {4, 13, nullptr}};
  ok(rankwise_neighbors_lists(halo, send, recv));
  std::vector<double> a(20, -1.0);
  std::vector<float> b(60, -1.0F);
  for (int i = 0; i < 8; ++i) a[static_cast<std::size_t>(i)] = me * 10 + i;
  for (int i = 0; i < 24; ++i) b[static_cast<std::size_t>(i)] = static_cast<float>(me * 100 + i);
  rankwise_field fields[2];
  for (rankwise_field& field : fields) rankwise_field_default(&field);
  fields[0].data = a.data();
  fields[1].data = b.data();
  fields[1].element_bytes = 12;
  fields[1].stride[0] = 12;
  for (int round = 0; round < 3; ++round) {
    const Counted counted;
    ok(rankwise_halo_start(halo, 2, fields, nullptr));
    ok(rankwise_halo_wait(halo));
    if (round == 0) continue;  // memory is taken once
    EXPECT_EQ(collectives, 0);
    EXPECT_EQ(allocations, 0);
    EXPECT_EQ(messages, n == 1 ? 0 : 1);
  }
  EXPECT_EQ(a[10], me * 10 + 0);
  EXPECT_EQ(a[11], me * 10 + 1);
  EXPECT_EQ(a[12], before * 10 + 4);
  EXPECT_EQ(a[13], before * 10 + 7);
  EXPECT_EQ(a[16], before * 10 + 3);
  EXPECT_EQ(b[3 * 16 + 2], static_cast<float>(before * 100 + 11));
  for (std::size_t i = 10; i < 17; ++i) a[i] = 1000.0;
  ok(rankwise_halo_reduce_start(halo, 1, fields, nullptr, MPI_DOUBLE, MPI_SUM));
  ok(rankwise_halo_wait(halo));
  EXPECT_EQ(a[0], me * 10 + 1000);
  EXPECT_EQ(a[1], me * 10 + 1 + 2000);
  EXPECT_EQ(a[4], me * 10 + 4 + 1000);
  EXPECT_EQ(a[5], me * 10 + 5);
  ok(rankwise_halo_destroy(&halo));
}

TEST(ApiNeighbors, CountsThatChangeTravelWithTheElements) {
  const int n = world_size();
  const int me = world_rank();
  std::vector<int> ranks(static_cast<std::size_t>(n));
  std::iota(ranks.begin(), ranks.end(), 0);
  const std::vector<int> keys(ranks.size(), 3);
  rankwise_halo halo = nullptr;
  ok(rankwise_neighbors_create(MPI_COMM_WORLD, n, ranks.data(), keys.data(), n, ranks.data(), keys.data(), &halo));
  const std::vector<std::size_t> capacity(ranks.size(), 256);
  ok(rankwise_neighbors_capacity(halo, capacity.data()));
  std::vector<double> values(400);
  rankwise_field fields[2];
  for (rankwise_field& field : fields) rankwise_field_default(&field);
  fields[0].data = fields[1].data = values.data();
  fields[1].element_bytes = 4;
  const auto count_of = [&](int from, int to, int round) {
    return static_cast<std::size_t>((from * 5 + to * 3 + round * 7) % 11 * (round % 4 == 3 ? 30 : 1));
  };
  for (int round = 0; round < 70; ++round) {
    std::iota(values.begin(), values.end(), me * 100000 + round * 1000);
    std::vector<rankwise_list> lists;
    for (const int to : ranks) lists.push_back({count_of(me, to, round), static_cast<std::size_t>(to), nullptr});
    ok(rankwise_neighbors_lists(halo, lists.data(), nullptr));
    {
      const Counted counted;
      ok(rankwise_halo_start(halo, 2, fields, nullptr));
      ok(rankwise_halo_wait(halo));
      EXPECT_EQ(collectives, 0);
      EXPECT_LE(messages, 2 * (n - 1));
      if (round > 44) {  // every size has been met
        EXPECT_EQ(messages, n - 1);
        EXPECT_EQ(allocations, 0);
      }
    }
    for (const int from : ranks) {
      std::size_t elements = 0;
      const void* where = nullptr;
      ok(rankwise_halo_received(halo, from, 0, &elements, &where));
      ASSERT_EQ(elements, count_of(from, me, round));
      for (std::size_t i = 0; i < elements; ++i) {
        double value = 0.0;
        std::memcpy(&value, static_cast<const char*>(where) + 8 * i, 8);
        ASSERT_EQ(value, from * 100000 + round * 1000 + me + static_cast<int>(i));
      }
      ok(rankwise_halo_received(halo, from, 1, &elements, &where));
      ASSERT_EQ(elements, count_of(from, me, round));
    }
  }
  ok(rankwise_halo_destroy(&halo));
}

}  // namespace
}  // namespace rankwise_test
