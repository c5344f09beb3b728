#include "kernels/exchange_case.hpp"

#include <stdexcept>
#include <string_view>
#include <utility>

#include "kernels/arguments.hpp"

namespace rankwise {

namespace {

NodeMap parse_nodes(const std::string& text, Index ranks) {
  constexpr std::string_view key = "nodes=";
  if (!text.starts_with(key)) throw std::invalid_argument("'" + text + "' is not nodes=N or nodes=N/N/...");
  std::vector<Index> numbers;
  for (const std::string& part : split(text.substr(key.size()), '/')) numbers.push_back(to_integer(part, "node"));
  const bool per_node = numbers.size() == 1 && ranks > 1;
  return per_node ? NodeMap::blocked(ranks, numbers.front()) : NodeMap::of(numbers);
}

}  // namespace

ExchangeCase parse_case(const std::string& text, const std::vector<Index>& dims, const std::vector<bool>& periodic) {
  std::vector<std::string> parts = split(text, ':');
  if (parts.size() != 4 && parts.size() != 7 && parts.size() != 8) {
    throw std::invalid_argument("case '" + text + "' is not algorithm:mode:cutoff:bytes[:shell:replication:boxes[:nodes=N]]");
  }
  if (parts.size() == 4) parts.insert(parts.end(), {"full", "1", "pooled"});
  const long long cutoff = to_integer(parts[2], "cutoff");
  if (cutoff < 0 || cutoff > 1'000'000) throw std::invalid_argument("cutoff " + parts[2] + " is not sensible");
  const long long block_bytes = to_integer(parts[3], "bytes");
  if (block_bytes < 0) throw std::invalid_argument("block size " + parts[3] + " is negative");
  ExchangeSpec spec =
      make_spec(parts[0], parse_send_mode(parts[1]), dims, periodic, std::vector<int>(dims.size(), static_cast<int>(cutoff)),
                parse_shell(parts[4]), to_integer(parts[5], "replication"), parse_team_boxes(parts[6]));
  if (parts.size() == 8) spec.nodes = parse_nodes(parts[7], spec.ranks());
  return {std::move(spec), cutoff, static_cast<std::size_t>(block_bytes)};
}

}  // namespace rankwise
