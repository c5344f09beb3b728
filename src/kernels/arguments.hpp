// The kernels' command line: --name value pairs, each known and each used.
#pragma once

#include <map>
#include <string>
#include <vector>

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

}  // namespace rankwise
