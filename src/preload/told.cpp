#include "preload/told.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "preload/arrange.hpp"
#include "preload/look_up.hpp"
#include "preload/neighbor.hpp"
#include "preload/watch.hpp"

namespace rankwise::preload {

namespace {

std::atomic<long> calls{0};      // with reorder true
std::atomic<long> others{0};     // with reorder false
std::atomic<long> placed{0};
std::atomic<long> kept{0};       // where the ranks were best as they are
std::atomic<bool> said{false};
char by[32] = "";
char left[300] = "";

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
    watch_end();
    tell_neighbors();
    // Of libraries for several MPIs one speaks: that which had the calls, or which fits.
    if (said || !is_rank_0() || verbose_is("0") || look_up("MPI_Initialized") == nullptr) return;
    if (running() != compiled_for() && *left == '\0') return;  // another library of the chain speaks
    if (calls == 0) {
      std::fprintf(stderr, others > 0 ? "rankwise: nothing was placed: MPI_Cart_create was called %ld times, always with reorder false; "
                                        "'rankwise observe' and 'map --observed' place such a program by its launcher\n"
                                      : "rankwise: nothing was placed: MPI_Cart_create was never called; 'rankwise observe' and "
                                        "'map --observed' place such a program by its launcher\n",
                   others.load());
    } else if (placed == 0 && kept == 0) {
      std::fprintf(stderr, "rankwise: nothing was placed: %s\n", *left != '\0' ? left : "MPI_Cart_create is left as it is");
    } else {
      std::fprintf(stderr, "rankwise: MPI_Cart_create was called %ld times with reorder true: %ld placed%s%s, %ld best as they were%s%s\n",
                   calls.load(), placed.load(), *by != '\0' ? " by " : "", by, kept.load(), *left != '\0' ? "; one was not: " : "", left);
    }
  }
} at_end;

}  // namespace

void say(const char* text) noexcept {
  const char* value = std::getenv("RANKWISE_VERBOSE");
  if (value == nullptr || *value == '\0' || std::strcmp(value, "0") == 0) return;
  said = true;
  std::fprintf(stderr, "rankwise: %s\n", text);
}

void count_call(bool reorder) noexcept { ++(reorder ? calls : others); }

void count_placed(const char* mapping) noexcept {
  ++(mapping != nullptr ? placed : kept);
  if (mapping != nullptr) std::snprintf(by, sizeof by, "%s", mapping);
}

void remember_left(const char* why) noexcept { std::snprintf(left, sizeof left, "%s", why); }

void warn(const char* why) noexcept {
  static std::atomic<bool> warned{false};
  if (verbose_is("0") || warned.exchange(true)) return;
  std::fprintf(stderr, "rankwise: warning: this program may be wrong with its ranks reordered: %s; test it with 'rankwise preload "
                       "--check', or place it by its launcher: 'rankwise map --observed' writes a rank file\n", why);
}

bool is_rank_0() noexcept {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (const char* rank = std::getenv(name)) return std::strcmp(rank, "0") == 0;
  }
  return false;
}

}  // namespace rankwise::preload
