// Halos of the boxes of a grid.
#pragma once

#include <optional>

#include "api/halo_plan.hpp"
#include "api/halo_variant.hpp"
#include "api/options.hpp"

namespace rankwise::api {

class HaloBoxes : public HaloPlan {
 public:
  HaloBoxes(MPI_Comm cart, int nfields, const rankwise_field* fields, const rankwise_halo_options* options);
  [[nodiscard]] std::string explain() const override;

 private:
  std::uint64_t take(const Fields& fields, const int active[]) override;
  void begin(std::uint64_t active) override {
    variants_[now()]->start(data_, active);
    is_back_ = false;
  }
  void begin_back(std::uint64_t active, const Reduction& reduction) override {
    back_->start(data_, active, reduction.row, &reduction);
    is_back_ = true;
  }
  bool advance(bool wait) override;
  [[nodiscard]] std::size_t element_bytes(std::size_t field) const override { return spec_.fields[field].element_bytes; }
  [[nodiscard]] MPI_Comm comm() const override { return comm_.get(); }
  void keep(std::size_t way) override;
  void settled() override;
  [[nodiscard]] std::string pairs() const override;
  [[nodiscard]] std::string header() const override;
  void free() override {
    variants_.clear();
    back_.reset();
    comm_.free();
  }

  // Fills spec_ from the arguments; throws Failure on this rank alone.
  void read(int nfields, const rankwise_field* fields, const rankwise_halo_options* options);
  // Collective. The axes as they are packed, alike on all ranks.
  void agree_on_order();
  // Collective. The extents of all boxes that the widths reach.
  void learn_lines();
  // Collective: numbers go one rank on along an axis; in gets as many from the other side, where there is a rank, whose number is
  // returned (-1: none).
  Index pass_on(int axis, int direction, const std::vector<Index>& out, std::vector<Index>& in) const;
  void compare_faces() const;
  [[nodiscard]] bool spread_lines();
  // Both ends of every message mean the same bytes.
  void prove(const Halo& halo) const;
  // Collective.
  void make_variants();
  [[nodiscard]] const Halo& current() const { return variants_[now()]->halo(); }

  Communicator comm_;
  HaloSpec spec_;
  HaloRequest request_;
  std::string why_;
  Halo halo_;                     // direct, for the way back
  std::vector<std::byte*> data_;  // of each field, now
  std::vector<std::unique_ptr<HaloVariant>> variants_;
  std::optional<HaloExchange> back_;
  bool is_back_ = false;
  bool reads_ = false;  // the memory of others, by any way
};

}  // namespace rankwise::api
