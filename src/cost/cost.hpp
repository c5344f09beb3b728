// time = cost(schedule, placement, machine): walks the schedules of all ranks and adds up the time of their steps.
//
// Rules (werner2023 section 3; the overlapping step after LogGP, Alexandrov et al. 1995):
// - a blocking message starts when both ends are there and takes T(m); with ssend both ends are busy until then, with
//   send the sender goes on after its own share g(m);
// - a step with several messages in flight starts when this rank and all it hears from are there, takes E(m) for
//   one message in each direction, and g(m) more for every further one.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "schedule/schedule.hpp"

namespace rankwise {

// alpha + beta * size for sizes from from_bytes on, until the next line starts.
struct TimeLine {
  Index from_bytes;
  double alpha_s;
  double beta_s_per_byte;
};

// Time of one message against its size, as straight lines in order of size.
class TimeCurve {
 public:
  explicit TimeCurve(std::vector<TimeLine> lines);  // throws std::invalid_argument when empty or out of order
  [[nodiscard]] double operator()(Index size_bytes) const;

 private:
  std::vector<TimeLine> lines_;
};

// How long messages take over one class of link, for each way of sending.
struct LinkCost {
  TimeCurve send;          // T(m) of a plain send
  TimeCurve ssend;         // T(m) of a synchronous send
  TimeCurve exchange;      // E(m): one message in each direction at once
  TimeCurve exchange_gap;  // g(m): each further message in flight, and a sender's own share
};

enum class LinkClass { same_core, same_socket, other_socket, other_node };
inline constexpr std::size_t link_class_count = 4;
[[nodiscard]] std::string to_string(LinkClass link);

struct Machine {
  std::array<std::optional<LinkCost>, link_class_count> links;
};

// Where each rank sits: node, socket and core, each numbered over the whole machine.
struct Location {
  Index node = 0;
  Index socket = 0;
  Index core = 0;
};
using Placement = std::vector<Location>;

[[nodiscard]] LinkClass link_between(const Location& a, const Location& b);

struct Cost {
  std::vector<double> finish_s;  // of each rank
  Index messages_per_rank = 0;   // the most that any rank sends
  Index blocks_per_rank = 0;     // likewise
  [[nodiscard]] double time_s() const;  // when the last rank has finished
};

// Time of a schedule whose blocks all have block_bytes. Throws std::invalid_argument when the machine lacks a link
// class that is needed, the placement does not fit, or the schedule cannot finish.
[[nodiscard]] Cost walk(const ExchangeSpec& spec, const std::vector<RankSchedule>& schedules, Index block_bytes,
                        const Placement& placement, const Machine& machine);

}  // namespace rankwise
