// What was learnt about transforms on this machine, in files of the user's cache.
#pragma once

#include <string>

namespace rankwise {

// The folder: RANKWISE_FFT_KNOWLEDGE where it is set (empty: nothing is kept), else one of this processor in the user's
// cache ($XDG_CACHE_HOME or ~/.cache, rankwise/fft-...). Empty where nothing is kept. It need not exist.
[[nodiscard]] std::string knowledge_folder();

// A file of it; empty where nothing is kept.
[[nodiscard]] std::string knowledge_file(const std::string& name);

// A file's text; empty where it cannot be read or belongs to another user.
[[nodiscard]] std::string read_file(const std::string& path);

// Puts text in the place of a file at one stroke, folders made on the way; false where that cannot be done, for what is kept
// can be found out again.
bool replace_file(const std::string& path, const std::string& text);

}  // namespace rankwise
