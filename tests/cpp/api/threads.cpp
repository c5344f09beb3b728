// Plans in several threads at once (MPI_THREAD_MULTIPLE), each thread with plans and a communicator of its own; watched by
// ThreadSanitizer in 'make tsan'. Prints what was wrong, and ends with it.
#include <mpi.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "rankwise/rankwise.h"

namespace {

constexpr int thread_count = 3;
constexpr int rounds = 8;
std::atomic<int> wrong{0};

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s: %s\n", what, rankwise_last_error());
  ++wrong;
}

void ok(rankwise_result result, const char* what) { expect(result == RANKWISE_SUCCESS, what); }

struct Ring {
  explicit Ring(MPI_Comm world) {
    MPI_Comm_size(world, &size);
    MPI_Comm_rank(world, &rank);
    const int periodic = 1;
    MPI_Cart_create(world, 1, &size, &periodic, 0, &comm);
  }
  ~Ring() { MPI_Comm_free(&comm); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  int size = 1;
  int rank = 0;
  MPI_Comm comm = MPI_COMM_NULL;
};

void exchanges(const Ring& ring, int algorithm) {
  rankwise_exchange_options options;
  rankwise_exchange_options_default(&options);
  options.algorithm = static_cast<rankwise_algorithm>(algorithm);
  const int cutoff = 1;
  rankwise_exchange plan = nullptr;
  ok(rankwise_exchange_create(ring.comm, 1, &cutoff, &options, &plan), "create");
  std::vector<double> window(3, -1.0);
  expect(rankwise_exchange_import_start(plan, window.data(), 8) == RANKWISE_ERROR_USAGE &&
             std::strstr(rankwise_last_error(), "set_sizes") != nullptr,
         "an error of this thread");
  ok(rankwise_exchange_set_sizes(plan, 1, 8), "set_sizes");
  window[1] = ring.rank;
  ok(rankwise_exchange_import_start(plan, window.data(), 8), "import_start");
  ok(rankwise_exchange_import_wait(plan), "import_wait");
  expect(window[0] == (ring.rank + ring.size - 1) % ring.size && window[2] == (ring.rank + 1) % ring.size, "what was imported");
  ok(rankwise_exchange_reduce_start(plan, window.data(), 1, MPI_DOUBLE, MPI_SUM), "reduce_start");
  ok(rankwise_exchange_reduce_wait(plan), "reduce_wait");
  expect(window[1] == 3.0 * ring.rank, "what was added");
  ok(rankwise_exchange_destroy(&plan), "destroy");
}

void halos(const Ring& ring, rankwise_halo_algorithm algorithm) {
  void* memory = nullptr;
  ok(rankwise_halo_alloc(6 * sizeof(double), &memory), "halo_alloc");
  auto* values = static_cast<double*>(memory);
  for (int i = 0; i < 6; ++i) values[i] = i == 0 || i == 5 ? -1.0 : 10.0 * ring.rank + i;
  const int extent = 4;
  const int width = 1;
  rankwise_field field;
  rankwise_field_default(&field);
  rankwise_field_array(&field, values, sizeof(double), 1, &extent, &width, &width);
  rankwise_halo_options options;
  rankwise_halo_options_default(&options);
  options.algorithm = algorithm;
  rankwise_halo halo = nullptr;
  ok(rankwise_halo_create(ring.comm, 1, &field, &options, &halo), "halo_create");
  ok(rankwise_halo_start(halo, 0, nullptr, nullptr), "halo_start");
  ok(rankwise_halo_wait(halo), "halo_wait");
  expect(values[0] == 10.0 * ((ring.rank + ring.size - 1) % ring.size) + 4 &&
             values[5] == 10.0 * ((ring.rank + 1) % ring.size) + 1,
         "what came into the halo");
  ok(rankwise_halo_destroy(&halo), "halo_destroy");
  ok(rankwise_halo_free(&memory), "halo_free");
}

void transforms(const Ring& ring, int n) {
  const std::int64_t points[3] = {n, 4, 4};
  rankwise_fft fft = nullptr;
  const rankwise_result made = rankwise_fft_create(ring.comm, points, nullptr, nullptr, nullptr, &fft);
  if (made == RANKWISE_ERROR_UNSUPPORTED) return;  // no library of FFTs here
  ok(made, "fft_create");
  std::int64_t in = 0;
  std::int64_t out = 0;
  ok(rankwise_fft_elements(fft, &in, &out), "fft_elements");
  std::vector<double> from(2 * static_cast<std::size_t>(in), 1.0);
  std::vector<double> to(2 * static_cast<std::size_t>(out), 0.0);
  ok(rankwise_fft_forward(fft, from.data(), from.size() * 8, to.data(), to.size() * 8, 1.0), "fft_forward");
  double sum = 0.0;
  for (const double value : to) sum += std::abs(value);
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, ring.comm);
  expect(std::abs(sum - 2.0 * 16.0 * n) < 1e-9, "the spectrum of a constant");
  ok(rankwise_fft_destroy(&fft), "fft_destroy");
}

void work(const Ring& ring, int thread) {
  for (int round = 0; round < rounds; ++round) {
    exchanges(ring, (thread + round) % 2 == 0 ? RANKWISE_ALGORITHM_SHIFT : RANKWISE_ALGORITHM_AUTO);
    halos(ring, (thread + round) % 2 == 0 ? RANKWISE_HALO_DIRECT : RANKWISE_HALO_WINDOW);
    transforms(ring, 4 + 4 * (round % 3));
  }
}

}  // namespace

int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided < MPI_THREAD_MULTIPLE) {
    std::fprintf(stderr, "this MPI has no MPI_THREAD_MULTIPLE\n");
    MPI_Finalize();
    return 77;
  }
  // Made one after the other: MPICH 5.0.2 makes the attribute for topologies with the first of them, and takes no lock for it.
  std::deque<Ring> rings;
  for (int thread = 0; thread < thread_count; ++thread) rings.emplace_back(MPI_COMM_WORLD);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < thread_count; ++thread) {
    threads.emplace_back(work, std::cref(rings[static_cast<std::size_t>(thread)]), thread);
  }
  for (std::thread& thread : threads) thread.join();
  rings.clear();
  int failed = wrong;
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed == 0 ? 0 : 1;
}
