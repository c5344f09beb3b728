// Included in front of every mutated source: which mutant is at work is chosen when the program starts.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <type_traits>
#include <vector>

namespace mutant {

// RANKWISE_MUTANT: the number of the one at work. RANKWISE_REACHED: a file for the numbers of all whose place is reached.
class Choice {
 public:
  Choice() : path_(std::getenv("RANKWISE_REACHED")) {
    const char* text = std::getenv("RANKWISE_MUTANT");
    if (text != nullptr) chosen_ = std::atoi(text);
  }
  ~Choice() {
    std::FILE* file = path_ == nullptr ? nullptr : std::fopen(path_, "w");
    for (std::size_t i = 0; file != nullptr && i < reached_.size(); ++i) {
      if (reached_[i]) std::fprintf(file, "%zu\n", i);
    }
    if (file != nullptr) std::fclose(file);
  }
  bool is(int number) {
    if (path_ != nullptr) {
      const auto at = static_cast<std::size_t>(number);
      if (reached_.size() <= at) reached_.resize(at + 1);
      reached_[at] = true;
    }
    return number == chosen_;
  }

 private:
  const char* path_;
  int chosen_ = -1;
  std::vector<bool> reached_;
};
inline Choice choice;

inline bool is(int number) { return choice.is(number); }

// A binary operator, and the one or two that take its place; they have the numbers from `first` on.
template <class Real, class Other, class Third = void, class A, class B>
auto either(int first, const A& a, const B& b) -> decltype(Real{}(a, b)) {
  if (is(first)) return static_cast<decltype(Real{}(a, b))>(Other{}(a, b));
  if constexpr (!std::is_void_v<Third>) {
    if (is(first + 1)) return Third{}(a, b);
  }
  return Real{}(a, b);
}

template <class T>
bool negated(int number, const T& value) {
  return static_cast<bool>(value) != is(number);
}
template <class T>
T more(int number, T value) {
  return is(number) ? value + 1 : value;
}
template <class T>
T half(int number, T value) {
  return is(number) ? (value == 0 ? T{1} : value / 2) : value;
}
template <class T>
auto minus(int number, T value) {
  return is(number) ? +value : -value;
}
template <class T>
auto opposite(int number, T value) {
  return is(number) ? -value : +value;
}

template <int number>
struct swapped {
  template <class T>
  static T max(const T& a, const T& b) {
    return is(number) ? std::min(a, b) : std::max(a, b);
  }
  template <class T>
  static T min(const T& a, const T& b) {
    return is(number) ? std::max(a, b) : std::min(a, b);
  }
  template <class T>
  static T max(std::initializer_list<T> list) {
    return is(number) ? std::min(list) : std::max(list);
  }
  template <class T>
  static T min(std::initializer_list<T> list) {
    return is(number) ? std::max(list) : std::min(list);
  }
};

}  // namespace mutant
