// The names under which users know the values of an enumeration, and numbers as they read them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "grid/grid.hpp"

namespace rankwise {

template <typename Value>
using Name = std::pair<const char*, Value>;

// "a, b or c".
template <typename Value, std::size_t count>
std::string choices(const std::array<Name<Value>, count>& names) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += i == 0 ? "" : i + 1 == count ? " or " : ", ";
    text += names[i].first;
  }
  return text;
}

// Throws std::invalid_argument for a name that is none of them. what: "send mode", for the message.
template <typename Value, std::size_t count>
Value parsed(const std::array<Name<Value>, count>& names, const std::string& name, const char* what) {
  for (const auto& [id, value] : names) {
    if (name == id) return value;
  }
  invalid(std::string(what) + " '" + name + "' is unknown: choose " + choices(names));
}

template <typename Value, std::size_t count>
std::string named(const std::array<Name<Value>, count>& names, Value value) {
  for (const auto& [id, known] : names) {
    if (value == known) return id;
  }
  return "?";
}

template <typename Value, std::size_t count>
std::vector<std::string> ids(const std::array<Name<Value>, count>& names) {
  std::vector<std::string> ids;
  for (const auto& [id, value] : names) ids.emplace_back(id);
  return ids;
}

// As printf writes it, in less than 32 letters.
inline std::string formatted(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

}  // namespace rankwise
