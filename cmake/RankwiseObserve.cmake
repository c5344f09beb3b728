# librankwise_observe.so, which records what an unmodified program sends to whom (src/observe): plain C, without an MPI, for all
# MPIs. Nothing of it is visible but MPI's own names.

include(GNUInstallDirs)
enable_language(C)
file(GLOB observe_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/observe/*.c)
add_library(rankwise_observe SHARED ${observe_sources})
set_target_properties(rankwise_observe PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS ON C_VISIBILITY_PRESET hidden)
target_compile_options(rankwise_observe PRIVATE -Wall -Wextra -Wshadow -Wconversion)
if(RANKWISE_WERROR)
  target_compile_options(rankwise_observe PRIVATE -Werror)
endif()
target_link_libraries(rankwise_observe PRIVATE ${CMAKE_DL_LIBS})
if(SKBUILD)
  install(TARGETS rankwise_observe LIBRARY DESTINATION rankwise/lib)
else()
  install(TARGETS rankwise_observe LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
