// Halos read straight from the fields of ranks of the same node: no packing, no messages (halo/epochs.hpp says when).
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "exchange/shared_memory.hpp"
#include "halo/epochs.hpp"
#include "halo/halo.hpp"

namespace rankwise {

// What a rank shows to those that read it.
struct WindowFlags {
  alignas(64) std::atomic<std::uint64_t> ready{0};
  alignas(64) std::atomic<std::uint64_t> done{0};
  alignas(64) SharedPlace field[64];  // where its fields are, in the epoch that is ready
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// The own flags and those of others, as Epochs asks them.
struct WindowMemory {
  WindowFlags* own = nullptr;
  std::vector<const WindowFlags*> sources;
  std::vector<const WindowFlags*> readers;
  [[nodiscard]] std::uint64_t ready(std::size_t i) const { return sources[i]->ready.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t done(std::size_t i) const { return readers[i]->done.load(std::memory_order_acquire); }
  void tell_ready(std::uint64_t epoch) const { own->ready.store(epoch, std::memory_order_release); }
  void tell_done(std::uint64_t epoch) const { own->done.store(epoch, std::memory_order_release); }
};

class HaloWindow {
 public:
  // Messages with the partners of a node, ranks of comm, which must outlive this: to those this rank sends to, from those it
  // receives from (both ascending). steps: of the fields; is_shared: whether the own fields are memory that others can map.
  HaloWindow(MPI_Comm comm, const std::vector<int>& to, const std::vector<int>& from, const std::vector<BoxSteps>& steps,
             std::span<std::byte* const> fields);

  // Whom this rank reads, and who reads it.
  [[nodiscard]] const std::vector<HaloSource>& sources() const { return sources_; }
  [[nodiscard]] const std::vector<Index>& readers() const { return readers_; }

  // Touches what will be read of the fields that all had when this was made, once their owners have done so.
  void touch(std::span<const HaloMessage> pulls);
  // pulls: of a stage that was made for these sources; must outlive the window. fields, active: as HaloMover::start.
  void start(std::span<const HaloMessage> pulls, std::span<std::byte* const> fields, std::uint64_t active);
  // True when all is read, and all that read this rank have done so. wait: returns only then.
  bool advance(bool wait);

 private:
  void read(std::size_t source);
  [[nodiscard]] const std::byte* address(std::size_t source, std::size_t f);

  struct Known {  // of a source's segments
    std::uint64_t token = 0;
    std::shared_ptr<const MappedSegment> segment;
  };
  MPI_Comm comm_;
  SharedSegment flags_;
  std::vector<std::shared_ptr<const MappedSegment>> others_;  // the flags of partners
  std::vector<HaloSource> sources_;
  std::vector<Index> readers_;
  std::vector<std::vector<Known>> known_;  // of each source
  WindowMemory memory_;
  std::optional<Epochs<WindowMemory>> epochs_;
  std::span<const HaloMessage> pulls_;
  std::vector<std::byte*> fields_;
  std::vector<SharedPlace> places_;  // of the fields that were started last
  std::uint64_t active_ = 0;
};

}  // namespace rankwise
