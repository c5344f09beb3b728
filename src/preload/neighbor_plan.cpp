#include "preload/neighbor_plan.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <string>
#include <unordered_set>
#include <utility>

#include "preload/look_up.hpp"

namespace rankwise::preload {

namespace {

std::mutex guarding_types;
std::unordered_set<Handle>& known_types = *new std::unordered_set<Handle>;  // calls come until the very end
std::atomic<std::uint64_t> freed{0};
std::atomic<bool> some_known{false};

Handle bits(MPI_Datatype type) { return bits_of((Handle)type); }

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

namespace {

using Held = std::shared_ptr<NeighborState>;

int no_copy(MPI_Comm, int, void*, void*, void*, int* copied) {
  *copied = 0;
  return MPI_SUCCESS;
}

int drop(MPI_Comm, int, void* held, void*) {
  ++neighbor_changes;
  delete static_cast<Held*>(held);
  return MPI_SUCCESS;
}

int keyval() {
  static const int made = [] {
    int key = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(no_copy, drop, &key, nullptr);
    return key;
  }();
  return made;
}

// The neighbours in MPI's order, MPI_PROC_NULL among them. False where the topology has none that can be read.
bool read_neighbors(MPI_Comm comm, int rank, std::vector<int>& sources, std::vector<int>& dests) {
  int kind = MPI_UNDEFINED;
  if (MPI_Topo_test(comm, &kind) != MPI_SUCCESS) return false;
  if (kind == MPI_CART) {
    int ndims = 0;
    if (MPI_Cartdim_get(comm, &ndims) != MPI_SUCCESS) return false;
    for (int axis = 0; axis < ndims; ++axis) {
      int below = MPI_PROC_NULL;
      int above = MPI_PROC_NULL;
      if (MPI_Cart_shift(comm, axis, 1, &below, &above) != MPI_SUCCESS) return false;
      sources.insert(sources.end(), {below, above});
    }
    dests = sources;
    return true;
  }
  if (kind == MPI_GRAPH) {
    int count = 0;
    if (MPI_Graph_neighbors_count(comm, rank, &count) != MPI_SUCCESS) return false;
    sources.resize(static_cast<std::size_t>(count));
    if (MPI_Graph_neighbors(comm, rank, count, sources.data()) != MPI_SUCCESS) return false;
    dests = sources;
    return true;
  }
  int in = 0;
  int out = 0;
  int weighted = 0;
  if (kind != MPI_DIST_GRAPH || MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted) != MPI_SUCCESS) return false;
  sources.resize(static_cast<std::size_t>(in) + 1);
  dests.resize(static_cast<std::size_t>(out) + 1);
  std::vector<int> in_weight(sources.size());
  std::vector<int> out_weight(dests.size());
  if (MPI_Dist_graph_neighbors(comm, in, sources.data(), in_weight.data(), out, dests.data(), out_weight.data()) !=
      MPI_SUCCESS) {
    return false;
  }
  sources.pop_back();
  dests.pop_back();
  return true;
}

std::vector<Partner> by_rank(const std::vector<int>& ranks) {
  std::vector<Partner> partners;
  std::vector<std::pair<int, int>> sorted;
  for (std::size_t edge = 0; edge < ranks.size(); ++edge) {
    if (ranks[edge] >= 0) sorted.emplace_back(ranks[edge], static_cast<int>(edge));
  }
  std::sort(sorted.begin(), sorted.end());
  for (const auto& [rank, edge] : sorted) {
    if (partners.empty() || partners.back().rank != rank) partners.push_back({rank, {}});
    partners.back().edges.push_back(edge);
  }
  return partners;
}

bool has_several(const std::vector<Partner>& partners) {
  return std::any_of(partners.begin(), partners.end(), [](const Partner& one) { return one.edges.size() > 1; });
}

// Calls MPI's own function of a kind ("alltoall") in one of its forms, and waits. False where it fails.
template <class... Arguments>
bool call_own(const std::string& kind, NeighborForm form, Arguments... arguments) {
  const char* const start = form == NeighborForm::nonblocking ? "MPI_Ineighbor_" : "MPI_Neighbor_";
  void* const found = look_up((start + kind + (form == NeighborForm::persistent ? "_init" : "")).c_str());
  if (found == nullptr) return form == NeighborForm::persistent;
  if (form == NeighborForm::blocking) return reinterpret_cast<int (*)(Arguments...)>(found)(arguments...) == MPI_SUCCESS;
  MPI_Request request = MPI_REQUEST_NULL;
  if (form == NeighborForm::nonblocking) {
    if (reinterpret_cast<int (*)(Arguments..., MPI_Request*)>(found)(arguments..., &request) != MPI_SUCCESS) return false;
    return MPI_Waitall(1, &request, MPI_STATUSES_IGNORE) == MPI_SUCCESS;
  }
  using Init = int (*)(Arguments..., MPI_Info, MPI_Request*);
  // Older than MPI 4 (a further library of ours may have the name): nobody calls it.
  if (reinterpret_cast<Init>(found)(arguments..., MPI_INFO_NULL, &request) != MPI_SUCCESS) return true;
  const bool done = MPI_Start(&request) == MPI_SUCCESS && MPI_Waitall(1, &request, MPI_STATUSES_IGNORE) == MPI_SUCCESS;
  return MPI_Request_free(&request) == MPI_SUCCESS && done;
}

// Puts edges from one rank in the order in which that rank sends them, as this MPI matches them in one of its calls: which says where
// the number of each edge arrives. Cartesian axes of one or two ranks are matched by direction there, or not.
bool match(MPI_Comm comm, int matching, std::size_t sends, std::size_t receives, std::vector<Partner>& in) {
  const auto form = static_cast<NeighborForm>(matching % 3);
  const std::size_t most = std::max(sends, receives) + 1;
  std::vector<int> number(most);
  std::iota(number.begin(), number.end(), 0);
  std::vector<int> came(most, -1);
  const std::vector<int> ones(most, 1);
  const std::vector<MPI_Datatype> types(most, MPI_INT);
  std::vector<MPI_Aint> places(most);
  for (std::size_t i = 0; i < most; ++i) places[i] = static_cast<MPI_Aint>(i * sizeof(int));
  const void* const out = number.data();
  void* const into = came.data();
  bool done = false;
  if (matching / 3 == 0) {
    done = call_own("alltoall", form, out, 1, MPI_INT, into, 1, MPI_INT, comm);
  } else if (matching / 3 == 1) {
    done =
        call_own("alltoallv", form, out, ones.data(), number.data(), MPI_INT, into, ones.data(), number.data(), MPI_INT, comm);
  } else {
    done = call_own("alltoallw", form, out, ones.data(), places.data(), types.data(), into, ones.data(), places.data(),
                    types.data(), comm);
  }
  if (!done) return false;
  for (Partner& partner : in) {
    std::stable_sort(partner.edges.begin(), partner.edges.end(),
                     [&](int a, int b) { return came[static_cast<std::size_t>(a)] < came[static_cast<std::size_t>(b)]; });
  }
  return true;
}

// Collective over comm. Fills what it can; usable is alike on all ranks.
void fill(MPI_Comm comm, NeighborState& state) {
  MPI_Group group = MPI_GROUP_NULL;
  if (MPI_Comm_group(comm, &group) != MPI_SUCCESS) return;
  const int code = MPI_Comm_create(comm, group, &state.comm);  // without the program's attributes and topology
  MPI_Group_free(&group);
  if (code != MPI_SUCCESS || state.comm == MPI_COMM_NULL) return;
  MPI_Comm_set_errhandler(state.comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(state.comm, &state.rank);
  std::vector<int> sources;
  std::vector<int> dests;
  const bool read = read_neighbors(comm, state.rank, sources, dests);
  state.sends = static_cast<int>(dests.size());
  state.receives = static_cast<int>(sources.size());
  state.edges.out = by_rank(dests);
  state.edges.in.fill(by_rank(sources));
  int own[] = {read ? 0 : 1, has_several(state.edges.out) || has_several(state.edges.in[0]) ? 1 : 0};
  int all[2];
  if (MPI_Allreduce(own, all, 2, MPI_INT, MPI_MAX, state.comm) != MPI_SUCCESS || all[0] != 0) return;
  state.several = all[1] != 0;
  if (state.several) {
    int wrong = 0;
    for (int matching = 0; matching < Edges::matchings; ++matching) {
      if (!match(comm, matching, dests.size(), sources.size(), state.edges.in[static_cast<std::size_t>(matching)])) wrong = 1;
    }
    if (MPI_Allreduce(&wrong, all, 1, MPI_INT, MPI_MAX, state.comm) != MPI_SUCCESS || all[0] != 0) return;
  }
  state.usable = true;
}

}  // namespace

NeighborState::~NeighborState() {
  int finalised = 0;
  MPI_Finalized(&finalised);
  if (finalised == 0 && comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
}

std::shared_ptr<Plan> NeighborState::plan_of(const Arguments& arguments, int* code) {
  const std::lock_guard guard(guarding_);
  arguments.write_key(sends, receives, asked_);
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    if (plans_[i]->key != asked_) continue;
    if (plans_[i]->knows_types && plans_[i]->types != types_freed()) {
      plans_.erase(plans_.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
    if (i > 0)
      std::rotate(plans_.begin(), plans_.begin() + static_cast<std::ptrdiff_t>(i),
                  plans_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    *code = MPI_SUCCESS;
    return plans_.front();
  }
  std::shared_ptr<Plan> plan = make_plan(arguments, edges, rank, comm, code);
  if (plan == nullptr) return plan;
  plan->key = asked_;
  if (plans_.size() >= most_plans) plans_.pop_back();
  plans_.insert(plans_.begin(), plan);
  return plan;
}

std::vector<std::byte> NeighborState::take_memory(std::size_t bytes) {
  std::vector<std::byte> taken;
  {
    const std::lock_guard guard(guarding_);
    if (!memory_.empty()) {
      taken = std::move(memory_.back());
      memory_.pop_back();
    }
  }
  if (taken.size() < bytes) taken.resize(bytes);
  return taken;
}

void NeighborState::give_memory(std::vector<std::byte>&& memory) {
  const std::lock_guard guard(guarding_);
  memory_.push_back(std::move(memory));
}

const std::shared_ptr<NeighborState>* state_of(MPI_Comm comm, bool make) {
  struct Last {
    MPI_Comm comm = MPI_COMM_NULL;
    unsigned changes = 0;
    const Held* state = nullptr;
  };
  static thread_local Last last{};
  const unsigned now = neighbor_changes.load(std::memory_order_relaxed);
  if (last.state != nullptr && last.comm == comm && last.changes == now) return last.state;
  int inter = 1;
  void* value = nullptr;
  int found = 0;
  if (MPI_Comm_get_attr(comm, keyval(), &value, &found) != MPI_SUCCESS) return nullptr;
  if (found == 0) {
    if (!make || MPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter != 0) return nullptr;
    int kind = MPI_UNDEFINED;
    if (MPI_Topo_test(comm, &kind) != MPI_SUCCESS || kind == MPI_UNDEFINED) return nullptr;
    auto made = std::make_shared<NeighborState>();
    fill(comm, *made);
    value = new Held(std::move(made));
    if (MPI_Comm_set_attr(comm, keyval(), value) != MPI_SUCCESS) {
      delete static_cast<Held*>(value);
      return nullptr;
    }
  }
  last = {comm, now, static_cast<const Held*>(value)};
  return last.state;
}

}  // namespace rankwise::preload
