#include "kernels/json_line.hpp"

#include <cstdio>

namespace rankwise {

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
