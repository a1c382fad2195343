// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh machine`: what nigh knows of this computer or of any other that can be named, as text, JSON or SVG.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

#include "cli/commands.hpp"
#include "cli/probe.hpp"
#include "cli/probe_mpi.hpp"
#include "cli/terminal.hpp"
#include "machine/draw.hpp"
#include "machine/load.hpp"
#include "machine/probe.hpp"

namespace nigh::cli {

namespace {
struct MachineOptions {
  std::string model;
  std::string machine;
  bool json = false;
  bool svg = false;
  bool list_models = false;
  bool no_color = false;
  ProbeRequest probe;
  MpiProbeRequest mpi;
};

std::string wrapped(const std::string& text, const std::string& lead, int width) {
  std::string out = lead;
  auto column = lead.size();
  for (std::size_t at = 0; at <= text.size();) {
    std::size_t end = std::min(text.find(' ', at), text.size());
    std::size_t word = end - at;
    if (column > lead.size() && column + 1 + word > static_cast<std::size_t>(width)) {
      out += '\n' + std::string(lead.size(), ' ');
      column = lead.size();
    } else if (column > lead.size()) {
      out += ' ';
      ++column;
    }
    out += text.substr(at, word);
    column += word;
    at = end + 1;
  }
  return out + '\n';
}

// The legend of a cell of the picture, with the first core that shows it best as the example.
std::string cell_legend(const Machine& machine) {
  for (int i : machine.of_kind(Kind::core)) {
    const auto& pus = machine.objects[static_cast<std::size_t>(i)].children;
    if (pus.size() < 2) continue;
    auto number = [&](std::size_t k) { return machine.objects[static_cast<std::size_t>(pus[k])].os_index; };
    return fmt::format("[{} {}{}] is a core with its PUs, the hardware threads", number(0), number(1),
                       pus.size() > 2 ? " .." : "");
  }
  return "[0] is a core with its PU";
}

void print_text(const Machine& machine, const MachineOptions& options) {
  int width = terminal_width();
  bool color = use_color(options.no_color);
  std::string title = printable(machine.title.empty() ? machine.name : machine.title);
  std::string out = color ? "\x1b[1m" + title + "\x1b[0m\n" : title + '\n';
  out += machine.summary() + "\n\n" + draw_text(machine, {}, width, color);
  std::string legend = cell_legend(machine);
  out += color ? "\x1b[2m" + legend + "\x1b[0m\n" : legend + '\n';
  for (const std::string& part : {draw_matrices(machine, width), draw_devices(machine, width)})
    if (!part.empty()) out += '\n' + part;
  if (!machine.origin.empty() || !machine.notes.empty()) out += '\n';
  if (!machine.origin.empty()) out += wrapped("from " + printable(machine.origin), "", width);
  for (const auto& note : machine.notes) out += wrapped(printable(note), "- ", width);
  std::fputs(out.c_str(), stdout);
}

int list_models() {
  for (const auto& name : model_names()) {
    auto machine = load_model(name);
    if (!machine) return report_failure("machine", machine.error().message);
    std::fputs(fmt::format("{:<18} {}\n{:<18} {}\n", name, machine->title, "", machine->summary()).c_str(),
               stdout);
  }
  return 0;
}

int show(const MachineOptions& options) {
  if (options.list_models) return list_models();
  const bool own = options.model.empty() && (options.machine.empty() || options.machine == "this");
  auto machine = own                     ? load_this_machine_with_devices()
                 : options.model.empty() ? load_machine(options.machine)
                                         : load_model(options.model);
  if (!machine) return report_failure("machine", machine.error().message);
  if (options.probe.wanted) return run_probe(*machine, options.probe, options.json, terminal_width());
  if (options.probe.no_store && !options.mpi.wanted)
    return report_failure("machine", "--no-store goes with --probe or --probe-mpi");
  if (options.mpi.wanted) {
    MpiProbeRequest request = options.mpi;
    request.no_store = options.probe.no_store;
    return run_mpi_probe(*machine, request, program_words(), options.json);
  }
  if (own) apply_stored_probe(*machine);
  if (options.json)
    std::fputs(machine_to_json(*machine).c_str(), stdout);
  else if (options.svg)
    std::fputs(draw_svg(*machine).text().c_str(), stdout);
  else
    print_text(*machine, options);
  return 0;
}
}  // namespace

void add_machine(CLI::App& app, int& status) {
  auto options = std::make_shared<MachineOptions>();
  auto* command =
      app.add_subcommand("machine", "Show the machine: its tree, its memory, the links between nodes");
  auto* model = command->add_option("--model", options->model, "A shipped model (--list-models names them)");
  command
      ->add_option("--machine", options->machine,
                   "this, a model, a .json or hwloc .xml file, or synthetic:DESCRIPTION")
      ->excludes(model);
  auto* json = command->add_flag("--json", options->json, "Print the machine file (docs/machine-json.md)");
  command->add_flag("--svg", options->svg, "Print a picture")->excludes(json);
  command->add_flag("--list-models", options->list_models, "List the shipped models");
  command->add_flag("--no-color", options->no_color, "No colours (also: NO_COLOR=1, or output to a file)");
  add_probe_options(*command, options->probe);
  add_mpi_probe_options(*command, options->mpi);
  command->callback([options, &status] { status = show(*options); });
}

}  // namespace nigh::cli
