// Where Python calls MPI: behind mpi4py's functions lies the innermost frame outside mpi4py. It is read from the interpreter's own
// memory, without its lock: the frames of a thread stand still while it is in a call of ours, and a frame keeps its code. Layouts
// are those of CPython's headers (pycore_frame.h, code.h, unicodeobject.h); of a version that has no line here nothing is read.
#define _GNU_SOURCE
#include "call_sites.h"

#include <dlfcn.h>
#include <string.h>

struct layout {
  unsigned minor;                             // of Python 3
  size_t cframe, frame;                       // of a thread; cframe 0: the thread itself holds its frame
  size_t previous, code, instruction, owner;  // of a frame
  size_t first_line, file, name, lines, bytecode,
      text;  // of a code object; text: of a string's characters, where they are ASCII
};

static const struct layout layouts[] = {{11, 56, 8, 48, 32, 56, 69, 72, 112, 128, 136, 184, 48},
                                        {12, 56, 0, 8, 0, 56, 70, 68, 112, 128, 136, 192, 40},
                                        {13, 0, 72, 8, 0, 56, 70, 68, 112, 128, 136, 200, 40}};
enum { OF_C_STACK = 3, MOST_FRAMES = 64, SIZE_OF_OBJECT = 16, BYTES_OF_BYTES = 32, STATE_OF_TEXT = 32, ASCII = 3 << 5 };

static const struct layout* layout;  // of this process's Python; null: none is known
static const void* (*thread_state)(void);

static const char* pointer_at(const void* object, size_t offset) {
  const char* found;
  memcpy(&found, (const char*)object + offset, sizeof found);
  return found;
}

static int number_at(const void* object, size_t offset) {
  int found;
  memcpy(&found, (const char*)object + offset, sizeof found);
  return found;
}

static struct segment interpreter;  // its code

// Once; again where there was no Python: a program may load it any time.
static void find_layout(int again) {
  static int tried, known;
  if (known || (tried && !again)) return;
  tried = 1;
  const unsigned long* version = dlsym(RTLD_DEFAULT, "Py_Version");
  const char* (*words)(void);
  *(void**)&words = dlsym(RTLD_DEFAULT, "Py_GetVersion");
  known = words != NULL;
  *(void**)&thread_state = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
  if (!version || !words || !thread_state || *version >> 24 != 3 || strstr(words(), "free-threading")) return;
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
    if (layouts[i].minor == (*version >> 16 & 255)) layout = &layouts[i];
  }
  interpreter = segment_of(*(void**)&words);
}

// The characters of a string; where they are not ASCII, none.
static const char* text_of(const void* string) {
  return (number_at(string, STATE_OF_TEXT) & ASCII) == ASCII ? (const char*)string + layout->text : "";
}

static size_t varint(const unsigned char* table, size_t* at) {
  size_t value = 0;
  for (unsigned shift = 0;; shift += 6) {
    unsigned byte = table[(*at)++];
    value |= (size_t)(byte & 63) << shift;
    if (!(byte & 64) || shift > 24) return value;
  }
}

// The line of an instruction by the code's table of locations (CPython's InternalDocs/code_objects.md); 0: it has none.
static int line_of(const void* code, const char* instruction) {
  const char* lines = pointer_at(code, layout->lines);
  const unsigned char* table = (const unsigned char*)lines + BYTES_OF_BYTES;
  size_t length = (size_t)pointer_at(lines, SIZE_OF_OBJECT);
  size_t unit = (size_t)(instruction - ((const char*)code + layout->bytecode)) / 2, begin = 0;
  int line = number_at(code, layout->first_line);
  for (size_t at = 0; at < length;) {
    unsigned head = table[at++], kind = head >> 3 & 15;
    if (kind == 13 || kind == 14) {
      size_t delta = varint(table, &at);
      line += delta & 1 ? -(int)(delta >> 1) : (int)(delta >> 1);
      for (int i = 0; kind == 14 && i < 3; i++) varint(table, &at);
    } else if (kind != 15) {
      line += kind >= 10 ? (int)kind - 10 : 0;
      at += kind >= 10 ? 2 : 1;
    }
    begin += (head & 7) + 1;
    if (unit < begin) return kind == 15 ? 0 : line;
  }
  return 0;
}

int python_callers(const char* library, struct python_caller* callers, int most) {
  find_layout(library != NULL);
  const char* thread = layout ? thread_state() : NULL;
  if (!thread) return 0;
  const size_t package = library ? (size_t)(strrchr(library, '/') + 1 - library) : 0;
  const char* frame = pointer_at(layout->cframe ? pointer_at(thread, layout->cframe) : thread, layout->frame);
  int count = 0;
  for (int i = 0; frame && i < MOST_FRAMES && count < most; i++, frame = pointer_at(frame, layout->previous)) {
    if (frame[layout->owner] == OF_C_STACK) continue;
    struct python_caller* caller = &callers[count];
    caller->code = pointer_at(frame, layout->code);
    caller->instruction = pointer_at(frame, layout->instruction);
    caller->file = text_of(pointer_at(caller->code, layout->file));
    if (library && strncmp(caller->file, library, package) == 0) continue;
    if (!*caller->file) break;
    count++;
  }
  return count;
}

int is_of_interpreter(const void* address) {
  find_layout(0);
  return layout && (uint64_t)(uintptr_t)address - interpreter.begin < interpreter.bytes;
}

uint64_t python_site(const struct python_caller* caller, struct module* module) {
  const char* file = caller->file;
  const char* name = text_of(pointer_at(caller->code, layout->name));
  size_t room = sizeof module->path - 2, name_length = strlen(name), length = strlen(file);
  if (name_length > room / 2) name_length = room / 2;
  if (length > room - name_length) file += length - (room - name_length);  // its end tells most
  size_t kept = strlen(file);
  memcpy(module->path, file, kept);
  module->path[kept] = '\n';
  memcpy(module->path + kept + 1, name, name_length);
  return (uint64_t)line_of(caller->code, caller->instruction);
}
