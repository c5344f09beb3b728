// From what a caller asks to an algorithm, the same on all ranks.
#pragma once

#include <string>

#include "api/communicator.hpp"
#include "api/options.hpp"
#include "schedule/schedule.hpp"

namespace rankwise::api {

struct Design {
  ExchangeSpec spec;
  RankSchedule schedule;  // of the import (or the visits) on this rank
  std::string why;        // one sentence on how the algorithm was chosen
};

// Collective; fails on all ranks alike. Arguments as of rankwise_exchange_create.
[[nodiscard]] Design design_exchange(const Communicator& comm, int ndims, const int cutoff[],
                                     const rankwise_exchange_options* options);

}  // namespace rankwise::api
