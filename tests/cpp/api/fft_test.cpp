// 3-D FFTs through the C API: plane waves, whose spectrum is one value, there and back in every form that a plan has; and
// what is refused, on all ranks alike.
#include <sys/stat.h>

#include <complex>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numbers>

#include "fixture.hpp"

namespace rankwise_test {
namespace {

using Lengths = std::array<std::int64_t, 3>;

rankwise_fft_options fft_options(int kind = RANKWISE_FFT_COMPLEX) {
  rankwise_fft_options o;
  EXPECT_EQ(rankwise_fft_options_default(&o), RANKWISE_SUCCESS);
  o.kind = kind;
  o.effort = RANKWISE_FFT_EFFORT_MODEL;
  return o;
}

class FftHandle {
 public:
  FftHandle(const Lengths& n, const rankwise_fft_options& o, const rankwise_fft_box* in = nullptr,
            const rankwise_fft_box* out = nullptr) {
    result = rankwise_fft_create(MPI_COMM_WORLD, n.data(), in, out, &o, &handle);
  }
  ~FftHandle() { rankwise_fft_destroy(&handle); }
  FftHandle(const FftHandle&) = delete;
  FftHandle& operator=(const FftHandle&) = delete;
  rankwise_fft handle = nullptr;
  rankwise_result result;
};

// Unequal boxes: axis 1 is cut at squares, the last rank first; axis 0 is left whole.
rankwise_fft_box brick(const Lengths& n, std::int64_t last) {
  const std::int64_t ranks = world_size();
  const std::int64_t place = ranks - 1 - world_rank();
  const auto cut = [&](std::int64_t part) { return n[1] * part * part / (ranks * ranks); };
  return {{0, cut(place), 0}, {n[0], cut(place + 1) - cut(place), last}};
}

// A real or complex wave, or its spectrum, at a point.
struct Wave {
  Lengths n, k;
  bool is_real;
  [[nodiscard]] std::complex<double> value(std::int64_t x, std::int64_t y, std::int64_t z) const {
    const double turns = static_cast<double>(k[0] * x) / static_cast<double>(n[0]) +
                         static_cast<double>(k[1] * y) / static_cast<double>(n[1]) +
                         static_cast<double>(k[2] * z) / static_cast<double>(n[2]);
    const std::complex<double> wave = std::polar(1.0, 2.0 * std::numbers::pi * turns);
    return is_real ? 2.0 * wave.real() : wave;
  }
  [[nodiscard]] double at(std::int64_t x, std::int64_t y, std::int64_t z) const {
    const double all = static_cast<double>(n[0] * n[1] * n[2]);
    const bool is_k = x == k[0] && y == k[1] && z == k[2];
    const bool is_other = is_real && (x + k[0]) % n[0] == 0 && (y + k[1]) % n[1] == 0 && (z + k[2]) % n[2] == 0;
    return (is_k ? all : 0.0) + (is_other ? all : 0.0);
  }
};

template <class Visit>
void each_point(const rankwise_fft_box& box, std::int64_t line, Visit visit) {
  for (std::int64_t x = 0; x < box.size[0]; ++x) {
    for (std::int64_t y = 0; y < box.size[1]; ++y) {
      for (std::int64_t z = 0; z < box.size[2]; ++z) {
        visit(static_cast<std::size_t>((x * box.size[1] + y) * line + z), box.lower[0] + x, box.lower[1] + y, box.lower[2] + z);
      }
    }
  }
}

struct Form {
  rankwise_fft_options options;
  bool bricks_in, bricks_out, begins;
};

template <class Real>
void there_and_back(const Lengths& n, Form form) {
  using Value = std::complex<Real>;
  rankwise_fft_options& o = form.options;
  const bool is_real = o.kind == RANKWISE_FFT_REAL;
  const rankwise_fft_box brick_in = brick(n, n[2]), brick_out = brick(n, is_real ? n[2] / 2 + 1 : n[2]);
  const FftHandle plan(n, o, form.bricks_in ? &brick_in : nullptr, form.bricks_out ? &brick_out : nullptr);
  ASSERT_EQ(plan.result, RANKWISE_SUCCESS) << rankwise_last_error();
  rankwise_fft_box in, out;
  std::int64_t ins = 0, outs = 0;
  ok(rankwise_fft_boxes(plan.handle, &in, &out));
  ok(rankwise_fft_elements(plan.handle, &ins, &outs));
  const std::size_t in_bytes = static_cast<std::size_t>(ins) * (is_real ? sizeof(Real) : sizeof(Value));
  const std::size_t out_bytes = static_cast<std::size_t>(outs) * sizeof(Value);
  const bool in_place = o.in_place == 1;
  const std::size_t most = std::max(in_bytes, out_bytes);
  std::vector<Value> first((in_place ? most : in_bytes) / sizeof(Value) + 1), second(out_bytes / sizeof(Value) + 1);
  auto* const field = reinterpret_cast<Real*>(first.data());
  Value* const spectrum = in_place ? first.data() : second.data();
  const std::int64_t line = is_real && in_place && !form.bricks_in ? 2 * (n[2] / 2 + 1) : in.size[2];
  const std::int64_t out_field = out.size[0] * out.size[1] * out.size[2];
  const auto stride = [&](std::int64_t all, std::int64_t one) { return o.batch > 1 ? (all - one) / (o.batch - 1) : 0; };
  const std::int64_t in_stride = stride(ins, in.size[0] * in.size[1] * line), out_stride = stride(outs, out_field);
  const auto wave = [&](int f) { return Wave{n, {f % n[0], (1 + f) % n[1], 2 % n[2]}, is_real}; };
  for (int f = 0; f < o.batch; ++f) {
    each_point(in, line, [&](std::size_t i, std::int64_t x, std::int64_t y, std::int64_t z) {
      const std::size_t at = i + static_cast<std::size_t>(f * in_stride);
      const std::complex<double> value = wave(f).value(x, y, z);
      if (is_real) field[at] = static_cast<Real>(value.real());
      if (!is_real) first[at] = {static_cast<Real>(value.real()), static_cast<Real>(value.imag())};
    });
  }
  const std::vector<Value> before = first;
  const double all = static_cast<double>(n[0] * n[1] * n[2]);
  const double bound = sizeof(Real) == 8 ? 1e-13 : 1e-5;
  const auto transform = [&](bool is_forward, const void* from, std::size_t from_bytes, void* into, std::size_t into_bytes,
                             double scale) {
    if (!form.begins) {
      return is_forward ? rankwise_fft_forward(plan.handle, from, from_bytes, into, into_bytes, scale)
                        : rankwise_fft_backward(plan.handle, from, from_bytes, into, into_bytes, scale);
    }
    const rankwise_result begun = rankwise_fft_begin(plan.handle, is_forward, from, from_bytes, into, into_bytes, scale);
    if (begun != RANKWISE_SUCCESS) return begun;
    int done = 0;
    for (int i = 0; world_rank() % 2 == 0 && i < 10; ++i) ok(rankwise_fft_test(plan.handle, &done));
    return rankwise_fft_end(plan.handle);
  };
  const std::size_t room = in_place ? most : in_bytes, room_out = in_place ? most : out_bytes;
  ok(transform(true, first.data(), room, spectrum, room_out, 0.5));
  for (int f = 0; f < o.batch; ++f) {
    each_point(out, out.size[2], [&](std::size_t i, std::int64_t x, std::int64_t y, std::int64_t z) {
      const Value found = spectrum[i + static_cast<std::size_t>(f * out_stride)];
      EXPECT_NEAR(std::abs(std::complex<double>(found) - 0.5 * wave(f).at(x, y, z)), 0.0, bound * all)
          << x << " " << y << " " << z;
    });
  }
  if (!in_place) {
    EXPECT_EQ(first, before);
    std::fill(first.begin(), first.end(), Value{});
  }
  const std::vector<Value> sent(spectrum, spectrum + outs);
  ok(transform(false, spectrum, room_out, first.data(), room, 2.0 / all));
  EXPECT_TRUE(in_place || sent == std::vector<Value>(spectrum, spectrum + outs));
  for (int f = 0; f < o.batch; ++f) {
    each_point(in, line, [&](std::size_t i, std::int64_t, std::int64_t, std::int64_t) {
      const std::size_t at = i + static_cast<std::size_t>(f * in_stride);
      const Real* const reals = reinterpret_cast<const Real*>(before.data());
      EXPECT_NEAR(is_real ? std::abs(field[at] - reals[at]) : std::abs(first[at] - before[at]), 0.0, 10 * bound);
    });
  }
}

TEST(ApiFft, EveryFormThereAndBack) {
  unsigned turn = 0;
  std::vector<Lengths> lengths{{6, 7, 10}, {1, 3, 2}, {5, 1, 9}};
  if (world_size() > 2) lengths.resize(1 + static_cast<std::size_t>(world_size()) % 2);  // on shared cores
  for (const Lengths& n : lengths) {
    for (const int kind : {RANKWISE_FFT_COMPLEX, RANKWISE_FFT_REAL}) {
      for (const int in_place : {0, 1}) {
        for (const int bricks : {0, 1, 2, 3}) {
          Form form{fft_options(kind), bricks % 2 == 1, bricks / 2 == 1, turn % 3 == 1};
          form.options.in_place = in_place;
          form.options.order = turn / 2 % 2 == 0 ? RANKWISE_FFT_TRANSPOSED : RANKWISE_FFT_NATURAL;
          form.options.method = static_cast<int>(turn / 3 % 4);
          form.options.chunks = static_cast<int>(turn % 3);
          form.options.batch = 1 + static_cast<int>(turn % 5 % 3);
          if (in_place == 0 && turn % 4 < 2)
            form.options.stride_in = 997, form.options.stride_out = 1009;  // gaps between fields
          form.options.together = static_cast<int>(turn / 5 % 4);
          form.options.in_flight = static_cast<int>(turn % 3);
          if (turn % 4 == 3) form.options.grid[0] = 1, form.options.grid[1] = world_size();
          form.options.precision = turn % 7 < 4 ? RANKWISE_FFT_DOUBLE : RANKWISE_FFT_SINGLE;
          SCOPED_TRACE("turn " + std::to_string(turn++));
          form.options.precision == RANKWISE_FFT_DOUBLE ? there_and_back<double>(n, form) : there_and_back<float>(n, form);
        }
      }
    }
  }
}

std::string explained(const FftHandle& plan) {
  char text[4000] = "";
  ok(rankwise_fft_explain(plan.handle, text, sizeof text, nullptr));
  return text;
}

TEST(ApiFft, KeepsWhatTrialsFound) {
  char folder[] = "/tmp/rankwise-fft-XXXXXX";
  if (world_rank() == 0) {
    ASSERT_NE(mkdtemp(folder), nullptr);
  }
  MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
  setenv("RANKWISE_FFT_KNOWLEDGE", folder, 1);
  rankwise_fft_options o = fft_options();
  o.effort = RANKWISE_FFT_EFFORT_TRIALS;
  const bool has_choice = world_size() > 1;
  for (const char* part :
       {has_choice ? "tried for" : "nothing to choose", has_choice ? "kept from trials before" : "nothing"}) {
    const FftHandle plan({12, 8, 10}, o);
    ASSERT_EQ(plan.result, RANKWISE_SUCCESS) << rankwise_last_error();
    EXPECT_NE(explained(plan).find(part), std::string::npos) << explained(plan);
  }
  // What nobody can have written there is passed over.
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank() == 0 && has_choice) {
    const std::string path = std::string(folder) + "/choices";
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    std::ofstream(path) << line.substr(0, line.find('\t')) << "\t-1 7 9 0\n";
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const FftHandle plan({12, 8, 10}, o);
  if (has_choice) {
    EXPECT_NE(explained(plan).find("tried for"), std::string::npos) << explained(plan);
  }
  // Neither is what another could have written there.
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank() == 0 && has_choice) {
    struct stat about{};
    const std::string path = std::string(folder) + "/choices";
    EXPECT_EQ(stat(path.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0600U);
    chmod(path.c_str(), 0666);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const FftHandle again({12, 8, 10}, o);
  if (has_choice) {
    EXPECT_NE(explained(again).find("tried for"), std::string::npos) << explained(again);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank() == 0) std::filesystem::remove_all(folder);
  setenv("RANKWISE_FFT_KNOWLEDGE", "", 1);
}

TEST(ApiFft, ExplainsAndKeepsItsOrder) {
  setenv("RANKWISE_FFT_KNOWLEDGE", "", 1);
  rankwise_fft_options o = fft_options();
  o.effort = RANKWISE_FFT_EFFORT_TRIALS;
  const FftHandle plan({8, 8, 8}, o);
  ASSERT_EQ(plan.result, RANKWISE_SUCCESS) << rankwise_last_error();
  char text[2000] = "";
  ok(rankwise_fft_explain(plan.handle, text, sizeof text, nullptr));
  for (const char* part : {"3-D FFT of 8x8x8 complex values", "transposes by", "local FFTs by", "B of buffers",
                           world_size() > 1 ? "tried for" : "nothing to choose"}) {
    EXPECT_NE(std::string(text).find(part), std::string::npos) << text;
  }
}

void expect_on_all(rankwise_result result, rankwise_result expected, const std::string& part) {
  EXPECT_EQ(result, expected) << rankwise_last_error();
  EXPECT_NE(std::string(rankwise_last_error()).find(part), std::string::npos) << rankwise_last_error();
}

TEST(ApiFft, CreateRefusesOnAllRanks) {
  const bool is_last = world_rank() == world_size() - 1;
  const Lengths n{6, 7, 10};
  const auto created = [](const Lengths& lengths, const rankwise_fft_options& o, const rankwise_fft_box* in = nullptr,
                          const rankwise_fft_box* out = nullptr) { return FftHandle(lengths, o, in, out).result; };
  const rankwise_fft_options plain = fft_options();
  expect_on_all(created({6, is_last ? 0 : 7, 10}, plain), RANKWISE_ERROR_ARGUMENT, "an axis of 0 points");
  rankwise_fft_options o = plain;
  o.batch = is_last ? 0 : 1;
  expect_on_all(created(n, o), RANKWISE_ERROR_ARGUMENT, "options.batch is 0");
  o = plain;
  o.grid[0] = o.grid[1] = world_size() + 1;
  expect_on_all(created(n, o), RANKWISE_ERROR_ARGUMENT, "ranks: give a grid of as many");
  o = plain;
  o.chunks = is_last ? -1 : 1;
  expect_on_all(created(n, o), RANKWISE_ERROR_ARGUMENT, "options.chunks is -1");
  o = plain;
  o.together = is_last ? -1 : 1;
  expect_on_all(created(n, o), RANKWISE_ERROR_ARGUMENT, "options.together is -1");
  o = plain;
  o.in_flight = is_last ? 3 : 1;
  expect_on_all(created(n, o), RANKWISE_ERROR_ARGUMENT, "options.in_flight is 3");
  o = plain;
  o.effort = 7;
  expect_on_all(created(n, o), RANKWISE_ERROR_ARGUMENT, "options.effort is 7");
  o = plain;
  o.struct_size = 3;
  expect_on_all(created(n, o), RANKWISE_ERROR_ARGUMENT, "rankwise_fft_options_default");
  o = plain;
  o.batch = 2;
  o.stride_in = 1;
  expect_on_all(created(n, o), RANKWISE_ERROR_ARGUMENT, "options.stride_in is 1 but a field has");
  rankwise_fft_box box = brick(n, 10);
  const bool is_first = world_rank() == 0;  // who has the largest brick
  if (is_first) box.size[2] = 9;
  expect_on_all(created(n, plain, &box), RANKWISE_ERROR_ARGUMENT, "points to nobody");
  box = brick(n, 10);
  if (is_first) box.size[0] = 8;
  expect_on_all(created(n, plain, nullptr, &box), RANKWISE_ERROR_ARGUMENT, "beyond the 6 points of axis 0");
  rankwise_fft handle = nullptr;
  expect_on_all(rankwise_fft_create(MPI_COMM_NULL, n.data(), nullptr, nullptr, nullptr, &handle), RANKWISE_ERROR_ARGUMENT,
                "NULL");
  expect_on_all(rankwise_fft_create(MPI_COMM_WORLD, nullptr, nullptr, nullptr, nullptr, &handle), RANKWISE_ERROR_ARGUMENT,
                "n is NULL");
  if (world_size() == 1) return;
  box = brick(n, 10);
  if (is_last) box = {{0, 0, 0}, {6, 7, 10}};
  expect_on_all(created(n, plain, &box), RANKWISE_ERROR_ARGUMENT, "overlap");
  expect_on_all(created(n, plain, is_last ? nullptr : &box), RANKWISE_ERROR_ARGUMENT, "whether boxes in are given differs");
  o = plain;
  o.kind = is_last ? RANKWISE_FFT_REAL : RANKWISE_FFT_COMPLEX;
  expect_on_all(created(n, o), RANKWISE_ERROR_ARGUMENT, "the kind differs");
}

TEST(ApiFft, TransformsRefuseOnAllRanks) {
  const bool is_last = world_rank() == world_size() - 1;
  const Lengths n{6, 8, 10};
  rankwise_fft handle = nullptr;
  rankwise_fft_options o = fft_options();
  ok(rankwise_fft_create(MPI_COMM_WORLD, n.data(), nullptr, nullptr, &o, &handle));
  std::vector<std::complex<double>> in(480), out(480);
  const std::size_t bytes = 480 * 16;
  const auto forward = [&](const void* from, std::size_t from_bytes, void* into, double scale = 1.0) {
    return rankwise_fft_forward(handle, from, from_bytes, into, bytes, scale);
  };
  expect_on_all(forward(in.data(), is_last ? 8 : bytes, out.data()), RANKWISE_ERROR_ARGUMENT, "in has 8 B but");
  expect_on_all(forward(is_last ? nullptr : in.data(), bytes, out.data()), RANKWISE_ERROR_ARGUMENT, "in is NULL");
  expect_on_all(forward(in.data(), bytes, in.data()), RANKWISE_ERROR_ARGUMENT, "share memory");
  expect_on_all(rankwise_fft_end(handle), RANKWISE_ERROR_USAGE, "rankwise_fft_begin first");
  ok(rankwise_fft_begin(handle, 1, in.data(), bytes, out.data(), bytes, 1.0));
  expect_on_all(forward(in.data(), bytes, out.data()), RANKWISE_ERROR_USAGE, "under way");
  ok(rankwise_fft_end(handle));
  if (world_size() > 1) {
    expect_on_all(forward(in.data(), bytes, out.data(), is_last ? 2.0 : 1.0), RANKWISE_ERROR_ARGUMENT, "the scale");
  }
  ok(forward(in.data(), bytes, out.data()));
  const rankwise_fft copy = handle;
  ok(rankwise_fft_begin(handle, 0, in.data(), bytes, out.data(), bytes, 1.0));
  ok(rankwise_fft_destroy(&handle));  // completes what is under way
  EXPECT_EQ(handle, nullptr);
  expect_on_all(rankwise_fft_end(copy), RANKWISE_ERROR_USAGE, "destroyed");
  expect_on_all(rankwise_fft_boxes(nullptr, nullptr, nullptr), RANKWISE_ERROR_USAGE, "NULL");
}

}  // namespace
}  // namespace rankwise_test
