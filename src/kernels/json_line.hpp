// One line of JSON, built field by field and printed whole.
#pragma once

#include <string>
#include <vector>

namespace rankwise {

class JsonLine {
 public:
  explicit JsonLine(const std::string& record) { add("record", record); }

  JsonLine& add(const std::string& key, const std::string& value);
  JsonLine& add(const std::string& key, const char* value) { return add(key, std::string(value)); }
  JsonLine& add(const std::string& key, double value);  // must be finite
  JsonLine& add(const std::string& key, long long value);
  JsonLine& add(const std::string& key, bool value);
  JsonLine& add(const std::string& key, const std::vector<double>& values);
  JsonLine& add(const std::string& key, const std::vector<long long>& values);
  // A value that is JSON already.
  JsonLine& add_json(const std::string& key, const std::string& json);

  [[nodiscard]] std::string text() const { return "{" + fields_ + "}"; }
  void print() const;  // on stdout, flushed, so that a reader has it even if we die next

 private:
  void key(const std::string& key);
  std::string fields_;
};

}  // namespace rankwise
