// The Lennard-Jones run of lennard_jones.c as a C++ program would have it: the plan owned by an object, errors as
// exceptions, ghosts wherever the program keeps them, and the forces within the own box computed while the ghosts
// travel. Here the blocks go by shift, in the C program by what `auto` chooses.
//
//     mpiexec -n 8 ./lennard_jones_cpp
#include <mpi.h>
#include <rankwise/rankwise.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "lj.h"

namespace {

void check(rankwise_result result) {
  if (result == RANKWISE_SUCCESS) return;
  throw std::runtime_error(std::string(rankwise_result_string(result)) + ": " + rankwise_last_error());
}

class Plan {
 public:
  Plan(MPI_Comm cart, std::array<int, 3> cutoff, const rankwise_exchange_options& options) {
    check(rankwise_exchange_create(cart, 3, cutoff.data(), &options, &handle_));
  }
  ~Plan() { rankwise_exchange_destroy(&handle_); }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  [[nodiscard]] rankwise_exchange get() const { return handle_; }

 private:
  rankwise_exchange handle_ = nullptr;
};

class System {
 public:
  System(MPI_Comm cart, const rankwise_exchange_options& options) : cart_(cart), plan_(cart, {1, 1, 1}, options) {
    std::array<int, 3> dims{}, periods{}, coords{};
    MPI_Cart_get(cart, 3, dims.data(), periods.data(), coords.data());
    if (lj_length() / dims[0] < lj_cutoff + lj_skin) throw std::runtime_error("boxes smaller than the cutoff");
    constexpr std::size_t room = std::size_t{3} * lj_sites * lj_sites * lj_sites;
    position_.resize(room);
    velocity_.resize(room);
    const std::size_t count = lj_fill(dims.data(), coords.data(), position_.data(), velocity_.data());
    position_.resize(3 * count);
    velocity_.resize(3 * count);
    force_.resize(3 * count);
    check(rankwise_exchange_set_sizes(plan_.get(), count, 3 * sizeof(double)));

    place_ghosts();
    pair_up();
    compute_forces();
  }

  void step() {
    for (std::size_t i = 0; i < velocity_.size(); ++i) {
      velocity_[i] += 0.5 * lj_dt * force_[i];
      position_[i] += lj_dt * velocity_[i];
    }
    compute_forces();
    for (std::size_t i = 0; i < velocity_.size(); ++i) velocity_[i] += 0.5 * lj_dt * force_[i];
  }

  // Energy, and momentum along each axis, of all ranks.
  [[nodiscard]] std::array<double, 4> total() const {
    std::array<double, 4> sums{};
    lj_sums(potential_, velocity_.data(), velocity_.size() / 3, sums.data());
    MPI_Allreduce(MPI_IN_PLACE, sums.data(), 4, MPI_DOUBLE, MPI_SUM, cart_);
    return sums;
  }

 private:
  struct Ghost {
    std::vector<double> position, force;
  };
  // Two slots whose particles meet on this rank, and where the second lies seen from the first.
  struct Pair {
    std::size_t a, b;
    std::array<double, 3> shift;
  };

  void place_ghosts() {
    int slots = 0;
    int own = 0;
    check(rankwise_exchange_slots(plan_.get(), &slots));
    check(rankwise_exchange_own_slot(plan_.get(), &own));
    own_ = static_cast<std::size_t>(own);
    ghosts_.resize(static_cast<std::size_t>(slots));
    for (std::size_t slot = 0; slot < ghosts_.size(); ++slot) {
      std::size_t elements = 0;
      check(rankwise_exchange_slot_elements(plan_.get(), static_cast<int>(slot), &elements));
      counts_.push_back(elements);
      if (slot != own_) {
        ghosts_[slot].position.resize(3 * elements);
        ghosts_[slot].force.resize(3 * elements);
      }
      position_blocks_.push_back(slot == own_ ? position_.data() : ghosts_[slot].position.data());
      force_blocks_.push_back(slot == own_ ? force_.data() : ghosts_[slot].force.data());
    }
  }

  // Of all ranks that hold both boxes of a pair, the one at their common lower corner takes it.
  void pair_up() {
    for (std::size_t a = 0; a < ghosts_.size(); ++a) {
      for (std::size_t b = a + 1; b < ghosts_.size(); ++b) {
        std::array<int, 3> at{}, bt{}, across_a{}, across_b{};
        check(rankwise_exchange_offset_of_slot(plan_.get(), static_cast<int>(a), at.data()));
        check(rankwise_exchange_offset_of_slot(plan_.get(), static_cast<int>(b), bt.data()));
        check(rankwise_exchange_slot_crossings(plan_.get(), static_cast<int>(a), across_a.data()));
        check(rankwise_exchange_slot_crossings(plan_.get(), static_cast<int>(b), across_b.data()));
        Pair pair{a, b, {}};
        bool here = true;
        for (std::size_t i = 0; i < 3; ++i) {
          here = here && (at[i] == 0 || bt[i] == 0);
          pair.shift[i] = (across_b[i] - across_a[i]) * lj_length();
        }
        if (here) pairs_.push_back(pair);
      }
    }
  }

  [[nodiscard]] double forces_between(const Pair& pair) const {
    return lj_pairs(static_cast<double*>(position_blocks_[pair.a]), static_cast<double*>(force_blocks_[pair.a]),
                    counts_[pair.a], static_cast<double*>(position_blocks_[pair.b]),
                    static_cast<double*>(force_blocks_[pair.b]), counts_[pair.b], pair.shift.data());
  }

  void compute_forces() {
    check(rankwise_exchange_import_blocks_start(plan_.get(), position_blocks_.data(), 3 * sizeof(double)));
    std::fill(force_.begin(), force_.end(), 0.0);
    for (Ghost& ghost : ghosts_) std::fill(ghost.force.begin(), ghost.force.end(), 0.0);
    potential_ = forces_between({own_, own_, {}});
    check(rankwise_exchange_import_wait(plan_.get()));
    for (const Pair& pair : pairs_) potential_ += forces_between(pair);
    check(rankwise_exchange_reduce_blocks_start(plan_.get(), force_blocks_.data(), 3, MPI_DOUBLE, MPI_SUM));
    check(rankwise_exchange_reduce_wait(plan_.get()));
  }

  MPI_Comm cart_;
  Plan plan_;
  std::size_t own_ = 0;
  std::vector<double> position_, velocity_, force_;
  std::vector<Ghost> ghosts_;
  std::vector<std::size_t> counts_;
  std::vector<void*> position_blocks_, force_blocks_;  // one a slot: the own particles, or a ghost's
  std::vector<Pair> pairs_;
  double potential_ = 0.0;
};

void run() {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::array<int, 3> dims{};
  const std::array<int, 3> periods{1, 1, 1};
  MPI_Dims_create(ranks, 3, dims.data());
  MPI_Comm cart = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 3, dims.data(), periods.data(), 0, &cart);
  int rank = 0;
  MPI_Comm_rank(cart, &rank);
  rankwise_exchange_options options;
  check(rankwise_exchange_options_default(&options));
  options.algorithm = RANKWISE_ALGORITHM_SHIFT;
  options.shell = RANKWISE_SHELL_EIGHTH;
  {
    System system(cart, options);
    const auto first = system.total();
    for (int step = 0; step < lj_steps; ++step) system.step();
    const auto last = system.total();
    if (rank == 0) {
      std::printf("energy_start %.15e\nenergy_end %.15e\nmomentum %.3e %.3e %.3e\n", first[0], last[0], last[1], last[2],
                  last[3]);
    }
  }
  MPI_Comm_free(&cart);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
