// Proves halos: the messages of all ranks meet and nobody waits for ever; both ends of each mean the same elements in the
// same order; every element of every halo is written exactly once, with what belongs there, and no owned one is; on the way
// back every element of a halo contributes exactly once to its owner.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "halo/halo.hpp"
#include "schedule/check.hpp"

namespace rankwise {

// The messages of a halo as a schedule: a slot for every message, first those sent, then those received, stage by stage.
inline RankSchedule halo_schedule(const Halo& halo) {
  RankSchedule schedule;
  const auto add = [&](Step& step, const std::vector<HaloMessage>& messages, Op::Kind kind) {
    for (const HaloMessage& message : messages) {
      Op op;
      op.kind = kind;
      op.peer = message.peer;
      op.slots = {{schedule.slots++, 1}};
      step.ops.push_back(std::move(op));
    }
  };
  for (const HaloStage& stage : halo.stages) {
    Step& step = schedule.steps.emplace_back();
    add(step, stage.sends, Op::Kind::send);
    add(step, stage.receives, Op::Kind::recv);
  }
  return schedule;
}

// Of each of its slots: bytes.
inline std::vector<std::size_t> halo_slot_bytes(const Halo& halo) {
  std::vector<std::size_t> bytes;
  for (const HaloStage& stage : halo.stages) {
    for (const HaloMessage& message : stage.sends) bytes.push_back(message.bytes());
    for (const HaloMessage& message : stage.receives) bytes.push_back(message.bytes());
  }
  return bytes;
}

namespace {

constexpr std::size_t most_findings = 10;
constexpr std::size_t element = sizeof(Index);

std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

// One field of one rank with its halo, as numbers.
struct Memory {
  BoxCells lower{};       // widths before the first owned element
  BoxCells whole{};       // extent with the halo
  std::size_t first = 0;  // the first owned element
  std::vector<Index> values;
  std::vector<int> writes;
  [[nodiscard]] std::byte* origin() { return reinterpret_cast<std::byte*>(values.data() + first); }
};

// Where the axes of a field lie in the whole, from the extents of all ranks.
class Globe {
 public:
  Globe(const std::vector<HaloSpec>& specs, std::size_t f)
      : grid_(specs.front().grid), fields_(static_cast<Index>(specs.front().fields.size())), field_(static_cast<Index>(f)) {
    for (int axis = 0; axis < grid_.ndim(); ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      std::vector<Index> starts{0};
      Index overlap = 0;
      for (Index c = 0; c < grid_.dim(axis); ++c) {
        Coords coords(static_cast<std::size_t>(grid_.ndim()), 0);
        coords[a] = c;
        const HaloField& field = specs[static_cast<std::size_t>(grid_.cell(coords))].fields[f];
        overlap = field.lines[a].overlap;
        starts.push_back(starts.back() + field.extent[a] - overlap);
      }
      starts_.push_back(std::move(starts));
      overlap_.push_back(overlap);
    }
  }
  // The number of the element at a place of a rank's box, another in every field; -1 beyond an open border.
  [[nodiscard]] Index number(const HaloField& field, const Coords& coords, const BoxCells& place, bool* is_own) const {
    Index number = 0;
    *is_own = true;
    for (int axis = 0; axis < field.ndim; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      if (axis >= grid_.ndim()) {
        number = number * field.extent[a] + place[a];
        continue;
      }
      *is_own = *is_own && place[a] >= 0 && place[a] < field.extent[a];
      // An open axis ends with the points that neighbours would share; a periodic one closes on them.
      const Index length = starts_[a].back() + (grid_.periodic(axis) ? 0 : overlap_[a]);
      Index at = starts_[a][static_cast<std::size_t>(coords[a])] + place[a];
      if (grid_.periodic(axis)) at = ((at % length) + length) % length;
      if (at < 0 || at >= length) return -1;
      number = number * length + at;
    }
    return number * fields_ + field_;
  }

 private:
  Grid grid_;
  Index fields_;
  Index field_;
  std::vector<std::vector<Index>> starts_;
  std::vector<Index> overlap_;
};

class Checker {
 public:
  Checker(const std::vector<HaloSpec>& specs, const std::vector<Halo>& halos) : specs_(specs), halos_(halos) {}

  std::vector<std::string> run() {
    for (std::string& finding : check_messages()) add(std::move(finding));
    check_ranges();
    if (!findings_.empty()) return findings_;  // what does not meet, or leaves its memory, cannot be followed
    for (std::size_t f = 0; f < specs_.front().fields.size(); ++f) {
      globes_.emplace_back(specs_, f);
    }
    check_forward();
    check_back();
    return findings_;
  }

 private:
  void add(std::string finding) {
    if (findings_.size() < most_findings) findings_.push_back(std::move(finding));
  }
  [[nodiscard]] std::size_t fields() const { return specs_.front().fields.size(); }

  // The messages as blocks, numbered by sender, receiver and stage.
  [[nodiscard]] std::vector<std::string> check_messages() {
    std::vector<RankSchedule> schedules;
    std::vector<std::vector<Index>> held;
    std::vector<std::vector<Index>> expected;
    const auto ranks = static_cast<Index>(specs_.size());
    std::map<Index, std::size_t> bytes_of;
    for (std::size_t r = 0; r < halos_.size(); ++r) {
      const auto rank = static_cast<Index>(r);
      schedules.push_back(halo_schedule(halos_[r]));
      held.emplace_back();
      expected.emplace_back();
      Index stage_number = 0;
      for (const HaloStage& stage : halos_[r].stages) {
        const auto block = [&](Index from, Index to) { return (stage_number * ranks + from) * ranks + to; };
        for (const HaloMessage& message : stage.sends) {
          if (message.peer == rank) add("rank " + std::to_string(rank) + " sends to itself");
          held.back().push_back(block(rank, message.peer));
          expected.back().push_back(-1);
          bytes_of[held.back().back()] = message.bytes();
        }
        for (const HaloMessage& message : stage.receives) {
          held.back().push_back(-1);
          expected.back().push_back(block(message.peer, rank));
        }
        ++stage_number;
      }
    }
    std::vector<std::string> findings = check_delivery(schedules, held, expected);
    for (std::size_t r = 0; r < halos_.size(); ++r) {
      std::size_t slot = 0;
      for (const std::size_t bytes : halo_slot_bytes(halos_[r])) {
        const Index block = expected[r][slot++];
        if (block < 0 || !bytes_of.contains(block) || bytes_of[block] == bytes) continue;
        findings.push_back("rank " + std::to_string(r) + " expects " + std::to_string(bytes) + " B of a message of " +
                           std::to_string(bytes_of[block]) + " B");
      }
    }
    return findings;
  }

  // The bytes that one side of a copy touches, from its origin on: the first one and the one after the last.
  struct Touched {
    Bytes first, end;
  };
  [[nodiscard]] static Touched touched(const BoxCopy& copy, bool source) {
    Touched found{source ? copy.from : copy.into, source ? copy.from : copy.into};
    for (int i = 0; i < copy.loops; ++i) {
      const BoxCopy::Loop& loop = copy.loop[static_cast<std::size_t>(i)];
      const Bytes last = (loop.count - 1) * (source ? loop.from : loop.into);
      (last < 0 ? found.first : found.end) += last;
    }
    found.end += static_cast<Bytes>(copy.row_bytes);
    return found;
  }

  // Every copy stays in its field and in its section of a message.
  void check_ranges() {
    for (std::size_t r = 0; r < specs_.size(); ++r) {
      std::vector<Touched> held;
      for (const HaloField& field : specs_[r].fields) {
        const Memory memory = memory_of(specs_[r], field);
        const auto before = static_cast<Bytes>(memory.first * element);
        held.push_back({-before, static_cast<Bytes>(memory.values.size() * element) - before});
      }
      const auto within = [&](const Touched& all, const Touched& some) {
        if (some.first >= all.first && some.end <= all.end) return;
        add("rank " + std::to_string(r) + ": a copy leaves the memory of its field or message");
      };
      const auto check_message = [&](const HaloMessage& message, bool sends) {
        for (std::size_t f = 0; f < message.sections.size(); ++f) {
          for (const BoxCopy& copy : message.sections[f].copies) {
            within(held[f], touched(copy, sends));
            within({0, static_cast<Bytes>(message.sections[f].bytes)}, touched(copy, !sends));
          }
        }
      };
      const auto check_pull = [&](const HaloMessage& message) {
        const auto peer = static_cast<std::size_t>(message.peer);
        for (std::size_t f = 0; f < message.sections.size(); ++f) {
          const Memory source = memory_of(specs_[peer], specs_[peer].fields[f]);
          const auto before = static_cast<Bytes>(source.first * element);
          for (const BoxCopy& copy : message.sections[f].copies) {
            within({-before, static_cast<Bytes>(source.values.size() * element) - before}, touched(copy, true));
            within(held[f], touched(copy, false));
          }
        }
      };
      const auto check_stage = [&](const HaloStage& stage) {
        for (const HaloMessage& message : stage.sends) check_message(message, true);
        for (const HaloMessage& message : stage.receives) check_message(message, false);
        for (const HaloMessage& message : stage.pulls) check_pull(message);
        for (std::size_t f = 0; f < stage.local.size(); ++f) {
          for (const BoxCopy& copy : stage.local[f]) {
            within(held[f], touched(copy, true));
            within(held[f], touched(copy, false));
          }
        }
      };
      for (const HaloStage& stage : halos_[r].stages) check_stage(stage);
      check_stage(halos_[r].back);
    }
  }

  // Calls each(place, value index) for all elements of a field with its halo.
  template <class Each>
  void each_place(const Memory& memory, int ndim, Each each) const {
    BoxCells at{};
    for (std::size_t i = 0; i < memory.values.size(); ++i) {
      BoxCells place{};
      for (int axis = 0; axis < ndim; ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        place[a] = at[a] - memory.lower[a];
      }
      each(place, i);
      for (int axis = ndim; axis-- > 0;) {
        const auto a = static_cast<std::size_t>(axis);
        if (++at[a] < memory.whole[a]) break;
        at[a] = 0;
      }
    }
  }

  [[nodiscard]] Memory memory_of(const HaloSpec& spec, const HaloField& field) const {
    Memory memory;
    std::size_t volume = 1;
    std::size_t first = 0;
    for (int axis = 0; axis < field.ndim; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      const bool in_grid = axis < spec.grid.ndim();
      memory.lower[a] = in_grid ? spec.lower[a] : 0;
      memory.whole[a] = memory.lower[a] + field.extent[a] + (in_grid ? spec.upper[a] : 0);
      volume *= static_cast<std::size_t>(memory.whole[a]);
      first = first * static_cast<std::size_t>(memory.whole[a]) + static_cast<std::size_t>(memory.lower[a]);
    }
    memory.first = first;
    memory.values.assign(volume, -1);
    memory.writes.assign(volume, 0);
    return memory;
  }

  // Elements written are counted; what comes is kept.
  void write(Memory& memory, const BoxCopy& copy, const std::byte* from) {
    each_row(copy, memory.origin(), from, [&](std::byte* into, const std::byte* source, std::size_t bytes) {
      const std::ptrdiff_t at = into - reinterpret_cast<std::byte*>(memory.values.data());
      std::memcpy(into, source, bytes);
      for (std::size_t i = 0; i < bytes / element; ++i) ++memory.writes[static_cast<std::size_t>(at) / element + i];
    });
  }

  template <class Each>
  static void each_section(const HaloMessage& message, Each each) {
    std::size_t start = 0;
    for (std::size_t f = 0; f < message.sections.size(); ++f) {
      each(f, message.sections[f], start);
      start += message.sections[f].bytes;
    }
  }

  using Buffers = std::map<std::pair<Index, Index>, std::vector<std::byte>>;

  Buffers pack(const std::vector<const HaloStage*>& stages) {
    Buffers buffers;
    for (std::size_t r = 0; r < stages.size(); ++r) {
      for (const HaloMessage& message : stages[r]->sends) {
        std::vector<std::byte>& buffer = buffers[{static_cast<Index>(r), message.peer}];
        buffer.resize(message.bytes());
        each_section(message, [&](std::size_t f, const HaloSection& section, std::size_t start) {
          for (const BoxCopy& copy : section.copies) rankwise::run(copy, buffer.data() + start, memory_[r][f].origin());
        });
      }
    }
    return buffers;
  }

  void check_forward() {
    memory_.clear();
    for (const HaloSpec& spec : specs_) {
      memory_.emplace_back();
      const Coords coords = spec.grid.coords(spec.rank);
      for (std::size_t f = 0; f < fields(); ++f) {
        Memory memory = memory_of(spec, spec.fields[f]);
        each_place(memory, spec.fields[f].ndim, [&](const BoxCells& place, std::size_t i) {
          bool is_own = false;
          const Index number = globes_[f].number(spec.fields[f], coords, place, &is_own);
          if (is_own) memory.values[i] = number;
        });
        memory_.back().push_back(std::move(memory));
      }
    }
    for (std::size_t s = 0; s < halos_.front().stages.size(); ++s) {
      std::vector<const HaloStage*> stages;
      for (const Halo& halo : halos_) stages.push_back(&halo.stages[s]);
      Buffers buffers = pack(stages);
      for (std::size_t r = 0; r < stages.size(); ++r) {
        for (std::size_t f = 0; f < fields(); ++f) {
          for (const BoxCopy& copy : stages[r]->local[f]) write(memory_[r][f], copy, memory_[r][f].origin());
        }
        for (const HaloMessage& message : stages[r]->pulls) {
          for (std::size_t f = 0; f < fields(); ++f) {
            std::byte* from = memory_[static_cast<std::size_t>(message.peer)][f].origin();
            for (const BoxCopy& copy : message.sections[f].copies) write(memory_[r][f], copy, from);
          }
        }
        for (const HaloMessage& message : stages[r]->receives) {
          const std::vector<std::byte>& buffer = buffers[{message.peer, static_cast<Index>(r)}];
          each_section(message, [&](std::size_t f, const HaloSection& section, std::size_t start) {
            for (const BoxCopy& copy : section.copies) write(memory_[r][f], copy, buffer.data() + start);
          });
        }
      }
    }
    compare_forward();
  }

  void compare_forward() {
    for (std::size_t r = 0; r < specs_.size(); ++r) {
      const HaloSpec& spec = specs_[r];
      const Coords coords = spec.grid.coords(spec.rank);
      for (std::size_t f = 0; f < fields(); ++f) {
        const HaloField& field = spec.fields[f];
        const Memory& memory = memory_[r][f];
        each_place(memory, field.ndim, [&](const BoxCells& place, std::size_t i) {
          bool is_own = false;
          Index expected = globes_[f].number(field, coords, place, &is_own);
          if (!spec.corners && outside(spec, field, place) > 1) expected = -1;
          const int writes = is_own || expected < 0 ? 0 : 1;
          if (memory.values[i] == expected && memory.writes[i] == writes) return;
          std::string where;
          for (int axis = 0; axis < field.ndim; ++axis) where += " " + std::to_string(place[static_cast<std::size_t>(axis)]);
          add("rank " + std::to_string(r) + ", field " + std::to_string(f) + ", element" + where + " is written " +
              std::to_string(memory.writes[i]) + " times with " + std::to_string(memory.values[i]) + ", not " +
              std::to_string(writes) + " times with " + std::to_string(expected));
        });
      }
    }
  }

  // On how many axes a place lies beyond the owned elements.
  [[nodiscard]] static int outside(const HaloSpec& spec, const HaloField& field, const BoxCells& place) {
    int axes = 0;
    for (int axis = 0; axis < spec.grid.ndim(); ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      if (place[a] < 0 || place[a] >= field.extent[a]) ++axes;
    }
    return axes;
  }

  // Ghosts hold random numbers: sums that agree leave no contribution out and take none twice.
  void check_back() {
    std::vector<std::map<Index, std::uint64_t>> expected(fields());
    for (std::size_t r = 0; r < specs_.size(); ++r) {
      const HaloSpec& spec = specs_[r];
      const Coords coords = spec.grid.coords(spec.rank);
      for (std::size_t f = 0; f < fields(); ++f) {
        Memory& memory = memory_[r][f];
        each_place(memory, spec.fields[f].ndim, [&](const BoxCells& place, std::size_t i) {
          bool is_own = false;
          const Index number = globes_[f].number(spec.fields[f], coords, place, &is_own);
          memory.values[i] = 0;
          if (number < 0 || is_own || (!spec.corners && outside(spec, spec.fields[f], place) > 1)) return;
          const std::uint64_t mark = mixed((r * 64 + f) * 0x1000003 + i);
          memory.values[i] = static_cast<Index>(mark);
          expected[f][number] += mark;
        });
      }
    }
    std::vector<const HaloStage*> stages;
    for (const Halo& halo : halos_) stages.push_back(&halo.back);
    const Buffers buffers = pack(stages);
    const auto sum = [](std::byte* into, const std::byte* from, std::size_t bytes) {
      for (std::size_t i = 0; i < bytes; i += element) {
        std::uint64_t a = 0;
        std::uint64_t b = 0;
        std::memcpy(&a, into + i, element);
        std::memcpy(&b, from + i, element);
        a += b;
        std::memcpy(into + i, &a, element);
      }
    };
    for (std::size_t r = 0; r < stages.size(); ++r) {
      for (std::size_t f = 0; f < fields(); ++f) {
        for (const BoxCopy& copy : stages[r]->local[f]) each_row(copy, memory_[r][f].origin(), memory_[r][f].origin(), sum);
      }
      for (const HaloMessage& message : stages[r]->receives) {
        const auto found = buffers.find({message.peer, static_cast<Index>(r)});
        if (found == buffers.end() || found->second.size() != message.bytes()) {
          add("way back: rank " + std::to_string(r) + " waits for " + std::to_string(message.bytes()) + " B of rank " +
              std::to_string(message.peer) + " that do not come");
          return;
        }
        each_section(message, [&](std::size_t f, const HaloSection& section, std::size_t start) {
          for (const BoxCopy& copy : section.copies) {
            each_row(copy, memory_[r][f].origin(), found->second.data() + start, sum);
          }
        });
      }
    }
    compare_back(std::move(expected));
  }

  void compare_back(std::vector<std::map<Index, std::uint64_t>> expected) {
    for (std::size_t r = 0; r < specs_.size(); ++r) {
      const HaloSpec& spec = specs_[r];
      const Coords coords = spec.grid.coords(spec.rank);
      for (std::size_t f = 0; f < fields(); ++f) {
        each_place(memory_[r][f], spec.fields[f].ndim, [&](const BoxCells& place, std::size_t i) {
          bool is_own = false;
          const Index number = globes_[f].number(spec.fields[f], coords, place, &is_own);
          if (is_own) expected[f][number] -= static_cast<std::uint64_t>(memory_[r][f].values[i]);
        });
      }
    }
    for (std::size_t f = 0; f < fields(); ++f) {
      for (const auto& [number, left] : expected[f]) {
        if (left != 0) add("way back: element " + std::to_string(number) + " gets another sum");
      }
    }
  }

  const std::vector<HaloSpec>& specs_;
  const std::vector<Halo>& halos_;
  std::vector<Globe> globes_;
  std::vector<std::vector<Memory>> memory_;  // of each rank and field
  std::vector<std::string> findings_;
};

}  // namespace

// What is wrong, one sentence each, the first few; empty when the halos (made for the specs of all ranks, or altered since)
// are right. Every element is followed through the copies, so fields must be of 8 bytes an element, in memory without
// gaps beyond their halo (see dense_steps).
inline std::vector<std::string> check_halos(const std::vector<HaloSpec>& specs, const std::vector<Halo>& halos) {
  return Checker(specs, halos).run();
}

// BoxSteps of a field of 8-byte elements that lies in memory with its halo and nothing else, the last axis fastest.
inline BoxSteps dense_steps(const HaloSpec& spec, const HaloField& field) {
  BoxSteps steps{};
  auto step = static_cast<Bytes>(element);
  for (int axis = field.ndim; axis-- > 0;) {
    const auto a = static_cast<std::size_t>(axis);
    steps[a] = step;
    step *= field.extent[a] + (axis < spec.grid.ndim() ? spec.lower[a] + spec.upper[a] : 0);
  }
  return steps;
}

}  // namespace rankwise
