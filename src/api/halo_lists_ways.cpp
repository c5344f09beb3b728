// Which way the messages of lists take.
#include <algorithm>
#include <bit>
#include <limits>

#include "api/halo_choice.hpp"
#include "api/halo_lists.hpp"
#include "api/halo_request.hpp"
#include "api/halo_way.hpp"
#include "api/known_machine.hpp"

namespace rankwise::api {

namespace {

constexpr int usual_tag = 16;
constexpr int list_relay_tag = 48;  // of the first step

}  // namespace

void HaloLists::set_algorithm(int algorithm) {
  Agreement asked;
  asked.attempt([&] {
    require_idle("rankwise_neighbors_algorithm");
    algorithm = or_asked_halo_algorithm(algorithm);
    if (algorithm == RANKWISE_HALO_AUTO) static_cast<void>(known_machine());
    if (algorithm == RANKWISE_HALO_STAGED || algorithm == RANKWISE_HALO_WINDOW) {
      throw Failure(RANKWISE_ERROR_UNSUPPORTED,
                    halo_algorithm_name(algorithm) + " is for halos of boxes: take direct for lists");
    }
  });
  asked.alike("the algorithm (by its number)", algorithm);
  asked.reach(comm_.get());
  forget_trial();
  why_ = "asked for";
  is_open_ = algorithm == RANKWISE_HALO_AUTO;
  const PartnerLists edges = partner_lists({});
  std::optional<NodeKnowledge> nodes;
  if (is_relay(algorithm)) nodes.emplace(comm_.get(), std::vector{edges});
  ways_.clear();
  ways_.push_back(make_way(is_open_ ? RANKWISE_HALO_DIRECT : algorithm, nodes ? &*nodes : nullptr, edges));
  now_ = 0;
}

PartnerLists HaloLists::partner_lists(const std::vector<Index>& bytes) const {
  PartnerLists edges;
  for (const Partner& partner : from_) edges.from.push_back(partner.rank);
  for (std::size_t i = 0; i < to_.size(); ++i) {
    edges.to.push_back(to_[i].rank);
    edges.bytes_out.push_back(bytes.empty() ? static_cast<Index>(to_[i].edges.size()) : bytes[i]);
  }
  return edges;
}

HaloLists::Way HaloLists::make_way(int algorithm, const NodeKnowledge* nodes, const PartnerLists& edges) const {
  if (is_relay(algorithm)) {
    return {algorithm, relay_carrier(comm_.get(), list_relay_tag, relay_kind(algorithm), *nodes, edges, false)};
  }
  return {algorithm, std::make_unique<Courier>(comm_.get(), usual_tag, edges.to, edges.from, Courier::usual_piece_bytes,
                                               algorithm == RANKWISE_HALO_PERSISTENT)};
}

void HaloLists::prepare(std::uint64_t active) {
  if (!is_open_) return;
  is_open_ = false;
  active_ = active;
  std::vector<Index> bytes;
  for (const Partner& partner : to_) bytes.push_back(static_cast<Index>(head(partner) + payload(partner, sends_)));
  int most = to_.empty() ? 0 : 1;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, comm_.get()), "MPI_Allreduce");
  why_ = "nothing leaves a rank";
  if (most == 0) return;
  const PartnerLists edges = partner_lists(bytes);
  const NodeKnowledge nodes(comm_.get(), std::vector{edges});
  Candidates found = candidates(comm_.get(), nodes, false, default_halo_options().exchanges);
  why_ = std::move(found.why);
  ways_.clear();
  for (const int algorithm : found.algorithms) ways_.push_back(make_way(algorithm, &nodes, edges));
  now_ = 0;
  if (ways_.size() == 1) return;
  std::vector<int> tried;
  for (const Way& way : ways_) tried.push_back(way.algorithm);
  if (!try_ways(std::move(tried), default_halo_options().exchanges)) ways_.resize(1);
}

void HaloLists::settle(std::size_t way, bool few) {
  now_ = way;
  if (few) return;
  std::swap(ways_.front(), ways_[way]);
  ways_.resize(1);
  now_ = 0;
}

void HaloLists::find_stretches() {
  Index low = std::numeric_limits<Index>::max();
  Index high = 0;
  for (const Edge& edge : receives_) {
    if (edge.low == edge.high) continue;
    low = std::min(low, edge.low);
    high = std::max(high, edge.high);
  }
  bool apart = !varies_;
  for (const Edge& edge : sends_) {
    if (edge.low >= high || edge.high <= low) continue;
    edge.each_run([&](const Run& run) { apart = apart && (run.first >= high || run.first + run.count <= low); });
  }
  const auto find = [&](Partner& partner, const std::vector<Edge>& edges) {
    Index next = -1;
    bool one = apart;
    partner.first = -1;
    for (const std::size_t e : partner.edges) {
      one = one && edges[e].single.empty();
      if (!one) break;
      edges[e].each_run([&](const Run& run) {
        one = one && (next < 0 || run.first == next);
        if (next < 0) partner.first = run.first;
        next = run.first + run.count;
      });
    }
    if (!one) partner.first = -1;
  };
  for (Partner& partner : to_) find(partner, sends_);
  for (Partner& partner : from_) find(partner, receives_);
  find(from_self_, receives_);
}

std::byte* HaloLists::in_place(const Partner& partner) const {
  if (partner.first < 0 || !std::has_single_bit(active_)) return nullptr;
  const Taken& field = fields_[static_cast<std::size_t>(std::countr_zero(active_))];
  if (field.stride != static_cast<Bytes>(field.element_bytes)) return nullptr;
  return field.data + partner.first * field.stride;
}

}  // namespace rankwise::api
