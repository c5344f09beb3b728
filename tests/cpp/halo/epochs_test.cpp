// The flags of halos that are read from shared memory: all interleavings of two and three ranks, and threads in their place.
#include "halo/epochs.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <tuple>

namespace rankwise {
namespace {

constexpr std::uint64_t epochs = 3;

struct Shared {
  std::array<std::uint64_t, 3> ready{};
  std::array<std::uint64_t, 3> done{};
  std::array<std::uint64_t, 3> version{};  // of each rank's elements
  auto operator<=>(const Shared&) const = default;
};

// A rank's view of what is shared.
struct View {
  Shared* shared;
  std::size_t rank;
  const std::vector<std::size_t>* sources;
  const std::vector<std::size_t>* readers;
  [[nodiscard]] std::uint64_t ready(std::size_t i) const { return shared->ready[(*sources)[i]]; }
  [[nodiscard]] std::uint64_t done(std::size_t i) const { return shared->done[(*readers)[i]]; }
  void announce_ready(std::uint64_t epoch) const { shared->ready[rank] = epoch; }
  void announce_done(std::uint64_t epoch) const { shared->done[rank] = epoch; }
};

struct Rank {
  Epochs<View> flags;
  std::uint64_t epoch = 0;
  int phase = 0;  // 0: changes its elements, 1: begins, 2: exchanges, 3: in the middle of reading
  std::size_t reading = 0;
  auto operator<=>(const Rank&) const = default;
};

struct State {
  Shared shared;
  std::vector<Rank> ranks;
  auto operator<=>(const State&) const = default;
};

struct Links {
  std::vector<std::vector<std::size_t>> sources;
  std::vector<std::vector<std::size_t>> readers;
};

struct Walked {
  std::size_t states = 0;
  int wrong_versions = 0;
  int changed_while_read = 0;
  int stuck = 0;
};

// Every state that any interleaving reaches. broken: the rank that does not wait for its readers.
Walked walk(const Links& links, bool broken) {
  State first;
  for (std::size_t r = 0; r < links.sources.size(); ++r) {
    first.ranks.push_back({Epochs<View>(links.sources[r].size(), broken && r == 0 ? 0 : links.readers[r].size())});
  }
  std::set<State> known{first};
  std::vector<State> open{first};
  Walked walked;
  while (!open.empty()) {
    const State state = open.back();
    open.pop_back();
    bool moved = false;
    bool all_over = true;
    for (std::size_t r = 0; r < state.ranks.size(); ++r) {
      State next = state;
      Rank& rank = next.ranks[r];
      if (rank.epoch == epochs && rank.phase == 0) continue;
      all_over = false;
      View view{&next.shared, r, &links.sources[r], &links.readers[r]};
      switch (rank.phase) {
        case 0:
          for (std::size_t other = 0; other < next.ranks.size(); ++other) {
            if (next.ranks[other].phase == 3 && next.ranks[other].reading == r) ++walked.changed_while_read;
          }
          next.shared.version[r] = ++rank.epoch;
          rank.phase = 1;
          break;
        case 1:
          rank.flags.begin(view);
          rank.phase = 2;
          break;
        case 2:
          if (rank.flags.step(view, [&](std::size_t i) {
                rank.phase = 3;
                rank.reading = links.sources[r][i];
              })) {
            rank.phase = 0;
          }
          if (rank.phase == 3 && next.shared.version[rank.reading] != rank.epoch) ++walked.wrong_versions;
          break;
        default:
          if (next.shared.version[rank.reading] != rank.epoch) ++walked.wrong_versions;
          rank.phase = 2;
      }
      if (next == state) continue;
      moved = true;
      if (known.insert(next).second) open.push_back(std::move(next));
    }
    if (!moved && !all_over) ++walked.stuck;
  }
  walked.states = known.size();
  return walked;
}

const Links two{{{1}, {0}}, {{1}, {0}}};
const Links three{{{1, 2}, {0, 2}, {0, 1}}, {{1, 2}, {0, 2}, {0, 1}}};
const Links chain{{{1}, {2}, {}}, {{}, {0}, {1}}};  // who is read need not read

TEST(Epochs, NoInterleavingReadsWhatIsNotReadyOrChanges) {
  for (const Links& links : {two, three, chain}) {
    const Walked walked = walk(links, false);
    EXPECT_EQ(walked.wrong_versions, 0);
    EXPECT_EQ(walked.changed_while_read, 0);
    EXPECT_EQ(walked.stuck, 0);
    EXPECT_GT(walked.states, 50u);
    RecordProperty("states" + std::to_string(links.sources.size()), static_cast<int>(walked.states));
    std::printf("%zu ranks: %zu states\n", links.sources.size(), walked.states);
  }
}

TEST(Epochs, ARankThatDoesNotWaitForItsReadersIsFound) {
  const Walked walked = walk(two, true);
  EXPECT_GT(walked.changed_while_read + walked.wrong_versions, 0);
}

}  // namespace
}  // namespace rankwise
