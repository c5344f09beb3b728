// The kernels' command line: --name value pairs, each known and each used.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "measure/repetitions.hpp"

namespace rankwise {

class Arguments {
 public:
  // Throws std::invalid_argument when a name lacks its value or does not start with --.
  Arguments(int argc, char** argv, int first);

  // The value of --name, or the fallback. The integer and number forms throw std::invalid_argument on anything else.
  [[nodiscard]] std::string text(const std::string& name, const std::string& fallback);
  [[nodiscard]] long long integer(const std::string& name, long long fallback);
  [[nodiscard]] double number(const std::string& name, double fallback);
  [[nodiscard]] std::vector<std::string> list(const std::string& name, const std::string& fallback);
  [[nodiscard]] std::vector<long long> integers(const std::string& name, const std::string& fallback);

  // Throws std::invalid_argument naming the first argument that nobody asked for.
  void expect_all_used() const;

 private:
  std::map<std::string, std::string> values_;
  std::map<std::string, bool> used_;
};

// Throws std::invalid_argument unless the whole text is an integer.
[[nodiscard]] long long to_integer(const std::string& text, const std::string& what);

// The parts between marks: one more than there are marks, some of them perhaps empty.
[[nodiscard]] std::vector<std::string> split(const std::string& text, char mark);

// What the kernels that repeat a collective exchange have in common on their command line.

// --budget-s, --least, --most, --warm-up. Throws std::invalid_argument.
[[nodiscard]] inline Repetitions parse_counts(Arguments& arguments, Repetitions repetitions = {}) {
  repetitions.budget_s = arguments.number("budget-s", repetitions.budget_s);
  repetitions.least = static_cast<int>(arguments.integer("least", repetitions.least));
  repetitions.most = static_cast<int>(arguments.integer("most", repetitions.most));
  repetitions.warm_up = static_cast<int>(arguments.integer("warm-up", repetitions.warm_up));
  require_sensible(repetitions);
  return repetitions;
}

// The same, --window-s and --start. Throws std::invalid_argument.
[[nodiscard]] inline Repetitions parse_repetitions(Arguments& arguments) {
  Repetitions repetitions = parse_counts(arguments);
  repetitions.window_s = arguments.number("window-s", repetitions.window_s);
  repetitions.start = parse_start(arguments.text("start", "clock"));
  require_sensible(repetitions);
  return repetitions;
}

}  // namespace rankwise
