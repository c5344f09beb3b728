// The plan behind a handle of a halo: what boxes and lists share.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/communicator.hpp"
#include "api/failure.hpp"
#include "exchange/halo_exchange.hpp"
#include "exchange/trial.hpp"
#include "rankwise/rankwise.h"

namespace rankwise::api {

// The caller's fields, of any version of the struct.
class Fields {
 public:
  // Throws Failure for a number below 0 or above 64, or a struct that was not filled.
  Fields(int count, const rankwise_field* fields);
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] const rankwise_field& operator[](std::size_t i) const {
    return *reinterpret_cast<const rankwise_field*>(reinterpret_cast<const std::byte*>(first_) + i * size_);
  }

 private:
  std::size_t count_ = 0;
  std::size_t size_ = 0;
  const rankwise_field* first_ = nullptr;
};

inline constexpr std::size_t most_fields = 64;

// Combines elements that follow each other into those at these places, counted in strides.
using CombineElements = void (*)(std::byte* into, Bytes stride, std::span<const int> at, const std::byte* from,
                                 std::size_t element_bytes, const void* context);

// What is combined in the way back, and how.
struct Reduction {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  int type_bytes = 1;
  CombineRow row = nullptr;
  CombineElements elements = nullptr;
};

// Throws Failure for a type that is no intrinsic one, and an operation that does not commute.
[[nodiscard]] Reduction reduction_of(MPI_Datatype type, MPI_Op op);

// A number that one rank tells another, under a tag.
struct MessageDigest {
  int peer;
  int tag;
  std::uint64_t number;
};
// Both ends of every message mean the same, by a digest of it: what a rank will send, and what it will receive, each sent in
// the order of the messages. Collective among partners. Throws std::logic_error.
void compare_messages(MPI_Comm comm, const std::vector<MessageDigest>& sends, const std::vector<MessageDigest>& receives);

// The meaning, errors and collectiveness of all functions are those of rankwise.h.
class HaloPlan {
 public:
  virtual ~HaloPlan() = default;
  HaloPlan(const HaloPlan&) = delete;
  HaloPlan& operator=(const HaloPlan&) = delete;

  void start(int nfields, const rankwise_field* fields, const int active[]);
  void reduce_start(int nfields, const rankwise_field* fields, const int active[], MPI_Datatype type, MPI_Op op);
  void wait();
  [[nodiscard]] bool test();
  void close();
  [[nodiscard]] virtual std::string explain() const = 0;
  void save(const char* path) const;

 protected:
  HaloPlan();
  // Reads and checks the fields of a call; the bits of those that move.
  virtual std::uint64_t take(const Fields& fields, const int active[]) = 0;
  virtual void begin(std::uint64_t active) = 0;
  // The way of the next exchange, by its number among those that there are.
  [[nodiscard]] std::size_t now() const { return now_; }
  // Frees all ways but one.
  virtual void keep(std::size_t way) = 0;
  // The trial is over.
  virtual void settled() {}
  // Tries the ways of these algorithms in the first of so many exchanges to come. False where there is one alone, or exchanges are
  // too few: then the first is kept.
  bool try_variants(std::vector<int> algorithms, int exchanges);
  // Ways have been made anew.
  void begin_again() {
    trial_.reset();
    now_ = 0;
  }
  // What is to be tried, or what was found.
  [[nodiscard]] std::string trial_state() const;
  // What is left to do once it is known what moves; collective where it does anything.
  virtual void prepare(std::uint64_t) {}
  // What this rank sends to others: JSON objects (see save), with commas between. Throws Failure where it is not known.
  [[nodiscard]] virtual std::string pairs() const = 0;
  // Adds one of these: so many bytes of each field, gathered from so many rows of memory.
  void add_pair(std::string& text, int dest, const std::vector<std::size_t>& bytes, std::size_t rows) const;
  // The members of the file's object that are the same for all ranks, each with a comma behind it.
  [[nodiscard]] virtual std::string header() const { return ""; }
  // Throws Failure where there is no way back now.
  virtual void require_back() const {}
  virtual void begin_back(std::uint64_t active, const Reduction& reduction) = 0;
  // As HaloExchange's.
  virtual bool advance(bool wait) = 0;
  [[nodiscard]] virtual std::size_t element_bytes(std::size_t field) const = 0;
  [[nodiscard]] virtual MPI_Comm comm() const = 0;
  virtual void free() = 0;

  void require_idle(const char* call) const;
  // The bits of the active ones of so many fields.
  [[nodiscard]] static std::uint64_t bits(std::size_t fields, const int active[]);
  template <class Checks>
  void checked(const char* call, Checks&& checks) const {
    api::checked(check_every_call_, comm(), call, checks);
  }
  [[nodiscard]] bool checks_every_call() const { return check_every_call_; }

 private:
  bool progress(bool wait);
  void end_round();

  enum class State { idle, under_way, complete, broken };
  State state_ = State::idle;
  bool check_every_call_;
  Reduction reduction_;
  std::optional<Trial> trial_;
  std::vector<int> tried_;  // the algorithms of its ways
  std::size_t now_ = 0;
  bool is_tried_ = false;  // what is under way
  double spent_s_ = 0.0;   // in its calls so far
};

}  // namespace rankwise::api
