/* A periodic box of atoms shared out to ranks, with ghosts as in LAMMPS: the particles near a rank's box, a list of them that
 * stands for some steps, positions brought to them (forward) and forces brought home (reverse). */
#ifndef ATOMS_H
#define ATOMS_H

#include <mpi.h>

typedef struct {
  int list; /* how many lists were made before the one in use; the first member, for paired.c */
  MPI_Comm cart;
  int dims[3], coords[3], own, all; /* own atoms come first, then ghosts */
  double side[3], cutoff;           /* of a rank's box */
  int* id;
  double *x, *f; /* 3 numbers an atom, room for `room` atoms */
  int room;
} Atoms;

enum { BORDERS, FORWARD, REVERSE }; /* new ghosts with their ids; their positions; their forces, brought home and added */

/* Does one of these (an int). By hand in atoms_by_hand.c. */
void exchange(void* atoms, void* what);

/* Whether a position lies within the cutoff of a side of the own box: -1 below, 1 above, 0: always. */
static inline int atoms_near(const Atoms* s, int axis, double x, int side) {
  const double at = x - s->coords[axis] * s->side[axis];
  return side == 0 || (side < 0 ? at < s->cutoff : at >= s->side[axis] - s->cutoff);
}

/* What is to be added to a position that the rank at the own coords sends towards a side: a period, or 0. */
static inline double atoms_shift(const Atoms* s, int axis, int side) {
  const int to = s->coords[axis] + side;
  return to < 0 ? s->dims[axis] * s->side[axis] : to >= s->dims[axis] ? -s->dims[axis] * s->side[axis] : 0.0;
}

#endif
