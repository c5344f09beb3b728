// The halo of a periodic box of n^3 doubles, width g, F fields, with edges and corners, three ways that alternate in one
// run: rankwise_halo, the best that one writes by hand (all regions of all fields that go to a rank packed into one message,
// rows by memcpy or unrolled, what stays on the rank copied), and 26 messages of subarrays.
//
//   mpiexec -n 2 halo REPETITIONS N,G,F ...      as in: 100 32,1,1 64,2,4
//
// Prints a JSON line a case, {"n":, "g":, "f":, "ours_s": [...], "by_hand_s": [...], "subarrays_s": [...]}: the time of one
// exchange (mean of a batch), the maximum over ranks, repetition by repetition. beside.py makes ratios.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "halo_cases.hpp"
#include "turns.hpp"

namespace {

using Offset = std::array<int, 3>;

// Where a region of an axis begins, and how long it is: what is sent towards an offset, or the halo there.
int first(const Case& c, int offset, bool halo) {
  if (offset == 0) return c.g;
  if (halo) return offset < 0 ? 0 : c.g + c.n;
  return offset < 0 ? c.g : c.n;
}
int length(const Case& c, int offset) { return offset == 0 ? c.n : c.g; }

std::vector<Offset> offsets() {
  std::vector<Offset> all;
  for (int x = -1; x <= 1; ++x) {
    for (int y = -1; y <= 1; ++y) {
      for (int z = -1; z <= 1; ++z) {
        if (x != 0 || y != 0 || z != 0) all.push_back({x, y, z});
      }
    }
  }
  return all;
}

Offset opposite(const Offset& o) { return {-o[0], -o[1], -o[2]}; }

int rank_at(MPI_Comm cart, const Offset& o) {
  int rank = 0;
  int coords[3];
  MPI_Comm_rank(cart, &rank);
  MPI_Cart_coords(cart, rank, 3, coords);
  for (std::size_t a = 0; a < 3; ++a) coords[a] += o[a];
  MPI_Cart_rank(cart, coords, &rank);
  return rank;
}

// Calls row(index of its first element) for the rows of a region along the last axis.
template <class Row>
void each_row(const Case& c, const Offset& o, bool halo, Row row) {
  const int w = c.whole();
  for (int i = 0; i < length(c, o[0]); ++i) {
    for (int j = 0; j < length(c, o[1]); ++j) {
      row((static_cast<std::size_t>(first(c, o[0], halo) + i) * static_cast<std::size_t>(w) +
           static_cast<std::size_t>(first(c, o[1], halo) + j)) *
              static_cast<std::size_t>(w) +
          static_cast<std::size_t>(first(c, o[2], halo)));
    }
  }
}

// One row, as a careful programmer has it: short ones unrolled.
void copy_row(double* into, const double* from, int count) {
  switch (count) {
    case 1: into[0] = from[0]; return;
    case 2: into[0] = from[0], into[1] = from[1]; return;
    case 3: into[0] = from[0], into[1] = from[1], into[2] = from[2]; return;
    default: std::memcpy(into, from, static_cast<std::size_t>(count) * sizeof(double));
  }
}

class ByHand {
 public:
  ByHand(const Case& c, MPI_Comm cart, std::vector<std::vector<double>>& data) : case_(c), cart_(cart), data_(data) {
    int rank = 0;
    MPI_Comm_rank(cart, &rank);
    for (const Offset& o : offsets()) {
      const int to = rank_at(cart, o);
      const int from = rank_at(cart, opposite(o));
      if (to == rank) {
        self_.push_back(o);
        continue;
      }
      add(out_, to, o);
      add(in_, from, o);
    }
    requests_.resize(out_.size() + in_.size());
  }

  void operator()() {
    std::size_t posted = 0;
    for (Message& m : in_) MPI_Irecv(m.buffer.data(), m.doubles, MPI_DOUBLE, m.peer, 0, cart_, &requests_[posted++]);
    for (Message& m : out_) {
      double* into = m.buffer.data();
      for (const std::vector<double>& field : data_) {
        for (const Offset& o : m.regions) {
          const int count = length(case_, o[2]);
          each_row(case_, o, false, [&](std::size_t at) { copy_row(into, &field[at], count), into += count; });
        }
      }
      MPI_Isend(m.buffer.data(), m.doubles, MPI_DOUBLE, m.peer, 0, cart_, &requests_[posted++]);
    }
    for (std::vector<double>& field : data_) {
      for (const Offset& o : self_) {
        const Offset back = opposite(o);
        const int count = length(case_, o[2]);
        const auto w = static_cast<std::size_t>(case_.whole());
        std::size_t shift[3];
        for (std::size_t a = 0; a < 3; ++a) {
          shift[a] = static_cast<std::size_t>(first(case_, o[a], false) - first(case_, back[a], true) + case_.whole());
        }
        const std::size_t moved = (shift[0] * w + shift[1]) * w + shift[2] - (w * w + w + 1) * w;
        each_row(case_, back, true, [&](std::size_t at) { copy_row(&field[at], &field[at + moved], count); });
      }
    }
    for (int tests = 0, done = 0; done == 0; ++tests) {
      if (tests == 64) {
        MPI_Waitall(static_cast<int>(posted), requests_.data(), MPI_STATUSES_IGNORE);
        break;
      }
      MPI_Testall(static_cast<int>(posted), requests_.data(), &done, MPI_STATUSES_IGNORE);
    }
    for (Message& m : in_) {
      const double* from = m.buffer.data();
      for (std::vector<double>& field : data_) {
        for (const Offset& o : m.regions) {
          const int count = length(case_, o[2]);
          each_row(case_, opposite(o), true, [&](std::size_t at) { copy_row(&field[at], from, count), from += count; });
        }
      }
    }
  }

 private:
  struct Message {
    int peer;
    int doubles;
    std::vector<Offset> regions;
    std::vector<double> buffer;
  };
  void add(std::vector<Message>& messages, int peer, const Offset& o) {
    auto at = std::find_if(messages.begin(), messages.end(), [&](const Message& m) { return m.peer == peer; });
    if (at == messages.end()) at = messages.insert(at, Message{peer, 0, {}, {}});
    at->regions.push_back(o);
    at->doubles += case_.fields * length(case_, o[0]) * length(case_, o[1]) * length(case_, o[2]);
    at->buffer.resize(static_cast<std::size_t>(at->doubles));
  }

  Case case_;
  MPI_Comm cart_;
  std::vector<std::vector<double>>& data_;
  std::vector<Message> out_, in_;
  std::vector<Offset> self_;
  std::vector<MPI_Request> requests_;
};

// One message an offset, of all fields, by a datatype.
class Subarrays {
 public:
  Subarrays(const Case& c, MPI_Comm cart, std::vector<std::vector<double>>& data) : cart_(cart) {
    for (const Offset& o : offsets()) {
      to_.push_back(rank_at(cart, o));
      from_.push_back(rank_at(cart, opposite(o)));
      out_.push_back(type(c, data, o, false));
      in_.push_back(type(c, data, opposite(o), true));
    }
  }
  ~Subarrays() {
    for (MPI_Datatype& type : out_) MPI_Type_free(&type);
    for (MPI_Datatype& type : in_) MPI_Type_free(&type);
  }
  Subarrays(const Subarrays&) = delete;
  Subarrays& operator=(const Subarrays&) = delete;

  void operator()() {
    MPI_Request requests[52];
    for (std::size_t i = 0; i < 26; ++i) {
      MPI_Irecv(MPI_BOTTOM, 1, in_[i], from_[i], static_cast<int>(i), cart_, &requests[i]);
    }
    for (std::size_t i = 0; i < 26; ++i) {
      MPI_Isend(MPI_BOTTOM, 1, out_[i], to_[i], static_cast<int>(i), cart_, &requests[26 + i]);
    }
    MPI_Waitall(52, requests, MPI_STATUSES_IGNORE);
  }

 private:
  static MPI_Datatype type(const Case& c, std::vector<std::vector<double>>& data, const Offset& o, bool halo) {
    const int sizes[3] = {c.whole(), c.whole(), c.whole()};
    const int extents[3] = {length(c, o[0]), length(c, o[1]), length(c, o[2])};
    const int starts[3] = {first(c, o[0], halo), first(c, o[1], halo), first(c, o[2], halo)};
    MPI_Datatype region = MPI_DATATYPE_NULL;
    MPI_Type_create_subarray(3, sizes, extents, starts, MPI_ORDER_C, MPI_DOUBLE, &region);
    std::vector<MPI_Aint> places(data.size());
    for (std::size_t f = 0; f < data.size(); ++f) MPI_Get_address(data[f].data(), &places[f]);
    MPI_Datatype all = MPI_DATATYPE_NULL;
    MPI_Type_create_hindexed_block(static_cast<int>(data.size()), 1, places.data(), region, &all);
    MPI_Type_commit(&all);
    MPI_Type_free(&region);
    return all;
  }

  MPI_Comm cart_;
  std::vector<int> to_, from_;
  std::vector<MPI_Datatype> out_, in_;
};

void fill(const Case& c, int rank, std::vector<std::vector<double>>& data) {
  for (std::size_t f = 0; f < data.size(); ++f) {
    std::fill(data[f].begin(), data[f].end(), -1.0);
    double value = 1e7 * rank + 1e6 * static_cast<double>(f);
    each_row(c, {0, 0, 0}, false, [&](std::size_t at) {
      for (int k = 0; k < c.n; ++k) data[f][at + static_cast<std::size_t>(k)] = value++;
    });
  }
}

void run(const Case& c, int repetitions, MPI_Comm cart) {
  int rank = 0;
  MPI_Comm_rank(cart, &rank);
  std::vector<std::vector<double>> data(static_cast<std::size_t>(c.fields), std::vector<double>(c.volume()));
  std::vector<rankwise_field> fields(data.size());
  const int own[3] = {c.n, c.n, c.n};
  const int width[3] = {c.g, c.g, c.g};
  for (std::size_t f = 0; f < data.size(); ++f) {
    check(rankwise_field_default(&fields[f]));
    check(rankwise_field_array(&fields[f], data[f].data(), sizeof(double), 3, own, width, width));
  }
  rankwise_halo_options options;
  check(rankwise_halo_options_default(&options));
  std::copy(width, width + 3, options.lower);
  std::copy(width, width + 3, options.upper);
  rankwise_halo halo = nullptr;
  check(rankwise_halo_create(cart, c.fields, fields.data(), &options, &halo));
  {
    ByHand by_hand(c, cart, data);
    Subarrays subarrays(c, cart, data);
    const std::vector<std::function<void()>> ways{[&] {
                                                    check(rankwise_halo_start(halo, 0, nullptr, nullptr));
                                                    check(rankwise_halo_wait(halo));
                                                  },
                                                  [&] { by_hand(); }, [&] { subarrays(); }};
    // All three must fill every halo alike.
    std::vector<std::vector<double>> expected;
    for (const auto& way : ways) {
      fill(c, rank, data);
      way();
      if (expected.empty()) expected = data;
      if (expected != data || std::count(data[0].begin(), data[0].end(), -1.0) > 0) {
        std::fprintf(stderr, "the halos differ\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
    }
    const int batch = std::max(1, static_cast<int>(2000000 / (c.volume() * static_cast<std::size_t>(c.fields) / 4 + 2000)));
    auto times = by_turns(ways.size(), repetitions, [&](std::size_t way) {
      MPI_Barrier(cart);
      ways[way]();
      const double start_s = MPI_Wtime();
      for (int i = 0; i < batch; ++i) ways[way]();
      return (MPI_Wtime() - start_s) / batch;
    });
    for (auto& of_way : times) {
      MPI_Allreduce(MPI_IN_PLACE, of_way.data(), repetitions, MPI_DOUBLE, MPI_MAX, cart);
    }
    if (rank == 0) {
      std::printf("{\"n\": %d, \"g\": %d, \"f\": %d, ", c.n, c.g, c.fields);
      print("ours_s", times[0], ", ");
      print("by_hand_s", times[1], ", ");
      print("subarrays_s", times[2], "}\n");
    }
  }
  check(rankwise_halo_destroy(&halo));
}

}  // namespace

int main(int argc, char** argv) { return run_cases(argc, argv, run); }
