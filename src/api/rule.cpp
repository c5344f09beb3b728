#include "api/rule.hpp"

#include <algorithm>
#include <vector>

namespace rankwise::api {

namespace {

double step_s(const Step& step, Index block_bytes, const Rates& rates) {
  // Sends and receives overlap; the direction with more to do sets the time.
  struct Direction {
    double messages = 0.0;
    double gaps_s = 0.0;
    double largest_bytes = 0.0;
  };
  Direction sent;
  Direction received;
  std::vector<double> chain_s(step.ops.size(), 0.0);  // when an operation completes, by those that it comes after
  double longest_chain_s = 0.0;
  for (std::size_t i = 0; i < step.ops.size(); ++i) {
    const Op& op = step.ops[i];
    for (const std::size_t before : op.after) chain_s[i] = std::max(chain_s[i], chain_s[before]);
    if (op.kind != Op::Kind::send && op.kind != Op::Kind::recv) continue;
    const double bytes = static_cast<double>(op.blocks()) * static_cast<double>(block_bytes);
    chain_s[i] += rates.alpha_s + rates.beta_s_per_byte * bytes;
    longest_chain_s = std::max(longest_chain_s, chain_s[i]);
    Direction& direction = op.kind == Op::Kind::send ? sent : received;
    direction.messages += 1.0;
    direction.gaps_s += std::max(rates.overhead_s, rates.beta_s_per_byte * bytes);
    direction.largest_bytes = std::max(direction.largest_bytes, bytes);
  }
  const auto together_s = [&rates](const Direction& direction) {
    if (direction.messages == 0.0) return 0.0;
    const double largest_s = rates.beta_s_per_byte * direction.largest_bytes;
    return rates.alpha_s + largest_s + direction.gaps_s - std::max(rates.overhead_s, largest_s);
  };
  const double processor_s = rates.overhead_s * (sent.messages + received.messages);
  return std::max({longest_chain_s, together_s(sent), together_s(received), processor_s});
}

}  // namespace

double estimate_s(const RankSchedule& schedule, Index block_bytes, const Rates& rates) {
  double total_s = 0.0;
  for (const Step& step : schedule.steps) total_s += step_s(step, block_bytes, rates);
  return total_s;
}

}  // namespace rankwise::api
