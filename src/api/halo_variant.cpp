#include "api/halo_variant.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "api/environment.hpp"
#include "api/failure.hpp"
#include "api/halo_boxes.hpp"
#include "api/machine.hpp"
#include "decide/judge.hpp"
#include "grid/names.hpp"

namespace rankwise::api {

namespace {

// Tags of what is in flight together.
constexpr int forward_tag = 16;     // of the first stage
constexpr int node_aware_tag = 48;  // of the first step

constexpr std::array<const char*, 8> halo_names{"auto",   "direct",   "staged",     "persistent",
                                                "window", "two-step", "three-step", "leader"};

constexpr int node_aware_proof_tag = 9;

// Both ends of every message list the same packets in the same order.
void prove(MPI_Comm comm, const NodeAwareSchedule& part) {
  const auto mark_of = [&](const Op& op) {
    std::uint64_t mark = 14695981039346656037ULL;
    for (const SlotRange& slot : op.slots) {
      const Packet& packet = part.slots[static_cast<std::size_t>(slot.first)];
      for (const Index rank : {packet.source, packet.dest}) {
        mark = (mark ^ static_cast<std::uint64_t>(rank)) * 1099511628211ULL;
      }
    }
    return mark;
  };
  std::vector<MessageDigest> sends, receives;
  for (const Op& op : part.schedule.ops()) {
    const MessageDigest digest{static_cast<int>(op.peer), node_aware_proof_tag + op.tag, mark_of(op)};
    (op.kind == Op::Kind::send ? sends : receives).push_back(digest);
  }
  compare_messages(comm, sends, receives);
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

bool is_node_aware(int algorithm) { return algorithm >= RANKWISE_HALO_TWO_STEP && algorithm <= RANKWISE_HALO_LEADER; }

NodeAwareKind node_aware_kind(int algorithm) {
  return algorithm == RANKWISE_HALO_TWO_STEP     ? NodeAwareKind::two_step
         : algorithm == RANKWISE_HALO_THREE_STEP ? NodeAwareKind::three_step
                                                 : NodeAwareKind::leader;
}

std::unique_ptr<Transport> node_aware_transport(MPI_Comm comm, int tag, NodeAwareKind kind, const NodeKnowledge& nodes,
                                                const PartnerLists& edges, bool most_bytes) {
  const int rank = rank_of(comm);
  const NodeTraffic& traffic = nodes.traffic().front();
  NodeAwareSchedule part = node_aware_schedule(kind, rank, traffic, nodes.hear(kind));
  prove(comm, part);
  std::vector<std::size_t> most;
  for (const Packet& packet : part.slots) {
    if (!most_bytes) break;
    for (const auto* messages : {&traffic.inside, &traffic.out, &traffic.in}) {
      const auto found = std::ranges::find(*messages, packet, &NodeTraffic::Message::packet);
      if (found == messages->end()) continue;
      most.push_back(static_cast<std::size_t>(found->bytes));
      break;
    }
  }
  return std::make_unique<NodeAwareTransport>(comm, tag, std::move(part), edges.to, edges.from, std::move(most));
}

HaloVariant::HaloVariant(MPI_Comm comm, const HaloSpec& spec, int algorithm, const NodeKnowledge* nodes,
                         const std::vector<std::byte*>& fields)
    : algorithm_(algorithm), halo_(make_halo(spec, algorithm == RANKWISE_HALO_STAGED ? HaloRoute::staged : HaloRoute::direct)) {
  const auto rank = static_cast<int>(spec.rank);
  if (is_node_aware(algorithm)) {
    const StagePartners partners(halo_.stages.front());
    std::vector<std::unique_ptr<Transport>> transports;
    transports.push_back(
        node_aware_transport(comm, node_aware_tag, node_aware_kind(algorithm), *nodes, {partners.to, partners.from, {}}, true));
    exchange_.emplace(rank, halo_.stages, std::move(transports));
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
  exchange_.emplace(rank, halo_.stages,
                    direct_transports(comm, halo_.stages, forward_tag, algorithm == RANKWISE_HALO_PERSISTENT));
}

void HaloVariant::start(const std::vector<std::byte*>& fields, std::uint64_t active) {
  if (window_) window_->start(halo_.stages.front().pulls, fields, active);
  exchange_->start(fields, active);
}

bool HaloVariant::advance(bool wait) {
  const bool is_read = !window_ || window_->advance(false);
  if (wait) {
    exchange_->wait();
    return is_read || window_->advance(true);
  }
  return exchange_->test() && is_read;
}

// Which way a halo takes: what the judge takes for the fastest, confirmed by a trial.

namespace {

std::string microseconds(double time_s) { return formatted("%.3g us", 1e6 * time_s); }

PartnerLists edges_of(const HaloStage& stage) {
  const StagePartners partners(stage);
  PartnerLists edges{partners.to, partners.from, {}};
  for (const HaloMessage& message : stage.sends) edges.bytes_out.push_back(static_cast<Index>(message.bytes()));
  return edges;
}

}  // namespace

// Algorithms that send the same messages cost the same: they share a time.
Candidates candidates(MPI_Comm comm, const NodeKnowledge& nodes, bool some_shared, int exchanges) {
  const int rank = rank_of(comm);
  struct Judged {
    int algorithm;
    HaloCost cost;
  };
  std::vector<Judged> judged{{RANKWISE_HALO_DIRECT, {}}};
  if (nodes.traffic().size() > 1) judged.push_back({RANKWISE_HALO_STAGED, {}});
  if (nodes.is_of_use()) {
    // A leader does alone what the ranks of three-step share.
    for (const int algorithm : {RANKWISE_HALO_TWO_STEP, RANKWISE_HALO_THREE_STEP}) judged.push_back({algorithm, {}});
  }
  // The slowest node counts; the first rank of each speaks for it.
  std::vector<double> numbers;
  std::string source;
  std::vector<std::vector<NodeLeaders>> there;
  for (const Judged& each : judged) {
    there.push_back(is_node_aware(each.algorithm) ? nodes.hear(node_aware_kind(each.algorithm)) : std::vector<NodeLeaders>{});
  }
  all_or_none(comm, [&] {
    const KnownMachine& machine = known_machine();
    source = machine.source;
    const std::vector<NodeTraffic>& traffic = nodes.traffic();
    const std::vector<NodeTraffic> staged(traffic.begin() + 1, traffic.end());
    for (std::size_t i = 0; i < judged.size() && rank == nodes.node(); ++i) {
      const int algorithm = judged[i].algorithm;
      judged[i].cost = algorithm == RANKWISE_HALO_DIRECT ? cost_of_steps({traffic.front()}, machine.machine)
                       : algorithm == RANKWISE_HALO_STAGED
                           ? cost_of_steps(staged, machine.machine)
                           : cost_of_node_aware(node_aware_kind(algorithm), traffic.front(), there[i], machine.machine);
    }
  });
  for (const Judged& each : judged) numbers.insert(numbers.end(), {each.cost.time_s, each.cost.low_s, each.cost.high_s});
  RANKWISE_CHECKED(MPI_Allreduce, MPI_IN_PLACE, numbers.data(), static_cast<int>(numbers.size()), MPI_DOUBLE, MPI_MAX, comm);
  std::vector<HaloCost> costs;
  Candidates chosen;
  chosen.why = "by " + source + ":";
  for (std::size_t i = 0; i < judged.size(); ++i) {
    costs.push_back({numbers[3 * i], numbers[3 * i + 1], numbers[3 * i + 2]});
    chosen.why += (i > 0 ? ", " : " ") + halo_algorithm_name(judged[i].algorithm) + " " + microseconds(costs[i].time_s);
  }
  // Persistent requests gain least: they are left out where there is much else to try.
  constexpr std::size_t much = 4;
  bool direct = false;
  for (const std::size_t i : worth_trying(costs, most_variants)) {
    const int algorithm = judged[i].algorithm;
    if (algorithm == RANKWISE_HALO_DIRECT && some_shared) chosen.algorithms.push_back(RANKWISE_HALO_WINDOW);
    direct = direct || algorithm == RANKWISE_HALO_DIRECT;
    chosen.algorithms.push_back(algorithm);
  }
  if (direct && chosen.algorithms.size() < much) chosen.algorithms.push_back(RANKWISE_HALO_PERSISTENT);
  const std::size_t most = std::clamp(Trial::most_variants(static_cast<std::size_t>(exchanges)), std::size_t{1}, most_variants);
  if (chosen.algorithms.size() > most) chosen.algorithms.resize(most);
  return chosen;
}

std::string trial_text(const std::vector<int>& algorithms) {
  std::string text = "; to be tried in the first exchanges";
  for (std::size_t i = 0; i < algorithms.size(); ++i) text += (i > 0 ? ", " : ": ") + halo_algorithm_name(algorithms[i]);
  return text;
}

std::string result_text(const std::vector<int>& algorithms, const Trial& trial) {
  const std::vector<double> medians_s = trial.medians();
  std::string text = "; tried in " + std::to_string(trial.exchanges()) + " exchanges, which cost " +
                     microseconds(trial.loss_s()) + " more than by the best alone; medians on the slowest rank";
  for (std::size_t i = 0; i < algorithms.size(); ++i) {
    text += (i > 0 ? ", " : ": ") + halo_algorithm_name(algorithms[i]) + " " + microseconds(medians_s[i]);
  }
  return text;
}

void HaloBoxes::make_variants() {
  const bool open = request_.algorithm == RANKWISE_HALO_AUTO;
  const int ranks = size_of(comm_.get());
  std::vector<int> algorithms{open ? RANKWISE_HALO_DIRECT : request_.algorithm};
  std::optional<NodeKnowledge> nodes;
  why_ = open ? "nothing leaves a rank" : "asked for";
  const bool needs_nodes = is_node_aware(request_.algorithm) || request_.algorithm == RANKWISE_HALO_WINDOW;
  if ((open && ranks > 1) || needs_nodes) {
    std::vector<PartnerLists> edges{edges_of(halo_.stages.front())};
    if (open && spec_.corners && comm_.grid().ndim() > 1) {
      for (const HaloStage& stage : make_halo(spec_, HaloRoute::staged).stages) edges.push_back(edges_of(stage));
    }
    nodes.emplace(comm_.get(), edges);
  }
  if (open && ranks > 1) {
    Agreement shared;
    const auto is_shared = [](const std::byte* data) { return place_of(data).segment.descriptor >= 0; };
    const bool all_shared = std::ranges::all_of(data_, is_shared);
    const std::size_t some = shared.maximise(all_shared ? 1 : 0);
    const std::size_t sends = shared.maximise(halo_.stages.front().sends.empty() ? 0 : 1);
    shared.reach(comm_.get());
    if (shared.largest(sends) > 0) {
      Candidates found = candidates(comm_.get(), *nodes, shared.largest(some) > 0, request_.exchanges);
      algorithms = std::move(found.algorithms);
      why_ = std::move(found.why);
    }
  }
  for (const int algorithm : algorithms) {
    auto variant = std::make_unique<HaloVariant>(comm_.get(), spec_, algorithm, nodes ? &*nodes : nullptr, data_);
    prove(variant->halo());
    Agreement use;
    const std::size_t reads = use.maximise(variant->reads() ? 1 : 0);
    use.reach(comm_.get());
    if (algorithm == RANKWISE_HALO_WINDOW && use.largest(reads) == 0) {
      if (open) continue;
      if (!is_observed()) {
        throw Failure(
            RANKWISE_ERROR_UNSUPPORTED,
            "no two ranks that are neighbours can read each other's fields: take all fields from rankwise_halo_alloc, "
            "on ranks of one node, or another algorithm");
      }
    }
    reads_ = reads_ || variant->reads();
    variants_.push_back(std::move(variant));
  }
  std::vector<int> tried;
  for (const auto& variant : variants_) tried.push_back(variant->algorithm());
  if (!try_variants(std::move(tried), request_.exchanges)) return;
  for (const auto& variant : variants_) variant->rehearse();
}

void HaloBoxes::keep(std::size_t way) {
  std::swap(variants_.front(), variants_[way]);
  variants_.resize(1);
  reads_ = variants_.front()->reads();
}

void HaloBoxes::settled() {
  reads_ = variants_[now()]->reads();
  if (environment_flag("RANKWISE_VERBOSE") && comm_.rank() == 0) std::fprintf(stderr, "rankwise: %s", explain().c_str());
}

}  // namespace rankwise::api
