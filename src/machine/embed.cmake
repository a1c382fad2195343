# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# cmake -DOUT=FILE.cpp -DMODELS=A.json,B.json -P embed.cmake: the models as string literals.
string(REPLACE "," ";" models "${MODELS}")
set(table "")
foreach(path IN LISTS models)
  get_filename_component(name "${path}" NAME_WE)
  file(READ "${path}" text)
  string(APPEND table "    {\"${name}\", R\"nigh_json(${text})nigh_json\"},\n")
endforeach()
file(WRITE "${OUT}" "// Made by embed.cmake from src/machine/models; do not edit.
#include \"machine/models.hpp\"

namespace nigh {
namespace {
constexpr EmbeddedModel models[] = {
${table}};
}  // namespace
std::span<const EmbeddedModel> embedded_models() { return models; }
}  // namespace nigh
")
