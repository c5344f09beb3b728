// In libFuzzer's place where there is no clang: mutates the files that it is given so many times, and calls the same function.
// driver RUNS SEED FILE....
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::mt19937_64 bits;  // NOLINT: seeded by main

std::size_t below(std::size_t end) { return end == 0 ? 0 : bits() % end; }

// Words that readers stumble over, put where a number, or anything, stood.
const std::vector<std::string> words = {
    "1e400", "-1", "1e300", "NaN", "Infinity", "null", "[]",   "{}",  "\"\"", "0", "1e-320", "9223372036854775808",
    "\x1c",  ",",  "\"",    "}",   "]",        "1e15", "-0.0", "true"};

std::string mutated(std::string text, const std::string& other) {
  for (std::size_t times = 1 + below(4); times > 0; --times) {
    const std::size_t at = below(text.size() + 1);
    const std::size_t length = std::min(below(12), text.size() - at);
    switch (below(6)) {
      case 0: text.erase(at, length); break;
      case 1: text.insert(at, words[below(words.size())]); break;
      case 2: text.insert(at, text.substr(at, length)); break;
      case 3: text.insert(at, other.substr(below(other.size() + 1), below(200))); break;
      case 4:
        if (at < text.size()) text[at] = static_cast<char>(bits());
        break;
      default: {  // another number
        const std::size_t begin = text.find_first_of("0123456789", at);
        if (begin == std::string::npos) break;
        const std::size_t end = std::min(text.find_first_not_of("0123456789.eE+-", begin), text.size());
        text.replace(begin, end - begin, words[below(words.size())]);
      }
    }
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> corpus;
  for (int i = 3; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  if (corpus.empty()) return 2;
  const long runs = std::atol(argv[1]);
  bits.seed(std::strtoull(argv[2], nullptr, 10));
  for (long run = 0; run < runs; ++run) {
    const std::string text = mutated(corpus[below(corpus.size())], corpus[below(corpus.size())]);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }
  std::printf("%ld runs\n", runs);
}
