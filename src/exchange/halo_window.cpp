#include "exchange/halo_window.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

#include "exchange/look.hpp"
#include "mpi/error.hpp"
#include "mpi/wait.hpp"

namespace rankwise {

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
  std::vector<Introduction> told(partners.size());
  std::vector<MPI_Request> requests;
  for (std::size_t i = 0; i < partners.size(); ++i) {
    mpi(MPI_Irecv(&told[i], sizeof(Introduction), MPI_BYTE, partners[i], window_tag, comm, &requests.emplace_back()));
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
    others_[i] = MappedSegment::map(told[i].flags);
    bool sees_fields = told[i].is_shared != 0 && own->is_shared != 0;
    for (std::size_t f = 0; f < fields.size() && sees_fields; ++f) {
      const SegmentName& name = told[i].field[f].segment;
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
      sources_.push_back({partners[i], {told[i].steps.begin(), told[i].steps.begin() + static_cast<Bytes>(fields.size())}});
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
  return look_until_all(comm_, wait, [this] {
    const std::size_t left = epochs_->left();
    // One look at every source.
    for (std::size_t i = 0; i <= epochs_->sources() && !epochs_->is_over(); ++i) {
      static_cast<void>(epochs_->step(memory_, [this](std::size_t source) { read(source); }));
    }
    return epochs_->is_over() ? Seen::all : epochs_->left() != left ? Seen::some : Seen::nothing;
  });
}

}  // namespace rankwise
