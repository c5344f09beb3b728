#include "kernels/interface.hpp"

#include <charconv>
#include <cstdio>
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

GridShape parse_shape(Arguments& arguments, const std::string& periodic) {
  GridShape shape;
  for (const long long length : arguments.integers("grid", "1")) shape.dims.push_back(length);
  for (const long long flag : arguments.integers("periodic", periodic)) shape.periodic.push_back(flag != 0);
  return shape;
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

namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      out += code;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.8g", value);
  return text;
}

template <typename Value, typename Format>
std::string listed(const std::vector<Value>& values, Format format) {
  std::string out = "[";
  for (std::size_t i = 0; i < values.size(); ++i) out += (i > 0 ? "," : "") + format(values[i]);
  return out + "]";
}

}  // namespace

void JsonLine::key(const std::string& key) { fields_ += (fields_.empty() ? "" : ",") + quoted(key) + ":"; }

JsonLine& JsonLine::add_json(const std::string& name, const std::string& json) {
  key(name);
  fields_ += json;
  return *this;
}

JsonLine& JsonLine::add(const std::string& name, const std::string& value) { return add_json(name, quoted(value)); }

JsonLine& JsonLine::add(const std::string& name, double value) { return add_json(name, number(value)); }

JsonLine& JsonLine::add(const std::string& name, long long value) { return add_json(name, std::to_string(value)); }

JsonLine& JsonLine::add(const std::string& name, bool value) { return add_json(name, value ? "true" : "false"); }

JsonLine& JsonLine::add(const std::string& name, const std::vector<double>& values) {
  return add_json(name, listed(values, number));
}

JsonLine& JsonLine::add(const std::string& name, const std::vector<long long>& values) {
  return add_json(name, listed(values, [](long long value) { return std::to_string(value); }));
}

void JsonLine::print() const {
  const std::string line = text() + "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

}  // namespace rankwise
