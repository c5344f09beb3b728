// JSON text (RFC 8259) as a value. Pure: text in, value out.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rankwise {

// One JSON value, and the line of the text where it starts, for messages.
class Json {
 public:
  enum class Kind { null, boolean, number, string, array, object };

  // Throws std::invalid_argument, with the line, for text that is not one JSON value.
  [[nodiscard]] static Json parse(const std::string& text);

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] int line() const { return line_; }
  // The following throw std::invalid_argument, with the line, where the value is of another kind.
  [[nodiscard]] double number() const;
  [[nodiscard]] const std::string& string() const;
  [[nodiscard]] const std::vector<Json>& items() const;
  [[nodiscard]] const std::vector<std::pair<std::string, Json>>& members() const;
  [[nodiscard]] const Json& at(const std::string& key) const;    // also where the key is missing
  [[nodiscard]] const Json* find(const std::string& key) const;  // null where the key is missing or its value is null

 private:
  friend class JsonReader;
  void require(Kind kind, const char* what) const;

  Kind kind_ = Kind::null;
  int line_ = 1;
  double number_ = 0.0;
  std::string string_;
  std::vector<Json> items_;
  std::vector<std::pair<std::string, Json>> members_;
};

}  // namespace rankwise
