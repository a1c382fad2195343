// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The same by other people's means. Charm++ is not packaged: an environment variable for each of its builds
// has the command that runs its own kNeighbor, all but the arguments. MPI is ours to write (kneighbor_mpi.c);
// the library is used as it is. All of them print a line "Time stats: lowest: .., median: .., highest: .." in
// us.
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "peers.hpp"

#include "common/batches.hpp"

namespace bench::peers {

namespace {

std::string quoted(const std::string& word) {
  std::string out(1, '\'');
  for (const char c : word)
    if (c == '\'')
      out.append("'\\''");
    else
      out.push_back(c);
  out.push_back('\'');
  return out;
}

}  // namespace

const std::vector<std::string>& names() {
  static const std::vector<std::string> all = {"mpi-openmpi",   "mpi-mpich",         "charm-multicore",
                                               "charm-netlrts", "charm-netlrts-smp", "charm-pxshm",
                                               "charm-mpi"};
  return all;
}

std::vector<std::string> command(const std::string& program_name, const std::string& subject,
                                 const std::string& own_folder, int pes, std::string& why) {
  if (subject.starts_with("mpi-")) {
    const std::string library = subject.substr(4), program = own_folder + "/" + program_name + "-" + library;
    if (std::FILE* file = std::fopen(program.c_str(), "r")) {
      std::fclose(file);
      const std::string pinned = static_cast<int>(bench::usable_cpus().size()) < pes ? "none" : "core";
      if (library == "openmpi")
        return {"mpirun.openmpi", "--oversubscribe", "--bind-to", pinned, "-n", std::to_string(pes), program};
      return {"mpirun.mpich", "-bind-to", pinned, "-n", std::to_string(pes), program};
    }
    why = subject + ": not built, its compiler was missing";
    return {};
  }
  std::string name = "NIGH_" + subject;
  for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const char* const command = std::getenv(name.c_str());
  std::vector<std::string> words;
  std::istringstream in(command ? command : "");
  for (std::string word; in >> word;) words.push_back(word);
  if (words.empty())
    why = subject + ": " + name +
          " does not say how to run the kNeighbor of that build, such as '/opt/charm/kNeighbor'";
  return words;
}

double run(const std::vector<std::string>& words, std::string& why) {
  std::string line;
  for (const std::string& word : words) line.append(quoted(word)).push_back(' ');
  std::FILE* const out = popen((line + " 2>&1 </dev/null").c_str(), "r");
  if (!out) return why = "can't start " + words[0], -1;
  double median = -1;
  char text[512], said[512] = "";
  while (std::fgets(text, sizeof text, out)) {
    double lowest = 0;
    if (std::sscanf(text, "Time stats: lowest: %lf, median: %lf", &lowest, &median) != 2 && !*said)
      std::snprintf(said, sizeof said, "%.*s", static_cast<int>(std::strcspn(text, "\n\"\\")), text);
  }
  const int status = pclose(out);
  if (median > 0 && status == 0) return median * 1e-6;
  why = words[0] + " ended with status " + std::to_string(WEXITSTATUS(status)) + ": " + said;
  return -1;
}

std::string folder_of(const std::string& program) {
  const std::size_t slash = program.rfind('/');
  return slash == std::string::npos ? "." : program.substr(0, slash);
}

int report(const std::string& program, const std::string& subject, const std::string& own_folder, int pes,
           const std::vector<std::string>& arguments, const std::string& result, bool near) {
  std::string why;
  std::vector<std::string> words = command(program, subject, own_folder, pes, why);
  if (words.empty()) return std::fprintf(stderr, "%s\n", why.c_str()), 2;
  words.insert(words.end(), arguments.begin(), arguments.end());
  const double median = run(words, why);
  if (median < 0) return std::fprintf(stderr, "%s: %s\n", subject.c_str(), why.c_str()), 2;
  bench::report(program.c_str(), {{result, 1e9 * median, near}}, bench::usable_cpus(), pes - 1, "");
  return 0;
}

}  // namespace bench::peers
