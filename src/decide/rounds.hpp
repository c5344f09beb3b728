// Steps that ranks do again and again, as the visits of team-shift: priced once, as often as there are.
#pragma once

#include "cost/walk.hpp"

namespace rankwise {

// Keeps of steps that all ranks do alike the first, for all of them (LinkedSchedules::rounds), where none waits for another in
// them: every message goes to the rank that stands for its sender.
void fold_rounds(LinkedSchedules& part);

}  // namespace rankwise
