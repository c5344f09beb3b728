#define _GNU_SOURCE
#include "call_sites.h"

#include <elf.h>
#include <execinfo.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct search {
  uint64_t address, base;
  struct segment segment;
  struct module module;
};

static void note_build_id(struct module* module, const char* notes, size_t length) {
  for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= length;) {
    const ElfW(Nhdr)* note = (const ElfW(Nhdr)*)(const void*)(notes + at);
    const char* name = (const char*)(note + 1);
    const char* content = name + ((note->n_namesz + 3) & ~3u);
    if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
      module->build_id_bytes = note->n_descsz < sizeof module->build_id ? note->n_descsz : sizeof module->build_id;
      memcpy(module->build_id, content, module->build_id_bytes);
      return;
    }
    at = (size_t)(content - notes) + ((note->n_descsz + 3) & ~3u);
  }
}

// Whether this is the module of the address: then all that is kept of it.
static int search_object(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  struct search* search = data;
  int is_in = 0;
  for (int i = 0; i < info->dlpi_phnum && !is_in; i++) {
    const ElfW(Phdr)* part = &info->dlpi_phdr[i];
    const struct segment segment = {info->dlpi_addr + part->p_vaddr, part->p_memsz};
    is_in = part->p_type == PT_LOAD && search->address - segment.begin < segment.bytes;
    if (is_in) search->segment = segment;
  }
  if (!is_in) return 0;
  search->base = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)* part = &info->dlpi_phdr[i];
    if (part->p_type == PT_NOTE) note_build_id(&search->module, (const char*)(info->dlpi_addr + part->p_vaddr), part->p_memsz);
  }
  const size_t most = sizeof search->module.path - 1;
  if (info->dlpi_name && *info->dlpi_name) {
    strncpy(search->module.path, info->dlpi_name, most);
  } else if (readlink("/proc/self/exe", search->module.path, most) < 0) {
    search->module.path[0] = 0;
  }
  return 1;
}

static uint16_t number_of_module(const struct module* module) {
  for (uint32_t i = 0; i < me->modules; i++) {
    if (memcmp(&modules[i], module, sizeof *module) == 0) return (uint16_t)(i + 1);
  }
  if (me->modules == MAX_MODULES) return 0;
  modules[me->modules] = *module;
  return (uint16_t)++me->modules;
}

// Whether code is an MPI's binding for Fortran or Python.
static enum { OF_PROGRAM, OF_FORTRAN, OF_PYTHON } language_of(const char* path) {
  const char* name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
  if (strstr(path, "/mpi4py/MPI.")) return OF_PYTHON;
  return strncmp(name, "libmpi", 6) == 0 ? OF_FORTRAN : OF_PROGRAM;
}

#define OF_BINDING (UINT64_C(1) << 63)  // marks keys that site_of is not to find

// The line of a key, a new one with nothing else; null where there is none left.
static struct call_site* line_of(uint64_t key, int call) {
  uint64_t place = site_hash(key);
  while (sites[place].key) {
    if ((sites[place].key & ~OF_BINDING) == key) return &sites[place];
    place = (place + 1) % MAX_SITES;
  }
  if (me->sites >= MAX_SITES * 3 / 4) return NULL;
  sites[place] = (struct call_site){.key = key, .call = (uint16_t)call};
  me->sites++;
  return &sites[place];
}

static struct call_site* filled(struct call_site* site, uint64_t offset, const struct module* module) {
  site->offset = offset;
  site->module = *module->path ? number_of_module(module) : 0;
  site->is_binding = (uint16_t)(site->module ? language_of(module->path) : OF_PROGRAM);
  if (site->is_binding) site->key |= OF_BINDING;
  site->number = (uint16_t)(MAX_CALLS + (site - sites));  // the last: until then the line is new
  return site;
}

static struct search found(uint64_t address) {
  struct search search = {.address = address - 1};
  dl_iterate_phdr(search_object, &search);
  return search;
}

struct segment segment_of(const void* address) { return found((uint64_t)(uintptr_t)address + 1).segment; }

struct caller {
  const void* address;          // behind its call; of Python the instruction
  struct python_caller python;  // file: null where it is none of Python
};

// The line of callers of a site, a new one without samples; null where there is none left.
static struct chain* chain_of(const struct call_site* site, const struct caller* callers, int count) {
  uint64_t key = site->number;
  for (int i = 0; i < count; i++) key = (key ^ (uint64_t)(uintptr_t)callers[i].address) * UINT64_C(0x9E3779B97F4A7C15);
  key |= 1;
  for (uint64_t at = key >> 54, tried = 0; tried < MAX_CHAINS / 4; at = (at + 1) % MAX_CHAINS, tried++) {
    struct chain* chain = &chains[at];
    if (chain->key == key) return chain;
    if (chain->key) continue;
    *chain = (struct chain){.key = key, .site = site->number, .callers = (uint16_t)count};
    for (int i = 0; i < count; i++) {
      struct search search = {0};
      uint64_t offset = 0;
      if (callers[i].python.file) {
        offset = python_site(&callers[i].python, &search.module);
      } else {
        search = found((uint64_t)(uintptr_t)callers[i].address);
        offset = (uint64_t)(uintptr_t)callers[i].address - search.base;
      }
      chain->caller[i] = offset | (uint64_t)(*search.module.path ? number_of_module(&search.module) : 0) << 48;
    }
    return chain;
  }
  return NULL;
}

// Those of Python's frames behind the instruction, or all without one.
static int add_python_callers(struct caller* callers, int count, const void* instruction) {
  enum { DEEP = 16 };
  struct python_caller frames[DEEP];
  const int known = python_callers(NULL, frames, DEEP);
  int at = 0;
  if (instruction) {
    while (at < known && frames[at].instruction != (const char*)instruction) at++;
    if (at++ == known) return -1;
  }
  while (at < known && count < MAX_CALLERS) {
    callers[count++] = (struct caller){frames[at].instruction, frames[at]};
    at++;
  }
  return count;
}

static void note_callers(const struct call_site* site, uint32_t samples) {
  enum { DEEP = 24 };
  if (!chains || site->number < MAX_CALLS || site->is_binding) return;
  void* frames[DEEP];
  const int known = backtrace(frames, DEEP);
  const void* instruction = (const void*)(uintptr_t)site_key(site->key, site->call);  // its own inverse
  int at = 0, count = 0;
  while (at < known && frames[at] != instruction) at++;
  struct caller callers[MAX_CALLERS];
  if (at == known) {  // a line of Python is on no stack
    count = add_python_callers(callers, 0, instruction);
  } else {
    for (at++; at < known && count < MAX_CALLERS && !is_of_interpreter(frames[at]); at++) {
      callers[count++] = (struct caller){.address = frames[at]};
    }
    if (at < known && count < MAX_CALLERS && is_of_interpreter(frames[at])) count = add_python_callers(callers, count, NULL);
  }
  struct chain* chain = count < 0 ? NULL : chain_of(site, callers, count);
  if (chain) chain->samples += samples;
}

// The program's line behind a binding's, where the program's call is known.
static struct call_site* site_behind(struct call_site* binding, int call) {
  uint64_t caller = fortran_caller;
  fortran_caller = 0;
  if (caller) return site_find(site_key(caller, call), call);
  struct python_caller from;
  if (binding->is_binding != OF_PYTHON || !python_callers(modules[binding->module - 1].path, &from, 1)) return binding;
  struct call_site* site = line_of(site_key((uint64_t)(uintptr_t)from.instruction, call), call);
  if (!site) return &me->call[call];
  if (site->number) return site;
  struct module module = {0};
  uint64_t line = python_site(&from, &module);
  filled(site, line, &module);
  note_callers(site, 0);
  return site;
}

void sample_callers(const struct call_site* site, uint64_t start, uint64_t end) {
  enum { PER_SECOND = 499 };
  const uint64_t period = ticks_per_second / PER_SECOND;
  if (next_sample < start) next_sample += (start - next_sample + period - 1) / period * period;
  if (next_sample > end) return;
  const uint64_t samples = 1 + (end - next_sample) / period;
  next_sample += samples * period;
  note_callers(site, (uint32_t)samples);
}

struct call_site* site_find(uint64_t key, int call) {
  struct call_site* site = line_of(key, call);
  if (!site) return &me->call[call];
  if (!site->number) {
    uint64_t address = site_key(key, call);
    struct search search = found(address);
    filled(site, address - search.base, &search.module);
    note_callers(site, 0);
  }
  return site->is_binding ? site_behind(site, call) : site;
}
