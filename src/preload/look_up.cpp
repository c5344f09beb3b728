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

// Another library of this kind tells for which MPI it was built.
int ask_for_family(dl_phdr_info* object, std::size_t, void* data) {
  if (std::strstr(object->dlpi_name, "librankwise_preload") == nullptr) return 0;
  Dl_info own{};  // whoever opens it while it ends begins it once more
  if (dladdr(reinterpret_cast<void*>(&ask_for_family), &own) != 0 && std::strcmp(own.dli_fname, object->dlpi_name) == 0) return 0;
  void* handle = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return 0;
  const auto family = reinterpret_cast<int (*)()>(dlsym(handle, "rankwise_preload_family"));
  dlclose(handle);
  return family != nullptr && family() == *static_cast<int*>(data) ? 1 : 0;
}

}  // namespace

bool some_library_is_for(int family) noexcept { return dl_iterate_phdr(ask_for_family, &family) != 0; }

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

void* look_up_object(const char* name) noexcept {
  void* found = dlsym(RTLD_DEFAULT, name);
  return found != nullptr ? found : look_up(name);
}

}  // namespace rankwise::preload
