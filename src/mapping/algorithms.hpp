// The algorithms behind the table in algorithms.cpp, one file each. To add one: its file, and its declaration and row there.
// Those that others begin with are declared here.
#pragma once

#include "mapping/mapping.hpp"

namespace rankwise {

std::unique_ptr<Mapping> prepare_blocked(const MappingProblem& problem);
std::unique_ptr<Mapping> prepare_hyperplane(const MappingProblem& problem);
std::unique_ptr<Mapping> prepare_kd_tree(const MappingProblem& problem);
std::unique_ptr<Mapping> prepare_stencil_strips_paper(const MappingProblem& problem);
std::unique_ptr<Mapping> prepare_stencil_strips_code(const MappingProblem& problem);
std::unique_ptr<Mapping> prepare_nodecart(const MappingProblem& problem);
std::unique_ptr<Mapping> prepare_auto(const MappingProblem& problem, const MappingOptions& options);
std::unique_ptr<Mapping> prepare_random(const MappingProblem& problem, const MappingOptions& options);
std::unique_ptr<Mapping> prepare_refined(const MappingProblem& problem, const MappingOptions& options);

}  // namespace rankwise
