// Structs of callers that were compiled against another version of the header.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "api/failure.hpp"

namespace rankwise::api {

// A caller's struct, filled with our defaults; what we do not know is zero.
template <class Struct>
void fill(Struct* given, std::size_t size, Struct defaults) {
  if (given == nullptr) refuse_argument("the struct to fill is NULL");
  std::memset(static_cast<void*>(given), 0, size);
  defaults.struct_size = size;
  std::memcpy(static_cast<void*>(given), &defaults, std::min(size, sizeof defaults));
}

// A caller's options in our version of the struct: fields that its version lacks keep their defaults. least: the bytes of
// the first version. filler: the macro that fills them.
template <class Options>
Options in_our_version(const Options& given, Options options, std::size_t least, const char* filler) {
  const std::size_t size = given.struct_size;
  constexpr std::size_t most = 4096;
  if (size < least || size > most) {
    refuse_argument("options.struct_size is " + std::to_string(size) + ": fill the options with " + filler + " first");
  }
  std::memcpy(static_cast<void*>(&options), &given, std::min(size, sizeof options));
  const auto* bytes = reinterpret_cast<const unsigned char*>(&given);
  if (size > sizeof options && std::any_of(bytes + sizeof options, bytes + size, [](unsigned char b) { return b != 0; })) {
    throw Failure(RANKWISE_ERROR_UNSUPPORTED,
                  "the options set something that this version of rankwise does not know: update the library");
  }
  return options;
}

}  // namespace rankwise::api
