// What a halo of lists tells: what has come, who sends how much to whom, and words.
#include <algorithm>

#include "api/halo_lists.hpp"
#include "api/halo_way.hpp"

namespace rankwise::api {

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
  return "halo of lists: " + halo_algorithm_name(ways_[now_].algorithm) + "; " +
         (why_.empty() ? "" : why_ + trial_words() + "; ") +
         (varies_ ? "counts travel with the elements" : "counts are known to both ends") + "\nrank " +
         std::to_string(comm_.rank()) + " sends to " + std::to_string(to_.size()) + " ranks over " +
         std::to_string(sends_.size()) + " edges, " +
         (is_relay(ways_[now_].algorithm) ? "passed on between nodes, " : "one message each, ") + std::to_string(elements) +
         " elements a field\n";
}

}  // namespace rankwise::api
