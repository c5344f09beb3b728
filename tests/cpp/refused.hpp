// What a call that is refused says; empty where it is not.
#pragma once

#include <stdexcept>
#include <string>

namespace rankwise_test {

template <class Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

}  // namespace rankwise_test
