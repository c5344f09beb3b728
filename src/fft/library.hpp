// FFTs within one rank, behind one small interface: plan a batch of transforms, run it.
//
// The library is loaded when it is first asked for, through the FFTW3 interface that several libraries speak: FFTW
// itself, or Intel's MKL. Nothing of them is compiled in or shipped: whoever installs one chooses its licence. Another
// library takes a class derived from LocalFft and a line in FftLibrary::plan.
#pragma once

#include <complex>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace rankwise {

// No FFT library can be loaded, or it lacks what is needed.
class FftUnavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Direction { forward, backward };

// A batch of transforms of one to three axes. Point (i, j) of transform b of a two-axis batch lies at
// b * distance + (i * n[1] + j) * stride complex values. Where the batch is real on one side (`real`), lines along the
// last axis hold n.back() reals in the memory of n.back() / 2 + 1 complex values.
struct LocalBatch {
  std::vector<int> n;  // points an axis, the slowest first
  int count = 1;
  int stride = 1;
  int distance = 1;
  bool real = false;  // forward: real to complex; backward: complex to real
};

// How long planning may take: estimate guesses, measure tries alternatives (a second or so), patient tries many.
enum class Planning { estimate, measure, patient };
[[nodiscard]] Planning parse_planning(const std::string& name);  // throws std::invalid_argument

// A planned batch; neither direction divides by the number of points.
template <typename Real>
class LocalFft {
 public:
  virtual ~LocalFft() = default;
  // Transforms as planned: in place, or from one memory into another, which do not overlap. Any addresses that are multiples of
  // the size of a complex value.
  virtual void run(const std::complex<Real>* from, std::complex<Real>* into) const = 0;
  void run(std::complex<Real>* data) const { run(data, data); }
};

class FftLibrary {
 public:
  // name: fftw, mkl, or auto for the first of them that is there. Throws FftUnavailable with what to install,
  // std::invalid_argument for an unknown name.
  explicit FftLibrary(const std::string& name = "auto");
  ~FftLibrary();
  FftLibrary(const FftLibrary&) = delete;
  FftLibrary& operator=(const FftLibrary&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::string version() const;

  // data: memory of the batch's size, overwritten unless planning is an estimate; into: likewise, for plans out of place, of
  // complex values on both sides, which leave what they read as it is; null: in place. Throws FftUnavailable when the library
  // has no single precision (it is a separate file with FFTW) or cannot plan the batch.
  template <typename Real>
  [[nodiscard]] std::unique_ptr<LocalFft<Real>> plan(const LocalBatch& batch, Direction direction, Planning planning,
                                                     std::complex<Real>* data, std::complex<Real>* into = nullptr) const;

  // What planning has found out, as text that another process of the same library can take instead of measuring; empty
  // where the library keeps none.
  template <typename Real>
  [[nodiscard]] std::string wisdom() const;
  template <typename Real>
  void take_wisdom(const std::string& text) const;

 private:
  struct Interface;
  template <typename Real>
  [[nodiscard]] const Interface& interface() const;

  std::string name_;
  std::unique_ptr<Interface> double_;
  std::unique_ptr<Interface> single_;
};

// What was learnt about transforms on this machine, in files of the user's cache.

// The folder: RANKWISE_FFT_KNOWLEDGE where it is set (empty: nothing is kept), else one of this processor in the user's
// cache ($XDG_CACHE_HOME or ~/.cache, rankwise/fft-...). Empty where nothing is kept. It need not exist.
[[nodiscard]] std::string knowledge_folder();

// A file of it; empty where nothing is kept.
[[nodiscard]] std::string knowledge_file(const std::string& name);

// A file's text; empty where it cannot be read or belongs to another user.
[[nodiscard]] std::string read_file(const std::string& path);

// Puts text in the place of a file at one stroke, folders made on the way; false where that cannot be done, for what is kept
// can be found out again.
bool replace_file(const std::string& path, const std::string& text);

}  // namespace rankwise
