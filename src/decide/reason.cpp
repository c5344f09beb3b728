#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "decide/contest.hpp"

namespace rankwise {

namespace {

std::string with_unit(double value, const std::array<const char*, 4>& units) {
  std::size_t unit = 0;
  while (unit + 1 < units.size() && std::abs(value) >= 999.5) {
    value /= 1000;
    ++unit;
  }
  char text[48];
  std::snprintf(text, sizeof text, "%.3g %s", value, units[unit]);
  return text;
}

std::string duration(double time_s) { return with_unit(1e9 * time_s, {"ns", "us", "ms", "s"}); }
std::string bytes(Index count) { return with_unit(static_cast<double>(count), {"B", "kB", "MB", "GB"}); }

double bytes_s(const Ranked& ranked) { return ranked.time_s - ranked.empty_s; }

bool same_algorithm(const Ranked& a, const Ranked& b) {
  return a.candidate.algorithm == b.candidate.algorithm && a.candidate.replication == b.candidate.replication;
}

bool equal_time(const Ranked& a, const Ranked& b) { return std::abs(a.time_s - b.time_s) <= 1e-9 * b.time_s; }

std::string more_or_less(double saved_s) {
  return duration(std::abs(saved_s)) + (saved_s >= 0 ? " less" : " more");
}

// What of the difference is due to the number of messages and what to the bytes, among them what keeps messages apart that
// are sent at once (the same bytes in fewer messages may take less).
std::string decisive_term(const Ranked& best, const Ranked& rival) {
  const double saved_messages_s = rival.empty_s - best.empty_s;
  const double saved_bytes_s = bytes_s(rival) - bytes_s(best);
  const bool messages_decide = saved_messages_s >= saved_bytes_s;
  const std::string messages = std::to_string(best.messages) + " messages a rank instead of " +
                               std::to_string(rival.messages) + " take " + more_or_less(saved_messages_s);
  const std::string sent = best.bytes == rival.bytes ? "the same " + bytes(best.bytes)
                                                     : bytes(best.bytes) + " instead of " + bytes(rival.bytes);
  const std::string data = sent + " take " + more_or_less(saved_bytes_s);
  return messages_decide ? "the latency of messages decides: " + messages + ", while " + data
                         : "the bytes decide: " + data + ", while " + messages;
}

// What ranks share that takes a large part of the time; empty where nothing does.
std::string shared_part(const Ranked& ranked) {
  constexpr double large = 0.3;
  if (ranked.busiest.held_s <= 0 || ranked.busiest.held_s < large * ranked.time_s) return "";
  static constexpr std::array passes{"a socket's memory passes", "the link between sockets passes", "a node's memory passes",
                                     "a node's card sends",      "a node's card receives",        "a node's card sends and receives"};
  const std::string what = ranked.busiest.resource < passes.size() ? passes[ranked.busiest.resource] : "links between switches pass";
  char share[16];
  std::snprintf(share, sizeof share, "%.0f %%", std::min(100.0, 100 * ranked.busiest.held_s / ranked.time_s));
  return ", " + std::string(share) + " of it while " + what + " " + bytes(static_cast<Index>(ranked.busiest.bytes));
}

std::string against(const Ranked& best, const Ranked& rival) {
  if (equal_time(best, rival)) return to_string(rival.candidate) + " takes as long";
  char percent[32];
  std::snprintf(percent, sizeof percent, "%.3g %%", 100 * (rival.time_s / best.time_s - 1));
  return to_string(rival.candidate) + " would take " + duration(rival.time_s) + ", " + percent + " more";
}

}  // namespace

std::string reason(const std::vector<Ranked>& ranked) {
  if (ranked.empty()) return "";
  const Ranked& best = ranked.front();
  std::string text = to_string(best.candidate) + " takes " + duration(best.time_s) + shared_part(best);
  // Against another algorithm; else against teams of another size.
  auto rival = std::find_if(ranked.begin(), ranked.end(), [&](const Ranked& r) {
    return best.candidate.algorithm != r.candidate.algorithm && !equal_time(best, r);
  });
  if (rival == ranked.end()) {
    rival = std::find_if(ranked.begin(), ranked.end(), [&](const Ranked& r) { return !same_algorithm(best, r); });
  }
  if (rival != ranked.end()) text += "; " + against(best, *rival) + "; " + decisive_term(best, *rival);
  const auto other_mode = std::find_if(ranked.begin(), ranked.end(), [&](const Ranked& r) {
    return same_algorithm(best, r) && is_blocking(r.candidate.mode) != is_blocking(best.candidate.mode);
  });
  if (other_mode != ranked.end() && !equal_time(best, *other_mode)) {
    text += "; sent by " + to_string(other_mode->candidate.mode) + " it would take " + duration(other_mode->time_s) +
            (is_blocking(best.candidate.mode) ? ", with all messages of a step in flight at once" : ", one message at a time");
  }
  if (ranked.size() == 1) text += "; nothing else was asked for";
  return text;
}

}  // namespace rankwise
