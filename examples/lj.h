/* The physics of the Lennard-Jones examples, in C11 and C++ alike: nothing here communicates.
 *
 * A cubic periodic crystal with holes, melted a little: each rank owns the particles whose lattice site lies in its
 * box, and keeps them. Reduced units; the potential is cut at lj_cutoff and shifted so that energy and force are
 * continuous there. Ghosts reach lj_skin further than the cutoff, which no particle crosses within lj_steps. */
#ifndef LJ_H
#define LJ_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { lj_sites = 8, lj_steps = 100 }; /* lattice sites an axis, time steps */
static const double lj_spacing = 1.15; /* between sites */
static const double lj_cutoff = 2.5;
static const double lj_skin = 0.6;
static const double lj_dt = 0.002;

static inline double lj_length(void) { return (int)lj_sites * lj_spacing; }

/* A number in [-1, 1) that depends on its two arguments only. */
static inline double lj_random(uint64_t particle, uint64_t which) {
  uint64_t z = (particle * 8 + which + 1) * UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return (double)((z ^ (z >> 31)) >> 11) * 0x1.0p-52 - 1.0;
}

/* One site in eight is empty, so that the boxes hold different numbers of particles. */
static inline int lj_occupied(uint64_t site) { return lj_random(site, 6) < 0.75; }

/* Fills positions and velocities (3 numbers a particle; room for lj_sites^3) of the particles in the box at
 * coords of a grid of dims boxes, the crystal as a whole at rest; returns their number. */
static inline size_t lj_fill(const int dims[3], const int coords[3], double* position, double* velocity) {
  const uint64_t sites = (uint64_t)lj_sites * lj_sites * lj_sites;
  double mean[3] = {0.0, 0.0, 0.0};
  double particles = 0.0;
  for (uint64_t site = 0; site < sites; ++site) {
    if (!lj_occupied(site)) continue;
    for (int i = 0; i < 3; ++i) mean[i] += lj_random(site, (uint64_t)i);
    particles += 1.0;
  }
  size_t count = 0;
  for (uint64_t site = 0; site < sites; ++site) {
    const int at[3] = {(int)(site / (lj_sites * lj_sites)), (int)(site / lj_sites % lj_sites), (int)(site % lj_sites)};
    int mine = lj_occupied(site);
    for (int i = 0; i < 3; ++i) mine = mine && at[i] * dims[i] / lj_sites == coords[i];
    if (!mine) continue;
    for (int i = 0; i < 3; ++i) {
      position[3 * count + (size_t)i] = (at[i] + 0.5) * lj_spacing + 0.02 * lj_random(site, (uint64_t)i + 3);
      velocity[3 * count + (size_t)i] = lj_random(site, (uint64_t)i) - mean[i] / particles;
    }
    ++count;
  }
  return count;
}

/* Energy and momentum (4 numbers) of particles and of their potential. */
static inline void lj_sums(double potential, const double* velocity, size_t count, double sums[4]) {
  sums[0] = potential;
  sums[1] = sums[2] = sums[3] = 0.0;
  for (size_t i = 0; i < 3 * count; ++i) {
    sums[0] += 0.5 * velocity[i] * velocity[i];
    sums[1 + i % 3] += velocity[i];
  }
}

/* Energy of all pairs of one block with another whose positions are to be shifted; adds their forces to both. Where
 * both blocks are the same one, each pair counts once. */
static inline double lj_pairs(const double* position_a, double* force_a, size_t count_a, const double* position_b,
                              double* force_b, size_t count_b, const double shift[3]) {
  const double cut2 = lj_cutoff * lj_cutoff;
  const double cut6 = 1.0 / (cut2 * cut2 * cut2);
  const double cut_energy = 4.0 * cut6 * (cut6 - 1.0);
  const double cut_force = 24.0 * cut6 * (2.0 * cut6 - 1.0) / lj_cutoff;
  double energy = 0.0;
  for (size_t a = 0; a < count_a; ++a) {
    for (size_t b = position_a == position_b ? a + 1 : 0; b < count_b; ++b) {
      double d[3];
      double r2 = 0.0;
      for (size_t i = 0; i < 3; ++i) {
        d[i] = position_a[3 * a + i] - (position_b[3 * b + i] + shift[i]);
        r2 += d[i] * d[i];
      }
      if (r2 >= cut2) continue;
      const double r = sqrt(r2);
      const double r6 = 1.0 / (r2 * r2 * r2);
      energy += 4.0 * r6 * (r6 - 1.0) - cut_energy + (r - lj_cutoff) * cut_force;
      const double pull = 24.0 * r6 * (2.0 * r6 - 1.0) / r2 - cut_force / r;
      for (size_t i = 0; i < 3; ++i) {
        force_a[3 * a + i] += pull * d[i];
        force_b[3 * b + i] -= pull * d[i];
      }
    }
  }
  return energy;
}

#endif
