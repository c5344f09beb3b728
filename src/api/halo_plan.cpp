#include "api/halo_plan.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <fstream>

#include "api/environment.hpp"
#include "api/halo_variant.hpp"

namespace rankwise::api {

Fields::Fields(int count, const rankwise_field* fields) {
  if (count < 0 || count > static_cast<int>(most_fields)) {
    refuse_argument("nfields is " + std::to_string(count) + ": give at most " + std::to_string(most_fields));
  }
  if (count == 0) return;
  if (fields == nullptr) refuse_argument("fields is NULL: give one struct a field");
  size_ = fields->struct_size;
  if (size_ < sizeof(rankwise_field) || size_ > 4096 || size_ % alignof(rankwise_field) != 0) {
    refuse_argument("fields[0].struct_size is " + std::to_string(size_) + ": fill fields with rankwise_field_default first");
  }
  first_ = fields;
  count_ = static_cast<std::size_t>(count);
  for (std::size_t f = 0; f < count_; ++f) {
    const rankwise_field& field = (*this)[f];
    const std::string name = "fields[" + std::to_string(f) + "]";
    if (field.struct_size != size_) refuse_argument(name + " was not filled: use rankwise_field_default for each of them");
    if (field.element_bytes < 1) refuse_argument(name + ".element_bytes is 0: give the bytes of one element");
    if (field.ndims < 1 || field.ndims > RANKWISE_MAX_DIMS) {
      refuse_argument(name + ".ndims is " + std::to_string(field.ndims) + ": give 1 to " + std::to_string(RANKWISE_MAX_DIMS));
    }
  }
}

namespace {

template <class Value, class Combine>
void combine(std::byte* into, const std::byte* from, std::size_t bytes, Combine how) {
  const auto each = [&](std::size_t end) {
    for (std::size_t i = 0; i < end; i += sizeof(Value)) {
      Value a;
      Value b;
      std::memcpy(&a, into + i, sizeof a);
      std::memcpy(&b, from + i, sizeof b);
      a = how(a, b);
      std::memcpy(into + i, &a, sizeof a);
    }
  };
  // A force: a loop of known length is none.
  bytes == 3 * sizeof(Value) ? each(3 * sizeof(Value)) : each(bytes);
}

struct Sum {
  template <class Value>
  Value operator()(Value a, Value b) const {
    return static_cast<Value>(a + b);
  }
};
struct Largest {
  template <class Value>
  Value operator()(Value a, Value b) const {
    return b > a ? b : a;
  }
};
struct Least {
  template <class Value>
  Value operator()(Value a, Value b) const {
    return b < a ? b : a;
  }
};

template <class Value, class How>
void set(Reduction& reduction) {
  reduction.row = [](std::byte* into, const std::byte* from, std::size_t n, const void*) {
    combine<Value>(into, from, n, How{});
  };
  reduction.elements = [](std::byte* into, Bytes stride, std::span<const int> at, const std::byte* from, std::size_t bytes,
                          const void*) {
    const auto each = [&](auto size) {
      for (const int place : at) {
        combine<Value>(into + place * stride, from, size, How{});
        from += size;
      }
    };
    bytes == 3 * sizeof(Value) ? each(std::integral_constant<std::size_t, 3 * sizeof(Value)>{}) : each(bytes);
  };
}

template <class Value>
void set(Reduction& reduction) {
  if (reduction.op == MPI_SUM) set<Value, Sum>(reduction);
  if (reduction.op == MPI_MAX) set<Value, Largest>(reduction);
  if (reduction.op == MPI_MIN) set<Value, Least>(reduction);
}

// What MPI combines, a row a call.
void by_mpi(std::byte* into, const std::byte* from, std::size_t bytes, const void* context) {
  const auto& reduction = *static_cast<const Reduction*>(context);
  const auto type_bytes = static_cast<std::size_t>(reduction.type_bytes);
  constexpr std::size_t most = std::size_t{1} << 30;  // MPI counts in int
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t count = std::min((bytes - done) / type_bytes, most);
    RANKWISE_CHECKED(MPI_Reduce_local, from + done, into + done, static_cast<int>(count), reduction.type, reduction.op);
    done += count * type_bytes;
  }
}
void elements_by_mpi(std::byte* into, Bytes stride, std::span<const int> at, const std::byte* from, std::size_t bytes,
                     const void* context) {
  for (const int place : at) {
    by_mpi(into + place * stride, from, bytes, context);
    from += bytes;
  }
}

}  // namespace

Reduction reduction_of(MPI_Datatype type, MPI_Op op) {
  if (type == MPI_DATATYPE_NULL) refuse_argument("the type is MPI_DATATYPE_NULL: give one such as MPI_DOUBLE");
  if (op == MPI_OP_NULL) refuse_argument("the operation is MPI_OP_NULL: give one such as MPI_SUM");
  int integers = 0, addresses = 0, types = 0, combiner = 0, commutes = 0;
  Reduction reduction{type, op};
  RANKWISE_CHECKED(MPI_Type_get_envelope, type, &integers, &addresses, &types, &combiner);
  if (combiner != MPI_COMBINER_NAMED) refuse_argument("the type is a derived one: give an intrinsic type such as MPI_DOUBLE");
  RANKWISE_CHECKED(MPI_Op_commutative, op, &commutes);
  if (commutes == 0) refuse_argument("the operation does not commute: give one that does, such as MPI_SUM");
  RANKWISE_CHECKED(MPI_Type_size, type, &reduction.type_bytes);
  if (type == MPI_DOUBLE) set<double>(reduction);
  if (type == MPI_FLOAT) set<float>(reduction);
  if (type == MPI_INT) set<int>(reduction);
  if (type == MPI_INT64_T) set<std::int64_t>(reduction);
  if (reduction.row == nullptr) {
    reduction.row = by_mpi;
    reduction.elements = elements_by_mpi;
  }
  return reduction;
}

void compare_messages(MPI_Comm comm, const std::vector<MessageDigest>& sends, const std::vector<MessageDigest>& receives) {
  std::vector<std::uint64_t> came(receives.size());
  std::vector<MPI_Request> requests;
  for (std::size_t i = 0; i < came.size(); ++i) {
    const MessageDigest& message = receives[i];
    RANKWISE_CHECKED(MPI_Irecv, &came[i], 1, MPI_UINT64_T, message.peer, message.tag, comm, &requests.emplace_back());
  }
  for (const MessageDigest& message : sends) {
    RANKWISE_CHECKED(MPI_Isend, &message.number, 1, MPI_UINT64_T, message.peer, message.tag, comm, &requests.emplace_back());
  }
  wait_all(static_cast<int>(requests.size()), requests.data());
  for (std::size_t i = 0; i < came.size(); ++i) {
    if (came[i] == receives[i].number) continue;
    throw std::logic_error("rank " + std::to_string(receives[i].peer) + " means another message to rank " +
                           std::to_string(rank_of(comm)));
  }
}

HaloPlan::HaloPlan() : check_every_call_(environment_flag("RANKWISE_CHECK")) {}

void HaloPlan::require_idle(const char* call) const {
  if (state_ == State::under_way) {
    refuse_usage(std::string("an exchange is under way: complete it with rankwise_halo_wait before ") + call);
  }
  if (state_ == State::broken) refuse_usage("an exchange of this halo has failed: destroy it and create another one");
}

std::uint64_t HaloPlan::bits(std::size_t fields, const int active[]) {
  std::uint64_t all = 0;
  for (std::size_t f = 0; f < fields; ++f) {
    if (active == nullptr || active[f] != 0) all |= std::uint64_t{1} << f;
  }
  return all;
}

void HaloPlan::start(int nfields, const rankwise_field* fields, const int active[]) {
  std::uint64_t moving = 0;
  checked("rankwise_halo_start", [&] {
    require_idle("rankwise_halo_start");
    moving = take(Fields(nfields, fields), active);
  });
  state_ = State::broken;
  prepare(moving);
  if (trial_ && trial_->is_round_over()) end_round();
  is_tried_ = trial_ && !trial_->is_over();
  if (is_tried_) now_ = trial_->now();
  const double begun_s = is_tried_ ? steady_s() : 0.0;
  begin(moving);
  if (is_tried_) spent_s_ = steady_s() - begun_s;
  state_ = State::under_way;
}

bool HaloPlan::try_variants(std::vector<int> algorithms, int exchanges) {
  if (algorithms.size() < 2) return false;
  trial_.emplace(algorithms.size(), static_cast<std::size_t>(exchanges));
  tried_ = std::move(algorithms);
  if (!trial_->is_over()) return true;
  begin_again();
  keep(0);
  return false;
}

std::string HaloPlan::trial_state() const {
  if (!trial_) return "";
  return trial_->is_over() ? result_text(tried_, *trial_) : trial_text(tried_);
}

// Every rank has made as many exchanges by now, so all come here in the same start.
void HaloPlan::end_round() {
  const double begun_s = steady_s();
  std::vector<double> numbers = trial_->measured_s();
  RANKWISE_CHECKED(MPI_Allreduce, MPI_IN_PLACE, numbers.data(), static_cast<int>(numbers.size()), MPI_DOUBLE, MPI_MAX, comm());
  trial_->compare(numbers);
  trial_->met(steady_s() - begun_s);
  if (!trial_->is_over()) return;
  // Where exchanges are short, freeing the other ways would be felt.
  constexpr double short_s = 1e-4;
  now_ = trial_->best();
  if (trial_->medians()[now_] >= short_s) {
    keep(now_);
    now_ = 0;
  }
  settled();
}

void HaloPlan::reduce_start(int nfields, const rankwise_field* fields, const int active[], MPI_Datatype type, MPI_Op op) {
  std::uint64_t moving = 0;
  checked("rankwise_halo_reduce_start", [&] {
    require_idle("rankwise_halo_reduce_start");
    require_back();
    const Reduction reduction = reduction_of(type, op);
    moving = take(Fields(nfields, fields), active);
    for (std::size_t f = 0; f < most_fields; ++f) {
      if ((moving >> f & 1) == 0 || element_bytes(f) % static_cast<std::size_t>(reduction.type_bytes) == 0) continue;
      refuse_argument("field " + std::to_string(f) + " has elements of " + std::to_string(element_bytes(f)) +
                      " B, which are not made of values of " + std::to_string(reduction.type_bytes) + " B");
    }
    reduction_ = reduction;
  });
  is_tried_ = false;
  state_ = State::broken;
  begin_back(moving, reduction_);
  state_ = State::under_way;
}

bool HaloPlan::progress(bool wait) {
  try {
    const double begun_s = is_tried_ ? steady_s() : 0.0;
    const bool done = advance(wait);
    if (is_tried_) spent_s_ += steady_s() - begun_s;
    if (!done) return false;
  } catch (const WrongLength& error) {
    state_ = State::broken;
    const int rank = rank_of(comm());
    refuse_argument("rank " + std::to_string(rank) + ": " + error.what() +
                    ": pass the same fields, active ones and lists on both ranks");
  } catch (...) {
    state_ = State::broken;
    throw;
  }
  state_ = State::complete;
  if (is_tried_) trial_->took(spent_s_);
  is_tried_ = false;
  return true;
}

void HaloPlan::wait() {
  if (state_ == State::complete) {
    state_ = State::idle;
    return;
  }
  if (state_ != State::under_way) refuse_usage("nothing to wait for: call rankwise_halo_start first");
  static_cast<void>(progress(true));
  state_ = State::idle;
}

bool HaloPlan::test() {
  if (state_ == State::complete) return true;
  if (state_ != State::under_way) refuse_usage("nothing to test: call rankwise_halo_start first");
  return progress(false);
}

void HaloPlan::close() {
  require_mpi();
  if (state_ == State::under_way) static_cast<void>(progress(true));
  free();
}

void HaloPlan::add_pair(std::string& text, int dest, const std::vector<std::size_t>& bytes, std::size_t rows) const {
  const int rank = rank_of(comm());
  if (!text.empty()) text += ",\n";
  text += "{\"source\": " + std::to_string(rank) + ", \"dest\": " + std::to_string(dest) + ", \"bytes\": [";
  std::size_t all = 0;
  for (std::size_t f = 0; f < bytes.size(); ++f) {
    text += (f > 0 ? ", " : "") + std::to_string(bytes[f]);
    all += bytes[f];
  }
  text += "], \"row_bytes\": " + std::to_string(rows > 0 ? all / rows : 0) + "}";
}

// The words of every rank, one rank after the other, on the first one.
void HaloPlan::save(const char* path) const {
  std::string own;
  all_or_none(comm(), [&] {
    if (path == nullptr || *path == '\0') refuse_argument("path is NULL or empty: give the file to write");
    own = pairs();
  });
  const std::vector<std::string> texts = gathered_texts(comm(), own);
  all_or_none(comm(), [&] {
    if (texts.empty()) return;
    std::string all;
    for (const std::string& theirs : texts) all += (all.empty() || theirs.empty() ? "" : ",\n") + theirs;
    std::ofstream file(path, std::ios::binary);
    file << "{\"schema\": 1, \"kind\": \"halo\", \"ranks\": " << texts.size() << ", " << header() << "\"pairs\": [\n"
         << all << "\n]}\n";
    if (file.flush()) return;
    refuse_argument(std::string(path) + " cannot be written: give a file in a folder that you may write to");
  });
}

}  // namespace rankwise::api
