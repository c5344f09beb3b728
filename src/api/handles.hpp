// The boundary between callers and the library: handles, and structs of other versions of the header.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "api/communicator.hpp"
#include "api/failure.hpp"
#include "rankwise/rankwise.h"

namespace rankwise::api {

// Handles: what a caller holds of a plan.

// What a handle points to. Handles are never given back to the system, and reused as late as possible: a stale copy of
// a destroyed handle points to memory that says so.
template <class Plan>
struct HandleOf {
  using Held = Plan;
  std::uint64_t magic = 0;
  std::atomic<Plan*> plan = nullptr;
};

// Handle: a struct of the C API that derives from HandleOf, with a number for its kind and the functions that make them.
template <class Handle>
class Handles {
 public:
  using Plan = typename Handle::Held;

  static Handles& all() {
    static Handles instance;
    return instance;
  }

  Handle* make(std::unique_ptr<Plan> plan) {
    const std::lock_guard lock(mutex_);
    constexpr std::size_t kept_idle = 64;
    Handle* handle = nullptr;
    if (idle_.size() > kept_idle) {
      handle = idle_.front();
      idle_.pop_front();
    } else {
      made_.push_back(std::make_unique<Handle>());
      handle = made_.back().get();
    }
    handle->magic = magic_of();
    handle->plan = plan.release();
    return handle;
  }

  // Takes the plan out of its handle.
  std::unique_ptr<Plan> take(Handle* handle) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(handle);
    return std::unique_ptr<Plan>(handle->plan.exchange(nullptr));
  }

  // Throws Failure for what is no handle, or one of a destroyed plan.
  static Plan& plan_of(Handle* handle) {
    if (handle == nullptr) refuse_usage("the plan is NULL: create it first; it may have been destroyed");
    if (handle->magic != magic_of()) refuse_usage(std::string("this is no plan: pass what ") + Handle::makers + " gave");
    Plan* plan = handle->plan;
    if (plan == nullptr) refuse_usage("the plan has been destroyed: create another one");
    return *plan;
  }

  // Frees the plan and clears the handle; what the C API's destroy functions do.
  void destroy(Handle** handle) {
    if (handle == nullptr) refuse_argument("plan is NULL: give the handle to destroy");
    if (*handle == nullptr) return;
    static_cast<void>(plan_of(*handle));
    std::unique_ptr<Plan> taken = take(*handle);
    *handle = nullptr;
    try {
      require_mpi();
    } catch (const Failure&) {
      static_cast<void>(taken.release());  // what it has of MPI cannot be freed any more
      throw;
    }
    taken->close();
  }

 private:
  // Another number for every kind of plan.
  static std::uint64_t magic_of() { return 0x72616E6B77697365ULL ^ (Handle::kind * 0x9E3779B97F4A7C15ULL); }

  std::mutex mutex_;
  std::deque<std::unique_ptr<Handle>> made_;
  std::deque<Handle*> idle_;
};

// Text to a caller's room, as the explain functions give it.
inline void give_text(const std::string& whole, char* text, std::size_t capacity, std::size_t* length) {
  if (length != nullptr) *length = whole.size() + 1;
  if (capacity == 0) return;
  if (text == nullptr) refuse_argument("text is NULL: give room for the text, or capacity 0");
  const std::size_t copied = whole.copy(text, capacity - 1);
  text[copied] = '\0';
}

// Handles of MPI as Fortran has them.

#if MPI_VERSION >= 5
inline MPI_Comm comm_of(rankwise_fint handle) { return MPI_Comm_fromint(handle); }
inline MPI_Datatype type_of(rankwise_fint handle) { return MPI_Type_fromint(handle); }
inline MPI_Op op_of(rankwise_fint handle) { return MPI_Op_fromint(handle); }
inline MPI_Info info_of(rankwise_fint handle) { return MPI_Info_fromint(handle); }
inline rankwise_fint handle_of(MPI_Comm comm) { return MPI_Comm_toint(comm); }
#else
inline MPI_Comm comm_of(rankwise_fint handle) { return MPI_Comm_f2c(handle); }
inline MPI_Datatype type_of(rankwise_fint handle) { return MPI_Type_f2c(handle); }
inline MPI_Op op_of(rankwise_fint handle) { return MPI_Op_f2c(handle); }
inline MPI_Info info_of(rankwise_fint handle) { return MPI_Info_f2c(handle); }
inline rankwise_fint handle_of(MPI_Comm comm) { return MPI_Comm_c2f(comm); }
#endif

// Structs of callers that were compiled against another version of the header.

// A caller's struct, filled with our defaults; what we do not know is zero.
template <class Struct>
void fill(Struct* given, std::size_t size, Struct defaults) {
  if (given == nullptr) refuse_argument("the struct to fill is NULL");
  std::memset(static_cast<void*>(given), 0, size);
  defaults.struct_size = size;
  std::memcpy(static_cast<void*>(given), &defaults, std::min(size, sizeof defaults));
}

// A caller's options in our version of the struct: fields that its version lacks keep their defaults, as all do where it gave
// none. least: the bytes of the first version. filler: the macro that fills them.
template <class Options>
Options in_our_version(const Options* given, Options options, std::size_t least, const char* filler) {
  if (given == nullptr) return options;
  const std::size_t size = given->struct_size;
  constexpr std::size_t most = 4096;
  if (size < least || size > most) {
    refuse_argument("options.struct_size is " + std::to_string(size) + ": fill the options with " + filler + " first");
  }
  std::memcpy(static_cast<void*>(&options), given, std::min(size, sizeof options));
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  if (size > sizeof options && std::any_of(bytes + sizeof options, bytes + size, [](unsigned char b) { return b != 0; })) {
    throw Failure(RANKWISE_ERROR_UNSUPPORTED,
                  "the options set something that this version of rankwise does not know: update the library");
  }
  return options;
}

}  // namespace rankwise::api
