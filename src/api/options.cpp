#include "api/options.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace rankwise::api {

namespace {

constexpr std::array algorithm_ids{"auto", "direct", "neighbor-alltoall", "shift", "comb", "team-shift"};
constexpr std::array send_mode_ids{"auto", "ssend", "send", "isend", "isend-self", "persistent"};
constexpr std::array shell_ids{"full", "eighth"};

template <std::size_t n>
std::string id_of(int value, const std::array<const char*, n>& ids, const char* what) {
  if (value < 0 || value >= static_cast<int>(n)) {
    refuse_argument("options." + std::string(what) + " is " + std::to_string(value) + ": take one of rankwise_" + what);
  }
  return ids[static_cast<std::size_t>(value)];
}

template <std::size_t n>
std::int64_t number_of(const std::string& id, const std::array<const char*, n>& ids) {
  return std::find(ids.begin(), ids.end(), id) - ids.begin();
}

// What the environment says where the program leaves the choice open.
std::string or_environment(const std::string& id, const char* variable) {
  const char* value = std::getenv(variable);
  return id == "auto" && value != nullptr && *value != '\0' ? value : id;
}

// The caller's options in our version of the struct: fields that its version lacks keep their defaults.
rankwise_exchange_options in_our_version(const rankwise_exchange_options& given) {
  rankwise_exchange_options options = default_options();
  const std::size_t size = given.struct_size;
  constexpr std::size_t least = offsetof(rankwise_exchange_options, expected_block_bytes) + sizeof(std::size_t);
  constexpr std::size_t most = 4096;
  if (size < least || size > most) {
    refuse_argument("options.struct_size is " + std::to_string(size) +
                    ": fill the options with rankwise_exchange_options_default first");
  }
  std::memcpy(&options, &given, std::min(size, sizeof options));
  const auto* bytes = reinterpret_cast<const unsigned char*>(&given);
  if (size > sizeof options && std::any_of(bytes + sizeof options, bytes + size, [](unsigned char b) { return b != 0; })) {
    throw Failure(RANKWISE_ERROR_UNSUPPORTED,
                  "the options set something that this version of rankwise does not know: update the library");
  }
  return options;
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
  const rankwise_exchange_options options = given == nullptr ? default_options() : in_our_version(*given);
  Request request;
  const std::string algorithm =
      or_environment(id_of(options.algorithm, algorithm_ids, "algorithm"), "RANKWISE_ALGORITHM");
  if (number_of(algorithm, algorithm_ids) == static_cast<std::int64_t>(algorithm_ids.size())) {
    refuse_argument("RANKWISE_ALGORITHM is '" + algorithm +
                    "': choose auto, direct, neighbor-alltoall, shift, comb or team-shift");
  }
  if (algorithm != "auto") request.algorithm = algorithm;
  const std::string mode = or_environment(id_of(options.send_mode, send_mode_ids, "send_mode"), "RANKWISE_SEND_MODE");
  if (mode != "auto") request.mode = parse_send_mode(mode);
  request.shell = parse_shell(id_of(options.shell, shell_ids, "shell"));
  request.replication = options.replication;
  if (options.expected_block_bytes > (std::size_t{1} << 40)) {
    refuse_argument("options.expected_block_bytes is above 2^40: give the bytes of a typical block");
  }
  request.expected_block_bytes = static_cast<Index>(options.expected_block_bytes);
  return request;
}

void add_alike(Agreement& agreement, const Request& request) {
  agreement.alike("the algorithm (by its number)", number_of(request.algorithm.value_or("auto"), algorithm_ids));
  agreement.alike("the send mode (by its number)",
                  number_of(request.mode ? to_string(*request.mode) : "auto", send_mode_ids));
  agreement.alike("the shell (by its number)", number_of(to_string(request.shell), shell_ids));
  agreement.alike("the replication", request.replication);
  agreement.alike("expected_block_bytes", request.expected_block_bytes);
}

}  // namespace rankwise::api
