// All neighbours of a rank on a periodic grid of 8x4x4 get a block of so many bytes; nodes are bricks of 4x2x2, ranks in the order of
// their nodes: 2176 messages between nodes by direct, 56 by three-step and leader, 640 by two-step. JSON Lines for halo_nodes.py.
//
// usage: halo_nodes [auto] BYTES ...
#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "halo_cases.hpp"

namespace {

constexpr int grid[3] = {8, 4, 4};
constexpr int brick[3] = {4, 2, 2};

std::array<int, 3> coords_of(int rank) {
  std::array<int, 3> at{};
  int node = rank / 16;
  int inside = rank % 16;
  for (std::size_t a = 3; a-- > 0;) {
    const int nodes = grid[a] / brick[a];
    at[a] = node % nodes * brick[a] + inside % brick[a];
    node /= nodes;
    inside /= brick[a];
  }
  return at;
}

int rank_at(const std::array<int, 3>& at) {
  int node = 0;
  int inside = 0;
  for (std::size_t a = 0; a < 3; ++a) {
    const int c = (at[a] + grid[a]) % grid[a];
    node = node * (grid[a] / brick[a]) + c / brick[a];
    inside = inside * brick[a] + c % brick[a];
  }
  return 16 * node + inside;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 128) MPI_Abort(MPI_COMM_WORLD, 2);
  std::vector<int> dest;
  std::vector<int> source;
  std::vector<int> key;
  for (int o = 0; o < 27; ++o) {
    if (o == 13) continue;
    std::array<int, 3> to = coords_of(rank);
    std::array<int, 3> from = to;
    const int offset[3] = {o / 9 - 1, o / 3 % 3 - 1, o % 3 - 1};
    for (std::size_t a = 0; a < 3; ++a) to[a] += offset[a], from[a] -= offset[a];
    dest.push_back(rank_at(to));
    source.push_back(rank_at(from));
    key.push_back(o);
  }
  const char* names[] = {"direct", "two-step", "three-step", "leader", "auto"};
  const int algorithms[] = {RANKWISE_HALO_DIRECT, RANKWISE_HALO_TWO_STEP, RANKWISE_HALO_THREE_STEP, RANKWISE_HALO_LEADER,
                            RANKWISE_HALO_AUTO};
  const bool with_auto = argc > 1 && std::strcmp(argv[1], "auto") == 0;  // whose trial is many exchanges
  for (int i = with_auto ? 2 : 1; i < argc; ++i) {
    const auto bytes = static_cast<std::size_t>(std::atoi(argv[i]));
    std::vector<char> data(27 * bytes, static_cast<char>(rank));  // the own block, then those that come
    rankwise_field field;
    check(rankwise_field_default(&field));
    field.data = data.data();
    field.element_bytes = bytes;
    field.stride[0] = static_cast<ptrdiff_t>(bytes);
    std::vector<rankwise_list> send(26, {1, 0, nullptr});
    std::vector<rankwise_list> recv;
    for (std::size_t e = 0; e < 26; ++e) recv.push_back({1, e + 1, nullptr});
    if (rank == 0) std::printf("{\"bytes\": %zu", bytes);
    for (int k = 0; k < (with_auto ? 5 : 4); ++k) {
      rankwise_halo halo = nullptr;
      check(rankwise_neighbors_create(MPI_COMM_WORLD, 26, dest.data(), key.data(), 26, source.data(), key.data(), &halo));
      check(rankwise_neighbors_algorithm(halo, algorithms[k]));
      check(rankwise_neighbors_lists(halo, send.data(), recv.data()));
      const auto exchange = [&] {
        check(rankwise_halo_start(halo, 1, &field, nullptr));
        check(rankwise_halo_wait(halo));
      };
      char text[4096];
      do {
        exchange();
        check(rankwise_halo_explain(halo, text, sizeof text, nullptr));
      } while (std::strstr(text, "to be tried") != nullptr);
      MPI_Barrier(MPI_COMM_WORLD);
      double time_s = MPI_Wtime();
      exchange();
      time_s = MPI_Wtime() - time_s;
      MPI_Allreduce(MPI_IN_PLACE, &time_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      for (std::size_t e = 0; e < 26; ++e) {
        if (data[(e + 1) * bytes] != static_cast<char>(source[e])) MPI_Abort(MPI_COMM_WORLD, 3);
      }
      if (rank == 0) std::printf(", \"%s\": %.6g", names[k], time_s);
      if (rank == 0 && k == 4) {
        for (int j = 0; j < 4; ++j) {
          if (std::strstr(text, (std::string(": ") + names[j] + ";").c_str()) != nullptr) std::printf(", \"taken\": \"%s\"", names[j]);
        }
      }
      check(rankwise_halo_destroy(&halo));
    }
    if (rank == 0) std::printf("}\n");
  }
  MPI_Finalize();
  return 0;
}
