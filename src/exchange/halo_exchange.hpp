// Moves halos: packs what goes to a rank into one message, and unpacks what comes, stage after stage.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "exchange/transport.hpp"
#include "exchange/shared_memory.hpp"
#include "halo/epochs.hpp"
#include "halo/halo.hpp"

namespace rankwise {

// Combines the bytes of a row into another.
using CombineRow = void (*)(std::byte* into, const std::byte* from, std::size_t bytes, const void* context);

class HaloExchange {
 public:
  // stages: those of a halo, or its way back; they must outlive the exchange. transports: of each stage, its partners in the order
  // of the messages. Takes all memory that it will ever need.
  HaloExchange(int rank, std::span<const HaloStage> stages, std::vector<std::unique_ptr<Transport>> transports);

  // Sends and receives messages of the usual length that nobody reads: connections are there, and memory, before the first
  // exchange. All ranks do so.
  void rehearse();
  // fields: the first owned element of each. active: the fields that move now (bit f), alike on all ranks.
  // combine: null: copies; else what comes is combined, in ascending order of the ranks that it comes from.
  void start(std::span<std::byte* const> fields, std::uint64_t active, CombineRow combine = nullptr,
             const void* context = nullptr);
  // True when all is there.
  bool test() { return advance(false); }
  void wait() { static_cast<void>(advance(true)); }

 private:
  bool advance(bool wait);
  void begin();
  void unpack(std::size_t stage, std::size_t i);
  // Copies, or combines, where a way back is carried out.
  void bring(const std::vector<BoxCopy>& copies, std::byte* into, const std::byte* from) const;
  void run_local(const HaloStage& stage);
  void combine_all(const HaloStage& stage, std::size_t number);
  [[nodiscard]] std::size_t active_bytes(const HaloMessage& message) const;
  // The memory of a field where a message is one row of it and needs no packing; null where it does.
  [[nodiscard]] std::byte* in_place(const HaloMessage& message, bool sends) const;
  template <class Each>
  void each_section(const HaloMessage& message, Each each) const;

  int rank_;
  std::span<const HaloStage> stages_;
  std::vector<std::unique_ptr<Transport>> transports_;
  std::size_t at_ = 0;  // the stage under way; stages_.size(): none
  std::vector<std::byte*> fields_;
  std::uint64_t active_ = 0;
  CombineRow combine_ = nullptr;
  const void* context_ = nullptr;
};

// The partners of a stage.
struct StagePartners {
  std::vector<int> to;
  std::vector<int> from;
  explicit StagePartners(const HaloStage& stage);
};

// Straight to the partners of each stage, under so many tags from the first on.
[[nodiscard]] std::vector<std::unique_ptr<Transport>> direct_transports(
    MPI_Comm comm, std::span<const HaloStage> stages, int tag, bool persistent = false,
    std::size_t piece_bytes = DirectTransport::usual_piece_bytes);

// Halos read straight from the fields of ranks of the same node: no packing, no messages (halo/epochs.hpp says when).

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
  void announce_ready(std::uint64_t epoch) const { own->ready.store(epoch, std::memory_order_release); }
  void announce_done(std::uint64_t epoch) const { own->done.store(epoch, std::memory_order_release); }
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
  // pulls: of a stage that was made for these sources; must outlive the window. fields, active: as HaloExchange::start.
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
