#include "decide/contest.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "schedule/algorithms.hpp"

namespace rankwise {

namespace {

// Equals are ranked in these orders: the simplest first, a program's own messages before MPI's way of sending them.
constexpr std::array first_of_equals{"direct", "comb", "shift"};
constexpr std::array mode_order{SendMode::isend, SendMode::persistent, SendMode::isend_self, SendMode::send, SendMode::ssend};
constexpr std::array<Index, 3> usual_replications{2, 4, 8};

template <class Value, class Order>
bool asked(const std::vector<Value>& list, const Order& value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

ExchangeSpec spec_of(const Question& question, const Candidate& candidate) {
  const Grid& grid = question.grid;
  ExchangeSpec spec = make_spec(candidate.algorithm, candidate.mode, grid.dims(), grid.periodic(), question.cutoff,
                                question.shell, candidate.replication);
  if (exchange_algorithm(candidate.algorithm).needs_nodes) spec.nodes = question.nodes;
  return spec;
}

// Why a candidate does not fit; empty when it does.
std::string misfit(const Question& question, const Candidate& candidate) {
  try {
    check_spec(spec_of(question, candidate));
    return "";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

// Persistent requests and MPI's collective cost what isend costs, as far as the model knows.
Candidate costed_as(Candidate candidate) {
  if (candidate.mode == SendMode::persistent) candidate.mode = SendMode::isend;
  candidate.algorithm = exchange_algorithm(candidate.algorithm).costed_as;
  return candidate;
}

// Whether the schedules of a node's ranks are made in some milliseconds, and there is anything to gain from knowing nodes.
bool is_quick_on_nodes(const Question& question) {
  constexpr Index most_slots = 20'000;
  if (!question.nodes.is_known() || question.shell == Shell::all_pairs) return false;
  const Index of_node = question.nodes.members(question.nodes.node_of(question.grid.size() / 2));
  return Window(question.cutoff, question.shell).slots() * of_node <= most_slots;
}

// Whether ranks have so many partners that messages to one after the other are never the best.
bool has_many_partners(const Question& question) {
  constexpr Index most_slots = 20'000;
  return Window(question.cutoff, question.shell).slots() > most_slots;
}

std::vector<std::string> in_order() {
  std::vector<std::string> ids(first_of_equals.begin(), first_of_equals.end());
  for (const ExchangeAlgorithm& algorithm : exchange_algorithms()) {
    if (std::find(ids.begin(), ids.end(), algorithm.id) == ids.end()) ids.emplace_back(algorithm.id);
  }
  return ids;
}

}  // namespace

std::vector<Candidate> candidates(const Question& question) {
  for (const std::string& algorithm : question.algorithms) {
    static_cast<void>(why_not(algorithm, SendMode::isend, question.shell));  // refuses unknown names
  }
  std::vector<Candidate> found;
  std::string first_misfit;
  for (const std::string& algorithm : in_order()) {
    if (!asked(question.algorithms, algorithm)) continue;
    const bool teams = exchange_algorithm(algorithm).has_teams;
    // Ranks that have a node each, or all one, have nothing to gain from knowing it.
    const bool knows_nodes = exchange_algorithm(algorithm).needs_nodes;
    if (knows_nodes && question.algorithms.empty() && !is_quick_on_nodes(question)) continue;
    std::vector<Index> replications{1};
    if (teams) replications = question.replications;
    if (teams && replications.empty()) replications.assign(usual_replications.begin(), usual_replications.end());
    for (const SendMode mode : mode_order) {
      if (!asked(question.modes, mode)) continue;
      // One message after the other they are never the best, and priced worst.
      const bool of_each = !exchange_algorithm(algorithm).by_axis && !teams && has_many_partners(question);
      if ((knows_nodes || of_each) && question.modes.empty() && is_blocking(mode)) continue;
      for (const Index c : replications) {
        const Candidate candidate{algorithm, mode, c};
        const std::string why = misfit(question, candidate);
        if (why.empty()) {
          found.push_back(candidate);
        } else if (first_misfit.empty()) {
          first_misfit = why;
        }
      }
    }
  }
  if (found.empty()) invalid(first_misfit);
  return found;
}

Contest::Contest(Question question, const Placement& placement, std::function<void()> between) : between_(std::move(between)) {
  const Layout layout(question.grid, placement, between_);
  const bool shared_nodes = placement.nodes() > 1 && placement.nodes() < placement.ranks();
  if (shared_nodes || !question.algorithms.empty()) question.nodes = nodes_of(placement);
  Walks walks(layout);
  std::map<std::string, std::size_t> numbers;
  for (const Candidate& candidate : candidates(question)) {
    const Candidate costed = costed_as(candidate);
    const auto [known, added] = numbers.try_emplace(to_string(costed), walks_.size());
    if (added) between_();
    if (added) walks_.push_back(walks.of(spec_of(question, costed)));
    entries_.push_back({candidate, known->second});
  }
}

namespace {

Ranked ranked_by(const Candidate& candidate, const Walk& walk, Index block_bytes, const Cost& cost) {
  return {candidate,    cost.time_s(), cost.low_s, cost.high_s, 0.0, cost.messages_per_rank, cost.blocks_per_rank * block_bytes,
          walk.steps(), cost.busiest};
}

// By picoseconds, so that what costs the same stays in order whatever was rounded.
bool is_faster(const Ranked& a, const Ranked& b) { return std::llround(1e12 * a.time_s) < std::llround(1e12 * b.time_s); }

// The best is the first named of those that take so much longer than the fastest at most: less is not told apart.
constexpr double told_apart = 1.001;
constexpr double picosecond_s = 1e-12;
double as_fast_s(double fastest_s) { return told_apart * fastest_s + picosecond_s; }
// What one takes at most next to which another is not as fast.
double faster_s(double time_s) { return (time_s - picosecond_s) / told_apart; }

}  // namespace

std::vector<Ranked> Contest::priced(Index block_bytes, const Machine& machine) const {
  std::vector<Ranked> of_walk;
  for (const Walk& walk : walks_) {
    between_();
    of_walk.push_back(ranked_by({}, walk, block_bytes, walk.cost(block_bytes, machine)));
  }
  std::vector<Ranked> priced;
  for (const Entry& entry : entries_) {
    priced.push_back(of_walk[entry.walk]);
    priced.back().candidate = entry.candidate;
  }
  return priced;
}

std::vector<Ranked> Contest::ranked(Index block_bytes, const Machine& machine) const {
  std::vector<Ranked> ranked = priced(block_bytes, machine);
  const std::vector<Ranked> empty = priced(0, machine);
  for (std::size_t i = 0; i < ranked.size(); ++i) ranked[i].empty_s = empty[i].time_s;
  const double fastest_s = std::ranges::min(ranked, {}, &Ranked::time_s).time_s;
  const auto best = std::ranges::find_if(ranked, [&](const Ranked& one) { return one.time_s <= as_fast_s(fastest_s); });
  std::rotate(ranked.begin(), best, best + 1);
  std::stable_sort(ranked.begin() + 1, ranked.end(), is_faster);
  return ranked;
}

Ranked Contest::first(Index block_bytes, const Machine& machine) const {
  std::vector<std::optional<Ranked>> known(walks_.size());
  std::vector<double> longer_than_s(walks_.size(), 0.0);
  double fastest_s = Flows::never;
  std::size_t best = 0;  // the first named of those as fast
  const auto follow = [&](std::size_t i, double most_s) {
    between_();
    longer_than_s[i] = most_s;
    if (const std::optional<Cost> cost = walks_[i].cost_within(most_s, block_bytes, machine)) {
      known[i] = ranked_by({}, walks_[i], block_bytes, *cost);
      fastest_s = std::min(fastest_s, cost->time_s());
    }
  };
  const auto is_best = [&](std::size_t i) { return known[i] && known[i]->time_s <= as_fast_s(fastest_s); };
  // Messages one by one mostly take longer than in flight: they come last. Each is followed no further than it can be the best.
  for (const bool one_by_one : {false, true}) {
    for (std::size_t i = 0; i < walks_.size(); ++i) {
      if (is_blocking(walks_[i].mode()) != one_by_one) continue;
      const double best_s = known[best] ? known[best]->time_s : Flows::never;
      follow(i, i < best ? as_fast_s(fastest_s) : faster_s(best_s));
      if (!is_best(best) || (i < best && is_best(i))) best = i;
    }
  }
  // What was left for one that then was not the best itself may be as fast as the one that is.
  for (std::size_t i = 0; i < best; ++i) {
    if (!known[i] && longer_than_s[i] < as_fast_s(fastest_s)) follow(i, as_fast_s(fastest_s));
    if (is_best(i)) best = i;
  }
  known[best]->candidate = std::ranges::find(entries_, best, &Entry::walk)->candidate;
  return *known[best];
}

Ranked Contest::ranked_one(const Candidate& candidate, Index block_bytes, const Machine& machine) const {
  const Walk& walk = walks_[entry_of(candidate).walk];
  return ranked_by(candidate, walk, block_bytes, walk.cost(block_bytes, machine));
}

const Contest::Entry& Contest::entry_of(const Candidate& candidate) const {
  for (const Entry& entry : entries_) {
    if (to_string(entry.candidate) == to_string(candidate)) return entry;
  }
  invalid(to_string(candidate) + " is no candidate of this contest");
}

std::vector<Index> Contest::message_blocks(const Candidate& candidate) const {
  return walks_[entry_of(candidate).walk].message_blocks();
}

std::string to_string(const Candidate& candidate) {
  const std::string teams = candidate.replication > 1 ? " c=" + std::to_string(candidate.replication) : "";
  return candidate.algorithm + teams + ", " + to_string(candidate.mode);
}

namespace {

constexpr double negligible = 0.05;  // of what two candidates differ by: parts below are not reported

std::string three_digits(double value) {
  char text[48];
  std::snprintf(text, sizeof text, std::abs(value) >= 999.5 ? "%.0f" : "%.3g", value);
  return text;
}

std::string with_unit(double value, const std::array<const char*, 4>& units) {
  std::size_t unit = 0;
  while (unit + 1 < units.size() && std::abs(value) >= 999.5) {
    value /= 1000;
    ++unit;
  }
  return three_digits(value) + " " + units[unit];
}

std::string duration(double time_s) { return with_unit(1e9 * time_s, {"ns", "us", "ms", "s"}); }
std::string bytes(Index count) { return with_unit(static_cast<double>(count), {"B", "kB", "MB", "GB"}); }
std::string counted(Index count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

double bytes_s(const Ranked& ranked) { return ranked.time_s - ranked.empty_s; }

bool same_algorithm(const Ranked& a, const Ranked& b) {
  return a.candidate.algorithm == b.candidate.algorithm && a.candidate.replication == b.candidate.replication;
}

bool equal_time(const Ranked& a, const Ranked& b) { return a.time_s <= as_fast_s(b.time_s) && b.time_s <= as_fast_s(a.time_s); }

bool overlap(const Ranked& a, const Ranked& b) { return a.low_s <= b.high_s && b.low_s <= a.high_s; }

bool at_once(const Ranked& ranked) { return !is_blocking(ranked.candidate.mode); }

// How two candidates differ in a way that makes the first quicker (of a gain) or slower, whatever is sent; empty where they
// do not.
std::string other_variant(const Ranked& best, const Ranked& rival, bool gains) {
  const Ranked& less = gains ? best : rival;
  const Ranked& more = gains ? rival : best;
  if (at_once(less) && !at_once(more)) {
    return gains ? "in flight at once, not one by one," : "one by one, not in flight at once,";
  }
  if (less.candidate.mode != SendMode::ssend && less.steps < more.steps) {
    return "in " + counted(best.steps, "step") + " instead of " + std::to_string(rival.steps);
  }
  return "";
}

// What the number of messages and the way they go take less (or more), in words.
std::string of_messages(const Ranked& best, const Ranked& rival, double saved_s) {
  const bool gains = saved_s > 0;
  if (best.messages != rival.messages && (best.messages < rival.messages) == gains) {
    return counted(best.messages, "message") + " a rank instead of " + std::to_string(rival.messages) +
           (best.messages == 1 ? " takes" : " take");
  }
  const std::string how = other_variant(best, rival, gains);
  return how.empty() ? "the way that its messages go takes" : "messages " + how + " take";
}

// Likewise of the bytes, among them what keeps messages apart that are sent at once.
std::string of_bytes(const Ranked& best, const Ranked& rival, double saved_s) {
  const bool gains = saved_s > 0;
  const std::string ours = bytes(best.bytes);
  const std::string theirs = bytes(rival.bytes);
  if (ours != theirs && (best.bytes < rival.bytes) == gains) return ours + " instead of " + theirs + " take";
  const std::string what = ours == theirs ? "the same " + ours : "the " + ours;
  if (best.messages != rival.messages && (best.messages < rival.messages) == gains) {
    return what + " in " + counted(best.messages, "message") + " instead of " + std::to_string(rival.messages) + " take";
  }
  const std::string how = other_variant(best, rival, gains);
  return how.empty() ? what + " by another way take" : what + " " + how + " take";
}

std::string more_or_less(double saved_s) { return " " + duration(std::abs(saved_s)) + (saved_s > 0 ? " less" : " more"); }

// What of the difference is due to the messages and what to the bytes: the larger part, and the other where it counts.
std::string decisive_term(const Ranked& best, const Ranked& rival) {
  const double of_messages_s = rival.empty_s - best.empty_s;
  const double of_bytes_s = bytes_s(rival) - bytes_s(best);
  const bool messages_decide = of_messages_s >= of_bytes_s;
  const std::string messages = of_messages(best, rival, of_messages_s) + more_or_less(of_messages_s);
  const std::string data = of_bytes(best, rival, of_bytes_s) + more_or_less(of_bytes_s);
  const double lesser_s = messages_decide ? of_bytes_s : of_messages_s;
  const bool both = std::abs(lesser_s) > negligible * (rival.time_s - best.time_s);
  return messages_decide ? "the latency of messages decides: " + messages + (both ? ", while " + data : "")
                         : "the bytes decide: " + data + (both ? ", while " + messages : "");
}

// What ranks share that takes a large part of the time; empty where nothing does.
std::string shared_part(const Ranked& ranked) {
  constexpr double large = 0.3;
  if (ranked.busiest.held_s <= 0 || ranked.busiest.held_s < large * ranked.time_s) return "";
  static constexpr std::array resources{"a socket's memory",     "the link between sockets", "a node's memory",
                                        "a node's NIC, sending", "a node's NIC, receiving",  "a node's NIC, both ways"};
  const std::string what =
      ranked.busiest.resource < resources.size() ? resources[ranked.busiest.resource] : "the links between switches";
  char share[16];
  std::snprintf(share, sizeof share, "%.0f %%", std::min(100.0, 100 * ranked.busiest.held_s / ranked.time_s));
  return ", " + std::string(share) + " of it limited by " + what + " (" + bytes(static_cast<Index>(ranked.busiest.bytes)) + ")";
}

constexpr const char* intervals_overlap = "but the 95 % intervals overlap";

std::string against(const Ranked& best, const Ranked& rival) {
  if (equal_time(best, rival)) return to_string(rival.candidate) + " takes as long";
  const std::string text = to_string(rival.candidate) + " would take " + duration(rival.time_s) + ", ";
  if (overlap(best, rival)) return text + intervals_overlap;
  const double ratio = rival.time_s / best.time_s;
  const std::string times = ratio < 1.005 ? "a little longer" : three_digits(ratio) + " times as long";
  return text + times + "; " + decisive_term(best, rival);
}

}  // namespace

std::string reason(std::vector<Ranked> ranked, const std::vector<std::pair<double, double>>& intervals_s) {
  if (ranked.empty()) return "";
  if (!intervals_s.empty() && intervals_s.size() != ranked.size()) invalid("as many intervals as candidates are needed");
  for (std::size_t i = 0; i < intervals_s.size(); ++i) std::tie(ranked[i].low_s, ranked[i].high_s) = intervals_s[i];
  const Ranked& best = ranked.front();
  std::string text = to_string(best.candidate) + " takes " + duration(best.time_s) + shared_part(best);
  // Against another algorithm; else against teams of another size.
  auto rival = std::find_if(ranked.begin(), ranked.end(), [&](const Ranked& r) {
    return best.candidate.algorithm != r.candidate.algorithm && !equal_time(best, r);
  });
  if (rival == ranked.end()) {
    rival = std::find_if(ranked.begin(), ranked.end(), [&](const Ranked& r) { return !same_algorithm(best, r); });
  }
  if (rival != ranked.end()) text += "; " + against(best, *rival);
  const auto other_mode = std::find_if(ranked.begin(), ranked.end(), [&](const Ranked& r) {
    return same_algorithm(best, r) && is_blocking(r.candidate.mode) != is_blocking(best.candidate.mode);
  });
  if (other_mode != ranked.end() && !equal_time(best, *other_mode)) {
    text += "; with " + to_string(other_mode->candidate.mode) + " it would take " + duration(other_mode->time_s) + ", ";
    text += overlap(best, *other_mode)         ? intervals_overlap
            : is_blocking(best.candidate.mode) ? "all messages of a step in flight at once"
                                               : "one message at a time";
  }
  if (ranked.size() == 1) text += "; nothing else was asked for";
  return text;
}

}  // namespace rankwise
