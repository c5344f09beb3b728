#include "preload/neighbor.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "mpi/mpi.hpp"
#include "preload/arrange.hpp"
#include "preload/neighbor_exchange.hpp"

namespace rankwise::preload {

namespace {

std::atomic<long> served{0};

NeighborMode read_mode() {
  const char* text = std::getenv("RANKWISE_NEIGHBOR");
  if (text == nullptr || *text == '\0' || std::strcmp(text, "off") == 0) return NeighborMode::off;
  if (std::strcmp(text, "check") == 0) return NeighborMode::check;
  if (std::strcmp(text, "auto") == 0) return NeighborMode::automatic;
  if (std::strcmp(text, "always") == 0) return NeighborMode::always;
  if (is_rank_0() && running() == compiled_for()) {
    std::fprintf(
        stderr,
        "rankwise: RANKWISE_NEIGHBOR='%s' is none of off, check, auto, always: neighbourhood collectives are left to MPI\n",
        text);
  }
  return NeighborMode::off;
}

int own(const NeighborCall& call) {
  const Handle* w = call.word;
  using H = Handle;
  switch (call.words) {
    case 7: return reinterpret_cast<int (*)(H, H, H, H, H, H, H)>(call.own)(w[0], w[1], w[2], w[3], w[4], w[5], w[6]);
    case 8: return reinterpret_cast<int (*)(H, H, H, H, H, H, H, H)>(call.own)(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]);
    case 9:
      return reinterpret_cast<int (*)(H, H, H, H, H, H, H, H, H)>(call.own)(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7],
                                                                            w[8]);
    case 10:
      return reinterpret_cast<int (*)(H, H, H, H, H, H, H, H, H, H)>(call.own)(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7],
                                                                               w[8], w[9]);
    default:
      return reinterpret_cast<int (*)(H, H, H, H, H, H, H, H, H, H, H)>(call.own)(w[0], w[1], w[2], w[3], w[4], w[5], w[6],
                                                                                  w[7], w[8], w[9], w[10]);
  }
}

// An error of ours is reported as MPI's own would be.
int raised(MPI_Comm comm, int code) {
  if (code != MPI_SUCCESS) MPI_Comm_call_errhandler(comm, code);
  return code;
}

int exchange(const std::shared_ptr<NeighborState>& state, const std::shared_ptr<Plan>& plan, const Arguments& arguments) {
  NeighborExchange once(state, plan, arguments.sent(), arguments.received());
  int code = once.start();
  if (code == MPI_SUCCESS) code = once.wait();
  ++served;
  return raised(arguments.comm(), code);
}

// MPI's own call, then ours over bytes that are all wrong: both must leave the same.
int checked(const NeighborCall& call, const std::shared_ptr<NeighborState>& state, const std::shared_ptr<Plan>& plan,
            const Arguments& arguments) {
  if (const int code = own(call); code != MPI_SUCCESS) return code;
  NeighborCheck check(state, plan, arguments.received());
  int code = check.begin();
  if (code == MPI_SUCCESS) code = exchange(state, plan, arguments);
  const int after = check.end();
  return code != MPI_SUCCESS ? code : after;
}

double median(std::vector<double> times_s) {
  std::sort(times_s.begin(), times_s.end());
  return times_s[times_s.size() / 2];
}

// The slowest rank's median decides, alike on all.
void decide(Trial& trial, MPI_Comm comm) {
  std::vector<double> way[2];
  for (int i = 4; i < Trial::calls; ++i) {  // the first warm up
    way[((i + 1) / 2) % 2].push_back(trial.time_s[static_cast<std::size_t>(i)]);
  }
  double here[] = {median(way[0]), median(way[1])};
  double all[2];
  const bool known = MPI_Allreduce(here, all, 2, MPI_DOUBLE, MPI_MAX, comm) == MPI_SUCCESS;
  trial.route = known && all[0] < all[1] ? Trial::Route::ours : Trial::Route::own;
  ++neighbor_changes;
}

int tried(const NeighborCall& call, const std::shared_ptr<NeighborState>& state, Trial& trial,
          const std::shared_ptr<Plan>& plan, const Arguments& arguments, int wrong) {
  const double start_s = steady_s();
  const bool ours = trial.ours_next() && wrong == MPI_SUCCESS;
  const int code = ours ? exchange(state, plan, arguments) : own(call);
  trial.time_s[static_cast<std::size_t>(trial.done)] = steady_s() - start_s;
  if (++trial.done == Trial::calls) decide(trial, state->comm);
  return code;
}

bool serve_blocking(const NeighborCall& call, const std::shared_ptr<NeighborState>& state, const Arguments& arguments,
                    int* result) {
  Trial& trial = state->trial[static_cast<std::size_t>(call.kind)];
  const bool trying = neighbor_mode() == NeighborMode::automatic && trial.route == Trial::Route::trying;
  std::shared_ptr<Plan> plan;
  int code = MPI_ERR_ARG;
  if (arguments.sane(state->sends, state->receives)) plan = state->plan_of(arguments, &code);
  if (trying) {
    *result = tried(call, state, trial, plan, arguments, code);
    return true;
  }
  if (plan == nullptr) return false;  // MPI's own says what is wrong
  *result = neighbor_mode() == NeighborMode::check ? checked(call, state, plan, arguments) : exchange(state, plan, arguments);
  return true;
}

bool serve(const NeighborCall& call, int* result) {
  static const bool for_us = neighbor_mode() != NeighborMode::off && running() == compiled_for();
  if (!for_us) {
    neighbors_off = true;
    return false;
  }
  const Arguments arguments(call);
  if (arguments.comm() == MPI_COMM_NULL) return false;
  const std::shared_ptr<NeighborState>* state = state_of(arguments.comm(), call.form != NeighborForm::nonblocking);
  const auto pass = [] {
    neighbors_left.store(neighbors_left.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return false;
  };
  // Until something changes.
  const auto leave = [&] {
    const unsigned now = neighbor_changes.load(std::memory_order_relaxed);
    if (neighbor_left.comm != call.comm || neighbor_left.changes != now) neighbor_left = {call.comm, now, 0};
    neighbor_left.calls |= NeighborLeft::bit(call.kind, call.form);
    return pass();
  };
  if (state == nullptr) return pass();
  if (!(*state)->usable) return leave();
  const Trial::Route route = (*state)->trial[static_cast<std::size_t>(call.kind)].route;
  const NeighborMode mode = neighbor_mode();
  if (mode == NeighborMode::automatic && route == Trial::Route::own) return leave();
  if (call.form == NeighborForm::blocking) return serve_blocking(call, *state, arguments, result) || pass();
  // Of calls that cannot be timed those are served whose blocking kind gained, and those where messages become fewer.
  if (mode == NeighborMode::automatic && route == Trial::Route::trying && !(*state)->several) return leave();
  if (!arguments.sane((*state)->sends, (*state)->receives)) return pass();
  int code = MPI_SUCCESS;
  const std::shared_ptr<Plan> plan = (*state)->plan_of(arguments, &code);
  if (plan == nullptr) return pass();
  auto* request = reinterpret_cast<MPI_Request*>(call.word[call.words - 1]);
  if (request == nullptr) return pass();
  MPI_Request theirs = MPI_REQUEST_NULL;  // MPI's own, which goes on meanwhile
  if (mode == NeighborMode::check) {
    NeighborCall shadow = call;
    shadow.word[call.words - 1] = reinterpret_cast<Handle>(&theirs);
    if (*result = own(shadow); *result != MPI_SUCCESS) return true;
  }
  code = start_request(*state, plan, arguments, {call.form == NeighborForm::persistent, mode == NeighborMode::check, theirs},
                       request);
  ++served;
  *result = raised(arguments.comm(), code);
  return true;
}

}  // namespace

NeighborMode neighbor_mode() noexcept {
  static const NeighborMode mode = read_mode();
  return mode;
}

bool serve_neighbor(const NeighborCall& call, int* result) noexcept {
  try {
    return serve(call, result);
  } catch (...) {  // no memory
    *result = MPI_ERR_NO_MEM;
    return true;
  }
}

void neighbor_made(Handle comm) noexcept {
  if (neighbor_mode() == NeighborMode::off || running() != compiled_for()) return;
  try {
    const MPI_Comm made = (MPI_Comm)comm;
    if (made != MPI_COMM_NULL) static_cast<void>(state_of(made, true));
  } catch (...) {
  }
}

NeighborParent::NeighborParent(Handle comm) noexcept : comm_(comm) {
#if defined(OPEN_MPI)
  if (neighbor_mode() == NeighborMode::off || running() != compiled_for()) return;
  int inter = 1;
  int kind = MPI_UNDEFINED;
  int rank = 0;
  const MPI_Comm given = (MPI_Comm)comm;
  if (given == MPI_COMM_NULL || MPI_Comm_test_inter(given, &inter) != MPI_SUCCESS || inter != 0) return;
  if (MPI_Topo_test(given, &kind) != MPI_SUCCESS || kind == MPI_UNDEFINED || MPI_Comm_rank(given, &rank) != MPI_SUCCESS) return;
  MPI_Comm plain = MPI_COMM_NULL;
  if (MPI_Comm_split(given, 0, rank, &plain) != MPI_SUCCESS) return;
  comm_ = (Handle)plain;
  made_ = true;
#endif
}

NeighborParent::~NeighborParent() {
  if (!made_) return;
  MPI_Comm plain = (MPI_Comm)comm_;
  MPI_Comm_free(&plain);
}

void describe_neighbors(char* text, unsigned long size) noexcept {
  *text = '\0';
  if (neighbor_mode() == NeighborMode::off || running() != compiled_for()) return;
  if (served + neighbors_left == 0) {
    std::snprintf(text, size, "rankwise: no neighbourhood collective was called");
    return;
  }
  char check[80] = "";
  if (neighbor_mode() == NeighborMode::check) {
    std::snprintf(check, sizeof check,
                  NeighborCheck::different() == 0 ? ", all as by MPI's own" : ", %ld of them UNLIKE MPI's own",
                  NeighborCheck::different());
  }
  std::snprintf(text, size, "rankwise: neighbourhood collectives: %ld by plans%s, %ld left to MPI", served.load(), check,
                neighbors_left.load());
}

}  // namespace rankwise::preload
