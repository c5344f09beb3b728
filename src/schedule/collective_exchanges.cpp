#include "schedule/collective_exchanges.hpp"

#include <algorithm>

namespace rankwise {

void allgather_linear(Rounds& rounds, const Team& team, const CollectiveSpec& /*spec*/) {
  for (Index d = 1; d < team.size(); ++d) {
    for (Index v = 0; v < team.size(); ++v) rounds.send(team, v, (v + d) % team.size(), team.parts(v, 1));
  }
  rounds.next();
}

// Recursive doubling among any number of ranks: where the other half is not full, those that met a partner there hand its parts
// on to those that did not.
void allgather_doubling(Rounds& rounds, const Team& team, const CollectiveSpec& /*spec*/) {
  const Index size = team.size();
  for (Index mask = 1; mask < size; mask *= 2) {
    for (Index v = 0; v < size; ++v) {
      const Index first = v - v % mask;
      if ((v ^ mask) < size) rounds.send(team, v, v ^ mask, team.parts(first, std::min(mask, size - first)));
    }
    rounds.next();
    const Index low = (size - 1) / (2 * mask) * (2 * mask);
    const Index met = size - low - mask;  // in the last half
    if (met <= 0 || met >= mask) continue;
    for (Index far = mask / 2; far > 0; far /= 2, rounds.next()) {
      for (Index v = low; v < low + mask; ++v) {
        const Index end = v - v % (2 * far) + met;
        if ((v & far) == 0 && v < end && v + far >= end) rounds.send(team, v, v + far, team.parts(low + mask, met));
      }
    }
  }
}

void allgather_bruck(Rounds& rounds, const Team& team, const CollectiveSpec& /*spec*/) {
  for (Index k = 1; k < team.size(); k *= 2, rounds.next()) {
    for (Index v = 0; v < team.size(); ++v) {
      rounds.send(team, v, (v + team.size() - k) % team.size(), team.parts(v, std::min(k, team.size() - k)));
    }
  }
}

// Own parts to one neighbour, then two at a time to the neighbours on either side by turns.
void allgather_neighbor(Rounds& rounds, const Team& team, const CollectiveSpec& /*spec*/) {
  const Index size = team.size();
  for (Index v = 0; v < size; ++v) rounds.send(team, v, v ^ 1, team.parts(v, 1));
  rounds.next();
  std::vector<Index> pair(team.ranks.size());
  for (Index v = 0; v < size; ++v) pair[static_cast<std::size_t>(v)] = v - v % 2;
  for (Index s = 1; s < size / 2; ++s, rounds.next()) {
    std::vector<Index> arrived(pair.size());
    for (Index v = 0; v < size; ++v) {
      const Index to = (v + ((v % 2 == 0) == (s % 2 == 0) ? 1 : size - 1)) % size;
      rounds.send(team, v, to, team.parts(pair[static_cast<std::size_t>(v)], 2));
      arrived[static_cast<std::size_t>(to)] = pair[static_cast<std::size_t>(v)];
    }
    pair = arrived;
  }
}

namespace {

Blocks block_of(const Team& team, Index from, Index to) { return {{from * team.size() + to, 1}}; }

}  // namespace

void alltoall_linear(Rounds& rounds, const Team& team, const CollectiveSpec& /*spec*/) {
  for (Index d = 1; d < team.size(); ++d) {
    for (Index v = 0; v < team.size(); ++v) {
      rounds.send(team, v, (v + d) % team.size(), block_of(team, v, (v + d) % team.size()));
    }
  }
  rounds.next();
}

// Member v and one other at a time; exclusive: the same one both ways.
template <bool exclusive>
void alltoall_pairwise(Rounds& rounds, const Team& team, const CollectiveSpec& /*spec*/) {
  for (Index d = 1; d < team.size(); ++d, rounds.next()) {
    for (Index v = 0; v < team.size(); ++v) {
      const Index to = exclusive ? v ^ d : (v + d) % team.size();
      rounds.send(team, v, to, block_of(team, v, to));
    }
  }
}

template void alltoall_pairwise<false>(Rounds&, const Team&, const CollectiveSpec&);
template void alltoall_pairwise<true>(Rounds&, const Team&, const CollectiveSpec&);

// Two ranks at a time, each with its partners in their order: their blocks change places in one buffer.
void alltoall_in_place(Rounds& rounds, const Team& team, const CollectiveSpec& /*spec*/) {
  const Index first = rounds.now();
  for (Index v = 0; v < team.size(); ++v) {
    for (Index w = v + 1; w < team.size(); ++w) {
      rounds.seek(first + v + w - 1);
      rounds.send(team, v, w, block_of(team, v, w));
      rounds.send(team, w, v, block_of(team, w, v));
    }
  }
  rounds.next();
}

// In the round of bit k every block that still has so far to go moves on by k.
void alltoall_bruck(Rounds& rounds, const Team& team, const CollectiveSpec& /*spec*/) {
  const Index size = team.size();
  for (Index k = 1; k < size; k *= 2, rounds.next()) {
    for (Index v = 0; v < size; ++v) {
      Blocks moving;
      for (Index far = k; far < size; ++far) {
        if ((far & k) == 0) continue;
        const Index origin = (v - (far & (k - 1)) + size) % size;
        moving.push_back(block_of(team, origin, (origin + far) % size)[0]);
      }
      rounds.send(team, v, (v + k) % size, std::move(moving));
    }
  }
}

void reduce_scatter_pairwise(Rounds& rounds, const Team& team, const CollectiveSpec& /*spec*/) {
  for (Index d = 1; d < team.size(); ++d, rounds.next()) {
    for (Index v = 0; v < team.size(); ++v) {
      rounds.send(team, v, (v + d) % team.size(), team.parts((v + d) % team.size(), 1), true);
    }
  }
}

void barrier_dissemination(Rounds& rounds, const Team& team, const CollectiveSpec& /*spec*/) {
  for (Index k = 1; k < team.size(); k *= 2, rounds.next()) {
    for (Index v = 0; v < team.size(); ++v) rounds.send(team, v, (v + k) % team.size(), team.all(), true);
  }
}

void barrier_double_ring(Rounds& rounds, const Team& team, const CollectiveSpec& /*spec*/) {
  for (Index s = 0; s < 2 * team.size() && team.size() > 1; ++s, rounds.next()) {
    rounds.send(team, s % team.size(), (s + 1) % team.size(), team.all(), true);
  }
}

void scan_linear(Rounds& rounds, const Team& team, const CollectiveSpec& /*spec*/) {
  for (Index v = 0; v + 1 < team.size(); ++v, rounds.next()) rounds.send(team, v, v + 1, team.all(), true);
}

void scan_doubling(Rounds& rounds, const Team& team, const CollectiveSpec& /*spec*/) {
  for (Index k = 1; k < team.size(); k *= 2, rounds.next()) {
    for (Index v = 0; v + k < team.size(); ++v) rounds.send(team, v, v + k, team.all(), true);
  }
}

}  // namespace rankwise
