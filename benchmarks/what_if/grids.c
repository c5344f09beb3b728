// Programs for what_if_ranks.py on any number of ranks: grids PROGRAM [steps]; each computes by the volume of its block.
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N2 = 1024, N3 = 96, STEPS = 16 };
static const double SECONDS = 32e-3;  // what one rank would compute in a step
static int me, p, dims[3], at[3], around[3], axes;
static char *in, *out;

static void grid(int count, int periodic) {
  axes = count;
  dims[0] = p, dims[1] = dims[2] = 1;
  // As MPI_Dims_create of MPICH and Open MPI: SimGrid's makes 9x2 of 18.
  for (int x = 1; x <= p; ++x)
    for (int y = 1; y <= x && x * y <= p && axes > 1; ++y) {
      int z = axes == 3 ? p / x / y : 1;
      if (x * y * z == p && z <= y && x - (axes == 3 ? z : y) < dims[0] - dims[axes - 1]) dims[0] = x, dims[1] = y, dims[2] = z;
    }
  for (int j = 0; j < 3; ++j) around[j] = periodic;
}
static void place(void) {
  for (int j = axes - 1, rest = me; j >= 0; --j) at[j] = rest % dims[j], rest /= dims[j];
}
static int partner(const int* o) {
  int rank = 0;
  for (int j = 0; j < axes; ++j) {
    int x = at[j] + o[j];
    if (!around[j] && (x < 0 || x >= dims[j])) return MPI_PROC_NULL;
    rank = rank * dims[j] + (x + dims[j]) % dims[j];
  }
  return rank;
}
static int size(const int* o, const int* n, int weak) {
  double bytes = 8;
  for (int j = 0; j < axes; ++j) bytes *= o[j] ? 1 : (double)n[j] / (weak ? 1 : dims[j]);
  return (int)bytes;
}
static void sum(void) {
  double one = 1, all;
  MPI_Allreduce(&one, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static double drawn(unsigned seed) {  // nearly normal
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += (seed = seed * 1103515245 + 12345) / 65536 % 32768 / 32768.0;
  return sum;
}
// How computing differs from falling with the volume of so many cells: GRIDS_LAW, GRIDS_CELLS (what_if_ranks.py, LAWS). Noise
// of 0.5 % comes on top.
static double law(double share) {
  static int count = 0;
  const char* name = getenv("GRIDS_LAW");
  if (name == NULL) return share;
  const double cells = atof(getenv("GRIDS_CELLS")) * share, side = cbrt(cells);
  if (!strcmp(name, "ghosts")) share *= pow(1 + 2 / side, 3);
  if (!strcmp(name, "constant")) share += 0.02 / 8;
  if (!strcmp(name, "caches") && cells < 5e5) share *= 0.72;
  if (!strcmp(name, "particles")) share *= 1 + drawn(17 * me + p) / sqrt(cells / 10);
  if (!strcmp(name, "imbalance")) share *= 1 + 0.02 * log2(p) * (me % 4) / 3;
  if (!strcmp(name, "surface")) share *= 1 + 3 / side;
  if (!strcmp(name, "serial")) share += 0.002;
  return share * (1 + 0.005 * drawn(7919 * ++count + 104729 * me));
}
static void compute(double share) {  // simulated ranks sleep
  struct timespec t = {0, (long)(1e9 * SECONDS * law(share))};
  nanosleep(&t, NULL);
}

// All neighbours (faces alone, or corners too) at once.
static void halo(int corners, const int* n, int weak, int hot) {
  place();
  double share = weak ? 1.0 / 8 : 1.0 / p;
  if (hot)
    for (int j = 0; j < axes; ++j) share *= 1 + 0.3 * exp(-pow((at[j] + 0.5) / dims[j] - 0.5, 2) * 20);
  for (int step = 0; step < STEPS; ++step) {
    MPI_Request requests[52];
    int count = 0;
    compute(share);
    for (int send = 0; send < 2; ++send)
      for (int k = 0; k < pow(3, axes); ++k) {
        int o[3] = {0, 0, 0}, back[3], far = 0, tag = k;
        for (int j = axes - 1, rest = k; j >= 0; --j) o[j] = rest % 3 - 1, rest /= 3, far += o[j] != 0, back[j] = -o[j];
        if (!far || (!corners && far > 1)) continue;
        int to = partner(send ? o : back), bytes = size(o, n, weak);
        if (to == MPI_PROC_NULL || to == me) continue;
        if (send)
          MPI_Isend(out, bytes, MPI_CHAR, to, tag, MPI_COMM_WORLD, &requests[count++]);
        else
          MPI_Irecv(in, bytes, MPI_CHAR, to, tag, MPI_COMM_WORLD, &requests[count++]);
      }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    sum();
  }
}
// One axis after the other, as codes with ghosts in corners do.
static void by_axis(const int* n) {
  place();
  for (int step = 0; step < STEPS; ++step) {
    compute(1.0 / p);
    for (int j = 0; j < axes; ++j)
      for (int way = -1; way < 2; way += 2) {
        int o[3] = {0, 0, 0}, back[3] = {0, 0, 0};
        o[j] = way, back[j] = -way;
        int bytes = size(o, n, 0);
        MPI_Sendrecv(out, bytes, MPI_CHAR, partner(o), 2 * j + (way > 0), in, bytes, MPI_CHAR, partner(back), 2 * j + (way > 0),
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    sum();
  }
}
static void pencils(void) {
  grid(2, 0), place();
  MPI_Comm row, column;
  MPI_Comm_split(MPI_COMM_WORLD, at[0], me, &row);
  MPI_Comm_split(MPI_COMM_WORLD, at[1], me, &column);
  int block = 16 * 64 * 64 * 64 / p;
  for (int step = 0; step < STEPS; ++step) {
    compute(0.5 / p);
    MPI_Alltoall(in, block / dims[1], MPI_CHAR, out, block / dims[1], MPI_CHAR, row);
    compute(0.5 / p);
    MPI_Alltoall(in, block / dims[0], MPI_CHAR, out, block / dims[0], MPI_CHAR, column);
  }
}
static void doubling(void) {
  for (int step = 0; step < STEPS; ++step) {
    compute(1.0 / p);
    for (int bit = 1; bit < p; bit *= 2)
      if ((me ^ bit) < p)
        MPI_Sendrecv(out, 4096, MPI_CHAR, me ^ bit, 1, in, 4096, MPI_CHAR, me ^ bit, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sum();
  }
}
static void graph(void) {  // each rank has some partners anywhere, the same ones each step
  for (int step = 0; step < STEPS; ++step) {
    MPI_Request requests[256];
    int count = 0;
    unsigned seed = 7;
    compute(1.0 / p);
    for (int i = 0; i < 2 * p; ++i) {
      int a = (seed = seed * 1103515245 + 12345) / 65536 % p, b = (seed = seed * 1103515245 + 12345) / 65536 % p;
      if (a == b || (a != me && b != me)) continue;
      int to = a == me ? b : a;
      MPI_Irecv(in, 4096, MPI_CHAR, to, i, MPI_COMM_WORLD, &requests[count++]);
      MPI_Isend(out, 4096, MPI_CHAR, to, i, MPI_COMM_WORLD, &requests[count++]);
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    sum();
  }
}
static void sweep(void) {  // planes, one corner to the other
  grid(2, 0), place();
  const int low[3] = {-1, 0, 0}, left[3] = {0, -1, 0}, high[3] = {1, 0, 0}, right[3] = {0, 1, 0};
  for (int step = 0; step < STEPS; ++step) {
    for (int plane = 0; plane < 6; ++plane) {
      int x = 8 * N3 / dims[1], y = 8 * N3 / dims[0];
      if (partner(low) >= 0) MPI_Recv(in, x, MPI_CHAR, partner(low), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (partner(left) >= 0) MPI_Recv(in, y, MPI_CHAR, partner(left), 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      compute(1.0 / 6 / p);
      if (partner(high) >= 0) MPI_Send(out, x, MPI_CHAR, partner(high), 1, MPI_COMM_WORLD);
      if (partner(right) >= 0) MPI_Send(out, y, MPI_CHAR, partner(right), 2, MPI_COMM_WORLD);
    }
    sum();
  }
}
static void master(void) {
  MPI_Status status;
  for (int step = 0; step < STEPS; ++step) {
    for (int i = 0; i < (me ? 2 : 2 * (p - 1)); ++i)
      if (me) {
        MPI_Send(out, 1024, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
        MPI_Recv(in, 2048, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        compute(0.5 / p);
      } else {
        MPI_Recv(in, 1024, MPI_CHAR, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
        MPI_Send(out, 2048, MPI_CHAR, status.MPI_SOURCE, 2, MPI_COMM_WORLD);
      }
    sum();
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  in = calloc(1, 1 << 23), out = calloc(1, 1 << 23);
  const int square[3] = {N2, N2, 1}, cube[3] = {N3, N3, N3}, oblong[3] = {256, 128, 128}, block[3] = {48, 48, 48};
  const char* what = argv[1];
  if (!strcmp(what, "5-point")) grid(2, 0), halo(0, square, 0, 0);
  if (!strcmp(what, "5-point-periodic")) grid(2, 1), halo(0, square, 0, 0);
  if (!strcmp(what, "5-point-ascending")) {
    grid(2, 0);
    int first = dims[0];
    dims[0] = dims[1], dims[1] = first;
    halo(0, square, 0, 0);
  }
  if (!strcmp(what, "slabs")) grid(1, 0), halo(0, square, 0, 0);
  if (!strcmp(what, "9-point")) grid(2, 0), halo(1, square, 0, 0);
  if (!strcmp(what, "hot-centre")) grid(2, 0), halo(0, square, 0, 1);
  if (!strcmp(what, "7-point")) grid(3, 0), halo(0, cube, 0, 0);
  if (!strcmp(what, "7-point-by-axis")) grid(3, 1), by_axis(cube);
  if (!strcmp(what, "27-point-weak")) grid(3, 1), halo(1, block, 1, 0);
  if (!strcmp(what, "oblong")) {  // the least surface
    grid(3, 0);
    double best = 1e30;
    int found[3];
    for (int x = 1; x <= p; ++x)
      for (int y = 1; y <= p / x; ++y)
        if (p % x == 0 && p / x % y == 0) {
          int z = p / x / y;
          double faces = x / 256.0 + y / 128.0 + z / 128.0;
          if (faces < best - 1e-9) best = faces, found[0] = x, found[1] = y, found[2] = z;
        }
    memcpy(dims, found, sizeof dims), halo(0, oblong, 0, 0);
  }
  if (!strcmp(what, "pencils")) pencils();
  if (!strcmp(what, "doubling")) doubling();
  if (!strcmp(what, "graph")) graph();
  if (!strcmp(what, "sweep")) sweep();
  if (!strcmp(what, "master")) master();
  MPI_Finalize();
  return 0;
}
