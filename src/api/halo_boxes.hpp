// Halos of the boxes of a grid.
#pragma once

#include <optional>

#include "api/halo_plan.hpp"

namespace rankwise::api {

// What a caller asks for, read from the option struct.
struct HaloRequest {
  int algorithm = RANKWISE_HALO_AUTO;
  bool corners = true;
  std::vector<Index> lower;  // of each axis of the grid
  std::vector<Index> upper;
};

[[nodiscard]] rankwise_halo_options default_halo_options();

class HaloBoxes : public HaloPlan {
 public:
  HaloBoxes(MPI_Comm cart, int nfields, const rankwise_field* fields, const rankwise_halo_options* options);
  [[nodiscard]] std::string explain() const override;

 private:
  std::uint64_t take(const Fields& fields, const int active[]) override;
  void begin(std::uint64_t active) override {
    forward_->start(data_, active);
    is_back_ = false;
  }
  void begin_back(std::uint64_t active, const Reduction& reduction) override {
    back_->start(data_, active, reduction.row, &reduction);
    is_back_ = true;
  }
  bool advance(bool wait) override;
  [[nodiscard]] std::size_t element_bytes(std::size_t field) const override { return spec_.fields[field].element_bytes; }
  [[nodiscard]] MPI_Comm comm() const override { return comm_.get(); }
  void free() override { comm_.free(); }

  // Fills spec_ from the arguments; throws Failure on this rank alone.
  void read(int nfields, const rankwise_field* fields, const rankwise_halo_options* options);
  // Collective. The axes as they are packed, alike on all ranks.
  void agree_on_order();
  // Collective. The extents of all boxes that the widths reach.
  void learn_lines();
  void compare_faces() const;
  [[nodiscard]] bool spread_lines();
  // Both ends of every message mean the same bytes.
  void prove() const;
  [[nodiscard]] std::string why(HaloRoute* route) const;

  Communicator comm_;
  HaloSpec spec_;
  HaloRequest request_;
  std::string why_;
  Halo halo_;
  std::vector<std::byte*> data_;  // of each field, now
  std::optional<HaloMover> forward_;
  std::optional<HaloMover> back_;
  bool is_back_ = false;
};

}  // namespace rankwise::api
