#include "preload/neighbor_state.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "preload/look_up.hpp"

namespace rankwise::preload {

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
