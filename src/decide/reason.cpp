#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <tuple>

#include "decide/contest.hpp"

namespace rankwise {

namespace {

constexpr double negligible = 0.05;  // of what two candidates differ by: parts below are not told

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

bool equal_time(const Ranked& a, const Ranked& b) { return std::abs(a.time_s - b.time_s) <= 1e-9 * b.time_s; }

bool overlap(const Ranked& a, const Ranked& b) { return a.low_s <= b.high_s && b.low_s <= a.high_s; }

bool at_once(const Ranked& ranked) { return !is_blocking(ranked.candidate.mode); }

// How two candidates differ in a way that makes the first quicker (of a gain) or slower, whatever is sent; empty where they
// do not.
std::string other_way(const Ranked& best, const Ranked& rival, bool gains) {
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
  const std::string how = other_way(best, rival, gains);
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
  const std::string how = other_way(best, rival, gains);
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
  static constexpr std::array passes{"a socket's memory passes", "the link between sockets passes",
                                     "a node's memory passes",   "a node's card sends",
                                     "a node's card receives",   "a node's card sends and receives"};
  const std::string what =
      ranked.busiest.resource < passes.size() ? passes[ranked.busiest.resource] : "links between switches pass";
  char share[16];
  std::snprintf(share, sizeof share, "%.0f %%", std::min(100.0, 100 * ranked.busiest.held_s / ranked.time_s));
  return ", " + std::string(share) + " of it while " + what + " " + bytes(static_cast<Index>(ranked.busiest.bytes));
}

const char* untold() { return "which cannot be told apart with this profile"; }

std::string against(const Ranked& best, const Ranked& rival) {
  if (equal_time(best, rival)) return to_string(rival.candidate) + " takes as long";
  const std::string text = to_string(rival.candidate) + " would take " + duration(rival.time_s) + ", ";
  if (overlap(best, rival)) return text + untold();
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
    text += "; sent by " + to_string(other_mode->candidate.mode) + " it would take " + duration(other_mode->time_s) + ", ";
    text += overlap(best, *other_mode)         ? untold()
            : is_blocking(best.candidate.mode) ? "with all messages of a step in flight at once"
                                               : "one message at a time";
  }
  if (ranked.size() == 1) text += "; nothing else was asked for";
  return text;
}

}  // namespace rankwise
