#include "fft/choice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <sstream>

#include "cart/nodes.hpp"
#include "decide/judge.hpp"
#include "fft/library.hpp"
#include "fft/memory.hpp"
#include "grid/names.hpp"
#include "mpi/mpi.hpp"

namespace rankwise {

namespace {

constexpr std::size_t most_tried = 5;
constexpr int least_rounds = 9;
constexpr int most_rounds = 50;
constexpr double least_s = 0.3;  // of trials in all, rounds permitting
constexpr double most_s = 1.0;   // beyond the least rounds
constexpr double all_s = 0.1;    // as long none is left out: a burst of other load may hit all rounds of one
constexpr Index usual_chunks = 8;
// Fields of a node share memory, and what one waits for another is nothing against so much work.
constexpr double most_joined_bytes = 256e3;
constexpr double guessed_flop_per_s = 4e9;  // of a core's FFTs: only weighs slices against none before any is tried
constexpr double gain = 0.97;               // another than the judge's first must be as much quicker

std::string milliseconds(double time_s) { return formatted("%.3g ms", 1e3 * time_s); }

Placement placement_of(MPI_Comm comm) {
  const RankNodes nodes(comm);
  const int ranks = size_of(comm);
  const auto own = static_cast<std::int32_t>(nodes.node());
  std::vector<std::int32_t> of_ranks(static_cast<std::size_t>(ranks));
  mpi(MPI_Allgather(&own, 1, MPI_INT32_T, of_ranks.data(), 1, MPI_INT32_T, comm));
  return Placement::on_nodes(of_ranks);
}

// Of an array of one rank.
double field_bytes_of(const FftQuestion& question, Index ranks) {
  const Decomposition whole{question.n, question.is_real, {1, 1}};
  return static_cast<double>(whole.local_values(0)) / static_cast<double>(ranks) * (question.is_double ? 16.0 : 8.0);
}

// All ways that the question leaves open, in the order in which equals are preferred: the most slabs, the fewest fields
// together.
std::vector<FftVariant> variants_of(const FftQuestion& question, const Placement& placement) {
  const Index ranks = placement.ranks();
  const Decomposition whole{question.n, question.is_real, {1, 1}};
  std::vector<std::array<Index, 2>> grids{question.grid};
  if (question.grid[0] == 0) grids = fft_grids(question.n, whole.complex_points(), ranks);
  if (grids.empty()) grids.push_back(usual_grid(question.n, question.is_real, ranks));
  std::vector<TransposeMethod> methods{TransposeMethod::alltoall, TransposeMethod::pairwise};
  if (placement.nodes() > 1 && placement.most_on_a_node() > 1) methods.push_back(TransposeMethod::node_aware);
  if (question.method) methods = {*question.method};
  if (ranks == 1) methods.resize(1);
  const double field_bytes = field_bytes_of(question, ranks);
  std::vector<Index> together = fft_together(ranks, question.batch, field_bytes);
  if (question.together != 0 && ranks > 1) together = {std::min(question.together, question.batch)};
  std::vector<FftVariant> variants;
  for (const auto& grid : grids) {
    for (const TransposeMethod method : methods) {
      for (const Index fields : together) {
        const bool in_groups = fields < question.batch;
        const bool are_sent = placement.nodes() > 1 || method != TransposeMethod::alltoall;
        if (!are_sent && fields > 1 && question.together == 0 &&
            field_bytes * static_cast<double>(fields) > most_joined_bytes) {
          continue;
        }
        for (const Index in_flight : {Index{1}, Index{2}}) {
          const bool is_asked = question.in_flight == 0 ? in_flight == 1 || (in_groups && placement.nodes() > 1)
                                                        : in_flight == (in_groups ? question.in_flight : 1);
          if (!is_asked) continue;
          std::vector<Index> slices{1};
          if (grid[1] == 1 && ranks > 1 && placement.nodes() > 1 && in_flight == 1) slices.push_back(usual_chunks);
          if (question.chunks != 0) slices = {question.chunks};
          for (const Index chunks : slices) variants.push_back({grid, method, chunks, fields, in_flight});
        }
      }
    }
  }
  return variants;
}

// Those that take the least time by the judge first.
std::vector<FftCandidate> candidates_of(const FftQuestion& question, const Placement& placement, const Machine& machine) {
  const auto ranks = static_cast<double>(placement.ranks());
  const double bytes = field_bytes_of(question, placement.ranks());
  double points = 1.0;
  for (const Index along : question.n) points *= static_cast<double>(along);
  const double local_s = 5.0 * points * std::log2(points + 1.0) / ranks / guessed_flop_per_s;
  const Index passes = question.order == Order::natural ? 2 : 1;
  std::vector<FftCandidate> candidates;
  for (const FftVariant& variant : variants_of(question, placement)) {
    const FftExchanges exchanges{variant.grid,     variant.method,    variant.chunks, question.batch,
                                 variant.together, variant.in_flight, passes};
    candidates.push_back({variant, fft_s(exchanges, bytes, local_s, placement, machine)});
  }
  std::ranges::stable_sort(candidates, {}, &FftCandidate::predicted_s);
  return candidates;
}

constexpr std::size_t variant_width = 6;
using VariantNumbers = std::array<std::int64_t, variant_width>;
VariantNumbers numbers_of(const FftVariant& variant) {
  return {variant.grid[0], variant.grid[1],  static_cast<std::int64_t>(variant.method),
          variant.chunks,  variant.together, variant.in_flight};
}
FftVariant variant_of(const VariantNumbers& numbers) {
  const auto& [p1, p2, method, chunks, together, in_flight] = numbers;
  return {{p1, p2}, static_cast<TransposeMethod>(method), chunks, together, in_flight};
}
bool is_possible(const VariantNumbers& numbers, Index ranks, Index batch) {
  const auto& [p1, p2, method, chunks, together, in_flight] = numbers;
  return p1 >= 1 && p2 >= 1 && p1 <= ranks && p2 <= ranks && p1 * p2 == ranks && method >= 0 && method <= 2 && chunks >= 1 &&
         chunks <= 1024 && together >= 1 && together <= batch && in_flight >= 1 && in_flight <= 2;
}

// A candidate in so many numbers, as ranks hear of it and files keep it; not tried: 0.
constexpr std::size_t candidate_width = variant_width + 2;
void write(std::ostringstream& text, const FftCandidate& candidate) {
  text.precision(std::numeric_limits<double>::max_digits10);
  for (const std::int64_t number : numbers_of(candidate.variant)) text << number << ' ';
  text << candidate.predicted_s << ' ' << candidate.tried_s.value_or(0.0) << '\t';
}
std::vector<FftCandidate> read_candidates(const std::string& line, Index ranks, Index batch) {
  std::istringstream text(line);
  std::vector<FftCandidate> candidates;
  for (std::string part; std::getline(text, part, '\t');) {
    std::istringstream of_part(part);
    VariantNumbers numbers{};
    FftCandidate candidate;
    double tried_s = 0.0;
    for (std::int64_t& number : numbers) of_part >> number;
    if (!(of_part >> candidate.predicted_s >> tried_s) || !is_possible(numbers, ranks, batch)) return {};
    candidate.variant = variant_of(numbers);
    if (tried_s > 0.0) candidate.tried_s = tried_s;
    candidates.push_back(candidate);
  }
  return candidates;
}

// The candidates as the first rank sees them, on all ranks.
std::vector<FftCandidate> agreed_candidates(MPI_Comm comm, const FftQuestion& question, const Placement& placement,
                                            const Machine& machine) {
  std::string failed;
  std::ostringstream lines;
  if (rank_of(comm) == 0) {
    try {
      for (const FftCandidate& candidate : candidates_of(question, placement, machine)) write(lines, candidate);
    } catch (const std::exception& error) {
      failed = error.what();
    }
  }
  share_text(comm, failed);
  if (!failed.empty()) invalid(failed);
  std::string text = lines.str();
  share_text(comm, text);
  return read_candidates(text, placement.ranks(), question.batch);
}

// What names a choice that was made by trials, on one line: on another machine, MPI, library or question it does not hold.
std::string key_of(const FftQuestion& question, const FftLibrary& library, const Placement& placement) {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
  int length = 0;
  mpi(MPI_Get_library_version(version.data(), &length));
  std::string key = library.version() + " ";
  for (const char* c = version.data(); *c != '\0' && *c != '\n'; ++c) key += *c == '\t' ? ' ' : *c;
  for (const Index points : question.n) key += " " + std::to_string(points);
  for (const Index number : {Index{question.is_real}, Index{question.is_double}, Index{question.order == Order::natural},
                             static_cast<Index>(question.planning), question.chunks, question.grid[0], question.grid[1],
                             question.method ? 1 + static_cast<Index>(*question.method) : 0, question.batch, question.together,
                             question.in_flight, Index{question.in_place}}) {
    key += " " + std::to_string(number);
  }
  key += " on";
  Index count = 0;
  for (Index rank = 0; rank < placement.ranks(); ++rank) {
    ++count;
    if (rank + 1 < placement.ranks() && placement.node(rank + 1) == placement.node(rank)) continue;
    key += " " + std::to_string(placement.node(rank)) + "x" + std::to_string(count);
    count = 0;
  }
  return key;
}

// Lines of a key and a tab, then the candidates that were tried, the chosen one first.
constexpr const char* choices_file = "choices";

// What was tried before, as all ranks hear it from the first; nothing where none was kept.
std::vector<FftCandidate> kept_trials(MPI_Comm comm, const std::string& key, Index ranks, Index batch) {
  std::string found;
  if (rank_of(comm) == 0) {
    std::istringstream text(read_file(knowledge_file(choices_file)));
    for (std::string line; std::getline(text, line);) {
      if (line.starts_with(key + "\t")) found = line.substr(key.size() + 1);
    }
  }
  share_text(comm, found);
  return read_candidates(found, ranks, batch);
}

void keep_trials(const std::string& key, const FftCandidate& chosen, const std::vector<FftCandidate>& candidates) {
  const std::string path = knowledge_file(choices_file);
  if (path.empty()) return;
  std::istringstream text(read_file(path));
  std::ostringstream kept;
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with(key + "\t")) kept << line << '\n';
  }
  kept << key << '\t';
  write(kept, chosen);
  for (const FftCandidate& candidate : candidates) {
    if (candidate.tried_s && candidate.variant != chosen.variant) write(kept, candidate);
  }
  kept << '\n';
  replace_file(path, kept.str());
}

std::string times_of(const std::vector<FftCandidate>& candidates) {
  std::string text;
  for (const FftCandidate& candidate : candidates) {
    if (!candidate.tried_s) continue;
    text += (text.empty() ? " " : "; ") + to_string(candidate.variant) + " " + milliseconds(*candidate.tried_s);
  }
  return text;
}

// Those that are tried, the judge's first at the front. Among those that it can hardly tell apart one of each number of
// fields together comes first: what these do to caches it does not know.
std::vector<FftCandidate> shortlist_of(const std::vector<FftCandidate>& candidates) {
  std::vector<FftCandidate> shortlist;
  const auto take = [&](auto is_wanted) {
    for (const FftCandidate& candidate : candidates) {
      const bool is_in = std::ranges::find(shortlist, candidate.variant, &FftCandidate::variant) != shortlist.end();
      if (shortlist.size() < most_tried && !is_in && is_wanted(candidate)) shortlist.push_back(candidate);
    }
  };
  take([&](const FftCandidate& candidate) {
    return gain * candidate.predicted_s <= candidates.front().predicted_s &&
           std::ranges::none_of(shortlist,
                                [&](const FftCandidate& one) { return one.variant.together == candidate.variant.together; });
  });
  take([](const FftCandidate&) { return true; });
  return shortlist;
}

// Memory for batches, as callers have it, where that is little.
class TrialMemory {
 public:
  TrialMemory(MPI_Comm comm, const FftQuestion& question, const std::vector<FftCandidate>& candidates)
      : stride_(0),
        line_(question.is_real && question.in_place ? 2 * Decomposition{question.n, true}.complex_points() : question.n[2]) {
    for (const FftCandidate& candidate : candidates) {
      const Decomposition d{question.n, question.is_real, candidate.variant.grid};
      stride_ = std::max(stride_, static_cast<std::size_t>(d.local_values(rank_of(comm))) * (question.is_double ? 16 : 8));
    }
    const std::size_t bytes = stride_ * static_cast<std::size_t>(question.batch);
    if (!is_little(comm, (question.in_place ? 1 : 2) * bytes)) return;
    from_.emplace(bytes, std::nothrow);
    if (!question.in_place) into_.emplace(bytes, std::nothrow);
  }
  [[nodiscard]] bool is_there() const { return from_ && from_->is_there() && (!into_ || into_->is_there()); }
  [[nodiscard]] FftMemory memory() const {
    return {from_->as<std::byte>(), (into_ ? *into_ : *from_).as<std::byte>(), stride_, stride_, line_, 1.0};
  }

 private:
  std::size_t stride_;
  Index line_;
  std::optional<Buffer> from_, into_;
};

void note_times(std::vector<FftCandidate>& candidates, const std::vector<FftCandidate>& tried) {
  for (const FftCandidate& one : tried) {
    const auto same = std::ranges::find(candidates, one.variant, &FftCandidate::variant);
    if (same != candidates.end()) same->tried_s = one.tried_s;
  }
}

struct Trial {
  FftCandidate* of;
  std::unique_ptr<FftBatch> batch;
  [[nodiscard]] double least_s() const { return of->tried_s.value_or(std::numeric_limits<double>::max()); }
};

// Plans that take turns. Those left out get no memory, or the library cannot.
double try_them(MPI_Comm comm, const FftQuestion& question, const FftLibrary& library, std::vector<FftCandidate>& candidates) {
  const TrialMemory memory(comm, question, candidates);
  if (!by_all(comm, memory.is_there())) return 0.0;
  std::vector<Trial> trials;
  for (FftCandidate& candidate : candidates) {
    try {
      trials.push_back({&candidate, std::make_unique<FftBatch>(comm, question, candidate.variant, FftBricks{}, library)});
    } catch (const MpiError&) {
      throw;
    } catch (const std::exception&) {  // alike on all ranks
      continue;
    }
  }
  double spent_s = 0.0;
  for (int round = 0; !trials.empty() && (round < least_rounds || (spent_s < least_s && round < most_rounds)); ++round) {
    if (round > 1 && spent_s > most_s) break;
    for (std::size_t turn = 0; turn < trials.size(); ++turn) {
      // Who begins changes.
      Trial& trial = trials[(turn + static_cast<std::size_t>(round)) % trials.size()];
      Stages stages;
      trial.batch->add(stages, Direction::forward, memory.memory());
      mpi(MPI_Barrier(comm));
      const double start_s = steady_s();
      stages.run();
      const double time_s = most_of(comm, steady_s() - start_s);
      spent_s += time_s;
      trial.of->tried_s = std::min(trial.least_s(), time_s);
    }
    if (spent_s < all_s) continue;
    const double best_s = std::ranges::min_element(trials, {}, &Trial::least_s)->least_s();
    // The judge's first stays: a burst of other load must not decide.
    const double lost = round < 4 ? 2.0 : 1.25;
    std::erase_if(trials, [&](const Trial& trial) {
      return round > 0 && trial.least_s() > lost * best_s && trial.of != &candidates.front();
    });
  }
  return spent_s;
}

}  // namespace

FftChoice choose_fft(MPI_Comm comm, const FftQuestion& question, const FftLibrary& library, const Machine& machine,
                     const std::string& source, bool with_trials) {
  const Placement placement = placement_of(comm);
  FftChoice choice{{}, "nothing to choose", agreed_candidates(comm, question, placement, machine)};
  std::vector<FftCandidate>& candidates = choice.candidates;
  choice.variant = candidates.front().variant;
  if (candidates.size() == 1) return choice;
  std::string key;
  if (with_trials) {
    key = key_of(question, library, placement);
    const std::vector<FftCandidate> kept = kept_trials(comm, key, placement.ranks(), question.batch);
    if (!kept.empty()) {
      choice.variant = kept.front().variant;
      choice.is_kept = true;
      choice.why = "kept from trials before, least times:" + times_of(kept);
      note_times(candidates, kept);
      return choice;
    }
  }
  std::vector<FftCandidate> shortlist = shortlist_of(candidates);
  choice.why = "by " + source + ", local work guessed:";
  for (const FftCandidate& candidate : shortlist) {
    choice.why += (&candidate == &shortlist.front() ? " " : "; ") + to_string(candidate.variant) + " " +
                  milliseconds(candidate.predicted_s);
  }
  if (!with_trials) return choice;
  const double spent_s = try_them(comm, question, library, shortlist);
  note_times(candidates, shortlist);
  const FftCandidate* chosen = nullptr;
  for (const FftCandidate& candidate : shortlist) {
    if (candidate.tried_s && (chosen == nullptr || *candidate.tried_s < gain * *chosen->tried_s)) chosen = &candidate;
  }
  if (chosen == nullptr) return choice;  // what is in the way of all is reported when the plan makes its own
  choice.variant = chosen->variant;
  choice.why += "; tried for " + milliseconds(spent_s) + ", least times:" + times_of(shortlist);
  if (rank_of(comm) == 0) keep_trials(key, *chosen, shortlist);
  return choice;
}

}  // namespace rankwise
