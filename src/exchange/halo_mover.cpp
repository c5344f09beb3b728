#include "exchange/halo_mover.hpp"

#include <string>

namespace rankwise {

HaloMover::HaloMover(int rank, std::span<const HaloStage> stages, std::vector<std::unique_ptr<Carrier>> carriers)
    : rank_(rank), stages_(stages), carriers_(std::move(carriers)), at_(stages.size()) {
  for (std::size_t s = 0; s < stages.size(); ++s) {
    Carrier& carrier = *carriers_[s];
    for (std::size_t i = 0; i < stages[s].sends.size(); ++i) carrier.make_room_out(i, stages[s].sends[i].bytes());
    for (std::size_t i = 0; i < stages[s].receives.size(); ++i) carrier.make_room_in(i, stages[s].receives[i].bytes());
    carrier.ready();
  }
  if (!stages.empty()) fields_.resize(stages.front().local.size());
}

StagePartners::StagePartners(const HaloStage& stage) {
  for (const HaloMessage& message : stage.sends) to.push_back(static_cast<int>(message.peer));
  for (const HaloMessage& message : stage.receives) from.push_back(static_cast<int>(message.peer));
}

std::vector<std::unique_ptr<Carrier>> couriers(MPI_Comm comm, std::span<const HaloStage> stages, int tag, bool persistent,
                                               std::size_t piece_bytes) {
  std::vector<std::unique_ptr<Carrier>> made;
  for (const HaloStage& stage : stages) {
    const StagePartners partners(stage);
    made.push_back(std::make_unique<Courier>(comm, tag++, partners.to, partners.from, piece_bytes, persistent));
  }
  return made;
}

template <class Each>
void HaloMover::each_section(const HaloMessage& message, Each each) const {
  std::size_t start = 0;
  for (std::size_t f = 0; f < message.sections.size(); ++f) {
    if ((active_ >> f & 1) == 0) continue;
    each(f, message.sections[f], start);
    start += message.sections[f].bytes;
  }
}

std::size_t HaloMover::active_bytes(const HaloMessage& message) const {
  std::size_t bytes = 0;
  each_section(message, [&](std::size_t, const HaloSection& section, std::size_t) { bytes += section.bytes; });
  return bytes;
}

std::byte* HaloMover::in_place(const HaloMessage& message, bool sends) const {
  std::byte* data = nullptr;
  std::size_t sections = 0;
  each_section(message, [&](std::size_t f, const HaloSection& section, std::size_t) {
    if (section.bytes == 0) return;
    const BoxCopy& copy = section.copies.front();
    if (++sections == 1 && section.copies.size() == 1 && copy.loops == 0) data = fields_[f] + (sends ? copy.from : copy.into);
  });
  return sections == 1 ? data : nullptr;
}

void HaloMover::rehearse() {
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    const HaloStage& stage = stages_[s];
    for (std::size_t i = 0; i < stage.receives.size(); ++i) carriers_[s]->expect(i, stage.receives[i].bytes());
    for (std::size_t i = 0; i < stage.sends.size(); ++i) carriers_[s]->send(i, stage.sends[i].bytes());
    carriers_[s]->sent();
    static_cast<void>(carriers_[s]->advance(true, [](std::size_t, std::size_t) {}));
  }
}

void HaloMover::start(std::span<std::byte* const> fields, std::uint64_t active, CombineRow combine, const void* context) {
  std::copy(fields.begin(), fields.end(), fields_.begin());
  active_ = active;
  combine_ = combine;
  context_ = context;
  // Receives of all stages are posted first: a message that arrives before its receive costs a copy.
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    for (std::size_t i = 0; i < stages_[s].receives.size(); ++i) {
      const HaloMessage& message = stages_[s].receives[i];
      carriers_[s]->expect(i, active_bytes(message), combine == nullptr ? in_place(message, false) : nullptr);
    }
  }
  at_ = 0;
  if (!stages_.empty()) begin();
}

void HaloMover::begin() {
  const HaloStage& stage = stages_[at_];
  Carrier& carrier = *carriers_[at_];
  for (std::size_t i = 0; i < stage.sends.size(); ++i) {
    const HaloMessage& message = stage.sends[i];
    std::byte* data = in_place(message, true);
    std::size_t bytes = 0;
    each_section(message, [&](std::size_t f, const HaloSection& section, std::size_t start) {
      bytes += section.bytes;
      if (data != nullptr) return;
      for (const BoxCopy& copy : section.copies) run(copy, carrier.out(i) + start, fields_[f]);
    });
    carrier.send(i, bytes, data);
  }
  carrier.sent();
  if (combine_ == nullptr) run_local(stage);
}

void HaloMover::run_local(const HaloStage& stage) {
  for (std::size_t f = 0; f < stage.local.size(); ++f) {
    if ((active_ >> f & 1) == 0) continue;
    for (const BoxCopy& copy : stage.local[f]) {
      if (combine_ == nullptr) {
        run(copy, fields_[f], fields_[f]);
      } else {
        each_row(copy, fields_[f], fields_[f],
                 [&](std::byte* into, const std::byte* from, std::size_t n) { combine_(into, from, n, context_); });
      }
    }
  }
}

void HaloMover::unpack(std::size_t stage, std::size_t i) {
  const HaloMessage& message = stages_[stage].receives[i];
  if (combine_ == nullptr && in_place(message, false) != nullptr) return;
  each_section(message, [&](std::size_t f, const HaloSection& section, std::size_t start) {
    const std::byte* from = carriers_[stage]->in(i) + start;
    for (const BoxCopy& copy : section.copies) {
      if (combine_ == nullptr) {
        run(copy, fields_[f], from);
      } else {
        each_row(copy, fields_[f], from,
                 [&](std::byte* into, const std::byte* row, std::size_t n) { combine_(into, row, n, context_); });
      }
    }
  });
}

// In ascending order of the ranks, the own one among them, so that sums come out the same every time.
void HaloMover::combine_all(const HaloStage& stage, std::size_t number) {
  bool own_done = false;
  for (std::size_t i = 0; i < stage.receives.size(); ++i) {
    if (!own_done && stage.receives[i].peer > rank_) {
      run_local(stage);
      own_done = true;
    }
    unpack(number, i);
  }
  if (!own_done) run_local(stage);
}

bool HaloMover::advance(bool wait) {
  while (at_ < stages_.size()) {
    const HaloStage& stage = stages_[at_];
    const bool done = carriers_[at_]->advance(wait, [&](std::size_t i, std::size_t bytes) {
      if (const std::size_t expected = active_bytes(stage.receives[i]); bytes != expected) {
        throw WrongLength("rank " + std::to_string(stage.receives[i].peer) + " sent " + std::to_string(bytes) + " B, not " +
                          std::to_string(expected) + " B");
      }
      if (combine_ == nullptr) unpack(at_, i);
    });
    if (!done) return false;
    if (combine_ != nullptr) combine_all(stage, at_);
    ++at_;
    if (at_ < stages_.size()) begin();
  }
  return true;
}

}  // namespace rankwise
