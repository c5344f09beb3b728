// Executes one rank's schedule over MPI.
//
//   const RankSchedule schedule = make_schedule(spec, rank);         // import, or visits; make_reduce: the way back
//   const std::vector<std::size_t> bytes = exchange_sizes(comm, spec, own_bytes);    // of each slot, collective
//   std::vector<SlotBuffer> slots(schedule.slots);                   // where each block lies: the caller's memory
//   Executor executor(comm, schedule, spec.mode, slots, {add, visit});
//   executor.run();                                                  // or start() ... wait()
//
// A block lies wherever its SlotBuffer says; slots that follow each other in memory travel as plain bytes, others by a
// datatype, never by a copy. Slots of one place (RankSchedule::place, team-shift only) may share memory of the size of
// the largest; SlotStorage lays them out. Sender and receiver must mean the same sizes: use exchange_sizes whenever they
// may differ. Several executors may share a communicator as long as only one of them is started and not waited for.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <span>
#include <stdexcept>
#include <vector>

#include "mpi/mpi.hpp"
#include "schedule/schedule.hpp"

namespace rankwise {

// Where a slot's block lies. Slots that a rank's schedule does not use may be null.
struct SlotBuffer {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  bool operator==(const SlotBuffer&) const = default;
};

struct Callbacks {
  // Needed by schedules that add: add so many bytes at `from` to those at `into`. Called in the same order every time,
  // for stretches of whole blocks.
  std::function<void(std::byte* into, const std::byte* from, std::size_t bytes)> add;
  // Called for every visit of team-shift while the next block is under way; op.slots are the visiting blocks, op.tag
  // is the index of their offset in Teams::window(). They must be left as they are.
  std::function<void(const Op& op)> visit;
};

class Executor {
 public:
  // slots: one a slot of the schedule. Memory and schedule must outlive the executor. Rank r of comm executes the
  // schedule of rank r. Collective where the schedule is a neighbourhood collective, local otherwise.
  // Throws std::invalid_argument when a message has more than 2^31 - 1 bytes, MpiError when MPI does.
  Executor(MPI_Comm comm, const RankSchedule& schedule, SendMode mode, std::span<const SlotBuffer> slots,
           Callbacks callbacks = {});
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Local: from now on the blocks lie in these slots, of any sizes. Not between start and wait. Throws as above.
  void rebind(std::span<const SlotBuffer> slots);

  // start puts the first step's messages under way unless the send mode blocks; wait does the rest. The own block
  // must not change, nor the others be touched, in between. Each start takes one wait. Throw MpiError.
  void start();
  void wait();
  // In place of wait, for schedules of one step whose operations wait for none: true when it is complete.
  [[nodiscard]] bool test();
  void run() {
    start();
    wait();
  }

 private:
  // Consecutive bytes.
  struct Stretch {
    std::byte* data;
    std::size_t bytes;
    bool is_first = false;  // nothing is there yet to which could be added
  };
  // An operation as MPI wants it.
  struct Action {
    const Op* op = nullptr;
    std::byte* data = nullptr;  // of the message: a slot, or scratch when what arrives is added
    int count = 0;
    MPI_Datatype type = MPI_BYTE;
    bool owns_type = false;
    std::vector<Stretch> stretches;     // the slots, neighbours joined
    std::vector<Stretch> source;        // of a copy, stretch by stretch as long as `stretches`
    std::vector<std::size_t> releases;  // the actions of the stage that come after this one
    std::size_t waits_for = 0;
  };
  struct Stage {
    std::vector<Action> actions;         // receives, then sends, then the rest, each in the order of the step
    std::vector<MPI_Request> requests;   // of the receives and sends
    std::vector<std::size_t> waits_for;  // what is left of Action::waits_for
    bool ordered = false;                // some action comes after another
  };

  void bind();
  void release();
  [[nodiscard]] Action prepare(const Op& op);
  [[nodiscard]] std::vector<Stretch> stretches(const Op& op);
  void prepare_copies(const Op& op, Action& action) const;
  void prepare_persistent(Stage& stage, std::size_t i) const;
  void prepare_neighborhood();
  void begin(Stage& stage);
  void finish(Stage& stage);
  void finish_in_order(Stage& stage);
  void post(Stage& stage, std::size_t i);
  void send_blocking(const Action& action) const;
  void run_single(const Action& action);
  void run_local(const Action& action);

  MPI_Comm comm_;
  const RankSchedule& schedule_;
  SendMode mode_;
  bool adds_;
  std::vector<SlotBuffer> slots_;
  Callbacks callbacks_;
  std::vector<Stage> stages_;
  std::vector<std::vector<std::byte>> scratch_;
  std::vector<bool> empty_;  // while binding schedules that add: the slots to which nothing has come yet

  OwnedComm neighborhood_;
  struct Sides {
    std::vector<int> counts;
    std::vector<MPI_Aint> displacements;
    std::vector<MPI_Datatype> types;
  };
  Sides out_;
  Sides in_;
  MPI_Request collective_ = MPI_REQUEST_NULL;
};

// Memory for the slots of a schedule, place after place.
class SlotStorage {
 public:
  SlotStorage(const RankSchedule& schedule, std::span<const std::size_t> bytes_per_slot);

  [[nodiscard]] const std::vector<SlotBuffer>& slots() const { return slots_; }
  [[nodiscard]] std::span<std::byte> memory() { return memory_; }

 private:
  std::vector<std::byte> memory_;
  std::vector<SlotBuffer> slots_;
};

// Collective. The size of every slot's block, sent along the path that the blocks will take; 0 where none belongs.
[[nodiscard]] std::vector<std::size_t> exchange_sizes(MPI_Comm comm, const ExchangeSpec& spec, std::size_t own_bytes);

}  // namespace rankwise
