#include "kernels/arguments.hpp"

#include <charconv>
#include <sstream>
#include <stdexcept>

namespace rankwise {

namespace {

template <typename Number>
Number parsed(const std::string& text, const std::string& what, const char* kind) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw std::invalid_argument(what + " '" + text + "' is not " + kind);
  }
  return value;
}

}  // namespace

long long to_integer(const std::string& text, const std::string& what) { return parsed<long long>(text, what, "an integer"); }

Arguments::Arguments(int argc, char** argv, int first) {
  for (int i = first; i < argc; i += 2) {
    const std::string name = argv[i];
    if (name.rfind("--", 0) != 0) throw std::invalid_argument("'" + name + "' is not an option: write --name value");
    if (i + 1 >= argc) throw std::invalid_argument(name + " needs a value");
    values_[name.substr(2)] = argv[i + 1];
  }
}

std::string Arguments::text(const std::string& name, const std::string& fallback) {
  const auto found = values_.find(name);
  if (found == values_.end()) return fallback;
  used_[name] = true;
  return found->second;
}

long long Arguments::integer(const std::string& name, long long fallback) {
  return to_integer(text(name, std::to_string(fallback)), "--" + name);
}

double Arguments::number(const std::string& name, double fallback) {
  const std::string value = text(name, "");
  return value.empty() ? fallback : parsed<double>(value, "--" + name, "a number");
}

std::vector<std::string> Arguments::list(const std::string& name, const std::string& fallback) {
  std::vector<std::string> parts;
  std::stringstream stream(text(name, fallback));
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

std::vector<long long> Arguments::integers(const std::string& name, const std::string& fallback) {
  std::vector<long long> values;
  for (const std::string& part : list(name, fallback)) values.push_back(to_integer(part, "--" + name));
  return values;
}

void Arguments::expect_all_used() const {
  for (const auto& [name, value] : values_) {
    if (!used_.contains(name)) throw std::invalid_argument("--" + name + " is not known here");
  }
}

std::vector<std::string> split(const std::string& text, char mark) {
  std::vector<std::string> parts(1);
  for (const char letter : text) {
    if (letter == mark) {
      parts.emplace_back();
    } else {
      parts.back() += letter;
    }
  }
  return parts;
}

}  // namespace rankwise
