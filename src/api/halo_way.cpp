#include "api/halo_way.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <stdexcept>

#include "mpi/wait.hpp"

namespace rankwise::api {

namespace {

// Tags of what is in flight together.
constexpr int forward_tag = 16;  // of the first stage
constexpr int relay_tag = 48;    // of the first step

constexpr std::array<const char*, 8> halo_names{"auto",   "direct",   "staged",     "persistent",
                                                "window", "two-step", "three-step", "leader"};

constexpr int relay_proof_tag = 9;

// Both ends of every message list the same parcels in the same order.
void prove(MPI_Comm comm, const Relay& relay) {
  const auto mark_of = [&](const Op& op) {
    std::uint64_t mark = 14695981039346656037ULL;
    for (const SlotRange& slot : op.slots) {
      const Parcel& parcel = relay.slots[static_cast<std::size_t>(slot.first)];
      for (const Index rank : {parcel.source, parcel.dest}) {
        mark = (mark ^ static_cast<std::uint64_t>(rank)) * 1099511628211ULL;
      }
    }
    return mark;
  };
  std::vector<const Op*> ops;
  for (const Step& step : relay.schedule.steps) {
    for (const Op& op : step.ops) ops.push_back(&op);
  }
  std::vector<std::uint64_t> marks;
  for (const Op* op : ops) marks.push_back(op->kind == Op::Kind::send ? mark_of(*op) : 0);
  std::vector<MPI_Request> requests(ops.size());
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const auto peer = static_cast<int>(ops[i]->peer);
    const int tag = relay_proof_tag + ops[i]->tag;
    check_mpi(ops[i]->kind == Op::Kind::send ? MPI_Isend(&marks[i], 1, MPI_UINT64_T, peer, tag, comm, &requests[i])
                                             : MPI_Irecv(&marks[i], 1, MPI_UINT64_T, peer, tag, comm, &requests[i]),
              "MPI_Isend or MPI_Irecv");
  }
  wait_all(static_cast<int>(requests.size()), requests.data());
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (marks[i] == mark_of(*ops[i])) continue;
    throw std::logic_error("rank " + std::to_string(ops[i]->peer) + " means other parcels in its message");
  }
}

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

std::unique_ptr<Carrier> relay_carrier(MPI_Comm comm, int tag, RelayKind kind, const NodeKnowledge& nodes,
                                       const PartnerLists& edges, bool most_bytes) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  const NodeTraffic& traffic = nodes.traffic().front();
  Relay relay = make_relay(kind, rank, traffic, nodes.hear(kind));
  prove(comm, relay);
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
    : algorithm_(algorithm), halo_(make_halo(spec, algorithm == RANKWISE_HALO_STAGED ? HaloRoute::staged : HaloRoute::direct)) {
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
    // Memory belongs to the one who touches it first.
    for (const HaloMessage& message : halo_.stages.front().sends) {
      for (std::size_t f = 0; f < fields.size() && fields[f] != nullptr; ++f) {
        for (const BoxCopy& copy : message.sections[f].copies) touch(copy, fields[f]);
      }
    }
    window_.emplace(comm, partners.to, partners.from, steps, fields);
    read_from(halo_, spec, window_->sources(), window_->readers());
    window_->touch(halo_.stages.front().pulls);
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
