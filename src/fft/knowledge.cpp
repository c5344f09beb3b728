#include "fft/knowledge.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace rankwise {

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
  struct stat status{};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid()) return "";
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return file ? text.str() : "";
}

bool replace_file(const std::string& path, const std::string& text) {
  std::error_code error;
  const std::filesystem::path place(path);
  std::filesystem::create_directories(place.parent_path(), error);
  const std::string next = path + "." + std::to_string(getpid());
  {
    std::ofstream file(next, std::ios::binary | std::ios::trunc);
    file << text;
    file.flush();
    if (!file) {
      std::filesystem::remove(next, error);
      return false;
    }
  }
  std::filesystem::rename(next, place, error);
  return !error;
}

}  // namespace rankwise
