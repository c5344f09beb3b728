#include "preload/neighbor_types.hpp"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstring>
#include <utility>

#include "preload/look_up.hpp"

namespace rankwise::preload {

namespace {

constexpr std::size_t most_runs = 1 << 20;  // that are written out; beyond, each becomes a loop
constexpr std::size_t few_runs = 8;

inline void copy(std::byte* into, const std::byte* from, std::size_t bytes) {
  switch (bytes) {
    case 4: std::memcpy(into, from, 4); return;
    case 8: std::memcpy(into, from, 8); return;
    case 16: std::memcpy(into, from, 16); return;
    case 24: std::memcpy(into, from, 24); return;
    default: std::memcpy(into, from, bytes);
  }
}

// Copies that are loops of rows, with one loop more around them. Returns false where there are too many.
bool wrap(BoxCopy& box, long long count, Bytes step, Bytes packed_step) {
  if (box.loops + 1 > most_halo_axes) return false;
  BoxCells extent{};
  BoxSteps from{};
  BoxSteps into{};
  extent[0] = count;
  from[0] = step;
  into[0] = packed_step;
  for (std::size_t i = 0; i < static_cast<std::size_t>(box.loops); ++i) {
    extent[i + 1] = box.loop[i].count;
    from[i + 1] = box.loop[i].from;
    into[i + 1] = box.loop[i].into;
  }
  BoxCopy around = BoxCopy::of_box(box.loops + 1, extent, box.row_bytes, from, into);
  around.from = box.from;
  around.into = box.into;
  box = around;
  return true;
}

}  // namespace

void TypeMap::add_run(Bytes at, std::size_t bytes) {
  if (bytes == 0) return;
  Run* last = runs_.empty() ? nullptr : &runs_.back();
  if (last != nullptr && last->packed + last->bytes == bytes_ && last->at + static_cast<Bytes>(last->bytes) == at) {
    last->bytes += bytes;
  } else {
    runs_.push_back({at, bytes_, bytes});
  }
  bytes_ += bytes;
}

void TypeMap::add_box(const BoxCopy& box) {
  boxes_.push_back(box);
  back_.push_back(box.reversed());
}

void TypeMap::append(const TypeMap& other, Bytes shift) {
  const std::size_t first = bytes_;
  for (const Run& run : other.runs_) {
    bytes_ = first + run.packed;  // so that what continues a run is joined to it
    add_run(run.at + shift, run.bytes);
  }
  for (BoxCopy box : other.boxes_) {
    box.from += shift;
    box.into += static_cast<Bytes>(first);
    add_box(box);
  }
  bytes_ = first + other.bytes_;
}

bool TypeMap::repeat(long long count, Bytes step) {
  if (count == 1) return true;
  if (count <= 0 || bytes_ == 0) {
    *this = TypeMap();
    return true;
  }
  const auto times = static_cast<std::size_t>(count);
  if (const Run* one = as_one_run(); one != nullptr && step == static_cast<Bytes>(one->bytes)) {
    runs_[0].bytes *= times;
    bytes_ *= times;
    return true;
  }
  TypeMap all;
  const bool written_out = boxes_.empty() && (times <= few_runs ? runs_.size() * times <= most_runs
                                                                : runs_.size() > few_runs && runs_.size() <= most_runs / times);
  if (written_out) {
    for (std::size_t i = 0; i < times; ++i) all.append(*this, static_cast<Bytes>(i) * step);
  } else {
    const auto wrapped = [&](BoxCopy box) {
      if (!wrap(box, count, step, static_cast<Bytes>(bytes_))) return false;
      all.add_box(box);
      return true;
    };
    for (const Run& run : runs_) {
      BoxCopy box;
      box.row_bytes = run.bytes;
      box.from = run.at;
      box.into = static_cast<Bytes>(run.packed);
      if (!wrapped(box)) return false;
    }
    for (const BoxCopy& box : boxes_) {
      if (!wrapped(box)) return false;
    }
    all.bytes_ = bytes_ * times;
    // What has become one row is a run.
    if (all.boxes_.size() == 1 && all.boxes_[0].loops == 0) {
      const BoxCopy row = all.boxes_[0];
      all = TypeMap();
      all.add_run(row.from, row.row_bytes);
    }
  }
  *this = std::move(all);
  return true;
}

void TypeMap::pack(const std::byte* memory, std::byte* message) const {
  for (const Run& run : runs_) copy(message + run.packed, memory + run.at, run.bytes);
  for (const BoxCopy& box : boxes_) run(box, message, memory);
}

void TypeMap::unpack(const std::byte* message, std::byte* memory) const {
  for (const Run& run : runs_) copy(memory + run.at, message + run.packed, run.bytes);
  for (const BoxCopy& box : back_) run(box, memory, message);
}

void TypeMap::unpack_first(std::size_t come, const std::byte* message, std::byte* memory) const {
  const auto part = [&](std::byte* into, const std::byte* from, std::size_t bytes) {
    const auto before = static_cast<std::size_t>(from - message);
    if (before < come) std::memcpy(into, from, std::min(bytes, come - before));
  };
  for (const Run& run : runs_) part(memory + run.at, message + run.packed, run.bytes);
  for (const BoxCopy& box : back_) each_row(box, memory, message, part);
}

namespace {

struct Envelope {
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = MPI_COMBINER_NAMED;
};

// False for what was made with large counts, and where MPI does not tell.
bool read_envelope(MPI_Datatype type, Envelope& of) {
#if MPI_VERSION >= 4
  using Large = int (*)(MPI_Datatype, MPI_Count*, MPI_Count*, MPI_Count*, MPI_Count*, int*);
  static const auto large = reinterpret_cast<Large>(look_up("MPI_Type_get_envelope_c"));
  if (large != nullptr) {
    MPI_Count integers = 0;
    MPI_Count addresses = 0;
    MPI_Count counts = 0;
    MPI_Count types = 0;
    if (large(type, &integers, &addresses, &counts, &types, &of.combiner) != MPI_SUCCESS) return false;
    of.integers = static_cast<int>(integers);
    of.addresses = static_cast<int>(addresses);
    of.types = static_cast<int>(types);
    return counts == 0;
  }
#endif
  return MPI_Type_get_envelope(type, &of.integers, &of.addresses, &of.types, &of.combiner) == MPI_SUCCESS;
}

struct Contents {
  std::vector<int> integer;
  std::vector<MPI_Aint> address;
  std::vector<MPI_Datatype> type;
  Contents() = default;
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;
  ~Contents() {
    for (MPI_Datatype& each : type) {
      if (!is_predefined(each)) MPI_Type_free(&each);
    }
  }
};

Bytes extent_of(MPI_Datatype type) {
  MPI_Aint low = 0;
  MPI_Aint extent = 0;
  return MPI_Type_get_extent(type, &low, &extent) == MPI_SUCCESS ? static_cast<Bytes>(extent) : 0;
}

bool decode(MPI_Datatype type, TypeMap& map, int depth);

bool named(MPI_Datatype type, TypeMap& map) {
  int size = 0;
  if (MPI_Type_size(type, &size) != MPI_SUCCESS || size != extent_of(type)) return false;  // pair types have holes
  map.add_run(0, static_cast<std::size_t>(size));
  return true;
}

// Blocks of elements of one type: `length` of them each, at such places.
template <class Length, class Place>
bool blocks(const TypeMap& element, Bytes extent, int count, Length length, Place place, TypeMap& map) {
  for (int i = 0; i < count; ++i) {
    TypeMap block = element;
    if (!block.repeat(length(i), extent)) return false;
    map.append(block, place(i));
  }
  return true;
}

bool subarray(const Contents& has, const TypeMap& element, Bytes extent, TypeMap& map) {
  const auto ndims = static_cast<std::size_t>(has.integer[0]);
  const int* sizes = &has.integer[1];
  const int* cells = sizes + ndims;
  const int* starts = cells + ndims;
  const bool c_order = starts[ndims] == MPI_ORDER_C;
  map = element;
  Bytes step = extent;
  Bytes first = 0;
  for (std::size_t i = 0; i < ndims; ++i) {  // the fastest axis first
    const std::size_t axis = c_order ? ndims - 1 - i : i;
    if (!map.repeat(cells[axis], step)) return false;
    first += starts[axis] * step;
    step *= sizes[axis];
  }
  TypeMap moved;
  moved.append(map, first);
  map = std::move(moved);
  return true;
}

bool combined(const Envelope& of, const Contents& has, TypeMap& map, int depth) {
  const auto& n = has.integer;
  if (of.combiner == MPI_COMBINER_STRUCT) {
    for (int i = 0; i < n[0]; ++i) {
      const auto at = static_cast<std::size_t>(i);
      TypeMap part;
      if (n[at + 1] == 0) continue;
      if (!decode(has.type[at], part, depth) || !part.repeat(n[at + 1], extent_of(has.type[at]))) return false;
      map.append(part, has.address[at]);
    }
    return true;
  }
  TypeMap element;
  if (!decode(has.type.at(0), element, depth)) return false;
  const Bytes extent = extent_of(has.type[0]);
  const auto lengths = [&](int i) { return n[static_cast<std::size_t>(i) + 1]; };
  const auto strided = [&](long long count, long long length, Bytes step) {
    map = element;
    return map.repeat(length, extent) && map.repeat(count, step);
  };
  switch (of.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED: map = element; return true;
    case MPI_COMBINER_CONTIGUOUS: return strided(1, n[0], 0);
    case MPI_COMBINER_VECTOR: return strided(n[0], n[1], n[2] * extent);
    case MPI_COMBINER_HVECTOR: return strided(n[0], n[1], has.address[0]);
    case MPI_COMBINER_INDEXED:
      return blocks(
          element, extent, n[0], lengths, [&](int i) { return n[static_cast<std::size_t>(n[0] + i) + 1] * extent; }, map);
    case MPI_COMBINER_HINDEXED:
      return blocks(element, extent, n[0], lengths, [&](int i) { return has.address[static_cast<std::size_t>(i)]; }, map);
    case MPI_COMBINER_INDEXED_BLOCK:
      return blocks(
          element, extent, n[0], [&](int) { return n[1]; }, [&](int i) { return n[static_cast<std::size_t>(i) + 2] * extent; },
          map);
    case MPI_COMBINER_HINDEXED_BLOCK:
      return blocks(
          element, extent, n[0], [&](int) { return n[1]; }, [&](int i) { return has.address[static_cast<std::size_t>(i)]; },
          map);
    case MPI_COMBINER_SUBARRAY: return subarray(has, element, extent, map);
    default: return false;
  }
}

// False for what is left to MPI_Pack.
bool decode(MPI_Datatype type, TypeMap& map, int depth) {
  Envelope of;
  if (depth > 32 || !read_envelope(type, of)) return false;
  if (of.combiner == MPI_COMBINER_NAMED || of.combiner == MPI_COMBINER_F90_INTEGER || of.combiner == MPI_COMBINER_F90_REAL ||
      of.combiner == MPI_COMBINER_F90_COMPLEX) {
    return named(type, map);
  }
  Contents has;
  has.integer.resize(static_cast<std::size_t>(of.integers));
  has.address.resize(static_cast<std::size_t>(of.addresses));
  std::vector<MPI_Datatype> types(static_cast<std::size_t>(of.types), MPI_DATATYPE_NULL);
  if (MPI_Type_get_contents(type, of.integers, of.addresses, of.types, has.integer.data(), has.address.data(), types.data()) !=
      MPI_SUCCESS) {
    return false;
  }
  has.type = std::move(types);
  return combined(of, has, map, depth + 1);
}

// Whether MPI takes the type for messages: it must be committed.
int allowed(MPI_Datatype type, MPI_Comm comm) {
  int at = 0;
  char none[8];
  return MPI_Pack(none, 0, type, none, sizeof none, &at, comm);
}

// MPI_Pack and MPI_Unpack count in int: a few elements at a time. step(elements, bytes, place in memory, place in the message).
template <class Step>
int in_parts(long long count, Bytes at, Bytes extent, std::size_t packed, std::size_t bytes_each, Step step) {
  const auto most = static_cast<long long>(std::max<std::size_t>(1, INT_MAX / std::max<std::size_t>(1, bytes_each)));
  for (long long done = 0; done < count;) {
    const long long now = std::min({count - done, most, static_cast<long long>(INT_MAX)});
    const int code = step(static_cast<int>(now), static_cast<int>(static_cast<std::size_t>(now) * bytes_each),
                          at + done * extent, packed + static_cast<std::size_t>(done) * bytes_each);
    if (code != MPI_SUCCESS) return code;
    done += now;
  }
  return MPI_SUCCESS;
}

}  // namespace

bool is_predefined(MPI_Datatype type) noexcept {
  Envelope of;
  if (!read_envelope(type, of)) return false;
  return of.combiner == MPI_COMBINER_NAMED || of.combiner == MPI_COMBINER_F90_INTEGER || of.combiner == MPI_COMBINER_F90_REAL ||
         of.combiner == MPI_COMBINER_F90_COMPLEX;
}

Content::~Content() {
  for (Foreign& each : foreign_) MPI_Type_free(&each.type);
}

int Content::add(long long count, MPI_Datatype type, Bytes at, MPI_Comm comm) {
  if (count == 0) return MPI_SUCCESS;
  if (!is_predefined(type)) {
    if (const int code = allowed(type, comm); code != MPI_SUCCESS) return code;
  }
  const Bytes extent = extent_of(type);
  TypeMap map;
  if (decode(type, map, 0) && map.repeat(count, extent)) {
    // The message goes on where the types left to MPI_Pack end, which the map counts as if they were its own.
    map_.append(map, at);
    bytes_ += map.bytes();
    return MPI_SUCCESS;
  }
  MPI_Count size = 0;
  if (const int code = MPI_Type_size_x(type, &size); code != MPI_SUCCESS) return code;
  if (size > INT_MAX) return MPI_ERR_COUNT;
  Foreign each{type, count, at, extent, bytes_, static_cast<std::size_t>(size)};
  if (const int code = MPI_Type_dup(type, &each.type); code != MPI_SUCCESS) return code;
  foreign_.push_back(each);
  bytes_ += static_cast<std::size_t>(count) * each.bytes_each;
  map_.skip(bytes_);
  return MPI_SUCCESS;
}

int Content::pack(const std::byte* memory, std::byte* message, MPI_Comm comm) const {
  map_.pack(memory, message);
  for (const Foreign& each : foreign_) {
    const int code = in_parts(each.count, each.at, each.extent, each.packed, each.bytes_each,
                              [&](int count, int bytes, Bytes at, std::size_t packed) {
                                int position = 0;
                                return MPI_Pack(memory + at, count, each.type, message + packed, bytes, &position, comm);
                              });
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

int Content::unpack(std::size_t come, const std::byte* message, std::byte* memory, MPI_Comm comm) const {
  if (come < bytes_) {
    if (!foreign_.empty()) return MPI_ERR_TRUNCATE;
    map_.unpack_first(come, message, memory);
    return MPI_SUCCESS;
  }
  map_.unpack(message, memory);
  for (const Foreign& each : foreign_) {
    const int code = in_parts(each.count, each.at, each.extent, each.packed, each.bytes_each,
                              [&](int count, int bytes, Bytes at, std::size_t packed) {
                                int position = 0;
                                return MPI_Unpack(message + packed, bytes, &position, memory + at, count, each.type, comm);
                              });
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

}  // namespace rankwise::preload
