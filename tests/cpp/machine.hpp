// The machine of the tests of costs. Its figures all differ, in ns and ns/B the primes below, so that a time that is made of
// the wrong ones is another time.
#pragma once

#include "cost/machine.hpp"

namespace rankwise_test {

inline constexpr auto near_class = static_cast<std::size_t>(rankwise::LinkClass::same_socket);

// Between nodes a processor is busy with messages for longer than they follow each other, unless they are long.
inline rankwise::LinkCost far_link() {
  const auto line = [](double ns, double ns_per_byte) { return rankwise::TimeCurve({{0, 1e-9 * ns, 1e-9 * ns_per_byte}}); };
  return {.send = line(1409, 0.911),
          .ssend = line(2003, 1.013),
          .exchange = line(1601, 0.953),
          .exchange_gap = rankwise::TimeCurve({{0, 503e-9, 0.0}, {1000, 0.0, 1.103e-9}}),
          .overhead_s = 277e-9,
          .acknowledgement_s = 307e-9};
}

inline rankwise::LinkCost near_link() {
  const auto line = [](double ns, double ns_per_byte) { return rankwise::TimeCurve({{0, 1e-9 * ns, 1e-9 * ns_per_byte}}); };
  return {.send = line(313, 0.109),
          .ssend = line(419, 0.127),
          .exchange = line(353, 0.113),
          .exchange_gap = line(101, 0.131),
          .overhead_s = 43e-9,
          .acknowledgement_s = 61e-9};
}

// Within a socket and between nodes; a card of unknown rate.
inline rankwise::Machine machine() {
  rankwise::Machine machine;
  machine.links[near_class] = near_link();
  machine.links[static_cast<std::size_t>(rankwise::LinkClass::other_node)] = far_link();
  return machine;
}

// With sockets, and with all that ranks can share, each as fast as no other, and faster than one message: a half-duplex
// card, and switches above two and above six nodes.
inline rankwise::Machine shared_machine() {
  rankwise::Machine shared = machine();
  auto& between_sockets = shared.links[static_cast<std::size_t>(rankwise::LinkClass::other_socket)];
  between_sockets = near_link();
  between_sockets->send = rankwise::TimeCurve({{0, 367e-9, 0.139e-9}});
  shared.socket = rankwise::Resource{1e9 / 0.083};
  shared.sockets = rankwise::Resource{1e9 / 0.103};
  shared.memory = rankwise::Resource{1e9 / 0.071};
  shared.card = rankwise::Resource{1e9 / 0.607, 89e-9, true};
  shared.levels = {{2, 1e9 / 0.433}, {6, 1e9 / 0.389}};
  return shared;
}

// A machine whose steps were timed, by each way of sending over each link in another time, and copies and additions with them.
inline rankwise::Machine timed(rankwise::Machine machine) {
  double times = 1.0;
  const auto line = [&](double ns, double ns_per_byte) {
    return rankwise::TimeCurve({{0, 1e-9 * times * ns, 1e-9 * ns_per_byte}});
  };
  machine.copy = line(67, 0.037);
  machine.add = line(173, 0.041);
  for (auto& link : machine.links) {
    if (!link) continue;
    for (auto& steps : link->steps) {
      steps = rankwise::StepCosts{line(523, 0.151), line(757, 0.157),  line(1511, 0.163), line(239, 0.167),
                                  line(379, 0.173), line(1019, 0.179), line(631, 0.181),  line(131, 0.191)};
      times += 0.1;
    }
  }
  return machine;
}

}  // namespace rankwise_test
