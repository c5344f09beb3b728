// Each part of the core registers its own bindings; module.cpp calls them in order.
#pragma once

#include <nanobind/nanobind.h>

void bind_mapping(nanobind::module_& m);
void bind_schedule(nanobind::module_& m);
void bind_decide(nanobind::module_& m);
void bind_cost(nanobind::module_& m);
void bind_pattern(nanobind::module_& m);
