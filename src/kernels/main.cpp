#include <dlfcn.h>
#include <mpi.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>

#include "exchange/neighborhood.hpp"
#include "kernels/interface.hpp"
#include "measure/sampling.hpp"
#include "mpi/mpi.hpp"

namespace rankwise {

namespace {

// Takes MPICH's segments their names, collectively after MPI_Init: ranks that have them keep them, and none is left in
// /dev/shm however the ranks end. Other libraries' segments keep their names, by which ranks find them later.
void forget_segment_names() {
  MPI_Barrier(MPI_COMM_WORLD);  // now all ranks have them
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t at = line.find("/dev/shm/mpich_shm_");
    if (at != std::string::npos && line.find(' ', at) == std::string::npos) unlink(line.c_str() + at);
  }
}

}  // namespace

}  // namespace rankwise

// rankwise-kernels KERNEL [--name value ...]: what launchers start. Rank 0 prints JSON Lines on stdout, nothing else;
// complaints go to stderr. Exit 0 ok, 2 wrong arguments, 1 anything else.
//
// `rankwise-kernels about` prints which MPI library it runs with and needs no launcher.

namespace {

using rankwise::JsonLine;

struct Kernel {
  const char* name;
  void (*run)(rankwise::Arguments&);
};
void only_placements(rankwise::Arguments& arguments) { arguments.expect_all_used(); }
constexpr Kernel kernels[] = {{"hello", only_placements},
                              {"pingpong", rankwise::run_pingpong},
                              {"bandwidth", rankwise::run_bandwidth},
                              {"one-to-all", rankwise::run_one_to_all},
                              {"all-pairs", rankwise::run_all_pairs},
                              {"alltoall", rankwise::run_alltoall},
                              {"ring", rankwise::run_ring},
                              {"transpose", rankwise::run_transpose},
                              {"collective", rankwise::run_collective},
                              {"combine", rankwise::run_combine},
                              {"token", rankwise::run_token},
                              {"loggp", rankwise::run_loggp},
                              {"exchange", rankwise::run_exchange},
                              {"paired", rankwise::run_paired},
                              {"stencil", rankwise::run_stencil},
                              {"fft3d", rankwise::run_fft3d},
                              {"fft3d-values", rankwise::run_fft3d_values},
                              {"fft3d-choice", rankwise::run_fft3d_choice},
                              {"fft3d-stages", rankwise::run_fft3d_stages},
                              {"local-fft", rankwise::run_local_fft},
                              {"triad", rankwise::run_triad},
                              {"pack", rankwise::run_pack},
                              {"replay", rankwise::run_replay}};

std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  return std::string(text, std::strlen(text));
}

// The file of the MPI library in this process: where its launcher is likely to be found.
std::string library_path() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&MPI_Get_version), &info) == 0 || info.dli_fname == nullptr) return "";
  return info.dli_fname;
}

int about() {
  int version = 0;
  int subversion = 0;
  MPI_Get_version(&version, &subversion);
  JsonLine("about")
      .add("mpi_library", library_version())
      .add("mpi_library_path", library_path())
      .add("mpi_standard", std::to_string(version) + "." + std::to_string(subversion))
#ifdef MPI_ABI
      .add("mpi_abi", true)
#else
      .add("mpi_abi", false)
#endif
      .print();
  return 0;
}

int complain(int rank, const std::exception& error, int code) {
  // Wrong arguments are wrong on all ranks: one complaint is enough.
  if (rank == 0 || code != 2) std::fprintf(stderr, "rankwise-kernels: %s\n", error.what());
  return code;
}

// Where the ranks run; of simulated ones there is nothing to say.
std::string placements() { return rankwise::is_simulated ? "[]" : rankwise::placements_json(MPI_COMM_WORLD); }

int run(const Kernel& kernel, rankwise::Arguments& arguments, const std::vector<long long>& cpus) {
  const int rank = rankwise::rank_of(MPI_COMM_WORLD);
  const int size = rankwise::size_of(MPI_COMM_WORLD);
  try {
    rankwise::pin(cpus, rank);
    const rankwise::Timer timer = rank == 0 ? rankwise::measure_timer() : rankwise::Timer{};
    const std::string before = placements();
    if (rank == 0) {
      JsonLine("start")
          .add("kernel", kernel.name)
          .add("ranks", static_cast<long long>(size))
          .add("mpi_library", library_version())
          .add("timer_cost_s", timer.cost_s)
          .add("timer_resolution_s", timer.resolution_s)
          .add("neighborhood_collectives", rankwise::has_neighborhood_collectives)
          .add_json("placements", before)
          .print();
    }
    kernel.run(arguments);
    const std::string after = placements();
    if (rank == 0) JsonLine("end").add("kernel", kernel.name).add_json("placements", after).print();
  } catch (const std::invalid_argument& error) {
    return complain(rank, error, 2);
  } catch (const std::exception& error) {
    complain(rank, error, 1);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return 0;
}

}  // namespace

// Seen from outside: SimGrid loads the program and looks main up by its name.
__attribute__((visibility("default"))) int main(int argc, char** argv) {
  // A rank whose launcher's process on this node dies would wait for messages for ever, with a processor.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::string name = argc > 1 ? argv[1] : "";
  if (name == "about") return about();
  const Kernel* chosen = nullptr;
  for (const Kernel& kernel : kernels) {
    if (name == kernel.name) chosen = &kernel;
  }
  if (chosen == nullptr) {
    std::string known = "about";
    for (const Kernel& kernel : kernels) known += std::string(", ") + kernel.name;
    std::fprintf(stderr, "rankwise-kernels: kernel '%s' is unknown: choose of %s\n", name.c_str(), known.c_str());
    return 2;
  }
  try {
    rankwise::Arguments arguments(argc, argv, 2);
    const std::vector<long long> cpus = arguments.integers("cpus", "");
    rankwise::pin_before_init(cpus);
    MPI_Init(&argc, &argv);
    if (!rankwise::is_simulated) rankwise::forget_segment_names();
    const int code = run(*chosen, arguments, cpus);
    MPI_Finalize();
    return code;
  } catch (const std::exception& error) {
    return complain(0, error, 2);
  }
}
