#include "bindings.hpp"

NB_MODULE(_core, m) {
  m.doc() = "The pure core of rankwise: grids, mappings, schedules and their cost. No MPI, no files, no clock.";
  m.attr("version") = RANKWISE_VERSION_TEXT;
  bind_mapping(m);
  bind_cost(m);
  bind_schedule(m);
}
