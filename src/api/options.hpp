// What a caller asks of a plan, read from option structs and the environment.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/failure.hpp"
#include "fft/engine.hpp"
#include "halo/halo.hpp"
#include "rankwise/rankwise.h"
#include "schedule/schedule.hpp"

namespace rankwise::api {

// A struct of the C API as rankwise_..._init fills it: of exchanges, halos, fields and 3-D FFTs.
template <class Struct>
[[nodiscard]] Struct defaults();
template <>
rankwise_exchange_options defaults();
template <>
rankwise_field defaults();
template <>
rankwise_halo_options defaults();
template <>
rankwise_fft_options defaults();

// Of an exchange.
struct Request {
  std::optional<std::string> algorithm;  // nothing: choose
  std::optional<SendMode> mode;          // nothing: chosen with the algorithm, isend where that is named
  Shell shell = Shell::full;
  Index replication = 1;
  Index expected_block_bytes = 4096;
};

// options: what the caller passed, of any version; may be null. RANKWISE_ALGORITHM and RANKWISE_SEND_MODE in the
// environment decide what is left to auto. Throws Failure.
[[nodiscard]] Request read_options(const rankwise_exchange_options* options);

// Adds all of a request that must not differ between ranks.
void add_alike(Agreement& agreement, const Request& request);

// Of a halo of boxes.
struct HaloRequest {
  int algorithm = RANKWISE_HALO_AUTO;
  bool corners = true;
  std::vector<Index> lower;  // of each axis of the grid
  std::vector<Index> upper;
  int exchanges = 0;
};

// given: of any version; may be null. axes: of the grid. Throws Failure.
[[nodiscard]] HaloRequest read_request(const rankwise_halo_options* given, int axes);
[[nodiscard]] HaloField read_field(const rankwise_field& given, std::size_t f, int axes);
// The axes of a field, those of the largest step first.
[[nodiscard]] std::vector<int> order_of(const HaloField& field);
// Throws Failure where fields share a byte.
void require_apart(const HaloSpec& spec, const std::vector<std::byte*>& data);

// Of a 3-D FFT.
struct FftRequest : FftQuestion {
  std::array<Index, 2> stride{0, 0};  // in, out
  // A plan by the model runs nothing; the others try ways.
  [[nodiscard]] bool is_tried() const { return planning != Planning::estimate; }
};

// options: of any version; may be null. Throws Failure.
[[nodiscard]] FftRequest read_fft_request(const std::int64_t n[3], const rankwise_fft_options* options, int ranks);

// Adds all of a request that must not differ between ranks.
void add_alike(Agreement& agreement, const FftRequest& request);

}  // namespace rankwise::api
