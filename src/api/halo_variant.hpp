// The ways to carry out a halo of boxes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/failure.hpp"
#include "exchange/transport.hpp"
#include "exchange/halo_exchange.hpp"
#include "exchange/trial.hpp"
#include "rankwise/rankwise.h"

namespace rankwise::api {

// "two-step"; throws Failure for a number that is none of rankwise_halo_algorithm.
[[nodiscard]] std::string halo_algorithm_name(int algorithm);
// What is asked for where the program leaves it open: RANKWISE_HALO. Throws Failure for another name.
[[nodiscard]] int or_asked_halo_algorithm(int algorithm);
[[nodiscard]] bool is_node_aware(int algorithm);
[[nodiscard]] NodeAwareKind node_aware_kind(int algorithm);

// A transport of packets by one node-aware algorithm. most_bytes: whether all who pass a packet on know how long it can be. Collective.
[[nodiscard]] std::unique_ptr<Transport> node_aware_transport(MPI_Comm comm, int tag, NodeAwareKind kind,
                                                              const NodeKnowledge& nodes, const PartnerLists& edges,
                                                              bool most_bytes);

class HaloVariant {
 public:
  // Collective over comm, as the algorithm is the same on all ranks. nodes: of one set for direct, then one for each stage.
  // Throws Failure.
  HaloVariant(MPI_Comm comm, const HaloSpec& spec, int algorithm, const NodeKnowledge* nodes,
              const std::vector<std::byte*>& fields);
  HaloVariant(const HaloVariant&) = delete;
  HaloVariant& operator=(const HaloVariant&) = delete;

  // Collective; see HaloExchange.
  void rehearse() { exchange_->rehearse(); }
  void start(const std::vector<std::byte*>& fields, std::uint64_t active);
  [[nodiscard]] bool advance(bool wait);
  [[nodiscard]] int algorithm() const { return algorithm_; }
  [[nodiscard]] const Halo& halo() const { return halo_; }
  // Whether this rank reads any other, or is read.
  [[nodiscard]] bool reads() const { return window_ && window_->sources().size() + window_->readers().size() > 0; }

 private:
  int algorithm_;
  Halo halo_;
  std::optional<HaloWindow> window_;
  std::optional<HaloExchange> exchange_;
};

// Which algorithms a halo may take: what the judge finds, to be confirmed by a trial.

inline constexpr std::size_t most_variants = 6;

struct Candidates {
  std::vector<int> algorithms;  // that may be the fastest, the one that the judge takes first
  std::string why;
};

// Collective over comm. nodes: of the messages of direct; then, where the halo may be staged, of each of its stages.
// some_shared: whether some ranks have all their fields in memory that others can read; exchanges: so many are to come, which
// limits how many may be tried. Throws Failure.
[[nodiscard]] Candidates candidates(MPI_Comm comm, const NodeKnowledge& nodes, bool some_shared, int exchanges);
// "; to be tried in the first exchanges: direct, persistent".
[[nodiscard]] std::string trial_text(const std::vector<int>& algorithms);
// "; tried in 40 exchanges, which cost 12 us; medians ...".
[[nodiscard]] std::string result_text(const std::vector<int>& algorithms, const Trial& trial);

}  // namespace rankwise::api
