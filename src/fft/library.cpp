#include "fft/library.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sstream>

#include "grid/names.hpp"

namespace rankwise {

namespace {

// The part of the FFTW3 interface that is used, as its manual documents it (fftw.org/fftw3_doc). The functions of single
// precision differ in the prefix and in the type behind the pointers, so that one set of types serves both.
using PlanComplex = void* (*)(int rank, const int* n, int howmany, void* in, const int* inembed, int istride, int idist,
                              void* out, const int* onembed, int ostride, int odist, int sign, unsigned flags);
using PlanReal = void* (*)(int rank, const int* n, int howmany, void* in, const int* inembed, int istride, int idist, void* out,
                           const int* onembed, int ostride, int odist, unsigned flags);
using Execute = void (*)(void* plan, void* in, void* out);
using Destroy = void (*)(void* plan);
using ExportWisdom = char* (*)();
using ImportWisdom = int (*)(const char* text);

constexpr unsigned flag_measure = 0;
constexpr unsigned flag_unaligned = 1U << 1;
constexpr unsigned flag_patient = 1U << 5;
constexpr unsigned flag_estimate = 1U << 6;

// Libraries of this interface let several threads transform, but only one plan, forget a plan or touch what is known.
std::mutex& planner() {
  static std::mutex mutex;
  return mutex;
}

struct Candidate {
  const char* name;
  const char* double_file;
  const char* single_file;
};
constexpr Candidate candidates[] = {{"fftw", "libfftw3.so.3", "libfftw3f.so.3"},
                                    {"mkl", "libmkl_rt.so.3", "libmkl_rt.so.3"},
                                    {"mkl", "libmkl_rt.so.2", "libmkl_rt.so.2"}};
constexpr const char* cure =
    "install FFTW (Debian: apt-get install libfftw3-double3 libfftw3-single3) or Intel's MKL (pip install 'rankwise[fft]')";

unsigned flags_of(Planning planning) {
  return planning == Planning::estimate ? flag_estimate : planning == Planning::patient ? flag_patient : flag_measure;
}

}  // namespace

struct FftLibrary::Interface {
  // Null when the file is not there. The library stays loaded: its own threads and tables do not like to go.
  static std::unique_ptr<Interface> load(const char* file, const std::string& prefix) {
    void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return nullptr;
    auto interface = std::make_unique<Interface>();
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, (prefix + name).c_str()));
      return function != nullptr;
    };
    const bool whole = find(interface->plan_complex, "plan_many_dft") && find(interface->plan_r2c, "plan_many_dft_r2c") &&
                       find(interface->plan_c2r, "plan_many_dft_c2r") && find(interface->execute, "execute_dft") &&
                       find(interface->execute_r2c, "execute_dft_r2c") && find(interface->execute_c2r, "execute_dft_c2r") &&
                       find(interface->destroy, "destroy_plan");
    if (!whole) return nullptr;
    find(interface->export_wisdom, "export_wisdom_to_string");
    find(interface->import_wisdom, "import_wisdom_from_string");
    if (const void* text = dlsym(library, (prefix + "version").c_str())) interface->version = static_cast<const char*>(text);
    return interface;
  }

  PlanComplex plan_complex = nullptr;
  PlanReal plan_r2c = nullptr;
  PlanReal plan_c2r = nullptr;
  Execute execute = nullptr;
  Execute execute_r2c = nullptr;
  Execute execute_c2r = nullptr;
  Destroy destroy = nullptr;
  ExportWisdom export_wisdom = nullptr;
  ImportWisdom import_wisdom = nullptr;
  std::string version;
};

namespace {

template <typename Real>
class PlannedFft : public LocalFft<Real> {
 public:
  PlannedFft(void* plan, Execute execute, Destroy destroy) : plan_(plan), execute_(execute), destroy_(destroy) {}
  ~PlannedFft() override {
    const std::lock_guard lock(planner());
    destroy_(plan_);
  }
  PlannedFft(const PlannedFft&) = delete;
  PlannedFft& operator=(const PlannedFft&) = delete;

  void run(const std::complex<Real>* from, std::complex<Real>* into) const override {
    execute_(plan_, const_cast<std::complex<Real>*>(from), into);  // which does not write there
  }

 private:
  void* plan_;
  Execute execute_;
  Destroy destroy_;
};

}  // namespace

Planning parse_planning(const std::string& name) {
  constexpr std::array<Name<Planning>, 3> names{
      {{"estimate", Planning::estimate}, {"measure", Planning::measure}, {"patient", Planning::patient}}};
  return parsed(names, name, "planning");
}

FftLibrary::FftLibrary(const std::string& name) {
  bool known = name == "auto";
  for (const Candidate& candidate : candidates) {
    known = known || name == candidate.name;
    if (double_ || (name != "auto" && name != candidate.name)) continue;
    double_ = Interface::load(candidate.double_file, "fftw_");
    if (!double_) continue;
    single_ = Interface::load(candidate.single_file, "fftwf_");
    name_ = candidate.name;
  }
  if (!known) invalid("FFT library '" + name + "' is unknown: choose auto, fftw or mkl");
  if (!double_) throw FftUnavailable("no " + (name == "auto" ? "FFT library" : name) + " found: " + cure);
}

FftLibrary::~FftLibrary() = default;

std::string FftLibrary::version() const { return double_->version.empty() ? name_ : double_->version; }

template <typename Real>
const FftLibrary::Interface& FftLibrary::interface() const {
  const Interface* found = sizeof(Real) == sizeof(double) ? double_.get() : single_.get();
  if (found == nullptr) {
    throw FftUnavailable(name_ + " in single precision was not found (Debian: apt-get install libfftw3-single3)");
  }
  return *found;
}

template <typename Real>
std::unique_ptr<LocalFft<Real>> FftLibrary::plan(const LocalBatch& batch, Direction direction, Planning planning,
                                                 std::complex<Real>* data, std::complex<Real>* into) const {
  const Interface& with = interface<Real>();
  const int rank = static_cast<int>(batch.n.size());
  // A complex value of single precision may lie between the boundaries that vector instructions like.
  const unsigned flags = flags_of(planning) | (sizeof(Real) < sizeof(double) ? flag_unaligned : 0);
  const std::lock_guard lock(planner());
  void* planned = nullptr;
  Execute execute = with.execute;
  if (!batch.real) {
    const int sign = direction == Direction::forward ? -1 : 1;
    planned = with.plan_complex(rank, batch.n.data(), batch.count, data, nullptr, batch.stride, batch.distance,
                                into == nullptr ? data : into, nullptr, batch.stride, batch.distance, sign, flags);
  } else {
    std::vector<int> complex_n = batch.n;
    complex_n.back() = complex_n.back() / 2 + 1;
    std::vector<int> real_n = batch.n;
    real_n.back() = 2 * complex_n.back();
    if (direction == Direction::forward) {
      planned = with.plan_r2c(rank, batch.n.data(), batch.count, data, real_n.data(), 1, 2 * batch.distance, data,
                              complex_n.data(), 1, batch.distance, flags);
      execute = with.execute_r2c;
    } else {
      planned = with.plan_c2r(rank, batch.n.data(), batch.count, data, complex_n.data(), 1, batch.distance, data, real_n.data(),
                              1, 2 * batch.distance, flags);
      execute = with.execute_c2r;
    }
  }
  if (planned == nullptr) throw FftUnavailable(name_ + " cannot plan a transform: try another library or planning");
  return std::make_unique<PlannedFft<Real>>(planned, execute, with.destroy);
}

template <typename Real>
std::string FftLibrary::wisdom() const {
  const Interface& with = interface<Real>();
  if (name_ != "fftw" || with.export_wisdom == nullptr) return "";
  const std::lock_guard lock(planner());
  char* const text = with.export_wisdom();
  std::string copy = text == nullptr ? "" : text;
  std::free(text);
  return copy;
}

template <typename Real>
void FftLibrary::take_wisdom(const std::string& text) const {
  const Interface& with = interface<Real>();
  const std::lock_guard lock(planner());
  if (name_ == "fftw" && with.import_wisdom != nullptr && !text.empty()) with.import_wisdom(text.c_str());
}

template std::unique_ptr<LocalFft<double>> FftLibrary::plan(const LocalBatch&, Direction, Planning, std::complex<double>*,
                                                            std::complex<double>*) const;
template std::unique_ptr<LocalFft<float>> FftLibrary::plan(const LocalBatch&, Direction, Planning, std::complex<float>*,
                                                           std::complex<float>*) const;
template std::string FftLibrary::wisdom<double>() const;
template std::string FftLibrary::wisdom<float>() const;
template void FftLibrary::take_wisdom<double>(const std::string&) const;
template void FftLibrary::take_wisdom<float>(const std::string&) const;

namespace {

// What a processor is called, its caches and how many there are, as 64 bits (Fowler, Noll, Vo: FNV-1a).
std::string this_machine() {
  std::ostringstream text;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();) {
    for (const char* name : {"model name", "CPU part", "cache size"}) {
      if (line.starts_with(name)) text << line << '\n';
    }
  }
  text << sysconf(_SC_NPROCESSORS_CONF);
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : text.str()) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  std::array<char, 20> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(hash));
  return digits.data();
}

}  // namespace

std::string knowledge_folder() {
  if (const char* given = std::getenv("RANKWISE_FFT_KNOWLEDGE")) return given;
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if ((cache == nullptr || *cache == '\0') && (home == nullptr || *home == '\0')) return "";
  const std::string folder = cache != nullptr && *cache != '\0' ? cache : std::string(home) + "/.cache";
  return folder + "/rankwise/fft-" + this_machine();
}

std::string knowledge_file(const std::string& name) {
  const std::string folder = knowledge_folder();
  return folder.empty() ? "" : folder + "/" + name;
}

std::string read_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  struct stat status{};
  std::string text;
  if (file < 0) return text;
  // Ours, and nobody else may write to it.
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() && (status.st_mode & 022) == 0) {
    text.resize(static_cast<std::size_t>(status.st_size));
    if (::read(file, text.data(), text.size()) != status.st_size) text.clear();
  }
  ::close(file);
  return text;
}

bool replace_file(const std::string& path, const std::string& text) {
  const std::size_t folder_end = path.rfind('/');
  for (std::size_t end = path.find('/', 1); folder_end != std::string::npos && end <= folder_end;
       end = path.find('/', end + 1)) {
    mkdir(path.substr(0, end).c_str(), 0700);
  }
  std::string next = path + ".XXXXXX";
  const int file = mkostemp(next.data(), O_CLOEXEC);  // a new one, which nobody else reads
  if (file < 0) return false;
  const bool whole = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (::close(file) == 0 && whole && std::rename(next.c_str(), path.c_str()) == 0) return true;
  unlink(next.c_str());
  return false;
}

}  // namespace rankwise
