// A batch of forward 3-D FFTs of double complex values, interleaved in one run: ours as one call of plans that choose by
// themselves, out of place and in place, ours field by field, and FFTW's own MPI transform of one field after the other, in place
// and out of place, transposed out (its fastest). All have memory of their own for every field, plan with FFTW_MEASURE, and every spectrum is checked against
// the definition.
//
//   mpiexec -n 2 fft3d_batch N BATCH REPETITIONS [TOGETHER]      as in: 32 16 100
//
// Prints a JSON line {"n": ..., "ranks": ..., "batch": ..., "variant": ..., "ours_s": [...], "ours_in_place_s": [...],
// "one_by_one_s": [...], "fftw_in_place_s": [...], "fftw_out_of_place_s": [...], "fftw_one_field_s": [...]}: the maximum over ranks, repetition by
// repetition; fftw_one_field_s: as many transforms of one and the same field. fft3d.py --batch makes ratios.
#include <cstdlib>
#include <string>

#include "fft/choice.hpp"
#include "fft3d_peers.hpp"
#include "profile/profile.hpp"

using namespace peers;

namespace {

// Ours, by one variant or by what is chosen.
class Ours {
 public:
  Ours(const rankwise::FftQuestion& question, const rankwise::FftVariant& variant, const rankwise::FftLibrary& library,
       int rank)
      : d_{question.n, false, variant.grid},
        batch_(question.batch),
        stride_(static_cast<size_t>(d_.local_values(rank))),
        in_(stride_ * static_cast<size_t>(batch_)),
        out_(question.in_place ? 0 : in_.size()),
        plan_(MPI_COMM_WORLD, question, variant, {}, library) {}
  void run() {
    rankwise::Stages stages;
    const size_t bytes = stride_ * sizeof(Value);
    plan_.add(stages, rankwise::Direction::forward,
              {reinterpret_cast<const std::byte*>(in_.data()), reinterpret_cast<std::byte*>(out()), bytes, bytes, d_.n[2]});
    stages.run();
  }
  void check(const char* name, int rank) {
    for (Index f = 0; f < batch_; ++f) fill(d_, rank, f, in_.data() + static_cast<size_t>(f) * stride_);
    run();
    for (Index f = 0; f < batch_; ++f) {
      require(name, d_, d_.transposed(rank), f, out() + static_cast<size_t>(f) * stride_);
    }
    std::ranges::fill(in_, Value{});
  }

 private:
  Value* out() { return out_.empty() ? in_.data() : out_.data(); }
  Decomposition d_;
  Index batch_;
  size_t stride_;
  std::vector<Value> in_, out_;
  rankwise::FftBatch plan_;
};

}  // namespace

int main(int argc, char** argv) {
  const Started all(argc, argv);
  if (argc != 4 && argc != 5) return all.refuse("fft3d_batch N BATCH REPETITIONS [TOGETHER], as in 32 16 100");
  const Index n = std::atol(argv[1]);
  const Index batch = std::atol(argv[2]);
  const int repetitions = std::atoi(argv[3]);
  setenv("RANKWISE_FFT_KNOWLEDGE", "", 1);  // every choice anew
  const rankwise::FftLibrary library("fftw");
  rankwise::FftQuestion question{.n = {n, n, n}, .batch = batch};
  if (argc == 5) question.together = std::atol(argv[4]);
  const rankwise::FftChoice choice =
      rankwise::choose_fft(MPI_COMM_WORLD, question, library, rankwise::default_machine(), "the default machine", true);
  rankwise::FftQuestion one_memory = question;
  one_memory.in_place = true;
  const rankwise::FftChoice choice_in_place =
      rankwise::choose_fft(MPI_COMM_WORLD, one_memory, library, rankwise::default_machine(), "the default machine", true);
  rankwise::FftVariant alone = choice.variant;
  alone.together = 1;
  const Decomposition slabs{{n, n, n}, false, {all.size, 1}};
  Ours ours(question, choice.variant, library, all.rank);
  ours.check("ours", all.rank);
  Ours ours_in_place(one_memory, choice_in_place.variant, library, all.rank);
  ours_in_place.check("ours in place", all.rank);
  Ours one_by_one(question, alone, library, all.rank);
  one_by_one.check("ours field by field", all.rank);
  Fftw in_place(n, batch, true);
  in_place.check("FFTW in place", slabs, all.rank);
  Fftw out_of_place(n, batch, false);
  out_of_place.check("FFTW out of place", slabs, all.rank);

  const std::vector<const char*> names{"ours_s",          "ours_in_place_s",     "one_by_one_s",
                                       "fftw_in_place_s", "fftw_out_of_place_s", "fftw_one_field_s"};
  const auto times = timed({[&] { ours.run(); }, [&] { ours_in_place.run(); }, [&] { one_by_one.run(); },
                            [&] { in_place.run(); }, [&] { out_of_place.run(); }, [&] { in_place.run_one(); }},
                           repetitions);
  if (all.rank == 0) {
    std::printf("{\"n\": %ld, \"ranks\": %d, \"batch\": %ld, \"variant\": \"%s\", \"variant_in_place\": \"%s\", ",
                static_cast<long>(n), all.size, static_cast<long>(batch), to_string(choice.variant).c_str(),
                to_string(choice_in_place.variant).c_str());
    for (size_t j = 0; j < names.size(); ++j) print(names[j], times[j], j + 1 < names.size() ? ", " : "}\n");
  }
  return 0;
}
