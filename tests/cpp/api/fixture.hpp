// What the tests of the C API share: communicators, and a plan that ends with its test.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "../world.hpp"
#include "rankwise/rankwise.h"
#include "schedule/algorithms.hpp"

namespace rankwise_test {

class Cart {
 public:
  Cart(std::vector<int> dims, const std::vector<int>& periods) : dims_(std::move(dims)) {
    MPI_Cart_create(MPI_COMM_WORLD, static_cast<int>(dims_.size()), dims_.data(), periods.data(), 0, &comm_);
  }
  ~Cart() { MPI_Comm_free(&comm_); }
  Cart(const Cart&) = delete;
  Cart& operator=(const Cart&) = delete;
  [[nodiscard]] MPI_Comm get() const { return comm_; }
  [[nodiscard]] const std::vector<int>& dims() const { return dims_; }

 private:
  std::vector<int> dims_;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

// The grids that the started ranks can make: a ring, a line, and two- and three-dimensional ones.
struct GridShape {
  std::vector<int> dims;
  std::vector<int> periods;
  std::vector<int> cutoff;
};
inline std::vector<GridShape> shapes() {
  const int n = world_size();
  std::vector<GridShape> all{{{n}, {1}, {2}}, {{n}, {0}, {1}}, {{n, 1}, {1, 1}, {1, 2}}, {{1, n, 1}, {0, 1, 1}, {1, 1, 1}}};
  if (n % 2 == 0) all.push_back({{2, n / 2}, {1, 0}, {2, 1}});
  return all;
}

inline rankwise_exchange_options options(rankwise_algorithm algorithm, rankwise_send_mode mode = RANKWISE_SEND_AUTO,
                                         rankwise_shell shell = RANKWISE_SHELL_FULL) {
  rankwise_exchange_options o;
  EXPECT_EQ(rankwise_exchange_options_default(&o), RANKWISE_SUCCESS);
  o.algorithm = algorithm;
  o.send_mode = mode;
  o.shell = shell;
  return o;
}

inline void ok(rankwise_result result) { ASSERT_EQ(result, RANKWISE_SUCCESS) << rankwise_last_error(); }

class Plan {
 public:
  Plan(const Cart& cart, const std::vector<int>& cutoff, const rankwise_exchange_options& o) {
    result = rankwise_exchange_create(cart.get(), static_cast<int>(cutoff.size()), cutoff.data(), &o, &handle);
  }
  ~Plan() { rankwise_exchange_destroy(&handle); }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  rankwise_exchange handle = nullptr;
  rankwise_result result;
};

// Every combination of algorithm, send mode and shell that has a window.
struct Variant {
  rankwise_algorithm algorithm;
  rankwise_send_mode mode;
  rankwise_shell shell;
};
inline std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const auto shell : {RANKWISE_SHELL_FULL, RANKWISE_SHELL_EIGHTH}) {
    for (int mode = RANKWISE_SEND_AUTO; mode <= RANKWISE_SEND_PERSISTENT; ++mode) {
      all.push_back({RANKWISE_ALGORITHM_AUTO, static_cast<rankwise_send_mode>(mode), shell});
      const auto sends = mode == RANKWISE_SEND_AUTO ? rankwise::SendMode::isend : static_cast<rankwise::SendMode>(mode - 1);
      for (const rankwise::ExchangeAlgorithm& algorithm : rankwise::exchange_algorithms()) {
        if (algorithm.has_teams || !algorithm.why_not(sends, static_cast<rankwise::Shell>(shell)).empty()) continue;
        all.push_back({static_cast<rankwise_algorithm>(algorithm.c_value), static_cast<rankwise_send_mode>(mode), shell});
      }
    }
  }
  return all;
}

// Elements of a rank's block in a round: different everywhere, sometimes none.
inline std::size_t elements_of(int rank, int round) { return static_cast<std::size_t>((rank * 7 + round * 5) % 4 * 3); }

// A value that only one place of one block in one round has.
inline std::int64_t value_of(int rank, int round, std::size_t i) {
  return (static_cast<std::int64_t>(rank) + 1) * 1000000 + round * 1000 + static_cast<std::int64_t>(i);
}

}  // namespace rankwise_test
