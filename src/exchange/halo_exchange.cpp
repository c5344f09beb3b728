#include "exchange/halo_exchange.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

#include "exchange/shared_memory.hpp"
#include "mpi/mpi.hpp"

namespace rankwise {

HaloExchange::HaloExchange(int rank, std::span<const HaloStage> stages, std::vector<std::unique_ptr<Transport>> transports)
    : rank_(rank), stages_(stages), transports_(std::move(transports)), at_(stages.size()) {
  for (std::size_t s = 0; s < stages.size(); ++s) {
    Transport& transport = *transports_[s];
    for (std::size_t i = 0; i < stages[s].sends.size(); ++i) transport.make_room_out(i, stages[s].sends[i].bytes());
    for (std::size_t i = 0; i < stages[s].receives.size(); ++i) transport.make_room_in(i, stages[s].receives[i].bytes());
    transport.ready();
  }
  if (!stages.empty()) fields_.resize(stages.front().local.size());
}

StagePartners::StagePartners(const HaloStage& stage) {
  for (const HaloMessage& message : stage.sends) to.push_back(static_cast<int>(message.peer));
  for (const HaloMessage& message : stage.receives) from.push_back(static_cast<int>(message.peer));
}

std::vector<std::unique_ptr<Transport>> direct_transports(MPI_Comm comm, std::span<const HaloStage> stages, int tag,
                                                          bool persistent, std::size_t piece_bytes) {
  std::vector<std::unique_ptr<Transport>> made;
  for (const HaloStage& stage : stages) {
    const StagePartners partners(stage);
    made.push_back(std::make_unique<DirectTransport>(comm, tag++, partners.to, partners.from, piece_bytes, persistent));
  }
  return made;
}

template <class Each>
void HaloExchange::each_section(const HaloMessage& message, Each each) const {
  std::size_t start = 0;
  for (std::size_t f = 0; f < message.sections.size(); ++f) {
    if ((active_ >> f & 1) == 0) continue;
    each(f, message.sections[f], start);
    start += message.sections[f].bytes;
  }
}

std::size_t HaloExchange::active_bytes(const HaloMessage& message) const {
  std::size_t bytes = 0;
  each_section(message, [&](std::size_t, const HaloSection& section, std::size_t) { bytes += section.bytes; });
  return bytes;
}

std::byte* HaloExchange::in_place(const HaloMessage& message, bool sends) const {
  std::byte* data = nullptr;
  std::size_t sections = 0;
  each_section(message, [&](std::size_t f, const HaloSection& section, std::size_t) {
    if (section.bytes == 0) return;
    const BoxCopy& copy = section.copies.front();
    if (++sections == 1 && section.copies.size() == 1 && copy.loops == 0) data = fields_[f] + (sends ? copy.from : copy.into);
  });
  return sections == 1 ? data : nullptr;
}

void HaloExchange::rehearse() {
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    const HaloStage& stage = stages_[s];
    for (std::size_t i = 0; i < stage.receives.size(); ++i) transports_[s]->expect(i, stage.receives[i].bytes());
    for (std::size_t i = 0; i < stage.sends.size(); ++i) transports_[s]->send(i, stage.sends[i].bytes());
    transports_[s]->sent();
    static_cast<void>(transports_[s]->advance(true, [](std::size_t, std::size_t) {}));
  }
}

void HaloExchange::start(std::span<std::byte* const> fields, std::uint64_t active, CombineRow combine, const void* context) {
  std::copy(fields.begin(), fields.end(), fields_.begin());
  active_ = active;
  combine_ = combine;
  context_ = context;
  // Receives of all stages are posted first: a message that arrives before its receive costs a copy.
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    for (std::size_t i = 0; i < stages_[s].receives.size(); ++i) {
      const HaloMessage& message = stages_[s].receives[i];
      transports_[s]->expect(i, active_bytes(message), combine == nullptr ? in_place(message, false) : nullptr);
    }
  }
  at_ = 0;
  if (!stages_.empty()) begin();
}

void HaloExchange::begin() {
  const HaloStage& stage = stages_[at_];
  Transport& transport = *transports_[at_];
  for (std::size_t i = 0; i < stage.sends.size(); ++i) {
    const HaloMessage& message = stage.sends[i];
    std::byte* data = in_place(message, true);
    std::size_t bytes = 0;
    each_section(message, [&](std::size_t f, const HaloSection& section, std::size_t start) {
      bytes += section.bytes;
      if (data != nullptr) return;
      for (const BoxCopy& copy : section.copies) run(copy, transport.out(i) + start, fields_[f]);
    });
    transport.send(i, bytes, data);
  }
  transport.sent();
  if (combine_ == nullptr) run_local(stage);
}

void HaloExchange::bring(const std::vector<BoxCopy>& copies, std::byte* into, const std::byte* from) const {
  for (const BoxCopy& copy : copies) {
    if (combine_ == nullptr) {
      run(copy, into, from);
    } else {
      each_row(copy, into, from, [&](std::byte* to, const std::byte* row, std::size_t n) { combine_(to, row, n, context_); });
    }
  }
}

void HaloExchange::run_local(const HaloStage& stage) {
  for (std::size_t f = 0; f < stage.local.size(); ++f) {
    if ((active_ >> f & 1) != 0) bring(stage.local[f], fields_[f], fields_[f]);
  }
}

void HaloExchange::unpack(std::size_t stage, std::size_t i) {
  const HaloMessage& message = stages_[stage].receives[i];
  if (combine_ == nullptr && in_place(message, false) != nullptr) return;
  each_section(message, [&](std::size_t f, const HaloSection& section, std::size_t start) {
    bring(section.copies, fields_[f], transports_[stage]->in(i) + start);
  });
}

// In ascending order of the ranks, the own one among them, so that sums come out the same every time.
void HaloExchange::combine_all(const HaloStage& stage, std::size_t number) {
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

bool HaloExchange::advance(bool wait) {
  while (at_ < stages_.size()) {
    const HaloStage& stage = stages_[at_];
    const bool done = transports_[at_]->advance(wait, [&](std::size_t i, std::size_t bytes) {
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

namespace {

constexpr int window_tag = 6;
constexpr int accepted_tag = 7;

// What partners tell each other.
struct Introduction {
  SegmentName flags;
  std::int64_t is_shared = 0;  // all fields
  std::array<SharedPlace, 64> field{};
  std::array<BoxSteps, 64> steps{};
};

}  // namespace

HaloWindow::HaloWindow(MPI_Comm comm, const std::vector<int>& to, const std::vector<int>& from,
                       const std::vector<BoxSteps>& steps, std::span<std::byte* const> fields)
    : comm_(comm), flags_(sizeof(WindowFlags)), fields_(fields.begin(), fields.end()), places_(fields.size()) {
  memory_.own = new (flags_.data()) WindowFlags;
  std::vector<int> partners = to;
  partners.insert(partners.end(), from.begin(), from.end());
  std::ranges::sort(partners);
  partners.erase(std::ranges::unique(partners).begin(), partners.end());

  auto own = std::make_unique<Introduction>();
  own->flags = flags_.name();
  own->is_shared = 1;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    own->field[f] = memory_.own->field[f] = places_[f] = place_of(fields[f]);
    own->steps[f] = steps[f];
    if (own->field[f].segment.descriptor < 0) own->is_shared = 0;
  }
  std::vector<Introduction> introductions(partners.size());
  std::vector<MPI_Request> requests;
  for (std::size_t i = 0; i < partners.size(); ++i) {
    mpi(MPI_Irecv(&introductions[i], sizeof(Introduction), MPI_BYTE, partners[i], window_tag, comm, &requests.emplace_back()));
    mpi(MPI_Isend(own.get(), sizeof(Introduction), MPI_BYTE, partners[i], window_tag, comm, &requests.emplace_back()));
  }
  wait_all(static_cast<int>(requests.size()), requests.data());
  requests.clear();

  // A partner is read where both ends can see each other's flags, and the reader the source's fields.
  std::vector<int> accepts(partners.size());
  std::vector<int> is_accepted(partners.size());
  std::vector<std::vector<Known>> known(partners.size());
  others_.resize(partners.size());
  for (std::size_t i = 0; i < partners.size(); ++i) {
    others_[i] = MappedSegment::map(introductions[i].flags);
    bool sees_fields = introductions[i].is_shared != 0 && own->is_shared != 0;
    for (std::size_t f = 0; f < fields.size() && sees_fields; ++f) {
      const SegmentName& name = introductions[i].field[f].segment;
      if (std::ranges::find(known[i], name.token, &Known::token) != known[i].end()) continue;
      known[i].push_back({name.token, MappedSegment::map(name)});
      sees_fields = known[i].back().segment != nullptr;
    }
    accepts[i] = others_[i] != nullptr && sees_fields ? 1 : 0;
    mpi(MPI_Irecv(&is_accepted[i], 1, MPI_INT, partners[i], accepted_tag, comm, &requests.emplace_back()));
    mpi(MPI_Isend(&accepts[i], 1, MPI_INT, partners[i], accepted_tag, comm, &requests.emplace_back()));
  }
  wait_all(static_cast<int>(requests.size()), requests.data());
  for (std::size_t i = 0; i < partners.size(); ++i) {
    if (accepts[i] == 0 || is_accepted[i] == 0) continue;
    const auto* flags = reinterpret_cast<const WindowFlags*>(others_[i]->data());
    if (std::ranges::binary_search(from, partners[i])) {
      sources_.push_back(
          {partners[i], {introductions[i].steps.begin(), introductions[i].steps.begin() + static_cast<Bytes>(fields.size())}});
      known_.push_back(std::move(known[i]));
      memory_.sources.push_back(flags);
    }
    if (std::ranges::binary_search(to, partners[i])) {
      readers_.push_back(partners[i]);
      memory_.readers.push_back(flags);
    }
  }
  epochs_.emplace(sources_.size(), readers_.size());
}

void HaloWindow::touch(std::span<const HaloMessage> pulls) {
  for (std::size_t source = 0; source < pulls.size(); ++source) {
    for (std::size_t f = 0; f < pulls[source].sections.size(); ++f) {
      const std::byte* from = address(source, f);
      for (const BoxCopy& copy : pulls[source].sections[f].copies) rankwise::touch(copy, from);
    }
  }
}

void HaloWindow::start(std::span<const HaloMessage> pulls, std::span<std::byte* const> fields, std::uint64_t active) {
  pulls_ = pulls;
  active_ = active;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if ((active >> f & 1) == 0) continue;
    if (fields[f] != fields_[f] || places_[f].segment.descriptor < 0) {
      fields_[f] = fields[f];
      places_[f] = place_of(fields[f]);
    }
    // Written only where it has changed: what is written has to come across to every reader.
    if (memory_.own->field[f] != places_[f]) memory_.own->field[f] = places_[f];
  }
  epochs_->begin(memory_);
}

const std::byte* HaloWindow::address(std::size_t source, std::size_t f) {
  const SharedPlace place = memory_.sources[source]->field[f];
  std::vector<Known>& known = known_[source];
  auto segment = std::ranges::find(known, place.segment.token, &Known::token);
  if (segment == known.end()) {
    known.push_back({place.segment.token, MappedSegment::map(place.segment)});
    segment = std::prev(known.end());
  }
  if (!segment->segment) {
    throw std::runtime_error("the memory of rank " + std::to_string(sources_[source].peer) + " cannot be read");
  }
  return segment->segment->data() + place.offset;
}

void HaloWindow::read(std::size_t source) {
  const HaloMessage& message = pulls_[source];
  for (std::size_t f = 0; f < message.sections.size(); ++f) {
    if ((active_ >> f & 1) == 0 || message.sections[f].copies.empty()) continue;
    const std::byte* from = address(source, f);
    for (const BoxCopy& copy : message.sections[f].copies) run(copy, fields_[f], from);
  }
}

bool HaloWindow::advance(bool wait) {
  return poll_until_all(comm_, wait, [this] {
    const std::size_t left = epochs_->left();
    // One look at every source.
    for (std::size_t i = 0; i <= epochs_->sources() && !epochs_->is_over(); ++i) {
      static_cast<void>(epochs_->step(memory_, [this](std::size_t source) { read(source); }));
    }
    return epochs_->is_over() ? Seen::all : epochs_->left() != left ? Seen::some : Seen::nothing;
  });
}

}  // namespace rankwise
