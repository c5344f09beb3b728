#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "cost/loads.hpp"
#include "cost/machine.hpp"

namespace rankwise {

// What messages of the sizes of a walk cost over each class of link, each looked up when first needed.
class Prices {
 public:
  struct Price {
    std::size_t number = 0;  // by link and size
    bool known = false;
    double send_s = 0.0;
    double ssend_s = 0.0;
    double exchange_s = 0.0;
    double gap_s = 0.0;
    double overhead_s = 0.0;
    double acknowledgement_s = 0.0;
    double hold_s = 0.0;    // of its send
    double credit_s = 0.0;  // that it may be spared on its way
    Index bytes = 0;
    std::optional<bool> waits = {};    // whether a plain send waits for its receiver; nothing: it is not known
    const StepCosts* steps = nullptr;  // null: not timed
  };

  // handover_s: how much later a message is taken up than on a processor of one's own.
  Prices(const std::vector<Index>& sizes, Index block_bytes, const Machine& machine, SendMode mode, double handover_s = 0.0)
      : sizes_(sizes), block_bytes_(block_bytes), machine_(machine), mode_(mode), handover_s_(handover_s) {
    for (std::vector<Price>& prices : prices_) prices.resize(sizes.size());
  }

  // The time of copies and additions of so many blocks.
  [[nodiscard]] double work_s(Index copied, Index added) const {
    const auto of = [this](const std::optional<TimeCurve>& curve, Index blocks) {
      return curve && blocks > 0 ? (*curve)(blocks * block_bytes_) : 0.0;
    };
    return of(machine_.copy, copied) + of(machine_.add, added);
  }

  // Whether a message that was asked for is known not to wait for its receiver.
  [[nodiscard]] bool any_eager() const {
    return std::any_of(prices_.begin(), prices_.end(), [](const std::vector<Price>& of_link) {
      return std::any_of(of_link.begin(), of_link.end(), [](const Price& price) { return price.waits == false; });
    });
  }

  // Whether it is known what adding a vector to another takes; the time of adding so many blocks.
  [[nodiscard]] bool combines() const { return machine_.combine.has_value(); }
  [[nodiscard]] double combine_s(Index blocks) const { return blocks > 0 ? (*machine_.combine)(blocks * block_bytes_) : 0.0; }

  // of_representatives: the passage is one of the representatives, which have no numbers of their own.
  const Price& of(const Passage& passage, LinkClass link, bool of_representatives) {
    Price& price = prices_[static_cast<std::size_t>(link)][passage.size];
    if (!price.known) look_up(passage, link, of_representatives, price);
    return price;
  }

 private:
  void look_up(const Passage& passage, LinkClass link, bool of_representatives, Price& price) const {
    const std::optional<LinkClass> known = machine_.stand_in(link);
    if (!known) {
      const std::string pair = std::to_string(passage.rank) + " and " + std::to_string(passage.peer);
      const std::string alike = link == LinkClass::other_node ? "of different nodes" : "of one node";
      invalid("the profile has no link class " + to_string(link) + ", which ranks " + (of_representatives ? alike : pair) +
              " need: measure or import it");
    }
    const LinkCost& cost = *machine_.links[static_cast<std::size_t>(*known)];
    const Index bytes = sizes_[passage.size] * block_bytes_;
    const bool leaves = link == LinkClass::other_node;
    price = {static_cast<std::size_t>(link) * sizes_.size() + passage.size,
             true,
             cost.send(bytes) + handover_s_,
             cost.ssend(bytes) + handover_s_,
             cost.exchange(bytes) + handover_s_,
             cost.gap(bytes),
             cost.overhead(),
             cost.acknowledgement_s.value_or(0.0),
             cost.send.hold_s(bytes),
             leaves ? machine_.hold(static_cast<std::size_t>(Shared::card_out), link, bytes).credit_s : 0.0,
             bytes,
             {},
             nullptr};
    if (cost.rendezvous_from_bytes) price.waits = bytes >= *cost.rendezvous_from_bytes;
    const std::optional<StepCosts>& steps = cost.steps[static_cast<std::size_t>(mode_)];
    if (steps) price.steps = &*steps;
  }

  const std::vector<Index>& sizes_;
  Index block_bytes_;
  const Machine& machine_;
  SendMode mode_;
  double handover_s_;
  std::array<std::vector<Price>, link_class_count> prices_;
};

}  // namespace rankwise
