// What is reported of the messages of lists, and by which algorithm they go.

#include <algorithm>
#include <bit>
#include <limits>

#include "api/halo_lists.hpp"
#include "api/halo_variant.hpp"
#include "api/machine.hpp"
#include "api/options.hpp"

namespace rankwise::api {

// What a halo of lists tells: what has come, who sends how much to whom, and words.

void HaloLists::received(int edge, int field, std::size_t* elements, const void** where) const {
  if (edge < 0 || static_cast<std::size_t>(edge) >= receives_.size()) {
    refuse_argument("receive edge " + std::to_string(edge) + " does not exist: there are " + std::to_string(receives_.size()));
  }
  if (elements == nullptr) refuse_argument("the pointer for the answer is NULL");
  if (!listed_) refuse_usage("the lists are not set: call rankwise_neighbors_lists first");
  if (where == nullptr) {
    *elements = receives_[static_cast<std::size_t>(edge)].count;
    return;
  }
  if (field < 0 || static_cast<std::size_t>(field) >= fields_.size() || (active_ >> field & 1) == 0) {
    refuse_argument("field " + std::to_string(field) + " was not exchanged");
  }
  require_idle("rankwise_halo_received");
  const auto e = static_cast<std::size_t>(edge);
  *elements = 0;
  *where = nullptr;
  if (receives_[e].rank == MPI_PROC_NULL) return;
  if (receives_[e].listed) refuse_usage("a list said where the elements of this edge go: they are there");
  const auto partner = std::ranges::find(from_, receives_[e].rank, &Partner::rank);
  const Partner& source = partner == from_.end() ? from_self_ : *partner;
  const std::byte* payload_at = self_bytes_.data();
  if (partner != from_.end()) {
    const auto i = static_cast<std::size_t>(partner - from_.begin());
    payload_at = long_bytes_[i] > 0 ? long_in_->in(i) : usual().in(i) + head(source);
  }
  each_part(source, receives_, [&](std::size_t other, std::size_t f, std::size_t at) {
    if (other != e || f != static_cast<std::size_t>(field)) return;
    *elements = receives_[e].count;
    *where = payload_at + at;
  });
}

// Of the last exchange.
std::string HaloLists::pairs() const {
  if (fields_.empty()) refuse_usage("nothing has been exchanged yet: call rankwise_halo_save after the first wait");
  std::string text;
  for (const Partner& partner : to_) {
    std::size_t elements = 0;
    std::size_t runs = 0;
    for (const std::size_t e : partner.edges) {
      elements += sends_[e].count;
      runs += sends_[e].runs.size() + sends_[e].single.size();
    }
    std::vector<std::size_t> bytes;
    std::size_t rows = 0;
    for (const Taken& field : fields_) {
      bytes.push_back(elements * field.element_bytes);
      rows += field.stride == static_cast<Bytes>(field.element_bytes) ? runs : elements;
    }
    add_pair(text, partner.rank, bytes, rows);
  }
  return text;
}

std::string HaloLists::explain() const {
  std::size_t elements = 0;
  for (const Edge& edge : sends_) elements += edge.count;
  return "halo of lists: " + halo_algorithm_name(variants_[now()].algorithm) + "; " +
         (why_.empty() ? "" : why_ + trial_state() + "; ") +
         (varies_ ? "counts travel with the elements" : "counts are known to both ends") + "\nrank " +
         std::to_string(comm_.rank()) + " sends to " + std::to_string(to_.size()) + " ranks over " +
         std::to_string(sends_.size()) + " edges, " +
         (is_node_aware(variants_[now()].algorithm) ? "passed on between nodes, " : "one message each, ") +
         std::to_string(elements) + " elements a field\n";
}

// Which way the messages of lists take.

namespace {

constexpr int usual_tag = 16;
constexpr int list_node_aware_tag = 48;  // of the first step

}  // namespace

void HaloLists::algorithm(int asked_for) {
  int algorithm = RANKWISE_HALO_AUTO;
  Agreement asked;
  asked.attempt([&] {
    require_idle("rankwise_neighbors_algorithm");
    algorithm = or_asked_halo_algorithm(asked_for);
    if (algorithm == RANKWISE_HALO_AUTO) static_cast<void>(known_machine());
    if (algorithm == RANKWISE_HALO_STAGED || algorithm == RANKWISE_HALO_WINDOW) {
      throw Failure(RANKWISE_ERROR_UNSUPPORTED,
                    halo_algorithm_name(algorithm) + " is for halos of boxes: take direct for lists");
    }
  });
  asked.alike("the algorithm (by its number)", algorithm);
  asked.reach(comm_.get());
  begin_again();
  why_ = "asked for";
  is_open_ = algorithm == RANKWISE_HALO_AUTO;
  const PartnerLists edges = partner_lists({});
  std::optional<NodeKnowledge> nodes;
  if (is_node_aware(algorithm)) nodes.emplace(comm_.get(), std::vector{edges});
  variants_.clear();
  variants_.push_back(make_variant(is_open_ ? RANKWISE_HALO_DIRECT : algorithm, nodes ? &*nodes : nullptr, edges));
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

HaloLists::Variant HaloLists::make_variant(int algorithm, const NodeKnowledge* nodes, const PartnerLists& edges) const {
  if (is_node_aware(algorithm)) {
    return {algorithm,
            node_aware_transport(comm_.get(), list_node_aware_tag, node_aware_kind(algorithm), *nodes, edges, false)};
  }
  return {algorithm,
          std::make_unique<DirectTransport>(comm_.get(), usual_tag, edges.to, edges.from, DirectTransport::usual_piece_bytes,
                                            algorithm == RANKWISE_HALO_PERSISTENT)};
}

void HaloLists::prepare(std::uint64_t active) {
  if (!is_open_) return;
  is_open_ = false;
  active_ = active;
  std::vector<Index> bytes;
  for (const Partner& partner : to_) bytes.push_back(static_cast<Index>(head(partner) + payload(partner, sends_)));
  int most = to_.empty() ? 0 : 1;
  RANKWISE_CHECKED(MPI_Allreduce, MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, comm_.get());
  why_ = "nothing leaves a rank";
  if (most == 0) return;
  const PartnerLists edges = partner_lists(bytes);
  const NodeKnowledge nodes(comm_.get(), std::vector{edges});
  Candidates found = candidates(comm_.get(), nodes, false, defaults<rankwise_halo_options>().exchanges);
  why_ = std::move(found.why);
  variants_.clear();
  for (const int algorithm : found.algorithms) variants_.push_back(make_variant(algorithm, &nodes, edges));
  std::vector<int> tried;
  for (const Variant& variant : variants_) tried.push_back(variant.algorithm);
  static_cast<void>(try_variants(std::move(tried), defaults<rankwise_halo_options>().exchanges));
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
