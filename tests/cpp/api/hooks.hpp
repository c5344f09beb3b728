// Counts what the library does while a Counted lives: collective calls of MPI, messages sent, memory taken in C++.
#pragma once

namespace rankwise_test {

extern bool counting;
extern int collectives;
extern int messages;
extern int allocations;

struct Counted {
  Counted() { counting = true, collectives = messages = allocations = 0; }
  ~Counted() { counting = false; }
};

}  // namespace rankwise_test
