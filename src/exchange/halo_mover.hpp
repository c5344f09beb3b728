// Moves halos: packs what goes to a rank into one message, and unpacks what comes, stage after stage.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "exchange/courier.hpp"
#include "halo/halo.hpp"

namespace rankwise {

// Combines the bytes of a row into another.
using CombineRow = void (*)(std::byte* into, const std::byte* from, std::size_t bytes, const void* context);

class HaloMover {
 public:
  // stages: those of a halo, or its way back; they must outlive the mover. carriers: of each stage, its partners in the order
  // of the messages. Takes all memory that it will ever need.
  HaloMover(int rank, std::span<const HaloStage> stages, std::vector<std::unique_ptr<Carrier>> carriers);

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
  void run_local(const HaloStage& stage);
  void combine_all(const HaloStage& stage, std::size_t number);
  [[nodiscard]] std::size_t active_bytes(const HaloMessage& message) const;
  // The memory of a field where a message is one row of it and needs no packing; null where it does.
  [[nodiscard]] std::byte* in_place(const HaloMessage& message, bool sends) const;
  template <class Each>
  void each_section(const HaloMessage& message, Each each) const;

  int rank_;
  std::span<const HaloStage> stages_;
  std::vector<std::unique_ptr<Carrier>> carriers_;
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
[[nodiscard]] std::vector<std::unique_ptr<Carrier>> couriers(MPI_Comm comm, std::span<const HaloStage> stages, int tag,
                                                             bool persistent = false,
                                                             std::size_t piece_bytes = Courier::usual_piece_bytes);

}  // namespace rankwise
