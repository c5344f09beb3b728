// What carries packed messages: at most one to each partner and one from each, in buffers that are kept from exchange to
// exchange.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace rankwise {

// A partner sent a message of another length than was expected.
class WrongLength : public std::runtime_error {
 public:
  explicit WrongLength(const std::string& message) : std::runtime_error(message) {}
};

class Carrier {
 public:
  virtual ~Carrier() = default;
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;

  // Room for messages of so many bytes; takes memory only where there was less. Not while messages are under way.
  virtual void make_room_out(std::size_t i, std::size_t bytes) = 0;
  virtual void make_room_in(std::size_t i, std::size_t bytes) = 0;
  // After make_room, before messages of an exchange: all is set up that was not before.
  virtual void ready() = 0;

  [[nodiscard]] virtual std::byte* out(std::size_t i) = 0;
  [[nodiscard]] virtual const std::byte* in(std::size_t i) const = 0;

  // Expects a message of at most so many bytes; puts message i under way, from its buffer or from `data`. All that is expected
  // in an exchange is said before anything is sent; `sent` after the last.
  virtual void expect(std::size_t i, std::size_t bytes, std::byte* data = nullptr) = 0;
  virtual void send(std::size_t i, std::size_t bytes, const std::byte* data = nullptr) = 0;
  virtual void sent() {}

  // Calls arrived(i, bytes) for every message that has come since. True when all are complete. wait: returns only then.
  // Throws MpiError, and WrongLength for a message that is too long.
  template <class Arrived>
  bool advance(bool wait, Arrived arrived) {
    return go_on(
        wait, {[](void* context, std::size_t i, std::size_t bytes) { (*static_cast<Arrived*>(context))(i, bytes); }, &arrived});
  }

 protected:
  Carrier() = default;
  Carrier(Carrier&&) = default;
  struct Arrival {
    void (*call)(void* context, std::size_t i, std::size_t bytes);
    void* context;
    void operator()(std::size_t i, std::size_t bytes) const { call(context, i, bytes); }
  };
  virtual bool go_on(bool wait, Arrival arrived) = 0;
};

}  // namespace rankwise
