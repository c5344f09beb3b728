#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // RTLD_NEXT
#endif
#include "preload/look_up.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

namespace rankwise::preload {

namespace {

struct Sought {
  const char* name;
  void* found;
};

// An MPI that an extension module (Python's, say) has loaded for itself is in no scope that is searched without its handle.
int seek_in(dl_phdr_info* object, std::size_t, void* data) {
  auto& sought = *static_cast<Sought*>(data);
  const char* slash = std::strrchr(object->dlpi_name, '/');
  if (std::strncmp(slash != nullptr ? slash + 1 : object->dlpi_name, "libmpi", 6) != 0) return 0;
  void* handle = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return 0;
  sought.found = dlsym(handle, sought.name);
  dlclose(handle);
  return sought.found != nullptr ? 1 : 0;
}

}  // namespace

void* look_up(const char* name) noexcept {
  if (void* found = dlsym(RTLD_NEXT, name)) return found;
  Sought sought{name, nullptr};
  dl_iterate_phdr(seek_in, &sought);
  return sought.found;
}

void* original_of(const char* name) noexcept {
  void* found = look_up(name);
  return found == nullptr && *name == 'P' ? look_up(name + 1) : found;
}

void* look_up_loaded(const char* name) noexcept { return dlsym(RTLD_DEFAULT, name); }

void* look_up_object(const char* name) noexcept {
  void* found = look_up_loaded(name);
  return found != nullptr ? found : look_up(name);
}

}  // namespace rankwise::preload
