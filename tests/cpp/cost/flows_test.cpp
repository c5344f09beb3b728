// Rates of flows: answers that are known, and what must hold of max-min fairness whatever flows there are.
#include "cost/flows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace rankwise {
namespace {

using Way = std::vector<Flows::Use>;

// When each of the flows ends that start at some times, in order.
struct Start {
  double at_s;
  double own_s;
  Index bytes;
  Way way;
};

std::vector<double> ends_of(const std::vector<Start>& starts) {
  Flows flows;
  std::vector<double> ends(starts.size(), -1.0);
  std::size_t next = 0;
  while (true) {
    const double start_s = next < starts.size() ? starts[next].at_s : Flows::never;
    const double now_s = std::min({start_s, flows.next_s(), flows.due_s()});
    if (now_s == Flows::never) return ends;
    if (flows.next_s() <= now_s) {
      ends[flows.end(now_s)] = now_s;
    } else if (start_s <= now_s) {
      const Start& start = starts[next];
      flows.start(static_cast<Flows::Id>(next), now_s, {start.own_s, start.bytes}, start.way);
      ++next;
    } else {
      flows.settle(now_s);
    }
  }
}

void expect_ends(const std::vector<Start>& starts, const std::vector<double>& expected_s) {
  const std::vector<double> ends = ends_of(starts);
  ASSERT_EQ(ends.size(), expected_s.size());
  for (std::size_t i = 0; i < ends.size(); ++i) EXPECT_NEAR(ends[i], expected_s[i], 1e-9) << i;
}

TEST(Flows, KnownAnswers) {
  expect_ends({{0, 3, 8, {}}}, {3});
  expect_ends({{0, 3, 8, {{0, {2, 0}}}}}, {3});  // 2 of its 3 s
  // Two that hold a resource all the time share it; the longer one has it alone in the end.
  expect_ends({{0, 3, 8, {{0, {3, 0}}}}, {0, 3, 8, {{0, {3, 0}}}}}, {6, 6});
  expect_ends({{0, 2, 16, {{0, {2, 0}}}}, {0, 1, 8, {{0, {1, 0}}}}}, {3, 2});
  // One that comes later takes half from then on.
  expect_ends({{0, 4, 8, {{0, {4, 0}}}}, {2, 4, 8, {{0, {4, 0}}}}}, {6, 8});
  // A resource that is quick enough for both delays none.
  expect_ends({{0, 4, 8, {{0, {2, 0}}}}, {0, 4, 8, {{0, {2, 0}}}}}, {4, 4});
  // What one cannot use, for another resource bounds it, others have: 0 passes three flows, of which the first has a quarter of 1.
  expect_ends({{0, 1, 8, {{0, {1, 0}}, {1, {4, 0}}}}, {0, 1, 8, {{0, {1, 0}}}}}, {4, 4.0 / 3});
  // The first that finds a resource free holds it for less.
  expect_ends({{0, 1, 8, {{0, {2, 1}}}}, {5, 1, 8, {{0, {2, 1}}}}}, {1, 6});
  expect_ends({{0, 1, 8, {{0, {2, 1}}}}, {0, 1, 8, {{0, {2, 1}}}}}, {3, 3});
  // With a credit, those behind it, too, as long as it lasts: 1.5 s after any time, half a second after half a second.
  const Way credit{{0, {2, 1, 1.5}}};
  expect_ends({{9, 1, 8, credit}, {9, 1, 8, credit}, {12, 1, 8, credit}}, {11.5, 11.5, 13.5});
  expect_ends({{0, 1, 8, credit}, {0, 1, 8, credit}, {9, 1, 8, credit}, {9, 1, 8, credit}}, {3, 3, 11.5, 11.5});
}

// Flows whose rates are found anew for all of them at each event, by what defines them.
class EventOracle {
 public:
  explicit EventOracle(const std::vector<Start>& starts)
      : starts_(starts), left_(starts.size(), 1.0), ends_(starts.size(), 0.0) {}

  std::vector<double> ends() {
    double now_s = 0.0;
    while (std::any_of(left_.begin(), left_.end(), [](double left) { return left > 0; })) {
      const std::vector<double> rates = rates_at(now_s);
      double next_s = Flows::never;
      for (std::size_t i = 0; i < starts_.size(); ++i) {
        if (starts_[i].at_s > now_s) next_s = std::min(next_s, starts_[i].at_s);
        if (rates[i] > 0) next_s = std::min(next_s, now_s + left_[i] / rates[i]);
      }
      for (std::size_t i = 0; i < starts_.size(); ++i) {
        if (rates[i] <= 0) continue;
        left_[i] -= rates[i] * (next_s - now_s);
        if (left_[i] > 1e-12) continue;
        left_[i] = 0.0;
        ends_[i] = next_s;
      }
      now_s = next_s;
    }
    return ends_;
  }

 private:
  std::vector<double> rates_at(double now_s) const {
    std::vector<double> rates(starts_.size(), 0.0);
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < starts_.size(); ++i) {
      if (starts_[i].at_s <= now_s && left_[i] > 0) open.push_back(i);
    }
    std::map<std::size_t, double> free;
    for (const Start& start : starts_) {
      for (const Flows::Use& use : start.way) free[use.resource] = 1.0;
    }
    while (!open.empty()) {
      // All go up together until the first can go no further.
      std::map<std::size_t, double> weight;
      for (const std::size_t i : open) {
        for (const Flows::Use& use : starts_[i].way)
          weight[use.resource] += use.hold.time_s / static_cast<double>(starts_[i].bytes);
      }
      const auto most = [&](std::size_t i) {
        double bytes_per_s = static_cast<double>(starts_[i].bytes) / starts_[i].own_s;
        for (const Flows::Use& use : starts_[i].way)
          bytes_per_s = std::min(bytes_per_s, free[use.resource] / weight[use.resource]);
        return bytes_per_s;
      };
      const auto first =
          std::min_element(open.begin(), open.end(), [&](std::size_t a, std::size_t b) { return most(a) < most(b); });
      rates[*first] = most(*first) / static_cast<double>(starts_[*first].bytes);
      for (const Flows::Use& use : starts_[*first].way) free[use.resource] -= rates[*first] * use.hold.time_s;
      open.erase(first);
    }
    return rates;
  }

  const std::vector<Start>& starts_;
  std::vector<double> left_;
  std::vector<double> ends_;
};

TEST(Flows, EndWhenRatesFoundForAllSay) {
  std::mt19937 random(20261128);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
  for (int round = 0; round < 300; ++round) {
    const int resources = draw(1, 6);
    std::vector<Start> starts(static_cast<std::size_t>(draw(1, 12)));
    for (Start& start : starts) {
      start = {0.1 * draw(0, 20), 0.1 * draw(1, 30), Index{1} << draw(0, 12), {}};
      for (int resource = 0; resource < resources; ++resource) {
        if (draw(0, 2) == 0) start.way.push_back({static_cast<std::size_t>(resource), {0.1 * draw(1, 30), 0.0}});
      }
    }
    std::sort(starts.begin(), starts.end(), [](const Start& a, const Start& b) { return a.at_s < b.at_s; });
    const std::vector<double> expected_s = EventOracle(starts).ends();
    const std::vector<double> ends_s = ends_of(starts);
    for (std::size_t i = 0; i < starts.size(); ++i) EXPECT_NEAR(ends_s[i], expected_s[i], 1e-6) << "round " << round;
  }
}

// Of many, rates are not found for each: they end when they would, but for a hundredth of what they take.
TEST(Flows, OfManyEndAlmostWhenTheyWould) {
  std::mt19937 random(28);
  std::vector<Start> starts(400);
  for (Start& start : starts) {
    const auto draw = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
    start = {0.0001 * draw(0, 1000), 1.0, 8, {}};
    for (const int side : {0, 10}) start.way.push_back({static_cast<std::size_t>(side + draw(0, 9)), {0.2, 0.0}});
  }
  std::sort(starts.begin(), starts.end(), [](const Start& a, const Start& b) { return a.at_s < b.at_s; });
  const std::vector<double> expected_s = EventOracle(starts).ends();
  const std::vector<double> ends_s = ends_of(starts);
  for (std::size_t i = 0; i < starts.size(); ++i) EXPECT_NEAR(ends_s[i], expected_s[i], 0.02 * expected_s[i]);
}

}  // namespace
}  // namespace rankwise
