// What messages cost, out of a profile: the JSON that 'rankwise measure' writes (docs/json.md). Text in, machine out.
#pragma once

#include <string>

#include "cost/machine.hpp"

namespace rankwise {

// Which figures of a profile to take.
struct ProfileUse {
  std::string link_model;  // hockney, piecewise, loggp, max-rate; empty: what the profile chose for each curve
  bool loaded = false;     // as measured under background traffic
};

// Throws std::invalid_argument, with the line and what is wrong, for text that is no profile of schema 1 or 2, for tables of
// fewer than three sizes or with times that are not positive, for rates that are not above 0, and for figures that the
// profile does not have.
// A way of sending that was not measured: ssend costs what a plain send does; both directions at once overlap fully;
// each further message in flight costs its bytes alone. What ranks share stands under "shared"; a profile of schema 1 knows
// of it what a node injects, in one of two places.
[[nodiscard]] Machine read_machine(const std::string& profile, const ProfileUse& use = {});

// The machine where no profile is given: on every link 2 us a message, 0.5 us of it on each side's processor, 10 GB/s,
// both directions at once.
[[nodiscard]] const Machine& default_machine();

}  // namespace rankwise
