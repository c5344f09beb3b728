// The machine: what messages cost over each class of link, and what ranks share.
//
// A message of m bytes takes T(m) on a free link. Of that, lat(m) is the latency of the line that m lies on and hold(m) the
// rest, for which it holds what it passes: a node's card, its memory, the links of switches. A resource of rate R is held for
// hold(m) * lane / max(R, lane), where lane is the rate of one message (the largest m / T(m)), and at least for its least time.
// A card and a link of switches are held for m / R at least, so that no more bytes pass than were measured with several
// messages in flight: one that comes alone may be faster than the wire, by the credit of a token bucket or by buffers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grid/grid.hpp"
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
  // largest_bytes: up to where the lines are known (0: for ever). Throws std::invalid_argument when empty or out of order.
  explicit TimeCurve(std::vector<TimeLine> lines, Index largest_bytes = 0);
  [[nodiscard]] double operator()(Index size_bytes) const;
  // hold(m): what of the time is not the latency of its line, which counts as 0.1 to 99.9 % of the time.
  [[nodiscard]] double hold_s(Index size_bytes) const;
  // The largest m / T(m) of the known sizes, in bytes/s.
  [[nodiscard]] double lane() const { return lane_; }
  [[nodiscard]] const std::vector<TimeLine>& lines() const { return lines_; }
  // The curve with what an empty message takes, at most alone_s of it, times latency, and what bytes add divided by bandwidth.
  [[nodiscard]] TimeCurve scaled(double latency, double alone_s, double bandwidth) const;

 private:
  [[nodiscard]] const TimeLine& line(Index size_bytes) const;

  std::vector<TimeLine> lines_;
  Index largest_bytes_ = 0;
  double lane_ = 0.0;
};

// What a rank's steps take by one way of sending, timed as exchanges meet them: from a common start, blocks freshly written,
// each message with a receive of its own. Not given: LinkCost's warm ping-pongs stand in.
struct StepCosts {
  // A first step with so many messages each way, posted receives included.
  TimeCurve start_1;
  TimeCurve start_2;
  TimeCurve start_4;
  // A later one, which forwards what the one before it brought.
  TimeCurve later_1;
  TimeCurve later_2;
  // One message of a blocking mode whose receive is not posted with a send of its own: the first of a round, and later ones.
  std::optional<TimeCurve> chain_start = {};
  std::optional<TimeCurve> chain = {};
  // What a step takes longer as an MPI neighbourhood collective.
  std::optional<TimeCurve> collective = {};

  // A step of so many messages each way: linear between 1, 2 and 4, and beyond.
  [[nodiscard]] double step_s(bool first, Index messages, Index size_bytes) const;
};

// How long messages take over one class of link, for each way of sending.
struct LinkCost {
  TimeCurve send;      // T(m) of a plain send
  TimeCurve ssend;     // T(m) of a synchronous send
  TimeCurve exchange;  // E(m): one message in each direction at once
  // g(m): each further message in flight, and a sender's own share. Not given: what the bytes take at the lane's rate.
  std::optional<TimeCurve> exchange_gap = {};
  // o: what one message costs a processor at either end. Not given: half of g(0), for in a burst each further message
  // costs a processor one send and one receive.
  std::optional<double> overhead_s = {};
  // How long the acknowledgement travels that a synchronous send waits for, where no answer covers it as in a
  // ping-pong. Not given: none was measured, and it is left out.
  std::optional<double> acknowledgement_s = {};
  // From which size on a plain send waits for its receiver, as a synchronous one does. Not given: never.
  std::optional<Index> rendezvous_from_bytes = {};
  std::array<std::optional<StepCosts>, send_mode_count> steps = {};  // by SendMode

  [[nodiscard]] double gap(Index size_bytes) const;
  [[nodiscard]] double overhead() const { return overhead_s.value_or(gap(0) / 2); }
};

// Nearer ones first.
enum class LinkClass { same_core, shared_cache, same_socket, other_socket, other_node };
inline constexpr std::size_t link_class_count = 5;
[[nodiscard]] std::string to_string(LinkClass link);
[[nodiscard]] std::optional<LinkClass> find_link_class(const std::string& name);

// What messages share: the memory of a socket and the link between sockets, the memory of a node, its card each way and
// both ways together, and for each level of switches above the node the links up and those down.
enum class Shared { socket, sockets, memory, card_out, card_in, card_both };
inline constexpr std::size_t shared_count = 6;

// A card passes hardly less in exchanges of several nodes than in streams between two: at least so much of it.
inline constexpr double sound_share = 0.95;

// A resource: how many bytes it passes in a second, and the least time that a message holds it.
struct Resource {
  double bytes_per_s = 0.0;
  double least_s = 0.0;
  bool half_duplex = false;  // a card that sends or receives
  // By the size of messages, ascending: of bytes_per_s, what passes while several nodes exchange messages with each other.
  std::vector<std::pair<Index, double>> exchange_shares{};
  // Where messages go over TCP: bytes of them in one frame at most (0: not over TCP). bytes_per_s is of full frames.
  Index segment_bytes = 0;

  // Bytes a second of messages of a size in an exchange: between two sizes of the table on a line, beyond it as at its ends.
  [[nodiscard]] double rate(Index size_bytes) const;
  // Bytes of full frames that pass in the time of one message: its own, its headers, and those of its frames.
  [[nodiscard]] double passing_bytes(Index size_bytes) const;
  // See Hold; of messages that take the curve's times.
  [[nodiscard]] double credit_s(const TimeCurve& time) const;
};

// Switches above the node: units of so many nodes, and the rate of all links that lead up from one.
struct SwitchLevel {
  Index nodes = 1;
  double up_bytes_per_s = 0.0;
};

// How long a message holds a resource; and by how much its bytes take longer there than its own hold(m), which delays others
// but not itself: a message that shares nothing takes T(m). Over TCP, whose links may be shaped, credit_s is what messages are
// spared in all once the resource was free for as long: the excess of large messages, however large, as of a token bucket.
struct Hold {
  double time_s = 0.0;
  double excess_s = 0.0;
  double credit_s = 0.0;
};

// By how much links, by class, and the resources of a node are slowed down.
struct Factors {
  std::array<double, link_class_count> links;
  double card = 1.0;
  double memory = 1.0;
  double socket = 1.0;
  double sockets = 1.0;
};

struct Machine {
  std::array<std::optional<LinkCost>, link_class_count> links;
  std::optional<Resource> card;     // not given: a node sends no faster than one of its messages
  std::optional<Resource> memory;   // of a node; not given: no bound
  std::optional<Resource> socket;   // memory of a socket; likewise
  std::optional<Resource> sockets;  // the link between a node's sockets; likewise
  std::vector<SwitchLevel> levels;  // the inner first
  // Of so many fresh bytes on one processor, along with messages whose steps were timed; not given: nothing.
  std::optional<TimeCurve> copy = {};
  std::optional<TimeCurve> add = {};
  // Of collectives: adding so many bytes of a vector to another; and how much later a rank takes a message up where ranks share
  // processors, as more than `processors` of them on a node do. Not given: no time.
  std::optional<TimeCurve> combine = {};
  double handover_s = 0.0;
  Index processors = 0;

  // The class whose figures stand for a class: itself, or inside a node the next one that is known, farther ones first.
  // Nothing: none does.
  [[nodiscard]] std::optional<LinkClass> stand_in(LinkClass link) const;
  // How a message over a class of link holds a resource; not at all where the resource is no bound. level: of Shared::count on.
  [[nodiscard]] Hold hold(std::size_t resource, LinkClass link, Index size_bytes) const;
  [[nodiscard]] double hold_s(std::size_t resource, LinkClass link, Index size_bytes) const {
    return hold(resource, link, size_bytes).time_s;
  }
  // The machine as a simulator of links knows it: every way of sending costs a plain send, a rank's own messages leave without
  // a gap, for what they share keeps them apart, and frames have no headers.
  [[nodiscard]] Machine alone() const;
  // A machine on which no program takes longer than on this one, wherever its ranks are: a message of one of these sizes
  // takes what it does over its quickest link, and nothing is shared. Of plain and synchronous sends in flight; steps that
  // were timed are left out.
  [[nodiscard]] Machine quickest(std::vector<Index> sizes) const;
  // The machine with another network: latency of links between nodes times a factor, and their bandwidth, with that of the
  // card and of all switches. What a message costs a processor, message rates and eager limits stay. Throws
  // std::invalid_argument for factors that are not above 0.
  [[nodiscard]] Machine with_network(double latency, double bandwidth) const;
  // The machine whose links take so many times as long, and whose resources are so many times as slow.
  [[nodiscard]] Machine slower(const Factors& factors) const;
  // The machine whose card passes large messages in exchanges at a rate halfway (in logarithms) between theirs and that of the
  // smallest: handshakes of two messages in flight leave it idle, those of more are under way while others' data is. Nothing:
  // large messages pass no more slowly.
  [[nodiscard]] std::optional<Machine> with_handshakes_covered() const;
  // The machine whose card passes in exchanges of several nodes what it does in streams between two. Nothing: it is hardly less.
  [[nodiscard]] std::optional<Machine> in_streams() const;
  // The machine where sends wait for nobody whatever their size, over links of which it is not known from which size on they do.
  // Nothing: it is known of all.
  [[nodiscard]] std::optional<Machine> where_sends_may_go_on() const;
  // Throws std::invalid_argument for rates that are not above 0, and levels that do not grow.
  void check() const;
};

// Resources are numbered: those of Shared, then the links up and down of each level.
[[nodiscard]] inline std::size_t links_up(std::size_t level) { return shared_count + 2 * level; }
[[nodiscard]] inline std::size_t links_down(std::size_t level) { return shared_count + 2 * level + 1; }

}  // namespace rankwise
