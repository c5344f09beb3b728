// The 3-D FFT of an array that is divided among ranks (decomposition.hpp), in place.
//
// Forward, for pencils: lines along axis 2 are transformed while they are in cache and go from there into blocks for the
// ranks of the row; after the exchange the blocks lie so that lines along axis 1 can be read as they are, are transformed
// panel by panel and go into blocks for the ranks of the column; after that exchange the array is in transposed order and
// lines along axis 0 are transformed where they are. Packing so costs no pass over memory of its own and unpacking none at
// all. Slabs transform axes 2 and 1 together and exchange once; one rank has nothing to exchange and may leave all to the
// local library, whichever takes less time. Backward is the same in reverse: blocks are sent as they lie and gathered
// panel by panel.
//
// Besides the array one buffer of the same size is needed. The first stage can read a caller's memory and the last one write
// it: lines go to cache and from there to the blocks anyway.
//
// Where the ranks share a node, arrays that are not too large are not sent: each stage writes its box into memory that all ranks
// see, and the next one takes what it needs from there (SharedTurns). Planes of complex values are then transformed on
// their way into it.
//
// Several fields can be transformed together: their blocks for a rank lie side by side and travel as one message. Between the
// stages a field then is what another axis would be: [axis 0][field][axis 1][axis 2] in transposed order, one field after the
// other in natural order.
#pragma once

#include <mpi.h>

#include <array>
#include <complex>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fft/block_exchange.hpp"
#include "fft/decomposition.hpp"
#include "fft/library.hpp"
#include "fft/memory.hpp"
#include "fft/stages.hpp"

namespace rankwise {

struct FftSpec {
  Decomposition decomposition;
  Order order = Order::transposed;
  TransposeMethod method = TransposeMethod::alltoall;
  Planning planning = Planning::measure;
  bool may_idle = false;   // ranks that hold nothing are served
  Index chunks = 1;        // of slabs: slices of planes whose exchange is under way while the next ones are transformed
  Index fields = 1;        // that are transformed together
  Index last_fields = 0;   // fewer of them, where some runs have fewer; 0: none has
  bool by_turns = false;   // another transform's exchange is under way meanwhile: it is made to get on
  int ranks_per_node = 0;  // of node-aware transposes: so many ranks after each other stand for a node; 0: as MPI tells
  // Within a node stages read each other's memory (alltoall); false: MPI carries what moves.
  bool shares_memory = true;
  bool alone = false;           // the local work of the grid's first ranks, on as many as there are: nothing is exchanged
  std::string knowledge = {};   // a file: what planning finds out is read from it and kept in it; none: not kept
  std::size_t piece_bytes = 0;  // 0: messages travel in pieces only where MPI could not count them
};

// Where a run reads and writes; null: in the transform's own array. The two may be one, for everything is read before
// anything is written.
struct Ends {
  const void* from = nullptr;
  void* into = nullptr;
  Index line = 0;                                // reals from one line of real data to the next in the caller's memory
  double scale = 1.0;                            // a factor for every value
  Index fields = 0;                              // as FftSpec says; 0: FftSpec::fields
  std::size_t from_stride = 0, into_stride = 0;  // bytes from one field to the next
  const void* next = nullptr;                    // what the next run reads, if that is known: it is fetched meanwhile
  [[nodiscard]] Ends of_field(Index field) const {
    const auto at = [field](auto* memory, std::size_t stride) {
      return memory == nullptr ? nullptr : memory + static_cast<std::size_t>(field) * stride;
    };
    return {at(static_cast<const std::byte*>(from), from_stride), at(static_cast<std::byte*>(into), into_stride), line, scale,
            1};
  }
};

// Seconds that this rank spent on local FFTs, on moving values within its memory, and in the exchanges (waiting for the
// other ranks included). With one rank all is local FFT.
struct PhaseTimes {
  double compute_s = 0.0;
  double shuffle_s = 0.0;
  double exchange_s = 0.0;
};

// What a shortened transform took on this rank: each stage of local work on a share of its planes or panels, scaled up, and
// the exchanges whole, none of them waiting for others.
struct ShortenedTimes {
  PhaseTimes phases;
  std::vector<double> stage_s;  // compute and shuffle of each stage: before the first exchange, between them, after the last
};

// How many columns of so many points make a panel, next to an array of array_bytes: it is small against that, too.
inline constexpr Index most_columns = 64;
[[nodiscard]] Index whole_panel(Index points, Index columns, std::size_t value_bytes, std::size_t array_bytes);
// How many planes are transformed at a time where they go out in so many slices.
[[nodiscard]] Index planes_at_a_time(Index planes, Index plane, std::size_t value_bytes, Index chunks);

template <typename Real>
class Fft3d {
 public:
  using Value = std::complex<Real>;

  // Collective. Plans, which overwrites nothing but the transform's own array. Throws std::invalid_argument when the
  // ranks do not fit (check) or do not get the memory, FftUnavailable when the library cannot.
  Fft3d(MPI_Comm comm, const FftSpec& spec, const FftLibrary& library);
  Fft3d(const Fft3d&) = delete;
  Fft3d& operator=(const Fft3d&) = delete;

  // The array: forward takes it in natural order, field by field; real data in lines of n[2] reals, padded to
  // 2 (n[2] / 2 + 1). In transposed order the planes of axis 0 of all fields take turns, but on one rank.
  [[nodiscard]] Value* data() { return array_.as<Value>(); }
  [[nodiscard]] Box input_box() const { return spec_.decomposition.natural(rank_); }
  [[nodiscard]] Box output_box() const;  // of the order that spec asks for
  [[nodiscard]] bool fields_take_turns() const { return spec_.order == Order::transposed && p1_ * p2_ > 1; }  // behind it
  [[nodiscard]] std::size_t memory_bytes() const;  // of array and buffers
  [[nodiscard]] std::size_t array_bytes() const { return array_.bytes(); }
  [[nodiscard]] std::size_t field_bytes() const { return array_.bytes() / static_cast<std::size_t>(spec_.fields); }

  // Collective. Neither direction divides: forward and backward multiply by the number of points. Throws MpiError.
  void run(Direction direction, const Ends& ends = {});
  // Adds to stages what a run does.
  void add(Stages& stages, Direction direction, const Ends& ends);
  [[nodiscard]] const PhaseTimes& phases() const { return phases_; }  // of the last run

  // Collective: a forward or backward of zeros of which every stage does only about share_bytes (of its array, in four runs of
  // neighbours spread over it), by the same loops, plans and memory as a run: what the model is made of. The array holds
  // nothing afterwards. A 3-D transform of the local library itself is run whole.
  [[nodiscard]] ShortenedTimes run_shortened(Direction direction, std::size_t share_bytes = usual_share_bytes);
  static constexpr std::size_t usual_share_bytes = 8'000'000;

  // Collective: only the exchanges of a forward run in transposed order, on whatever the buffers hold.
  void run_exchanges();
  // Only the local FFTs of a run, panels again and again where they lie.
  void run_transforms(Direction direction);

 private:
  // Plans of both directions for a batch and for what is left over by whole batches.
  struct Planned {
    std::array<std::unique_ptr<LocalFft<Real>>, 2> whole;
    std::array<std::unique_ptr<LocalFft<Real>>, 2> rest;
    Index step = 1;  // planes or columns of a whole batch
    // make: gives the plan of so many of them.
    template <class Make>
    void plan(Index count, Make make) {
      for (const Direction d : {Direction::forward, Direction::backward}) {
        whole[static_cast<std::size_t>(d)] = make(step, d);
        if (count % step != 0) rest[static_cast<std::size_t>(d)] = make(count % step, d);
      }
    }
    void run(const Value* from, Value* into, Index count, Direction direction) const;
  };
  class Lap;
  // Values of so many points of an axis that is divided there. Those of point x of axis 0 and y of axis 1, both counted from
  // the first that are there, begin at at[field * field + x * x + y * y]; what is not divided lies in a row.
  template <class Values>
  struct Piece {
    Values* at;
    Share share;
    Index field, x, y;
  };
  // A piece that lies with a rank, so many values behind the beginning of what that has written.
  struct Part {
    Share share;
    Index rank, offset, field, x, y;
  };
  // What each rank has in a stage, and the axis along which it has whole lines.
  struct Boxes {
    Box (Decomposition::*of)(Index rank) const;
    std::size_t whole;
  };
  // How the values of one stage become those of the next.
  struct Between {
    std::vector<Part> written, read;
    Value* write_at = nullptr;
    Value* read_at = nullptr;
    std::unique_ptr<BlockExchange> blocks = {};  // from the one to the other
    SharedTurns* turns = nullptr;                // in place of all three
    [[nodiscard]] std::vector<Piece<Value>> to_write() const;
    [[nodiscard]] std::vector<Piece<const Value>> to_read() const;
    [[nodiscard]] Transfer* transfer() const { return turns != nullptr ? static_cast<Transfer*>(turns) : blocks.get(); }
  };
  // The exchanges of so many fields at a time, by direction.
  struct Exchanges {
    std::array<Between, 2> row, column;
    std::array<std::vector<std::unique_ptr<BlockExchange>>, 2> slices;
  };

  void share_memory();
  void plan(const FftLibrary& library);
  void plan_all(const FftLibrary& library);
  [[nodiscard]] Planned plan_planes(const FftLibrary& library, Value* into);  // null: in place
  [[nodiscard]] Planned plan_panels(const FftLibrary& library, Index points, Index columns);
  void connect(Index fields);
  void share(std::array<Between, 2>& both, SharedTurns& turns, const std::vector<Index>& ranks, const Boxes& first,
             const Boxes& second);
  void connect_row(Exchanges& exchanges, Index fields);
  void connect_column(Exchanges& exchanges, Index fields);
  void connect_slices(Exchanges& exchanges, Index fields);
  void join(MPI_Comm comm, std::array<Between, 2>& both, const BlocksOfRanks& blocks, const BlocksOfRanks& lines,
            const Buffer& from, const Buffer& into);
  [[nodiscard]] Exchanges& exchanges_of(Index fields);
  [[nodiscard]] bool is_sliced() const { return spec_.chunks > 1 && p1_ > 1 && p2_ == 1; }
  [[nodiscard]] Share chunk_of(Index planes, Index plane, Index chunk) const;
  void progress() const;

  void go(Stages& stages, bool transforms, const Ends& ends);    // until lines along axis 0 are whole
  void come(Stages& stages, bool transforms, const Ends& ends);  // back from there
  void scatter_planes(bool transforms, const Ends& ends, const Between& next, Index chunk);   // from natural order
  void gather_planes(bool transforms, const Ends& ends, const Between& before, Index chunk);  // into natural order
  void transform_middle(bool transforms, Direction direction, Index fields, const Between& before, const Between& next);
  void transform_first(const std::vector<Piece<const Value>>& from, const std::vector<Piece<Value>>& into, Direction direction,
                       const Ends& ends);
  // Whole lines along axis 0, as so many fields take turns; step: values from one field to the next, 0: as they do.
  template <class Values>
  [[nodiscard]] Piece<Values> columns(Values* at, Index fields, std::size_t stride = 0) const;
  void run_alone(Direction direction, const Ends& ends);  // one rank
  void run_field_alone(Direction direction, const Ends& ends, Value* array);
  // Runs a stage's units (planes or panels), or a share of them, and adds what they took, scaled. total: of what `work` counts.
  template <class Work>
  void in_units(Index units, Index total, Work work);
  template <class Work>
  void in_planes(const Ends& ends, Index chunk, Work work);
  template <class Work>
  Index in_some_units(Index units, PhaseTimes& own, Work work);
  // Calls run(at, place, values) for each run of values that lie in a row in a piece and in so many planes, place in the latter.
  template <class Values, class Run>
  void each_run(const Piece<Values>& piece, Index field, Share planes, Run run) const;
  // from may be into.
  void transform(const Planned& planned, const Value* from, Value* into, Index count, Index values, Direction direction) const;
  // Whether planes can go straight from the caller's memory or into it.
  [[nodiscard]] bool is_straight(const void* memory) const;
  // Lines along axis 2 from and to the caller's memory; those of real data may lie apart there.
  void load_lines(const Ends& ends, Index first, Index count, Value* into) const;
  void store_lines(const Value* from, Index first, Index count, const Ends& ends) const;
  [[nodiscard]] BlockVariant variant();

  FftSpec spec_;
  MPI_Comm comm_;
  int rank_ = 0;
  OwnedComm row_;     // ranks that divide axis 1 (natural) or 2 among them
  OwnedComm column_;  // ranks that divide axis 0 or 1
  Index p1_, p2_;
  Index n0_, n1_, n2_;                // n2: complex points
  Index own0_, own1_, own2_, late1_;  // this rank's points of axes 0, 1 (natural) and 2, 1 (transposed)
  Buffer array_;
  Buffer work_;
  Buffer late_;  // what arrives in slices, for the array is still in use
  Buffer panel_;
  std::unique_ptr<LocalFft<Real>> all_[2];  // one rank, where it is faster than planes and panels: the whole transform
  Planned planes_, middle_, first_;
  Planned apart_;                                          // planes from one memory into another, where these are shared
  std::unique_ptr<SharedTurns> row_turns_, column_turns_;  // in place of messages
  PassingMemory passing_;
  std::array<Exchanges, 2> exchanges_;  // of FftSpec::fields and of last_fields
  PhaseTimes phases_;
  std::size_t share_bytes_ = 0;  // 0: all of it
  bool is_moved_only_ = false;   // the present unit is not transformed
};

}  // namespace rankwise
