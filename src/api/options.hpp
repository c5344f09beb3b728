// What a caller asks of a plan, read from the option struct and the environment.
#pragma once

#include <optional>
#include <string>

#include "api/agreement.hpp"
#include "rankwise/rankwise.h"
#include "schedule/schedule.hpp"

namespace rankwise::api {

struct Request {
  std::optional<std::string> algorithm;  // nothing: choose
  std::optional<SendMode> mode;          // nothing: chosen with the algorithm, isend where that is named
  Shell shell = Shell::full;
  Index replication = 1;
  Index expected_block_bytes = 4096;
};

[[nodiscard]] rankwise_exchange_options default_options();

// options: what the caller passed, of any version; may be null. RANKWISE_ALGORITHM and RANKWISE_SEND_MODE in the
// environment decide what is left to auto. Throws Failure.
[[nodiscard]] Request read_options(const rankwise_exchange_options* options);

// Adds all of a request that must not differ between ranks.
void add_alike(Agreement& agreement, const Request& request);

}  // namespace rankwise::api
