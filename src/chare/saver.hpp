// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Writes the elements of an array to files, and makes an array of what was written, on however many PEs there
// are then. Each PE writes one part; once all are there, PE 0 replaces the file that names them, and removes
// those of the time before: whatever happens meanwhile, that file names a whole checkpoint.
//
//     PATH         text: type, shape, ids, of each part its name, length, checksum and range of elements, and
//     a
//                  checksum of all that
//     PATH.G.P     part of PE P, the G-th time: for each element its number, length and what serialize()
//     wrote
//
// Ids: those that the array has had so far, in this job and where it was restored itself. Proxies in files
// have them, too, whatever the array's number is in the job that reads them.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "nigh/chare/core.hpp"

namespace nigh::chare {

class Elements;
class Pe;

struct CheckpointPart {
  std::string name;  // without its folder
  std::uint64_t bytes = 0, sum = 0, elements = 0;
  std::uint64_t first = 0, last = 0;  // numbers of elements
};
// The addresses of its elements' heaps: epochs of that range (extents.hpp), given out by that job.
struct Heaps {
  std::uint64_t epochs = 0, first = 0, bytes = 0, job = 0;
};
struct Checkpoint {
  std::string type;
  Shape shape;
  std::uint64_t generation = 0;
  std::vector<core::ArrayId> names;  // the newest first
  std::vector<CheckpointPart> parts;
  Heaps heaps;
  [[nodiscard]] std::uint64_t elements() const;
};
std::string text_of(const Checkpoint& checkpoint);
// `path` is for errors. Errors: invalid (it is none).
Result<Checkpoint> read_checkpoint(const std::string& text, const std::string& path);

class Saver {
 public:
  explicit Saver(Pe& pe);
  void ask(core::ElementBase& from, const char* path, const Callback& then);
  void begin(std::uint16_t array, const void* asked, std::size_t bytes);  // at PE 0, when all have
  void on_save(const core::Header* message);
  void on_saved(const core::Header* message);  // at PE 0
  core::ArrayId restore(const char* path, const core::Type& type);
  void on_restore(const core::Header* message);

 private:
  struct Step {  // at PE 0
    std::string path;
    Callback then;
    Checkpoint now;
    std::uint32_t missing = 0;
    bool failed = false;
  };
  Result<CheckpointPart> write(Elements& elements, const std::string& path, std::uint64_t generation);
  Result<void> make_way(const Heaps& heaps, const std::string& path);
  Result<void> read(Elements& elements, const std::string& path);
  Result<void> read_part(Elements& elements, const std::string& data, const std::string& path);
  void end(Step& step);
  void refuse(std::uint16_t array, const std::string& why);
  void answer(std::uint16_t array, const Step& step, bool failed);

  Pe& pe_;
  std::unordered_map<std::uint16_t, Step> steps_;
  std::uint64_t job_ = 0;  // unlike any other's
  std::vector<Heaps> restored_;
};

}  // namespace nigh::chare
