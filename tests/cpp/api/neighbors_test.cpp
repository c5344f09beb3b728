// Random neighbourhoods: every element of every edge, forward and back, against a direct computation of the whole pattern.
#include <algorithm>
#include <cstring>
#include <random>

#include "../rounds.hpp"
#include "fixture.hpp"

namespace rankwise_test {
namespace {

constexpr int owned = 12;  // elements of each rank

// One edge of the pattern, which all ranks draw alike.
struct Edge {
  int from, to, key;
  std::vector<int> index;
};

std::vector<Edge> pattern(unsigned seed) {
  std::mt19937 random(seed);
  const auto draw = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  std::vector<Edge> edges;
  for (int from = 0; from < world_size(); ++from) {
    for (int to = 0; to < world_size(); ++to) {
      int key = draw(-3, 3);
      for (int count = draw(-1, 3); count > 0; --count) {
        Edge edge{from, to, key, {}};
        key += draw(1, 5);
        for (int n = draw(0, 2) == 0 ? 0 : draw(1, 20); n > 0; --n) edge.index.push_back(draw(0, owned - 1));
        if (draw(0, 2) == 0) std::ranges::sort(edge.index);
        edges.push_back(std::move(edge));
      }
    }
  }
  std::shuffle(edges.begin(), edges.end(), random);
  return edges;
}

double value_of(int rank, int i, int field) { return rank * 1000 + i + 0.25 * field; }

class Neighbourhood {
 public:
  explicit Neighbourhood(unsigned seed) : edges_(pattern(seed)) {
    std::vector<int> dest, skey, source, rkey;
    for (const Edge& edge : edges_) {
      if (edge.from == world_rank()) {
        send_.push_back({edge.index.size(), 0, edge.index.data()});
        dest.push_back(edge.to), skey.push_back(edge.key);
      }
      if (edge.to == world_rank()) {
        recv_.push_back({edge.index.size(), static_cast<std::size_t>(owned) + ghosts_, nullptr});
        ghosts_ += edge.index.size();
        in_.push_back(&edge);
        source.push_back(edge.from), rkey.push_back(edge.key);
      }
    }
    const auto count = [](const std::vector<int>& ends) { return static_cast<int>(ends.size()); };
    ok(rankwise_neighbors_create(MPI_COMM_WORLD, count(dest), dest.data(), skey.data(), count(source), source.data(),
                                 rkey.data(), &halo_));
    for (int f = 0; f < 2; ++f) {
      values_[f].assign(owned + ghosts_, -1.0);
      for (int i = 0; i < owned; ++i) values_[f][static_cast<std::size_t>(i)] = value_of(world_rank(), i, f);
      rankwise_field_default(&fields_[f]);
      fields_[f].data = values_[f].data();
    }
  }
  ~Neighbourhood() { rankwise_halo_destroy(&halo_); }
  Neighbourhood(const Neighbourhood&) = delete;
  Neighbourhood& operator=(const Neighbourhood&) = delete;

  void use(int algorithm) { ok(rankwise_neighbors_algorithm(halo_, algorithm)); }

  // Wrong elements after an exchange whose counts both ends know, and after its way back.
  int listed() {
    // Both at once, or the places after the counts: as each rank likes.
    const bool at_once = ghosts_ % 2 == 0;
    ok(rankwise_neighbors_lists(halo_, send_.data(), at_once ? recv_.data() : nullptr));
    if (!at_once) ok(rankwise_neighbors_places(halo_, recv_.data()));
    int wrong = 0;
    for (const int fields : {2, 1}) {  // one alone needs no packing where ghosts lie in one piece
      for (std::vector<double>& values : values_) std::fill(values.begin() + owned, values.end(), -1.0);
      exchange(fields);
      for (std::size_t e = 0; e < in_.size(); ++e) {
        for (int f = 0; f < fields; ++f) {
          wrong += compare(*in_[e], f, reinterpret_cast<const char*>(values_[f].data() + recv_[e].first));
        }
      }
    }
    // Each ghost returns a number of its own; whole numbers add up alike in any order.
    for (std::size_t i = owned; i < owned + ghosts_; ++i) values_[0][i] = static_cast<double>(world_rank() * 100 + 1);
    ok(rankwise_halo_reduce_start(halo_, 1, fields_, nullptr, MPI_DOUBLE, MPI_SUM));
    ok(rankwise_halo_wait(halo_));
    for (int i = 0; i < owned; ++i) {
      double expected = value_of(world_rank(), i, 0);
      for (const Edge& edge : edges_) {
        if (edge.from == world_rank()) expected += (edge.to * 100 + 1) * static_cast<double>(std::ranges::count(edge.index, i));
      }
      wrong += values_[0][static_cast<std::size_t>(i)] != expected ? 1 : 0;
      values_[0][static_cast<std::size_t>(i)] = value_of(world_rank(), i, 0);
    }
    return wrong;
  }

  // Wrong elements after exchanges that bring their counts along, the first with too small a capacity.
  int counted(std::size_t capacity) {
    const std::vector<std::size_t> bytes(in_.size(), capacity);
    ok(rankwise_neighbors_capacity(halo_, bytes.data()));
    int wrong = 0;
    for (int round = 0; round < 2; ++round) {
      ok(rankwise_neighbors_lists(halo_, send_.data(), nullptr));
      exchange(2);
      for (std::size_t e = 0; e < in_.size(); ++e) {
        for (int f = 0; f < 2; ++f) {
          std::size_t elements = 0;
          const void* where = nullptr;
          ok(rankwise_halo_received(halo_, static_cast<int>(e), f, &elements, &where));
          wrong += elements != in_[e]->index.size() ? 1 : compare(*in_[e], f, static_cast<const char*>(where));
        }
      }
    }
    return wrong;
  }

 private:
  void exchange(int fields) {
    ok(rankwise_halo_start(halo_, fields, fields_, nullptr));
    ok(rankwise_halo_wait(halo_));
  }
  static int compare(const Edge& edge, int field, const char* came) {
    int wrong = 0;
    for (std::size_t i = 0; i < edge.index.size(); ++i) {
      double value = 0.0;
      std::memcpy(&value, came + i * sizeof value, sizeof value);
      wrong += value != value_of(edge.from, edge.index[i], field) ? 1 : 0;
    }
    return wrong;
  }

  std::vector<Edge> edges_;
  std::vector<const Edge*> in_;
  std::vector<rankwise_list> send_, recv_;
  std::size_t ghosts_ = 0;
  std::vector<double> values_[2];
  rankwise_field fields_[2];
  rankwise_halo halo_ = nullptr;
};

TEST(ApiNeighbors, RandomNeighbourhoodsAreRightBothWays) {
  for (unsigned seed = 0; seed < static_cast<unsigned>(rounds(30, 3)); ++seed) {
    Neighbourhood neighbourhood(seed);
    constexpr int variants[] = {RANKWISE_HALO_AUTO, RANKWISE_HALO_PERSISTENT, RANKWISE_HALO_TWO_STEP, RANKWISE_HALO_THREE_STEP,
                                RANKWISE_HALO_LEADER};
    neighbourhood.use(variants[seed % 5]);
    int wrong = neighbourhood.listed();
    wrong += neighbourhood.counted(seed % 3 * 100);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    ASSERT_EQ(wrong, 0) << "seed " << seed;
  }
}

// Bytes are known at the first start: it asks the judge, and the first exchanges are a trial.
TEST(ApiNeighbors, AutoIsRightWhileItTriesAndSaysWhatItFound) {
  const int next = (world_rank() + 1) % world_size(), last = (world_rank() + world_size() - 1) % world_size(), key = 0;
  const rankwise_list sent{1, 0, nullptr}, come{1, 1, nullptr};
  double values[2] = {};
  rankwise_field field;
  rankwise_field_default(&field);
  field.data = values;
  rankwise_halo halo = nullptr;
  ok(rankwise_neighbors_create(MPI_COMM_WORLD, 1, &next, &key, 1, &last, &key, &halo));
  ok(rankwise_neighbors_algorithm(halo, RANKWISE_HALO_AUTO));
  ok(rankwise_neighbors_lists(halo, &sent, &come));
  const auto explained = [&] {
    char text[4096];
    ok(rankwise_halo_explain(halo, text, sizeof text, nullptr));
    return std::string(text);
  };
  for (int i = 0; i < 600; ++i) {
    values[0] = value_of(world_rank(), i, 0);
    ok(rankwise_halo_start(halo, 1, &field, nullptr));
    ok(rankwise_halo_wait(halo));
    ASSERT_EQ(values[1], value_of(last, i, 0)) << "exchange " << i;
    if (i == 0 && world_size() > 1) {
      EXPECT_NE(explained().find("to be tried in the first exchanges: direct, "), std::string::npos) << explained();
    }
  }
  EXPECT_EQ(explained().find("to be tried"), std::string::npos) << explained();
  EXPECT_NE(explained().find(world_size() > 1 ? "medians on the slowest rank" : "nothing leaves a rank"), std::string::npos);
  // Another way may be asked for at any time, in the middle of a trial, too.
  ok(rankwise_neighbors_algorithm(halo, RANKWISE_HALO_AUTO));
  ok(rankwise_halo_start(halo, 1, &field, nullptr));
  ok(rankwise_halo_wait(halo));
  ok(rankwise_neighbors_algorithm(halo, RANKWISE_HALO_DIRECT));
  EXPECT_NE(explained().find("direct; asked for"), std::string::npos) << explained();
  ok(rankwise_halo_destroy(&halo));
}

// A ring that hands its two elements on: what comes lands where what goes has been.
TEST(ApiNeighbors, WhatIsSentMayBeOverwritten) {
  const int next = (world_rank() + 1) % world_size(), last = (world_rank() + world_size() - 1) % world_size(), key = 0;
  const rankwise_list all{2, 0, nullptr};
  double values[3] = {value_of(world_rank(), 0, 0), value_of(world_rank(), 1, 0), -1.0};
  rankwise_field field;
  rankwise_field_default(&field);
  field.data = values;
  rankwise_halo halo = nullptr;
  ok(rankwise_neighbors_create(MPI_COMM_WORLD, 1, &next, &key, 1, &last, &key, &halo));
  ok(rankwise_neighbors_lists(halo, &all, &all));
  ok(rankwise_halo_start(halo, 1, &field, nullptr));
  ok(rankwise_halo_wait(halo));
  EXPECT_EQ(values[0], value_of(last, 0, 0));
  EXPECT_EQ(values[1], value_of(last, 1, 0));
  // Lists that are no longer there write nothing.
  ok(rankwise_neighbors_lists(halo, &all, nullptr));
  values[0] = values[1] = value_of(world_rank(), 5, 0);
  ok(rankwise_halo_start(halo, 1, &field, nullptr));
  ok(rankwise_halo_wait(halo));
  EXPECT_EQ(values[0], value_of(world_rank(), 5, 0));
  std::size_t elements = 0;
  const void* where = nullptr;
  ok(rankwise_halo_received(halo, 0, 0, &elements, &where));
  EXPECT_EQ(elements, 2U);
  double came = 0.0;
  std::memcpy(&came, where, sizeof came);
  EXPECT_EQ(came, value_of(last, 5, 0));
  ok(rankwise_halo_destroy(&halo));
}

}  // namespace
}  // namespace rankwise_test
