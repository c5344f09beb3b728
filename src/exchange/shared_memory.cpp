#include "exchange/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <string>

namespace rankwise {

namespace {

// Process numbers are used again, and are others in other containers: the time tells segments apart.
std::uint64_t new_token() {
  static std::uint64_t count = 0;
  const auto now = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  return (now << 16) ^ (static_cast<std::uint64_t>(getpid()) << 40) ^ ++count;
}

std::string file_name(std::uint64_t token) { return "rankwise-" + std::to_string(token); }

struct Segments {
  std::mutex mutex;
  std::map<const std::byte*, std::unique_ptr<SharedSegment>> all;  // by their ends
};

// Never destroyed: programs may free late.
Segments& segments() {
  static auto* all = new Segments;
  return *all;
}

}  // namespace

bool is_observed() { return std::getenv("RANKWISE_OBSERVE_DIR") != nullptr; }

SharedSegment::SharedSegment(std::size_t bytes) {
  const std::size_t size = bytes == 0 ? 1 : bytes;
  static std::mutex mutex;
  {
    const std::lock_guard lock(mutex);
    name_.token = new_token();
  }
  const int descriptor = memfd_create(file_name(name_.token).c_str(), MFD_CLOEXEC);
  if (descriptor < 0) throw std::bad_alloc();
  void* data = MAP_FAILED;
  if (ftruncate(descriptor, static_cast<off_t>(size)) == 0) {
    data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  }
  if (data == MAP_FAILED) {
    close(descriptor);
    throw std::bad_alloc();
  }
  data_ = static_cast<std::byte*>(data);
  name_.process = getpid();
  name_.descriptor = descriptor;
  name_.bytes = size;
}

SharedSegment::~SharedSegment() {
  munmap(data_, name_.bytes);
  close(static_cast<int>(name_.descriptor));
}

std::shared_ptr<const MappedSegment> MappedSegment::map(const SegmentName& name) {
  if (name.descriptor < 0 || is_observed()) return nullptr;
  const std::string path = "/proc/" + std::to_string(name.process) + "/fd/" + std::to_string(name.descriptor);
  std::array<char, 128> target{};
  if (readlink(path.c_str(), target.data(), target.size() - 1) < 0) return nullptr;
  if (std::string(target.data()).find(file_name(name.token)) == std::string::npos) return nullptr;
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  void* data = mmap(nullptr, name.bytes, PROT_READ, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (data == MAP_FAILED) return nullptr;
  return std::make_shared<const MappedSegment>(static_cast<const std::byte*>(data), name.bytes);
}

MappedSegment::~MappedSegment() { munmap(const_cast<std::byte*>(data_), bytes_); }

std::byte* allocate_shared(std::size_t bytes) {
  auto segment = std::make_unique<SharedSegment>(bytes);
  std::byte* data = segment->data();
  const std::lock_guard lock(segments().mutex);
  segments().all[data + segment->name().bytes] = std::move(segment);
  return data;
}

bool free_shared(void* data) {
  const std::lock_guard lock(segments().mutex);
  const auto found = segments().all.upper_bound(static_cast<const std::byte*>(data));
  if (found == segments().all.end() || found->second->data() != data) return false;
  segments().all.erase(found);
  return true;
}

SharedPlace place_of(const void* data) {
  const auto* at = static_cast<const std::byte*>(data);
  const std::lock_guard lock(segments().mutex);
  const auto found = segments().all.upper_bound(at);
  if (found == segments().all.end() || at < found->second->data()) return {};
  return {found->second->name(), static_cast<std::uint64_t>(at - found->second->data())};
}

}  // namespace rankwise
