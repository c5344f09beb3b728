// Which way the messages of lists take.
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
  Candidates found = candidates(comm_.get(), nodes, false);
  why_ = std::move(found.why);
  ways_.clear();
  for (const int algorithm : found.algorithms) {
    if (ways_.size() < most_ways) ways_.push_back(make_way(algorithm, &nodes, edges));
  }
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

}  // namespace rankwise::api
