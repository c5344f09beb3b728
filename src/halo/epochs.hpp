// When a rank may read the memory of others, and when it may change its own again. Each exchange is an epoch. Every rank tells
// in which epoch its elements are ready, and in which it has read all that it needs; it waits for the first of those that it
// reads, and for the second of those that read it. Nothing else is shared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rankwise {

// Memory: ready(i), done(i): what source i or reader i announced last; announce_ready(epoch), announce_done(epoch): own.
template <class Memory>
class Epochs {
 public:
  Epochs(std::size_t sources, std::size_t readers) : is_read_(sources, true), readers_(readers), heard_(readers) {}

  // The own elements are ready.
  void begin(Memory& memory) {
    ++epoch_;
    is_read_.assign(is_read_.size(), false);
    left_ = is_read_.size();
    is_done_announced_ = false;
    heard_ = 0;
    memory.announce_ready(epoch_);
  }

  // Checks once what one other rank has announced, or announces; calls read(i) for a ready source. True: nothing is left.
  template <class Read>
  bool step(Memory& memory, Read read) {
    if (left_ > 0) {
      next_ = next_ + 1 < is_read_.size() ? next_ + 1 : 0;
      if (!is_read_[next_] && memory.ready(next_) >= epoch_) {
        read(next_);
        is_read_[next_] = true;
        --left_;
      }
      return false;
    }
    if (!is_done_announced_) {
      memory.announce_done(epoch_);
      is_done_announced_ = true;
    } else if (heard_ < readers_ && memory.done(heard_) >= epoch_) {
      ++heard_;
    }
    return heard_ == readers_;
  }

  [[nodiscard]] bool is_over() const { return left_ == 0 && is_done_announced_ && heard_ == readers_; }
  // Changes whenever anything is achieved.
  [[nodiscard]] std::size_t left() const { return left_ + (is_done_announced_ ? 0 : 1) + readers_ - heard_; }
  [[nodiscard]] std::size_t sources() const { return is_read_.size(); }
  auto operator<=>(const Epochs&) const = default;

 private:
  std::uint64_t epoch_ = 0;
  std::vector<bool> is_read_;
  std::size_t readers_;
  std::size_t left_ = 0;
  std::size_t next_ = 0;
  bool is_done_announced_ = true;
  std::size_t heard_;  // of the readers: the first so many are done
};

}  // namespace rankwise
