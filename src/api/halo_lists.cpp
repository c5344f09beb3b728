#include "api/halo_lists.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <map>
#include <span>

#include "mpi/mpi.hpp"

namespace rankwise::api {

namespace {

constexpr int keys_tag = 1;
constexpr int values_tag = 2;
constexpr int long_tag = 17;
constexpr int list_back_tag = 18;

std::string edge_of(int from, int to, int key) {
  return "the edge from rank " + std::to_string(from) + " to rank " + std::to_string(to) + " under key " + std::to_string(key);
}

}  // namespace

HaloLists::HaloLists(MPI_Comm comm, int nsend, const int dest[], const int skey[], int nrecv, const int source[],
                     const int rkey[])
    : comm_(comm, "the one whose ranks are named") {
  RANKWISE_CHECKED(MPI_Comm_size, comm_.get(), &ranks_);
  all_or_none(comm_.get(), [&] {
    sends_ = read(nsend, dest, skey, ranks_, "dest");
    receives_ = read(nrecv, source, rkey, ranks_, "source");
    to_ = partners_of(sends_, "dest");
    from_ = partners_of(receives_, "source");
  });
  compare_ends();
  const auto take_self = [&](std::vector<Partner>& partners, Partner& self) {
    const auto at = std::ranges::find(partners, comm_.rank(), &Partner::rank);
    if (at == partners.end()) return;
    self = *at;
    partners.erase(at);
  };
  take_self(to_, to_self_);
  take_self(from_, from_self_);
  const PartnerLists edges = partner_lists({});
  const auto& [to, from, bytes] = edges;
  variants_.push_back(make_variant(RANKWISE_HALO_DIRECT, nullptr, edges));
  long_out_.emplace(comm_.get(), long_tag, to, std::vector<int>{});
  long_in_.emplace(comm_.get(), long_tag, std::vector<int>{}, from);
  back_.emplace(comm_.get(), list_back_tag, from, to);
  long_bytes_.assign(from.size(), 0);
  fields_.reserve(most_fields);
}

std::vector<HaloLists::Edge> HaloLists::read(int count, const int rank[], const int key[], int ranks, const char* what) {
  if (count < 0) refuse_argument("the number of edges is below 0: give how many there are");
  if (count > 0 && (rank == nullptr || key == nullptr)) {
    refuse_argument(std::string(what) + " or its keys are NULL: give one rank and one key an edge");
  }
  std::vector<Edge> edges(static_cast<std::size_t>(count));
  for (std::size_t e = 0; e < edges.size(); ++e) {
    edges[e].rank = rank[e];
    edges[e].key = key[e];
    if (edges[e].rank == MPI_PROC_NULL || (edges[e].rank >= 0 && edges[e].rank < ranks)) continue;
    refuse_argument(std::string(what) + "[" + std::to_string(e) + "] is " + std::to_string(edges[e].rank) +
                    ": give a rank of the communicator, 0 to " + std::to_string(ranks - 1));
  }
  return edges;
}

std::vector<HaloLists::Partner> HaloLists::partners_of(const std::vector<Edge>& edges, const char* what) {
  std::map<int, std::vector<std::size_t>> of_rank;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    if (edges[e].rank != MPI_PROC_NULL) of_rank[edges[e].rank].push_back(e);
  }
  std::vector<Partner> partners;
  for (auto& [rank, own] : of_rank) {
    std::ranges::sort(own, {}, [&](std::size_t e) { return edges[e].key; });
    const auto twice = std::ranges::adjacent_find(own, {}, [&](std::size_t e) { return edges[e].key; });
    if (twice != own.end()) {
      refuse_argument("two edges with " + std::string(what) + " " + std::to_string(rank) + " have the key " +
                      std::to_string(edges[*twice].key) + ": give every edge between two ranks a key of its own");
    }
    partners.push_back({rank, std::move(own), 0});
  }
  return partners;
}

void HaloLists::compare_ends() {
  // Nobody knows who will write: messages are taken until all have been, by synchronous sends and a barrier that waits.
  std::map<int, std::vector<int>> keys_of_rank;
  std::vector<std::vector<int>> keys;
  std::vector<MPI_Request> requests;
  for (const Partner& partner : to_) {
    std::vector<int>& own = keys.emplace_back();
    for (const std::size_t e : partner.edges) own.push_back(sends_[e].key);
  }
  for (std::size_t i = 0; i < to_.size(); ++i) {
    RANKWISE_CHECKED(MPI_Issend, keys[i].data(), static_cast<int>(keys[i].size()), MPI_INT, to_[i].rank, keys_tag, comm_.get(),
                     &requests.emplace_back());
  }
  MPI_Request barrier = MPI_REQUEST_NULL;
  bool in_barrier = false;
  for (int done = 0; done == 0;) {
    int is_there = 0;
    MPI_Status status;
    RANKWISE_CHECKED(MPI_Iprobe, MPI_ANY_SOURCE, keys_tag, comm_.get(), &is_there, &status);
    if (is_there != 0) {
      int count = 0;
      RANKWISE_CHECKED(MPI_Get_count, &status, MPI_INT, &count);
      std::vector<int>& from = keys_of_rank[status.MPI_SOURCE];
      from.resize(static_cast<std::size_t>(count));
      RANKWISE_CHECKED(MPI_Recv, from.data(), count, MPI_INT, status.MPI_SOURCE, keys_tag, comm_.get(), MPI_STATUS_IGNORE);
      continue;
    }
    if (in_barrier) {
      RANKWISE_CHECKED(MPI_Test, &barrier, &done, MPI_STATUS_IGNORE);
      continue;
    }
    int all_sent = 0;
    RANKWISE_CHECKED(MPI_Testall, static_cast<int>(requests.size()), requests.data(), &all_sent, MPI_STATUSES_IGNORE);
    if (all_sent == 0) continue;
    RANKWISE_CHECKED(MPI_Ibarrier, comm_.get(), &barrier);
    in_barrier = true;
  }
  all_or_none(comm_.get(), [&] {
    const int own = comm_.rank();
    for (const Partner& partner : from_) {
      const std::vector<int>& sent = keys_of_rank[partner.rank];
      for (const std::size_t e : partner.edges) {
        if (std::ranges::find(sent, receives_[e].key) != sent.end()) continue;
        refuse_argument(edge_of(partner.rank, own, receives_[e].key) + " is known to its receiver only: give both ends");
      }
    }
    for (const auto& [rank, sent] : keys_of_rank) {
      const auto partner = std::ranges::find(from_, rank, &Partner::rank);
      for (const int key : sent) {
        const auto has_key = [&](std::size_t e) { return receives_[e].key == key; };
        if (partner != from_.end() && std::ranges::any_of(partner->edges, has_key)) continue;
        refuse_argument(edge_of(rank, own, key) + " is known to its sender only: give both ends");
      }
    }
  });
}

std::vector<std::uint64_t> HaloLists::send_to_partners(const std::vector<std::uint64_t>& values_of_edges, bool back) const {
  const std::vector<Partner>& out = back ? from_ : to_;
  const std::vector<Partner>& in = back ? to_ : from_;
  std::vector<std::uint64_t> heard((back ? sends_ : receives_).size(), 0);
  const auto self_out = back ? from_self_.edges : to_self_.edges;
  const auto self_in = back ? to_self_.edges : from_self_.edges;
  for (std::size_t i = 0; i < self_out.size(); ++i) heard[self_in[i]] = values_of_edges[self_out[i]];
  std::vector<std::vector<std::uint64_t>> sent;
  std::vector<std::vector<std::uint64_t>> came;
  std::vector<MPI_Request> requests;
  for (const Partner& partner : in) {
    came.emplace_back(partner.edges.size());
    RANKWISE_CHECKED(MPI_Irecv, came.back().data(), static_cast<int>(came.back().size()), MPI_UINT64_T, partner.rank,
                     values_tag, comm_.get(), &requests.emplace_back());
  }
  for (const Partner& partner : out) {
    std::vector<std::uint64_t>& own = sent.emplace_back();
    for (const std::size_t e : partner.edges) own.push_back(values_of_edges[e]);
    RANKWISE_CHECKED(MPI_Isend, own.data(), static_cast<int>(own.size()), MPI_UINT64_T, partner.rank, values_tag, comm_.get(),
                     &requests.emplace_back());
  }
  wait_all(static_cast<int>(requests.size()), requests.data());
  for (std::size_t i = 0; i < in.size(); ++i) {
    for (std::size_t k = 0; k < in[i].edges.size(); ++k) heard[in[i].edges[k]] = came[i][k];
  }
  return heard;
}

void HaloLists::take_list(Edge& edge, const rankwise_list& list, const std::string& name) {
  constexpr std::size_t most = std::size_t{1} << 48;  // so that bytes can be counted
  if (list.count > most || list.first > most) {
    refuse_argument(name + " has " + std::to_string(list.count) + " elements from " + std::to_string(list.first) +
                    " on: give at most " + std::to_string(most));
  }
  edge.take_none();
  edge.count = list.count;
  edge.listed = true;
  if (list.count == 0) return;
  if (list.index == nullptr) {
    edge.low = static_cast<Index>(list.first);
    edge.high = edge.low + static_cast<Index>(list.count);
    edge.runs.push_back({edge.low, static_cast<Index>(list.count)});
    return;
  }
  const std::span index(list.index, list.count);
  // Loops of vectors.
  int least = index[0];
  int most_index = index[0];
  std::size_t runs = 1;
  for (const int element : index) {
    least = std::min(least, element);
    most_index = std::max(most_index, element);
  }
  if (least < 0) {
    const auto at = std::ranges::find_if(index, [](int element) { return element < 0; }) - index.begin();
    refuse_argument(name + ".index[" + std::to_string(at) + "] is below 0: give numbers of elements");
  }
  for (std::size_t i = 1; i < index.size(); ++i) runs += static_cast<std::size_t>(index[i] - index[i - 1] != 1);
  edge.low = least;
  edge.high = Index{most_index} + 1;
  if (4 * runs > index.size() && runs > 1) {
    edge.single.assign(index.begin(), index.end());
    return;
  }
  for (const int next : index) {
    if (!edge.runs.empty() && edge.runs.back().first + edge.runs.back().count == next) {
      ++edge.runs.back().count;
    } else {
      edge.runs.push_back({next, 1});
    }
  }
}

void HaloLists::lists(const rankwise_list send[], const rankwise_list recv[]) {
  checked("rankwise_neighbors_lists", [&] {
    require_idle("rankwise_neighbors_lists");
    if (send == nullptr && !sends_.empty()) refuse_argument("send is NULL: give one list a send edge");
    if (varies_ && recv != nullptr) {
      refuse_argument("recv is given, but the counts come with the messages: pass NULL and ask rankwise_halo_received");
    }
    listed_ = false;
    for (std::size_t e = 0; e < sends_.size(); ++e) take_list(sends_[e], send[e], "send[" + std::to_string(e) + "]");
    for (std::size_t e = 0; e < receives_.size(); ++e) {
      if (recv == nullptr) {
        receives_[e].listed = false;
        receives_[e].take_none();
      } else {
        take_list(receives_[e], recv[e], "recv[" + std::to_string(e) + "]");
      }
    }
  });
  if (varies_) {
    listed_ = true;
    return;
  }
  std::vector<std::uint64_t> counts;
  for (const Edge& edge : sends_) counts.push_back(edge.count);
  const std::vector<std::uint64_t> come = send_to_partners(counts, false);
  std::vector<std::uint64_t> expected = come;
  for (std::size_t e = 0; e < receives_.size(); ++e) {
    if (receives_[e].listed) expected[e] = receives_[e].count;
  }
  const std::vector<std::uint64_t> wanted = send_to_partners(expected, true);
  checked("rankwise_neighbors_lists", [&] {
    const auto require_alike = [&](const Edge& edge, int from, int to, std::uint64_t sent, std::uint64_t taken) {
      if (edge.rank == MPI_PROC_NULL || sent == taken) return;
      refuse_argument(edge_of(from, to, edge.key) + " sends " + std::to_string(sent) + " elements, but its receiver takes " +
                      std::to_string(taken) + ": give lists of the same length");
    };
    for (std::size_t e = 0; e < sends_.size(); ++e) {
      require_alike(sends_[e], comm_.rank(), sends_[e].rank, counts[e], wanted[e]);
    }
    for (std::size_t e = 0; e < receives_.size(); ++e) {
      require_alike(receives_[e], receives_[e].rank, comm_.rank(), come[e], expected[e]);
    }
  });
  for (std::size_t e = 0; e < receives_.size(); ++e) receives_[e].count = come[e];
  find_stretches();
  listed_ = true;
}

void HaloLists::places(const rankwise_list recv[]) {
  checked("rankwise_neighbors_places", [&] {
    require_idle("rankwise_neighbors_places");
    if (varies_) refuse_usage("the counts come with the messages, what comes stays where rankwise_halo_received says");
    if (!listed_) refuse_usage("the lists are not set: call rankwise_neighbors_lists first");
    if (recv == nullptr && !receives_.empty()) refuse_argument("recv is NULL: give one list a receive edge");
    for (std::size_t e = 0; e < receives_.size(); ++e) {
      const Edge& edge = receives_[e];
      if (edge.rank == MPI_PROC_NULL || recv[e].count == edge.count) continue;
      refuse_argument(edge_of(edge.rank, comm_.rank(), edge.key) + " sends " + std::to_string(edge.count) +
                      " elements, but its receiver takes " + std::to_string(recv[e].count) + ": give lists of the same length");
    }
    listed_ = false;
    for (std::size_t e = 0; e < receives_.size(); ++e) take_list(receives_[e], recv[e], "recv[" + std::to_string(e) + "]");
  });
  find_stretches();
  listed_ = true;
}

void HaloLists::capacity(const std::size_t bytes[]) {
  checked("rankwise_neighbors_capacity", [&] {
    require_idle("rankwise_neighbors_capacity");
    if (bytes == nullptr && !receives_.empty()) refuse_argument("bytes is NULL: give one capacity a receive edge");
  });
  std::vector<std::uint64_t> own;
  for (std::size_t e = 0; e < receives_.size(); ++e) own.push_back(bytes[e]);
  const std::vector<std::uint64_t> theirs = send_to_partners(own, true);
  varies_ = true;
  listed_ = false;
  for (Edge& edge : receives_) {
    edge.listed = false;
    edge.take_none();
  }
  find_stretches();
  const auto sum = [&](std::vector<Partner>& partners, const std::vector<std::uint64_t>& of_edge) {
    for (Partner& partner : partners) {
      partner.capacity = head(partner);
      for (const std::size_t e : partner.edges) partner.capacity += of_edge[e];
    }
  };
  sum(from_, own);
  sum(to_, theirs);
}

// One exchange -----------------------------------------------------------------------------------------------------

std::uint64_t HaloLists::take(const Fields& fields, const int active[]) {
  if (!listed_) refuse_usage("the lists are not set: call rankwise_neighbors_lists first");
  if (fields.size() == 0 && fields_.empty()) refuse_argument("nfields is 0: give the fields to exchange");
  const std::size_t count = fields.size() == 0 ? fields_.size() : fields.size();
  const std::uint64_t moving = bits(count, active);
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const bool moves = (moving >> f & 1) != 0;
    if (moves && fields[f].data == nullptr) refuse_argument("the data of field " + std::to_string(f) + " is NULL");
  }
  if (fields.size() > 0) fields_.clear();
  for (std::size_t f = 0; f < fields.size(); ++f) {
    fields_.push_back({static_cast<std::byte*>(fields[f].data), fields[f].stride[0], fields[f].element_bytes});
  }
  return moving;
}

std::size_t HaloLists::payload(const Partner& partner, const std::vector<Edge>& edges) const {
  std::size_t bytes = 0;
  each_part(partner, edges,
            [&](std::size_t e, std::size_t f, std::size_t) { bytes += edges[e].count * fields_[f].element_bytes; });
  return bytes;
}

void HaloLists::pack(const Partner& partner, const std::vector<Edge>& edges, std::byte* into) const {
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    if ((active_ >> f & 1) != 0) into = pack_field(partner, edges, f, into);
  }
}

std::byte* HaloLists::pack_field(const Partner& partner, const std::vector<Edge>& edges, std::size_t f, std::byte* into) const {
  const Taken& field = fields_[f];
  const auto size = static_cast<Bytes>(field.element_bytes);
  for (const std::size_t e : partner.edges) {
    if (const std::vector<int>& single = edges[e].single; !single.empty()) {
      gather(field.element_bytes, single, field.data, field.stride, into);
      into += static_cast<Bytes>(single.size()) * size;
      continue;
    }
    for (const Run& run : edges[e].runs) {
      gather(field.element_bytes, run.count, field.data + run.first * field.stride, field.stride, into);
      into += run.count * size;
    }
  }
  return into;
}

bool HaloLists::pack_self_in_place() const {
  if (from_self_.first < 0) return false;
  const auto has_gaps = [&](std::size_t f) {
    return (active_ >> f & 1) != 0 && fields_[f].stride != static_cast<Bytes>(fields_[f].element_bytes);
  };
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    if (has_gaps(f)) return false;
  }
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    if ((active_ >> f & 1) != 0) pack_field(to_self_, sends_, f, fields_[f].data + from_self_.first * fields_[f].stride);
  }
  return true;
}

void HaloLists::unpack(const Partner& partner, const std::vector<Edge>& edges, const std::byte* from,
                       const Reduction* reduction) const {
  each_part(partner, edges, [&](std::size_t e, std::size_t f, std::size_t at) {
    const Taken& field = fields_[f];
    const std::byte* next = from + at;
    if (const std::vector<int>& single = edges[e].single; !single.empty()) {
      if (reduction == nullptr) {
        scatter(field.element_bytes, single, next, field.data, field.stride);
      } else {
        reduction->elements(field.data, field.stride, single, next, field.element_bytes, reduction);
      }
      return;
    }
    const auto size = static_cast<Bytes>(field.element_bytes);
    for (const Run& run : edges[e].runs) {
      std::byte* into = field.data + run.first * field.stride;
      if (reduction == nullptr) {
        scatter(field.element_bytes, run.count, next, into, field.stride);
      } else if (field.stride == size) {
        reduction->row(into, next, static_cast<std::size_t>(run.count * size), reduction);
      } else {
        for (Index i = 0; i < run.count; ++i)
          reduction->row(into + i * field.stride, next + i * size, field.element_bytes, reduction);
      }
      next += run.count * size;
    }
  });
}

void HaloLists::write_head(const Partner& partner, std::byte* into) const {
  for (const std::size_t e : partner.edges) {
    const std::uint64_t count = sends_[e].count;
    std::memcpy(into, &count, sizeof count);
    into += sizeof count;
  }
}

void HaloLists::begin(std::uint64_t active) {
  active_ = active;
  is_back_ = false;
  usual_done_ = false;
  std::ranges::fill(long_bytes_, std::size_t{0});
  for (std::size_t i = 0; i < from_.size(); ++i) {
    usual().make_room_in(i, varies_ ? from_[i].capacity : payload(from_[i], receives_));
  }
  for (std::size_t i = 0; i < to_.size(); ++i) {
    const std::size_t bytes = head(to_[i]) + payload(to_[i], sends_);
    const bool is_long = varies_ && bytes > to_[i].capacity;
    usual().make_room_out(i, varies_ ? to_[i].capacity : bytes);
    if (is_long) long_out_->make_room_out(i, bytes - head(to_[i]));
  }
  usual().ready();
  long_out_->ready();
  for (std::size_t i = 0; i < from_.size(); ++i) {
    const std::size_t bytes = varies_ ? from_[i].capacity : payload(from_[i], receives_);
    if (bytes > 0) usual().expect(i, bytes, in_place(from_[i]));
  }
  for (std::size_t i = 0; i < to_.size(); ++i) {
    Partner& partner = to_[i];
    const std::size_t first = head(partner);
    const std::size_t bytes = payload(partner, sends_);
    if (first + bytes == 0) continue;
    if (const std::byte* data = in_place(partner); data != nullptr) {
      usual().send(i, bytes, data);
      continue;
    }
    if (varies_) write_head(partner, usual().out(i));
    if (varies_ && first + bytes > partner.capacity) {
      usual().send(i, first);
      pack(partner, sends_, long_out_->out(i));
      long_out_->send(i, bytes);
      partner.capacity = std::bit_ceil(first + bytes);
    } else {
      pack(partner, sends_, usual().out(i) + first);
      usual().send(i, first + bytes);
    }
  }
  usual().sent();
  // What stays on this rank goes the same way, without a message.
  for (std::size_t i = 0; i < to_self_.edges.size(); ++i) {
    receives_[from_self_.edges[i]].count = sends_[to_self_.edges[i]].count;
  }
  if (pack_self_in_place()) return;
  const std::size_t own = payload(to_self_, sends_);
  if (self_bytes_.size() < own) self_bytes_.resize(own);
  pack(to_self_, sends_, self_bytes_.data());
  unpack(from_self_, receives_, self_bytes_.data(), nullptr);
}

void HaloLists::arrived(std::size_t i, std::size_t bytes) {
  Partner& partner = from_[i];
  const std::byte* message = usual().in(i);
  const std::size_t first = head(partner);
  if (bytes < first) throw WrongLength("the message of rank " + std::to_string(partner.rank) + " has no counts");
  if (varies_) {
    const std::byte* next = message;
    for (const std::size_t e : partner.edges) {
      std::uint64_t count = 0;
      std::memcpy(&count, next, sizeof count);
      receives_[e].count = count;
      next += sizeof count;
    }
  }
  const std::size_t expected = payload(partner, receives_);
  const bool is_long = varies_ && first + expected > partner.capacity;
  if (bytes != first + (is_long ? 0 : expected)) {
    std::string keys;
    for (const std::size_t e : partner.edges) keys += (keys.empty() ? "" : ", ") + std::to_string(receives_[e].key);
    throw WrongLength("rank " + std::to_string(partner.rank) + " sent " + std::to_string(bytes) + " B, not " +
                      std::to_string(first + expected) + " B, under the keys " + keys);
  }
  if (is_long) {
    long_bytes_[i] = expected;
    partner.capacity = std::bit_ceil(first + expected);
  } else if (in_place(partner) == nullptr) {
    unpack(partner, receives_, message + first, nullptr);
  }
}

bool HaloLists::finish_forward(bool wait) {
  if (!usual_done_) {
    if (!usual().advance(wait, [&](std::size_t i, std::size_t bytes) { arrived(i, bytes); })) return false;
    usual_done_ = true;
    for (std::size_t i = 0; i < from_.size(); ++i) {
      if (long_bytes_[i] > 0) long_in_->make_room_in(i, long_bytes_[i]);
    }
    long_in_->ready();
    for (std::size_t i = 0; i < from_.size(); ++i) {
      if (long_bytes_[i] > 0) long_in_->expect(i, long_bytes_[i]);
    }
  }
  const auto come = [&](std::size_t i, std::size_t bytes) {
    if (bytes != long_bytes_[i]) {
      throw WrongLength("rank " + std::to_string(from_[i].rank) + " sent " + std::to_string(bytes) + " B, not the " +
                        std::to_string(long_bytes_[i]) + " B that it told");
    }
  };
  return long_in_->advance(wait, come) && long_out_->advance(wait, [](std::size_t, std::size_t) {});
}

void HaloLists::require_back() const {
  if (varies_) {
    throw Failure(RANKWISE_ERROR_UNSUPPORTED, "what travels with its counts has no way back: leave capacities away");
  }
  for (const Edge& edge : receives_) {
    if (edge.listed || edge.rank == MPI_PROC_NULL) continue;
    refuse_usage("there are no recv lists: give them to rankwise_neighbors_lists");
  }
}

void HaloLists::begin_back(std::uint64_t active, const Reduction& reduction) {
  active_ = active;
  is_back_ = true;
  reduction_ = reduction;
  for (std::size_t i = 0; i < to_.size(); ++i) back_->make_room_in(i, payload(to_[i], sends_));
  for (std::size_t i = 0; i < from_.size(); ++i) back_->make_room_out(i, payload(from_[i], receives_));
  back_->ready();
  for (std::size_t i = 0; i < to_.size(); ++i) {
    if (const std::size_t bytes = payload(to_[i], sends_); bytes > 0) back_->expect(i, bytes);
  }
  for (std::size_t i = 0; i < from_.size(); ++i) {
    const std::size_t bytes = payload(from_[i], receives_);
    if (bytes == 0) continue;
    const std::byte* data = in_place(from_[i]);
    if (data == nullptr) pack(from_[i], receives_, back_->out(i));
    back_->send(i, bytes, data);
  }
  if (in_place(from_self_) != nullptr) return;
  const std::size_t own = payload(from_self_, receives_);
  if (self_bytes_.size() < own) self_bytes_.resize(own);
  pack(from_self_, receives_, self_bytes_.data());
}

// Everything is added when all has come, in ascending order of the ranks, so that sums come out the same every time.
bool HaloLists::finish_back(bool wait) {
  const bool done = back_->advance(wait, [&](std::size_t i, std::size_t bytes) {
    if (bytes == payload(to_[i], sends_)) return;
    throw WrongLength("rank " + std::to_string(to_[i].rank) + " sent " + std::to_string(bytes) + " B back, not " +
                      std::to_string(payload(to_[i], sends_)) + " B");
  });
  if (!done) return false;
  bool own_done = false;
  const auto add_own = [&] {
    const std::byte* data = in_place(from_self_);
    if (!own_done) unpack(to_self_, sends_, data == nullptr ? self_bytes_.data() : data, &reduction_);
    own_done = true;
  };
  for (std::size_t i = 0; i < to_.size(); ++i) {
    if (to_[i].rank > comm_.rank()) add_own();
    unpack(to_[i], sends_, back_->in(i), &reduction_);
  }
  add_own();
  return true;
}

bool HaloLists::advance(bool wait) { return is_back_ ? finish_back(wait) : finish_forward(wait); }

}  // namespace rankwise::api
