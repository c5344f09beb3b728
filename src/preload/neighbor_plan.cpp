#include "preload/neighbor_plan.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_set>

namespace rankwise::preload {

namespace {

std::mutex guarding_types;
std::unordered_set<std::uint64_t>& known_types = *new std::unordered_set<std::uint64_t>;  // calls come until the very end
std::atomic<std::uint64_t> freed{0};
std::atomic<bool> some_known{false};

std::uint64_t bits(MPI_Datatype type) { return compiled_for() == Family::mpich ? (Handle)type & 0xFFFFFFFFU : (Handle)type; }

void remember_type(MPI_Datatype type, Plan& plan) {
  if (is_predefined(type)) return;
  const std::lock_guard guard(guarding_types);
  known_types.insert(bits(type));
  some_known = true;
  plan.knows_types = true;
}

// The places of staged messages, and which need none.
std::size_t place(std::vector<Flow>& flows, const std::vector<Content>& contents, std::size_t staging, bool to_itself) {
  for (std::size_t i = 0; i < flows.size(); ++i) {
    Flow& flow = flows[i];
    const bool self = to_itself && i + 1 == flows.size();
    const TypeMap::Run* run = flow.contents == 1 && !self ? contents[flow.content].in_place() : nullptr;
    if (run != nullptr) {
      flow.in_place = true;
      flow.memory = run->at;
      continue;
    }
    flow.at = staging;
    staging += (flow.bytes + 63) / 64 * 64;
  }
  return staging;
}

// Those to itself go last.
void order(std::vector<Partner>& partners, int rank) {
  std::stable_partition(partners.begin(), partners.end(), [&](const Partner& one) { return one.rank != rank; });
}

}  // namespace

void neighbor_type_freed(Handle type) noexcept {
  if (!some_known.load(std::memory_order_relaxed) || type == 0) return;
  const std::lock_guard guard(guarding_types);
  if (known_types.erase(bits(*reinterpret_cast<MPI_Datatype*>(type))) > 0) ++freed;
}

std::uint64_t types_freed() noexcept { return freed.load(std::memory_order_relaxed); }

Arguments::Arguments(const NeighborCall& call) : kind_(call.kind), form_(call.form), large_(call.large) {
  const Handle* word = call.word;
  sent_ = reinterpret_cast<const std::byte*>(word[0]);
  if (kind_ == NeighborKind::allgather || kind_ == NeighborKind::alltoall) {
    send_ = {word[1], 0, word[2], false, false, kind_ == NeighborKind::allgather};
    receive_ = {word[4], 0, word[5], false, false, false};
    received_ = reinterpret_cast<std::byte*>(word[3]);
    comm_ = (MPI_Comm)word[6];
  } else if (kind_ == NeighborKind::allgatherv) {
    send_ = {word[1], 0, word[2], false, false, true};
    receive_ = {word[4], word[5], word[6], true, false, false};
    received_ = reinterpret_cast<std::byte*>(word[3]);
    comm_ = (MPI_Comm)word[7];
  } else {
    const bool w = kind_ == NeighborKind::alltoallw;
    send_ = {word[1], word[2], word[3], true, w, false};
    receive_ = {word[5], word[6], word[7], true, w, false};
    received_ = reinterpret_cast<std::byte*>(word[4]);
    comm_ = (MPI_Comm)word[8];
  }
}

long long Arguments::count_of(const Side& side, int edge) const {
  if (!side.counts) return large_ ? static_cast<long long>(side.count) : static_cast<int>(side.count);
  return large_ ? static_cast<long long>(reinterpret_cast<const MPI_Count*>(side.count)[edge])
                : reinterpret_cast<const int*>(side.count)[edge];
}

Arguments::Piece Arguments::piece(const Side& side, int edge) const {
  const long long count = count_of(side, edge);
  if (side.types) {
    return {count, reinterpret_cast<const MPI_Datatype*>(side.type)[edge],
            reinterpret_cast<const MPI_Aint*>(side.places)[edge]};
  }
  const MPI_Datatype type = (MPI_Datatype)side.type;
  MPI_Aint low = 0;
  MPI_Aint extent = 0;
  MPI_Type_get_extent(type, &low, &extent);
  if (side.same) return {count, type, 0};
  if (!side.counts) return {count, type, edge * count * extent};
  const long long place = large_ ? static_cast<long long>(reinterpret_cast<const MPI_Aint*>(side.places)[edge])
                                 : reinterpret_cast<const int*>(side.places)[edge];
  return {count, type, place * extent};
}

bool Arguments::sane(const Arguments& of, const Side& side, int edges) {
  if ((side.counts && edges > 0 && (side.count == 0 || side.places == 0)) || (side.types && edges > 0 && side.type == 0))
    return false;
  for (int edge = 0; edge < (side.counts ? edges : 1); ++edge) {
    const MPI_Datatype type = side.types ? reinterpret_cast<const MPI_Datatype*>(side.type)[edge] : (MPI_Datatype)side.type;
    if (of.count_of(side, edge) < 0 || type == MPI_DATATYPE_NULL) return false;
  }
  return true;
}

bool Arguments::sane(int sends, int receives) const {
  if (sent_ == MPI_IN_PLACE || received_ == MPI_IN_PLACE) return false;  // not allowed: MPI's to say
  return sane(*this, send_, sends) && sane(*this, receive_, receives);
}

void Arguments::write_key(const Side& side, int edges, std::vector<std::uint64_t>& key) const {
  if (!side.counts) {
    key.push_back(static_cast<std::uint64_t>(count_of(side, 0)));
    key.push_back(bits((MPI_Datatype)side.type));
    return;
  }
  if (!side.types) key.push_back(bits((MPI_Datatype)side.type));
  for (int edge = 0; edge < edges; ++edge) {
    key.push_back(static_cast<std::uint64_t>(count_of(side, edge)));
    if (side.types) {
      key.push_back(bits(reinterpret_cast<const MPI_Datatype*>(side.type)[edge]));
      key.push_back(static_cast<std::uint64_t>(reinterpret_cast<const MPI_Aint*>(side.places)[edge]));
    } else {
      key.push_back(static_cast<std::uint64_t>(large_ ? reinterpret_cast<const MPI_Aint*>(side.places)[edge]
                                                      : reinterpret_cast<const int*>(side.places)[edge]));
    }
  }
}

void Arguments::write_key(int sends, int receives, std::vector<std::uint64_t>& key) const {
  key.clear();
  key.push_back((static_cast<std::uint64_t>(kind_) * 4 + static_cast<std::uint64_t>(form_)) * 2 + (large_ ? 1 : 0));
  write_key(send_, sends, key);
  write_key(receive_, receives, key);
}

std::shared_ptr<Plan> make_plan(const Arguments& arguments, const Edges& edges, int rank, MPI_Comm comm, int* code) {
  auto plan = std::make_shared<Plan>();
  plan->types = types_freed();
  *code = MPI_SUCCESS;
  const auto add = [&](Content& content, const Arguments::Piece& piece) {
    remember_type(piece.type, *plan);
    if (*code == MPI_SUCCESS) *code = content.add(piece.count, piece.type, piece.at, comm);
  };
  std::vector<Partner> out = edges.out;
  std::vector<Partner> in = edges.in_of(arguments.kind(), arguments.form());
  order(out, rank);
  order(in, rank);
  plan->to_itself = !out.empty() && out.back().rank == rank;
  if (plan->to_itself != (!in.empty() && in.back().rank == rank)) *code = MPI_ERR_TOPOLOGY;
  for (const Partner& partner : out) {
    Flow flow{partner.rank, arguments.one_block() ? 0 : plan->sends.size()};
    if (!arguments.one_block() || plan->sends.empty()) {
      Content content;
      for (std::size_t i = 0; i < (arguments.one_block() ? 1 : partner.edges.size()); ++i)
        add(content, arguments.send(partner.edges[i]));
      plan->sends.push_back(std::move(content));
    }
    flow.bytes = plan->sends[flow.content].bytes();
    plan->out.push_back(flow);
  }
  for (const Partner& partner : in) {
    Flow flow{partner.rank, plan->receives.size()};
    if (arguments.one_block()) {
      flow.contents = partner.edges.size();
      for (const int edge : partner.edges) {
        Content content;
        add(content, arguments.receive(edge));
        plan->receives.push_back(std::move(content));
      }
    } else {
      Content content;
      for (const int edge : partner.edges) add(content, arguments.receive(edge));
      plan->receives.push_back(std::move(content));
    }
    flow.bytes = plan->receives[flow.content].bytes();
    plan->in.push_back(flow);
  }
  if (*code != MPI_SUCCESS) return nullptr;
  plan->staging = place(plan->out, plan->sends, 0, plan->to_itself);
  if (arguments.one_block()) {  // one copy of the block for all
    for (Flow& flow : plan->out) flow.at = plan->out.front().at;
    if (!plan->out.empty()) plan->staging = (plan->out.front().bytes + 63) / 64 * 64;
    if (plan->to_itself && !plan->out.empty()) plan->out.back().at = 0;
  }
  plan->staging = place(plan->in, plan->receives, plan->staging, false);
  return plan;
}

Staged staged(const Plan& plan) {
  Staged made{plan.out, plan.in, plan.staging};
  for (std::vector<Flow>* flows : {&made.out, &made.in}) {
    const Flow* before = nullptr;
    for (Flow& flow : *flows) {
      if (flows == &made.out && before != nullptr && before->content == flow.content) {
        flow.at = before->at;  // an allgather's block
      } else if (flow.in_place) {
        flow.at = made.staging;
        made.staging += (flow.bytes + 63) / 64 * 64;
      }
      flow.in_place = false;
      before = &flow;
    }
  }
  return made;
}

}  // namespace rankwise::preload
