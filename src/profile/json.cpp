#include "profile/json.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "grid/grid.hpp"

namespace rankwise {

class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}

  Json read() {
    Json value = value_at(0);
    skip_space();
    if (at_ < text_.size()) wrong("something follows the end of the value");
    return value;
  }

 private:
  static constexpr int most_depth = 100;

  [[noreturn]] void wrong(const std::string& what) const { invalid("line " + std::to_string(line_) + ": " + what); }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
      line_ += text_[at_++] == '\n' ? 1 : 0;
    }
  }

  // The next character that is no space; 0 at the end.
  char next() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  Json value_at(int depth) {
    if (depth > most_depth) wrong("values lie in each other more than 100 deep");
    const char first = next();
    Json value;
    value.line_ = line_;
    if (first == '{') {
      value.kind_ = Json::Kind::object;
      list('}', [&] {
        if (next() != '"') wrong("a key in quotes is missing");
        std::string key = quoted();
        if (next() != ':') wrong("':' is missing after \"" + key + "\"");
        ++at_;
        value.members_.emplace_back(std::move(key), value_at(depth + 1));
      });
    } else if (first == '[') {
      value.kind_ = Json::Kind::array;
      list(']', [&] { value.items_.push_back(value_at(depth + 1)); });
    } else if (first == '"') {
      value.kind_ = Json::Kind::string;
      value.string_ = quoted();
    } else if (take("true") || take("false")) {
      value.kind_ = Json::Kind::boolean;
    } else if (!take("null")) {
      value.kind_ = Json::Kind::number;
      value.number_ = number();
    }
    return value;
  }

  template <class Element>
  void list(char end, Element&& element) {
    ++at_;
    if (next() == end) {
      ++at_;
      return;
    }
    while (true) {
      element();
      const char after = next();
      if (after != ',' && after != end) wrong(std::string("',' or '") + end + "' is missing");
      ++at_;
      if (after == end) return;
    }
  }

  double number() {
    // from_chars knows "nan", "inf" and hexadecimal digits, which are no numbers in JSON.
    const std::size_t end = std::min(text_.find_first_not_of("0123456789+-.eE", at_), text_.size());
    const std::string_view word = text_.substr(at_, end - at_);
    double value = 0.0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (word.empty() || error != std::errc() || stop != word.data() + word.size() || !std::isfinite(value)) {
      const std::size_t shown = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size());
      wrong("'" + std::string(text_.substr(at_, std::min<std::size_t>(shown - at_, 20))) + "' is not a finite number");
    }
    at_ = end;
    return value;
  }

  std::string quoted() {
    std::string text;
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return text;
      }
      if (static_cast<unsigned char>(c) < 0x20) break;
      if (c == '\\') {
        if (++at_ == text_.size()) break;
        escape(text);
      } else {
        text += c;
      }
    }
    wrong("a text in quotes does not end");
  }

  void escape(std::string& text) {
    static constexpr std::string_view marks = "\"\\/bfnrt";
    static constexpr std::string_view meant = "\"\\/\b\f\n\r\t";
    const char c = text_[at_];
    if (const std::size_t i = marks.find(c); i != std::string_view::npos) {
      text += meant[i];
      return;
    }
    unsigned code = 0;
    const std::string_view digits = text_.substr(std::min(at_ + 1, text_.size()), 4);
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (c != 'u' || digits.size() < 4 || error != std::errc() || stop != digits.data() + 4) wrong("a wrong escape after '\\'");
    at_ += 4;
    // Halves of surrogate pairs stay three bytes each: names that matter here are ASCII.
    if (code < 0x80) {
      text += static_cast<char>(code);
    } else if (code < 0x800) {
      text += {static_cast<char>(0xC0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3F))};
    } else {
      text += {static_cast<char>(0xE0 | (code >> 12)), static_cast<char>(0x80 | ((code >> 6) & 0x3F)),
               static_cast<char>(0x80 | (code & 0x3F))};
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

Json Json::parse(const std::string& text) { return JsonReader(text).read(); }

void Json::require(Kind kind, const char* what) const {
  if (kind_ != kind) invalid("line " + std::to_string(line_) + ": " + what + " is expected here");
}

double Json::number() const {
  require(Kind::number, "a number");
  return number_;
}

const std::string& Json::string() const {
  require(Kind::string, "a text");
  return string_;
}

const std::vector<Json>& Json::items() const {
  require(Kind::array, "a list");
  return items_;
}

const std::vector<std::pair<std::string, Json>>& Json::members() const {
  require(Kind::object, "an object");
  return members_;
}

const Json* Json::find(const std::string& key) const {
  for (const auto& [name, value] : members()) {
    if (name == key) return value.kind_ == Kind::null ? nullptr : &value;
  }
  return nullptr;
}

const Json& Json::at(const std::string& key) const {
  const Json* value = find(key);
  if (value == nullptr) invalid("line " + std::to_string(line_) + ": the key '" + key + "' is missing");
  return *value;
}

}  // namespace rankwise
