#include "api/design.hpp"

#include <array>
#include <cstdio>
#include <vector>

#include "api/agreement.hpp"
#include "api/rule.hpp"

namespace rankwise::api {

namespace {

// What auto chooses from. A neighbourhood collective sends what direct sends, in MPI's way instead of ours.
constexpr std::array candidates{"direct", "shift", "comb"};

std::vector<int> read_cutoff(const Grid& grid, int ndims, const int cutoff[]) {
  if (ndims != grid.ndim()) {
    refuse_argument("ndims is " + std::to_string(ndims) + " but the communicator's grid has " +
                    std::to_string(grid.ndim()) + " axes: give one cutoff an axis");
  }
  if (cutoff == nullptr) refuse_argument("cutoff is NULL: give one number of layers an axis");
  return {cutoff, cutoff + ndims};
}

// The send mode that a request means for an algorithm: its own, or the first of those that fit.
SendMode mode_for(const std::string& algorithm, const Request& request) {
  if (request.mode) return *request.mode;
  for (const SendMode mode : {SendMode::isend, SendMode::send}) {
    if (why_not(algorithm, mode, request.shell).empty()) return mode;
  }
  return SendMode::isend;
}

ExchangeSpec make(const std::string& algorithm, const Grid& grid, const std::vector<int>& cutoff,
                  const Request& request) {
  const SendMode mode = mode_for(algorithm, request);
  if (const std::string reason = why_not(algorithm, mode, request.shell); !reason.empty()) {
    throw Failure(RANKWISE_ERROR_UNSUPPORTED, reason);
  }
  const Window window(cutoff, request.shell);
  constexpr Index most_slots = Index{1} << 24;
  if (window.slots() > most_slots) {
    refuse_argument("the window has " + std::to_string(window.slots()) + " slots, more than 2^24: make the cutoff smaller");
  }
  ExchangeSpec spec{algorithm, mode, grid, window};
  spec.replication = request.replication;
  check_spec(spec);
  return spec;
}

// The algorithm asked for, or those that auto may choose; alike on all ranks.
std::vector<std::string> eligible(const Request& request) {
  if (request.algorithm) return {*request.algorithm};
  std::vector<std::string> algorithms;
  for (const char* id : candidates) {
    if (why_not(id, mode_for(id, request), request.shell).empty()) algorithms.emplace_back(id);
  }
  return algorithms;  // never empty: shift has every mode and shell
}

std::string microseconds(double time_s) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g us", 1e6 * time_s);
  return text;
}

}  // namespace

Design design_exchange(const Communicator& comm, int ndims, const int cutoff[],
                       const rankwise_exchange_options* options) {
  Agreement agreement;
  Request request;
  std::vector<int> layers(static_cast<std::size_t>(comm.grid().ndim()), 1);
  agreement.attempt([&] { request = read_options(options); });
  agreement.attempt([&] { layers = read_cutoff(comm.grid(), ndims, cutoff); });
  add_alike(agreement, request);
  for (std::size_t axis = 0; axis < layers.size(); ++axis) {
    agreement.alike("the cutoff of axis " + std::to_string(axis), layers[axis]);
  }
  agreement.reach(comm.get());

  const std::vector<std::string> algorithms = eligible(request);
  // Ranks at an open border have less to do: the slowest rank's time decides, in whole picoseconds.
  Agreement choice;
  std::vector<Design> designs;
  for (const std::string& algorithm : algorithms) {
    std::int64_t estimate_ps = 0;
    choice.attempt([&] {
      ExchangeSpec spec = make(algorithm, comm.grid(), layers, request);
      RankSchedule schedule = make_schedule(spec, comm.rank());
      estimate_ps = static_cast<std::int64_t>(1e12 * estimate_s(schedule, request.expected_block_bytes, Rates{}));
      designs.push_back({std::move(spec), std::move(schedule), ""});
    });
    choice.maximise(estimate_ps);
  }
  choice.reach(comm.get());

  std::size_t best = 0;
  std::string times;
  for (std::size_t i = 0; i < designs.size(); ++i) {
    if (choice.largest(i) < choice.largest(best)) best = i;
    times += (i > 0 ? ", " : "") + algorithms[i] + " " + microseconds(1e-12 * static_cast<double>(choice.largest(i)));
  }
  designs[best].why = request.algorithm
                          ? "asked for"
                          : "least of the rule's times for blocks of " + std::to_string(request.expected_block_bytes) +
                                " B (" + times + ")";
  return std::move(designs[best]);
}

}  // namespace rankwise::api
