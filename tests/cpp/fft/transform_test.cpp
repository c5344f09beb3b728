// The transform against the definition of the DFT, on as many ranks as run: every value where the array is small, and
// by its own checks (points, Parseval, round trip) for all combinations of grid, order, method and kind of data.
#include "fft/transform.hpp"

#include <gtest/gtest.h>

#include <numbers>
#include <vector>

#include "../world.hpp"
#include "fft/decomposition.hpp"
#include "fft/timed.hpp"

namespace rankwise {
namespace {

using rankwise_test::world_rank;
using rankwise_test::world_size;

std::vector<std::array<Index, 2>> grids() {
  std::vector<std::array<Index, 2>> found;
  for (Index p1 = 1; p1 <= world_size(); ++p1) {
    if (world_size() % p1 == 0) found.push_back({p1, world_size() / p1});
  }
  return found;
}

bool fits(const Decomposition& d) {
  try {
    check(d);
  } catch (const std::invalid_argument&) {
    return false;
  }
  return true;
}

const FftLibrary& library() {
  static const FftLibrary loaded;
  return loaded;
}

// arrays: of memory, beside what a column of a tiny array takes, and what shared memory takes more.
template <typename Real>
void expect_transform(const FftSpec& spec, double arrays = 2.2) {
  const Decomposition& d = spec.decomposition;
  SCOPED_TRACE(std::to_string(d.n[0]) + "x" + std::to_string(d.n[1]) + "x" + std::to_string(d.n[2]) + " on " +
               std::to_string(d.grid[0]) + "x" + std::to_string(d.grid[1]) + (d.real ? " real " : " complex ") +
               to_string(spec.order) + " " + to_string(spec.method));
  Fft3d<Real> fft(MPI_COMM_WORLD, spec, library());
  fill_field(d, world_rank(), fft.data());
  fft.run(Direction::forward);
  const SpectrumError error = check_spectrum(MPI_COMM_WORLD, d, fft.output_box(), fft.data());
  const double bound = error_bound<Real>(d);
  EXPECT_LE(error.at_points, bound);
  EXPECT_LE(error.parseval, bound);
  fft.run(Direction::backward);
  const double points = static_cast<double>(d.n[0] * d.n[1] * d.n[2]);
  EXPECT_LE(check_field(MPI_COMM_WORLD, d, points, fft.data()), bound);
  if (spec.shares_memory && (spec.chunks == 1 || d.grid[1] > 1)) arrays += 1 + (d.grid[0] > 1 && d.grid[1] > 1 ? 2 : 0);
  EXPECT_LE(static_cast<double>(fft.memory_bytes()),
            arrays * static_cast<double>(fft.array_bytes()) + 1024);  // a column of a tiny array
}

TEST(Fft3d, TransformsEveryKindOfArrayOnEveryGrid) {
  std::vector<std::array<Index, 3>> sizes{{9, 10, 21}, {13, 17, 11}, {8, 12, 1}};
  if (world_size() > 4) sizes.resize(1);  // many grids already, on shared cores
  unsigned runs = 0;
  for (const auto& n : sizes) {
    for (const auto& grid : grids()) {
      for (const bool real : {false, true}) {
        const Decomposition d{n, real, grid};
        if (!fits(d)) continue;
        for (const Order order : {Order::natural, Order::transposed}) {
          // Method and precision take turns: all pairs occur, not all combinations.
          const TransposeMethod method = runs % 4 < 2 ? TransposeMethod::alltoall : TransposeMethod::pairwise;
          FftSpec spec{d, order, method, Planning::estimate};
          spec.shares_memory = runs % 8 < 4;
          if ((runs + runs / 4) % 2 == 0) {
            expect_transform<double>(spec);
          } else {
            expect_transform<float>(spec);
          }
          ++runs;
        }
      }
    }
  }
  EXPECT_GT(runs, 0U);
}

// Larger than a panel, so that panels and groups of planes have remainders.
TEST(Fft3d, CutsLargeArraysIntoPanels) {
  for (const auto& grid : grids()) {
    const Decomposition d{{24, 270, 75}, false, grid};
    if (fits(d)) expect_transform<double>({d, Order::transposed, TransposeMethod::alltoall, Planning::estimate});
  }
}

// Left alone between beginning and end, which ranks reach at other times; again and again, so that memory is written anew.
TEST(Fft3d, ReadsOfItsNodeWhatMpiWouldCarry) {
  for (const auto& grid : grids()) {
    for (const bool real : {false, true}) {
      FftSpec spec{.decomposition = {{12, 10, 14}, real, grid}, .planning = Planning::estimate, .may_idle = true, .fields = 2};
      Fft3d<double> read(MPI_COMM_WORLD, spec, library());
      spec.shares_memory = false;
      Fft3d<double> carried(MPI_COMM_WORLD, spec, library());
      const Index field = volume(spec.decomposition.natural(world_rank()));
      for (Fft3d<double>* fft : {&read, &carried}) {
        fill_field(spec.decomposition, world_rank(), fft->data());
        fill_field(spec.decomposition, world_rank(), fft->data() + field);
      }
      for (int turn = 0; turn < 6; ++turn) {
        const Direction direction = turn % 2 == 0 ? Direction::forward : Direction::backward;
        const Ends ends{.scale = 1.0 / 12};
        Stages stages;
        read.add(stages, direction, ends);
        stages.begin();
        for (int i = 0; i < world_rank() * (turn % 3); ++i) static_cast<void>(stages.test());
        stages.end();
        carried.run(direction, ends);
        const Index values = 2 * (direction == Direction::forward ? volume(read.output_box()) : field);
        double largest = 0.0;
        double difference = 0.0;
        for (Index i = 0; i < values; ++i) {
          largest = std::max(largest, std::abs(carried.data()[i]));
          difference = std::max(difference, std::abs(read.data()[i] - carried.data()[i]));
        }
        EXPECT_LE(difference, 1e-13 * largest) << grid[0] << "x" << grid[1] << " turn " << turn;
        EXPECT_EQ(largest > 0.0, values > 0);
      }
    }
  }
}

// Who waits in a transform must let the messages of others get on, too long to be sent before they are received.
TEST(Fft3d, LetsMessagesGetOnWhileItWaits) {
  if (world_size() < 2) return;
  std::vector<char> message(std::size_t{4} << 20);
  Fft3d<double> fft(MPI_COMM_WORLD, {.decomposition = {{8, 8, 8}, false, {1, world_size()}}, .planning = Planning::estimate},
                    library());
  MPI_Request request = MPI_REQUEST_NULL;
  const auto bytes = static_cast<int>(message.size());
  if (world_rank() == 0) MPI_Irecv(message.data(), bytes, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &request);
  if (world_rank() == 1) MPI_Send(message.data(), bytes, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
  fft.run(Direction::forward);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// As messages do that MPI cannot count; by both methods, and ranks that hold nothing.
TEST(Fft3d, LongBlocksTravelInPieces) {
  for (const auto& grid : grids()) {
    for (const std::array<Index, 3>& n : {std::array<Index, 3>{9, 10, 21}, std::array<Index, 3>{3, 2, 2}}) {
      const TransposeMethod method = grid[0] == 1 ? TransposeMethod::pairwise : TransposeMethod::alltoall;
      FftSpec spec{.decomposition = {n, true, grid},
                   .method = method,
                   .planning = Planning::estimate,
                   .may_idle = true,
                   .piece_bytes = 100};
      expect_transform<double>(spec);
      spec.order = Order::natural;
      expect_transform<double>(spec);
    }
  }
}

TEST(Fft3d, SlicesAndNodesGiveTheSameValues) {
  for (const auto& grid : grids()) {
    for (const bool real : {false, true}) {
      FftSpec spec{.decomposition = {{13, 6, 10}, real, grid}, .planning = Planning::estimate, .may_idle = true};
      for (const Order order : {Order::natural, Order::transposed}) {
        spec.order = order;
        for (const TransposeMethod method : {TransposeMethod::alltoall, TransposeMethod::pairwise}) {
          spec.method = method;
          spec.chunks = real ? 3 : 20;  // fewer and more than a rank has planes
          expect_transform<double>(spec, 3.2);
        }
        spec.chunks = 1;
        spec.method = TransposeMethod::node_aware;
        for (const int ranks_per_node : {0, 1, 2, 3}) {
          spec.ranks_per_node = ranks_per_node;
          expect_transform<double>(spec, 8.0);
        }
      }
    }
  }
}

TEST(Fft3d, DoesTheLocalWorkOfALargerGridAlone) {
  const FftSpec spec{.decomposition = {{24, 30, 20}, false, {4, world_size()}},
                     .planning = Planning::estimate,
                     .may_idle = true,
                     .alone = true};
  Fft3d<double> fft(MPI_COMM_WORLD, spec, library());
  const ShortenedTimes times = fft.run_shortened(Direction::forward);
  EXPECT_GT(times.phases.compute_s, 0.0);
  EXPECT_EQ(times.phases.exchange_s, 0.0);
}

// Every stage on at most four of its units; afterwards transforms are as they were.
TEST(Fft3d, ShortenedRunsHaveEveryStage) {
  for (const auto& grid : grids()) {
    const Decomposition d{{24, 30, 75}, false, grid};
    if (!fits(d)) continue;
    for (const Order order : {Order::natural, Order::transposed}) {
      Fft3d<double> fft(MPI_COMM_WORLD, {d, order, TransposeMethod::alltoall, Planning::estimate}, library());
      for (const Direction direction : {Direction::forward, Direction::backward}) {
        const ShortenedTimes times = fft.run_shortened(direction, 1);
        const std::size_t exchanges = (grid[0] > 1) + (grid[1] > 1);
        EXPECT_EQ(times.stage_s.size(), 1 + exchanges * (order == Order::natural ? 2 : 1));
        double stages_s = 0.0;
        for (const double stage_s : times.stage_s) stages_s += stage_s;
        EXPECT_NEAR(stages_s, times.phases.compute_s + times.phases.shuffle_s, 1e-9);
        EXPECT_EQ(times.phases.exchange_s > 0.0, exchanges > 0);
      }
      fill_field(d, world_rank(), fft.data());
      fft.run(Direction::forward);
      EXPECT_LE(check_spectrum(MPI_COMM_WORLD, d, fft.output_box(), fft.data()).at_points, error_bound<double>(d));
    }
  }
}

TEST(Redistribution, CoversAreChecked) {
  const std::array<Index, 3> n{4, 4, 4};
  const auto message = [&](const std::vector<Box>& boxes) -> std::string {
    try {
      check_cover(n, boxes, "in");
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  const Box whole{Share{0, 4}, Share{0, 4}, Share{0, 4}};
  const Box low{Share{0, 2}, Share{0, 4}, Share{0, 4}};
  const Box none{Share{9, 0}, Share{-7, 3}, Share{0, 4}};
  EXPECT_EQ(message({whole}), "");
  EXPECT_EQ(message({none, low, {Share{2, 2}, Share{0, 4}, Share{0, 4}}}), "");
  EXPECT_NE(message({low, whole}).find("ranks 0 (0..1 x 0..3 x 0..3) and 1"), std::string::npos) << message({low, whole});
  EXPECT_NE(message({low}).find("leave 32 of 64"), std::string::npos);
  EXPECT_NE(message({{Share{0, 4}, Share{0, 4}, Share{1, 4}}}).find("beyond the 4 points of axis 2"), std::string::npos);
  EXPECT_NE(message({{Share{0, 4}, Share{0, -4}, Share{0, -4}}}).find("size of -4"), std::string::npos);
}

TEST(Fft3d, MatchesTheDefinitionInEveryValue) {
  for (const auto& grid : grids()) {
    const Decomposition d{{8, 9, 10}, false, grid};
    if (!fits(d)) continue;
    Fft3d<double> fft(MPI_COMM_WORLD, {d, Order::transposed, TransposeMethod::alltoall, Planning::estimate}, library());
    // Two plane waves with different amplitudes: all else must vanish.
    const Box in = fft.input_box();
    const auto wave = [&](Index x, Index y, Index z, double kx, double ky, double kz) {
      return std::polar(
          1.0, 2.0 * std::numbers::pi *
                   (kx * static_cast<double>(x) / 8 + ky * static_cast<double>(y) / 9 + kz * static_cast<double>(z) / 10));
    };
    Index at = 0;
    for (Index x = in[0].first; x < in[0].first + in[0].count; ++x) {
      for (Index y = in[1].first; y < in[1].first + in[1].count; ++y) {
        for (Index z = 0; z < 10; ++z) fft.data()[at++] = wave(x, y, z, 3, 5, 7) + 2.0 * wave(x, y, z, 6, 1, 2);
      }
    }
    fft.run(Direction::forward);
    const Box out = fft.output_box();
    at = 0;
    for (Index x = out[0].first; x < out[0].first + out[0].count; ++x) {
      for (Index y = out[1].first; y < out[1].first + out[1].count; ++y) {
        for (Index z = out[2].first; z < out[2].first + out[2].count; ++z) {
          const double expected = (x == 3 && y == 5 && z == 7) ? 720.0 : (x == 6 && y == 1 && z == 2) ? 1440.0 : 0.0;
          EXPECT_NEAR(std::abs(fft.data()[at++] - expected), 0.0, 1e-10) << x << " " << y << " " << z;
        }
      }
    }
  }
}

TEST(Fft3d, ChecksNoticeAWrongValue) {
  const Decomposition d{{16, 16, 16}, false, {world_size(), 1}};
  if (!fits(d)) GTEST_SKIP();
  Fft3d<double> fft(MPI_COMM_WORLD, {d, Order::transposed, TransposeMethod::alltoall, Planning::estimate}, library());
  fill_field(d, world_rank(), fft.data());
  fft.run(Direction::forward);
  if (world_rank() == 0) fft.data()[3] *= 1.5;
  EXPECT_GT(check_spectrum(MPI_COMM_WORLD, d, fft.output_box(), fft.data()).parseval, error_bound<double>(d));
  fft.run(Direction::backward);
  EXPECT_GT(check_field(MPI_COMM_WORLD, d, 4096.0, fft.data()), error_bound<double>(d));
}

TEST(Fft3d, RefusesWhatDoesNotFit) {
  const auto make = [](const Decomposition& d) {
    Fft3d<double> fft(MPI_COMM_WORLD, {d, Order::transposed, TransposeMethod::alltoall, Planning::estimate}, library());
  };
  const auto message = [&](const Decomposition& d) -> std::string {
    try {
      make(d);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "nothing thrown";
  };
  EXPECT_NE(message({{8, 8, 8}, false, {world_size() + 1, 1}}).find("ranks"), std::string::npos);
  EXPECT_NE(message({{8, 8, 8}, false, {9, 1}}).find("more ranks than pencils"), std::string::npos);
  EXPECT_NE(message({{0, 8, 8}, false, {1, world_size()}}).find("0 points"), std::string::npos);
  EXPECT_NE(message({{100000, 100000, 100000}, false, {world_size(), 1}}).find("PB of memory"), std::string::npos);
}

// A transfer that writes down what is done with it.
class Noted final : public Transfer {
 public:
  Noted(std::string& notes, char name) : notes_(notes), name_(name) {}
  void run() override { start(), wait(); }
  void start() override { notes_ += std::string("<") + name_; }
  bool test() override { return wait(), true; }
  void wait() override { notes_ += std::string(">") + name_; }

 private:
  std::string& notes_;
  char name_;
};

TEST(Stages, WorkByTurnsWhileOthersTravel) {
  std::string notes;
  Noted a(notes, 'a'), b(notes, 'b'), slice(notes, 's');
  std::vector<Stages> streams(2);
  const auto work = [&](const char* what) { return [&notes, what] { notes += what; }; };
  for (const char* after : {"2", "4"}) {
    streams[0].add(work("1"));
    streams[0].add(a, nullptr);
    streams[0].add(work(after));
  }
  streams[1].add(work("x"));
  streams[1].launch(slice, nullptr);
  streams[1].add(b, nullptr);
  streams[1].add(work("y"));
  streams[1].finish(slice, nullptr);
  Stages all;
  all.add(work("0"));
  all.append(Stages::by_turns(std::move(streams)));
  all.run();
  EXPECT_EQ(notes, "01<ax<s<b>a21<a>by>a4>s");
}

// Fields together have the values that each has alone, to the last bit: whole groups and what is left over.
TEST(Fft3d, FieldsTogetherAreAsEachAlone) {
  for (const auto& grid : grids()) {
    const Decomposition d{{12, 9, 10}, false, grid};
    if (!fits(d)) continue;
    FftSpec spec{.decomposition = d, .planning = Planning::estimate, .chunks = 2};
    Fft3d<double> alone(MPI_COMM_WORLD, spec, library());
    spec.fields = 3;
    spec.last_fields = 2;
    Fft3d<double> together(MPI_COMM_WORLD, spec, library());
    const auto values = static_cast<std::size_t>(d.local_values(world_rank()));
    std::vector<std::complex<double>> in(4 * values), out(4 * values), expected(values);
    for (std::size_t field = 0; field < 3; ++field) {
      fill_field(d, world_rank(), in.data() + field * values);
      for (std::size_t i = 0; i < values; ++i) in[field * values + i] *= std::polar(1.0, static_cast<double>(field * i));
    }
    for (const Index fields : {3, 2}) {
      const std::size_t bytes = values * sizeof in[0];
      together.run(Direction::forward, {in.data(), out.data(), 10, 1.0, fields, bytes, bytes});
      for (Index field = 0; field < fields; ++field) {
        alone.run(Direction::forward, {in.data() + static_cast<std::size_t>(field) * values, expected.data(), 10});
        const auto* const found = out.data() + static_cast<std::size_t>(field) * values;
        EXPECT_TRUE(std::equal(found, found + volume(alone.output_box()), expected.begin())) << field << " of " << fields;
      }
      std::ranges::fill(out, 0.0);
    }
  }
}

TEST(FftLibrary, SaysWhatIsKnown) {
  EXPECT_THROW(FftLibrary("pocket"), std::invalid_argument);
  EXPECT_FALSE(library().version().empty());
}

}  // namespace
}  // namespace rankwise
