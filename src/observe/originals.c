#include "calls_list.h"
#include "comms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char* const call_names[CALL_COUNT] = {
#define CALL(flavour, name, n, handler, timed, extra, letters) "MPI_" #name,
#include "calls.h"
    "MPI_Init", "MPI_Finalize"};

static const char* const call_letters[CALL_COUNT] = {
#define CALL(flavour, name, n, handler, timed, extra, letters) letters,
#include "calls.h"
    "", ""};

void* originals[CALL_COUNT][4];
char absent_mark;

void* find_original(int call, int profiling, int big) {
  char name[80];
  snprintf(name, sizeof name, "%s%s%s", profiling ? "P" : "", call_names[call], big ? "_c" : "");
  void* function = mpi_symbol(name);
  if (!function && profiling) function = mpi_symbol(name + 1);
  if (!function) function = ABSENT;
  originals[call][profiling * 2 + big] = function;
  return function;
}

int invoke_words(void* function, int n, const word* a) {
  typedef int function_of_14(word, word, word, word, word, word, word, word, word, word, word, word, word, word);
  word b[14] = {0};
  memcpy(b, a, (size_t)n * sizeof *a);
  return ((function_of_14*)function)(b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13]);
}

void keep_until_later(void* memory) {
  static void* kept[4096];
  static unsigned next;
  free(kept[next]);
  kept[next] = memory;
  next = (next + 1) % 4096;
}

// An array of big counts as ints; null where one does not fit.
static int32_t* narrowed(word array, int64_t length) {
  int32_t* plain = malloc((size_t)(length ? length : 1) * sizeof *plain);
  for (int64_t i = 0; plain && i < length; i++) {
    int64_t value = ((const int64_t*)array)[i];
    plain[i] = (int32_t)value;
    if (value != plain[i]) {
      free(plain);
      return NULL;
    }
  }
  return plain;
}

int call_absent(const struct site* site, word* a) {
  void* plain = site->big ? original(site->call, site->profiling, 0) : ABSENT;
  if (plain == ABSENT) return mpi.other_error;
  word b[14];
  void* made[4];
  int arrays = 0, result = mpi.other_error, is_request = 0;
  const char* letters = call_letters[site->call];
  const char* at_comm = strchr(letters, 'c');
  int root_at = strchr(letters, 'N') ? site->extra >> 16 : 0;
  word comm = at_comm ? a[at_comm - letters] : 0;
  int significant = !root_at || is_root(comm, (int32_t)a[root_at]);
  int of_neighbors = strstr(call_names[site->call], "eighbor") != NULL;
  for (int i = 0; i < site->arguments; i++) {
    char letter = letters[i];
    int sent = i <= 2;
    b[i] = a[i];
    if (letter == 'n' && (int64_t)a[i] != (int32_t)a[i]) goto done;
    if (letter == 'q') is_request = 1;
    if ((letter != 'N' && letter != 'D') || !significant || !a[i]) continue;
    if (sent && a[0] == mpi.in_place) continue;
    int32_t* array = narrowed(a[i], of_neighbors ? entries_of_neighbors(comm, sent) : entries_of(comm));
    if (!array) goto done;
    made[arrays++] = array;
    b[i] = (word)array;
  }
  result = invoke_words(plain, site->arguments, b);
done:
  for (int i = 0; i < arrays; i++) {
    if (is_request && result == 0) {
      keep_until_later(made[i]);
    } else {
      free(made[i]);
    }
  }
  return result;
}
