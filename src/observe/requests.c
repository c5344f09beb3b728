#include "requests.h"

#include <stdlib.h>
#include <string.h>

uint32_t request_serial, persistent_count;

static struct request* table;
static uint32_t size, used;

static uint32_t place_of(word handle) {
  return (uint32_t)(((uint64_t)handle * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (size - 1);
}

static struct request* free_place(word handle) {
  uint32_t i = place_of(handle);
  while (table[i].used) i = (i + 1) & (size - 1);
  return &table[i];
}

static void rebuild(uint32_t new_size, int persistent_only) {
  struct request* old = table;
  uint32_t old_size = size;
  table = calloc(new_size, sizeof *table);
  if (!table) abort();
  size = new_size;
  used = 0;
  for (uint32_t i = 0; i < old_size; i++) {
    if (!old[i].used || (persistent_only && !old[i].persistent)) continue;
    *free_place(old[i].handle) = old[i];
    used++;
  }
  free(old);
}

struct request* request_add(word handle) {
  if (2 * (used + 1) > size) rebuild(size ? 2 * size : 256, 0);
  struct request* request = free_place(handle);
  memset(request, 0, sizeof *request);
  request->handle = handle;
  request->used = 1;
  used++;
  return request;
}

struct request* request_find(word handle) {
  if (!used) return NULL;
  for (uint32_t i = place_of(handle); table[i].used; i = (i + 1) & (size - 1)) {
    if (table[i].handle == handle) return &table[i];
  }
  return NULL;
}

void request_remove(struct request* request) {
  if (request->persistent) {
    persistent_count--;
    free(request->plan);
  }
  uint32_t hole = (uint32_t)(request - table);
  table[hole].used = 0;
  used--;
  // What was pushed past the hole moves up, so that it is found without it.
  for (uint32_t i = (hole + 1) & (size - 1); table[i].used; i = (i + 1) & (size - 1)) {
    uint32_t home = place_of(table[i].handle);
    if (((i - home) & (size - 1)) < ((i - hole) & (size - 1))) continue;
    table[hole] = table[i];
    table[i].used = 0;
    hole = i;
  }
}

void requests_forget(void) {
  if (used) rebuild(size, 1);
}
