// Algorithms of collectives in which every rank does alike: each with all others, around a ring, or at growing distances.
#pragma once

#include "schedule/collectives.hpp"

namespace rankwise {

void allgather_linear(Rounds& rounds, const Team& team, const CollectiveSpec& spec);
void allgather_doubling(Rounds& rounds, const Team& team, const CollectiveSpec& spec);
void allgather_bruck(Rounds& rounds, const Team& team, const CollectiveSpec& spec);
void allgather_neighbor(Rounds& rounds, const Team& team, const CollectiveSpec& spec);
void alltoall_linear(Rounds& rounds, const Team& team, const CollectiveSpec& spec);
void alltoall_in_place(Rounds& rounds, const Team& team, const CollectiveSpec& spec);
void alltoall_bruck(Rounds& rounds, const Team& team, const CollectiveSpec& spec);
void reduce_scatter_pairwise(Rounds& rounds, const Team& team, const CollectiveSpec& spec);
void barrier_dissemination(Rounds& rounds, const Team& team, const CollectiveSpec& spec);
void barrier_double_ring(Rounds& rounds, const Team& team, const CollectiveSpec& spec);
void scan_linear(Rounds& rounds, const Team& team, const CollectiveSpec& spec);
void scan_doubling(Rounds& rounds, const Team& team, const CollectiveSpec& spec);
// exclusive: one partner at a time, the same one both ways.
template <bool exclusive>
void alltoall_pairwise(Rounds& rounds, const Team& team, const CollectiveSpec& spec);

}  // namespace rankwise
