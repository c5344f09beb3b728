#include "api/options.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <utility>
#include <vector>

#include "api/versioned.hpp"
#include "schedule/algorithms.hpp"

namespace rankwise::api {

namespace {

// What a number of a C enumeration means.
struct Name {
  int value;
  std::string id;
};
using Names = std::vector<Name>;

Names algorithm_names() {
  Names names{{RANKWISE_ALGORITHM_AUTO, "auto"}};
  for (const ExchangeAlgorithm& algorithm : exchange_algorithms()) {
    names.push_back({algorithm.c_value, std::string(algorithm.id)});
  }
  return names;
}

Names send_mode_names() {
  Names names{{RANKWISE_SEND_AUTO, "auto"}};
  for (std::string& id : send_mode_ids()) names.push_back({static_cast<int>(names.size()), std::move(id)});
  return names;
}

Names shell_names() { return {{RANKWISE_SHELL_FULL, "full"}, {RANKWISE_SHELL_EIGHTH, "eighth"}}; }

std::string id_of(int value, const Names& names, const char* what) {
  const auto found = std::ranges::find(names, value, &Name::value);
  if (found != names.end()) return found->id;
  refuse_argument("options." + std::string(what) + " is " + std::to_string(value) + ": take one of rankwise_" + what);
}

// -1 where no name is this one.
std::int64_t number_of(const std::string& id, const Names& names) {
  const auto found = std::ranges::find(names, id, &Name::id);
  return found == names.end() ? -1 : found->value;
}

// What the environment says where the program leaves the choice open.
std::string or_environment(const std::string& id, const char* variable) {
  const char* value = std::getenv(variable);
  return id == "auto" && value != nullptr && *value != '\0' ? value : id;
}

}  // namespace

rankwise_exchange_options default_options() {
  rankwise_exchange_options options{};
  options.struct_size = sizeof options;
  options.algorithm = RANKWISE_ALGORITHM_AUTO;
  options.send_mode = RANKWISE_SEND_AUTO;
  options.shell = RANKWISE_SHELL_FULL;
  options.replication = 1;
  options.expected_block_bytes = 4096;
  return options;
}

Request read_options(const rankwise_exchange_options* given) {
  constexpr std::size_t least = offsetof(rankwise_exchange_options, expected_block_bytes) + sizeof(std::size_t);
  const rankwise_exchange_options options =
      given == nullptr ? default_options()
                       : in_our_version(*given, default_options(), least, "rankwise_exchange_options_default");
  Request request;
  const Names algorithms = algorithm_names();
  const std::string algorithm = or_environment(id_of(options.algorithm, algorithms, "algorithm"), "RANKWISE_ALGORITHM");
  if (number_of(algorithm, algorithms) < 0) {
    std::string ids;
    for (const Name& name : algorithms) ids += (ids.empty() ? "" : ", ") + name.id;
    refuse_argument("RANKWISE_ALGORITHM is '" + algorithm + "': choose one of " + ids);
  }
  if (algorithm != "auto") request.algorithm = algorithm;
  const std::string mode = or_environment(id_of(options.send_mode, send_mode_names(), "send_mode"), "RANKWISE_SEND_MODE");
  if (mode != "auto") request.mode = parse_send_mode(mode);
  request.shell = parse_shell(id_of(options.shell, shell_names(), "shell"));
  request.replication = options.replication;
  if (options.expected_block_bytes > (std::size_t{1} << 40)) {
    refuse_argument("options.expected_block_bytes is above 2^40: give the bytes of a typical block");
  }
  request.expected_block_bytes = static_cast<Index>(options.expected_block_bytes);
  return request;
}

void add_alike(Agreement& agreement, const Request& request) {
  agreement.alike("the algorithm (by its number)", number_of(request.algorithm.value_or("auto"), algorithm_names()));
  agreement.alike("the send mode (by its number)",
                  number_of(request.mode ? to_string(*request.mode) : "auto", send_mode_names()));
  agreement.alike("the shell (by its number)", number_of(to_string(request.shell), shell_names()));
  agreement.alike("the replication", request.replication);
  agreement.alike("expected_block_bytes", request.expected_block_bytes);
}

}  // namespace rankwise::api
