
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "api/environment.hpp"
#include "preload/arrange.hpp"
#include "preload/look_up.hpp"
#include "preload/neighbor.hpp"

namespace rankwise::preload {

namespace {

struct Tally {
  const char* name;
  std::atomic<long> calls{0};   // with reorder true
  std::atomic<long> others{0};  // with reorder false
  std::atomic<long> placed{0};
  std::atomic<long> kept{0};  // where the ranks were best as they are
  char by[32] = "";
  char left[300] = "";
};
Tally tallies[] = {{"MPI_Cart_create"}, {"MPI_Dist_graph_create (or a like one)"}};
std::atomic<bool> said{false};
std::atomic<pid_t> teller{getpid()};  // not a copy of the process that ends before it, as MPI libraries fork some

Tally& tally(Topology topology) { return tallies[topology == Topology::grid ? 0 : 1]; }

bool verbose_is(const char* wanted) {
  const char* value = std::getenv("RANKWISE_VERBOSE");
  return value != nullptr && std::strcmp(value, wanted) == 0;
}

void tell_neighbors() {
  if (!is_rank_0() || verbose_is("0") || look_up("MPI_Initialized") == nullptr) return;
  char text[200];
  describe_neighbors(text, sizeof text);
  if (*text != '\0') std::fprintf(stderr, "%s\n", text);
}

struct AtEnd {
  ~AtEnd() {
    if (getpid() != teller) return;
    watch_end();
    tell_neighbors();
    // Of libraries for several MPIs one speaks: that which had the calls, or which fits.
    if (said || !is_rank_0() || verbose_is("0") || look_up("MPI_Initialized") == nullptr) return;
    const Tally& grids = tally(Topology::grid);
    const Tally& graphs = tally(Topology::graph);
    if (running() != compiled_for() && *grids.left == '\0' && *graphs.left == '\0') {
      if (const char* why = misfit()) std::fprintf(stderr, "rankwise: nothing was placed: %s\n", why);
      return;  // or another library of the chain speaks
    }
    if (graphs.calls > 0) tell(graphs);
    if (grids.calls > 0) {
      tell(grids);
    } else if (graphs.calls == 0) {
      std::fprintf(stderr,
                   grids.others > 0
                       ? "rankwise: nothing was placed: MPI_Cart_create was called %ld times, always with reorder false; "
                         "'rankwise observe' and 'map --observed' place such a program by its launcher\n"
                       : "rankwise: nothing was placed: MPI_Cart_create was never called; 'rankwise observe' and "
                         "'map --observed' place such a program by its launcher\n",
                   grids.others.load());
    }
  }

 private:
  static void tell(const Tally& of) {
    if (of.placed == 0 && of.kept == 0) {
      std::fprintf(stderr, "rankwise: nothing was placed: %s%s\n", *of.left != '\0' ? of.left : of.name,
                   *of.left != '\0' ? "" : " is left as it is");
    } else {
      std::fprintf(stderr, "rankwise: %s was called %ld times with reorder true: %ld placed%s%s, %ld best as they were%s%s\n",
                   of.name, of.calls.load(), of.placed.load(), *of.by != '\0' ? " by " : "", of.by, of.kept.load(),
                   *of.left != '\0' ? "; one was not: " : "", of.left);
    }
  }
} at_end;

}  // namespace

void say(const char* text) noexcept {
  if (!api::environment_flag("RANKWISE_VERBOSE")) return;
  said = true;
  std::fprintf(stderr, "rankwise: %s\n", text);
}

void count_call(Topology topology, bool reorder) noexcept {
  teller = getpid();
  ++(reorder ? tally(topology).calls : tally(topology).others);
}

void count_placed(Topology topology, const char* mapping) noexcept {
  Tally& of = tally(topology);
  ++(mapping != nullptr ? of.placed : of.kept);
  if (mapping != nullptr) std::snprintf(of.by, sizeof of.by, "%s", mapping);
}

void remember_left(Topology topology, const char* why) noexcept {
  std::snprintf(tally(topology).left, sizeof tally(topology).left, "%s", why);
}

void warn(const char* why) noexcept {
  static std::atomic<bool> warned{false};
  if (verbose_is("0") || warned.exchange(true)) return;
  std::fprintf(stderr,
               "rankwise: warning: this program may be wrong with its ranks reordered: %s; test it with 'rankwise preload "
               "--check', or place it by its launcher: 'rankwise map --observed' writes a rank file\n",
               why);
}

bool is_rank_0() noexcept {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (const char* rank = std::getenv(name)) return std::strcmp(rank, "0") == 0;
  }
  return false;
}

}  // namespace rankwise::preload
