#include "api/halo_way.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace rankwise::api {

namespace {

// Tags of what is in flight together.
constexpr int forward_tag = 16;  // of the first stage
constexpr int relay_tag = 48;    // of the first step

constexpr std::array<const char*, 8> halo_names{"auto", "direct", "staged", "persistent", "window", "two-step", "three-step", "leader"};

}  // namespace

std::string halo_algorithm_name(int algorithm) {
  if (algorithm < 0 || algorithm >= static_cast<int>(halo_names.size())) {
    refuse_argument("options.algorithm is " + std::to_string(algorithm) + ": take one of rankwise_halo_algorithm");
  }
  return halo_names[static_cast<std::size_t>(algorithm)];
}

int or_asked_halo_algorithm(int algorithm) {
  static_cast<void>(halo_algorithm_name(algorithm));
  const char* asked = std::getenv("RANKWISE_HALO");
  if (algorithm != RANKWISE_HALO_AUTO || asked == nullptr || *asked == '\0') return algorithm;
  const auto found = std::ranges::find(halo_names, std::string(asked));
  if (found == halo_names.end()) {
    std::string all;
    for (const char* name : halo_names) all += (all.empty() ? "" : ", ") + std::string(name);
    refuse_argument("RANKWISE_HALO is '" + std::string(asked) + "': choose one of " + all);
  }
  return static_cast<int>(found - halo_names.begin());
}

bool is_relay(int algorithm) { return algorithm >= RANKWISE_HALO_TWO_STEP && algorithm <= RANKWISE_HALO_LEADER; }

RelayKind relay_kind(int algorithm) {
  return algorithm == RANKWISE_HALO_TWO_STEP     ? RelayKind::two_step
         : algorithm == RANKWISE_HALO_THREE_STEP ? RelayKind::three_step
                                                 : RelayKind::leader;
}

std::unique_ptr<Carrier> relay_carrier(MPI_Comm comm, int tag, RelayKind kind, const NodeKnowledge& nodes, const PartnerLists& edges,
                                       bool most_bytes) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  const NodeTraffic& traffic = nodes.traffic().front();
  Relay relay = make_relay(kind, rank, traffic, nodes.hear(kind));
  std::vector<std::size_t> most;
  for (const Parcel& parcel : relay.slots) {
    if (!most_bytes) break;
    for (const auto* messages : {&traffic.inside, &traffic.out, &traffic.in}) {
      const auto found = std::ranges::find(*messages, parcel, &NodeTraffic::Message::parcel);
      if (found == messages->end()) continue;
      most.push_back(static_cast<std::size_t>(found->bytes));
      break;
    }
  }
  return std::make_unique<RelayCarrier>(comm, tag, std::move(relay), edges.to, edges.from, std::move(most));
}

BoxWay::BoxWay(MPI_Comm comm, const HaloSpec& spec, int algorithm, const NodeKnowledge* nodes,
               const std::vector<std::byte*>& fields)
    : algorithm_(algorithm),
      halo_(make_halo(spec, algorithm == RANKWISE_HALO_STAGED ? HaloRoute::staged : HaloRoute::direct)) {
  const auto rank = static_cast<int>(spec.rank);
  if (is_relay(algorithm)) {
    const StagePartners partners(halo_.stages.front());
    std::vector<std::unique_ptr<Carrier>> carriers;
    carriers.push_back(relay_carrier(comm, relay_tag, relay_kind(algorithm), *nodes, {partners.to, partners.from, {}}, true));
    mover_.emplace(rank, halo_.stages, std::move(carriers));
    return;
  }
  if (algorithm == RANKWISE_HALO_WINDOW) {
    StagePartners partners(halo_.stages.front());
    const auto is_elsewhere = [&](int peer) { return !nodes->is_here(peer); };
    std::erase_if(partners.to, is_elsewhere);
    std::erase_if(partners.from, is_elsewhere);
    std::vector<BoxSteps> steps;
    for (const HaloField& field : spec.fields) steps.push_back(field.step);
    window_.emplace(comm, partners.to, partners.from, steps, fields);
    read_from(halo_, spec, window_->sources(), window_->readers());
  }
  mover_.emplace(rank, halo_.stages, couriers(comm, halo_.stages, forward_tag, algorithm == RANKWISE_HALO_PERSISTENT));
}

void BoxWay::start(const std::vector<std::byte*>& fields, std::uint64_t active) {
  if (window_) window_->start(halo_.stages.front().pulls, fields, active);
  mover_->start(fields, active);
}

bool BoxWay::advance(bool wait) {
  const bool is_read = !window_ || window_->advance(false);
  if (wait) {
    mover_->wait();
    return is_read || window_->advance(true);
  }
  return mover_->test() && is_read;
}

}  // namespace rankwise::api
