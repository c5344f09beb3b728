// A program on a placement, ready to be priced for any block size and machine.
#pragma once

#include "decide/few.hpp"

struct Judged {
  rankwise::Walk walk;
};
