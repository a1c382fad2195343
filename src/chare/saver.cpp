// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "chare/saver.hpp"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "chare/entries.hpp"
#include "chare/pe.hpp"
#include "sys/os.hpp"
#include "sys/regular_file.hpp"

namespace nigh::chare {

namespace {

constexpr std::string_view first_line = "nigh chare checkpoint 2", earlier_line = "nigh chare checkpoint 1\n";

constexpr const char* last_word = "sum ";

struct Asked {  // with the path behind it
  Callback then;
};
struct Wanted {  // with the path behind it
  std::uint64_t generation = 0;
};
struct Written {
  std::uint64_t bytes = 0, sum = 0, elements = 0, first = 0, last = 0;
  std::uint64_t heaps = 0;  // epochs (extents.hpp)
  std::uint32_t pe = 0;
  bool failed = false;
};
struct Record {  // in front of an element
  std::uint64_t number = 0, bytes = 0;
};

std::uint64_t sum_of(std::string_view data) {  // FNV-1a, eight bytes at a time
  std::uint64_t sum = 0xcbf29ce484222325;
  for (std::size_t at = 0; at < data.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data.data() + at, std::min<std::size_t>(8, data.size() - at));
    sum = (sum ^ word) * 0x100000001b3;
    sum ^= sum >> 29;
  }
  return sum;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

std::string name_of_part(const std::string& path, std::uint64_t generation, std::uint32_t pe) {
  return path.substr(folder_of(path).size()) + "." + std::to_string(generation) + "." + std::to_string(pe);
}

// Files that nobody names: parts of other generations, from before or left when a job was killed, and
// temporary files of a killed sys::write_file.
void remove_others(const std::string& path, std::uint64_t generation) {
  constexpr std::string_view unfinished = ".nigh-";
  const std::string folder = folder_of(path), mine = path.substr(folder.size());
  for (const std::string& name : sys::Os("").list(folder.empty() ? "." : folder)) {
    if (!name.starts_with(mine)) continue;
    std::string_view rest = std::string_view(name).substr(mine.size());
    const std::size_t cut = rest.find(unfinished);
    const bool is_whole = cut == std::string_view::npos;
    if (!is_whole && !is_number(rest.substr(cut + unfinished.size()))) continue;
    rest = rest.substr(0, cut);
    bool is_old = !is_whole;
    if (!rest.empty()) {  // .G.P
      const std::size_t dot = rest.find('.', 1);
      if (rest[0] != '.' || dot == std::string_view::npos) continue;
      const std::string_view of = rest.substr(1, dot - 1);
      if (!is_number(of) || !is_number(rest.substr(dot + 1))) continue;
      is_old = is_old || of != std::to_string(generation);
    }
    if (is_old) std::remove((folder + name).c_str());
  }
}

Result<Checkpoint> read_list(const std::string& path) {
  if (auto size = sys::file_size(path); !size) return tl::unexpected(size.error());
  const auto text = sys::read_file(path);
  return text ? read_checkpoint(*text, path) : tl::unexpected(text.error());
}

Result<void> find_part(const CheckpointPart& part, const std::string& file) {
  const auto size = sys::file_size(file);
  if (!size) return tl::unexpected(size.error());
  if (*size != part.bytes)
    return fail(Errc::invalid, file + " is not what was written: it has " + std::to_string(*size) +
                                   " bytes, not " + std::to_string(part.bytes));
  return {};
}

Result<void> find_parts(const Checkpoint& checkpoint, const std::string& path) {
  for (const CheckpointPart& part : checkpoint.parts)
    if (auto found = find_part(part, folder_of(path) + part.name); !found) return found;
  return {};
}

template <class Payload>
std::string behind(const Header* message) {  // a path, which ends with 0
  return reinterpret_cast<const char*>(message + 1) + sizeof(Payload);
}

}  // namespace

std::uint64_t Checkpoint::elements() const {
  std::uint64_t out = 0;
  for (const CheckpointPart& part : parts) out += part.elements;
  return out;
}

std::string text_of(const Checkpoint& checkpoint) {
  std::ostringstream out;
  const Shape& s = checkpoint.shape;
  out << first_line << "\ntype " << checkpoint.type << "\nshape " << s.x << ' ' << s.y << ' ' << s.z << ' '
      << (s.is_sparse ? "sparse" : "dense") << "\ngeneration " << checkpoint.generation;
  const Heaps& heaps = checkpoint.heaps;
  if (heaps.epochs != 0)
    out << "\nheaps " << heaps.epochs << ' ' << heaps.first << ' ' << heaps.bytes << ' ' << heaps.job;
  out << "\nids " << checkpoint.names.size();
  for (const core::ArrayId& id : checkpoint.names) out << ' ' << id.number << ' ' << id.mark;
  out << "\nparts " << checkpoint.parts.size() << '\n';
  for (const CheckpointPart& part : checkpoint.parts)
    out << part.bytes << ' ' << part.sum << ' ' << part.elements << ' ' << part.first << ' ' << part.last
        << ' ' << part.name << '\n';
  return out.str() + last_word + std::to_string(sum_of(out.str())) + '\n';
}

namespace {

// The text in front of the last line, if that has its checksum.
std::optional<std::string> checked(const std::string& text) {
  const std::size_t at = text.rfind(last_word);
  if (at == std::string::npos || at == 0 || text[at - 1] != '\n') return std::nullopt;
  std::string before = text.substr(0, at);
  if (text.substr(at) != last_word + std::to_string(sum_of(before)) + '\n') return std::nullopt;
  return before;
}

// A contradiction in a file that no job has written, though the checksum is right. Empty: none.
std::string contradiction(const Checkpoint& checkpoint) {
  std::uint64_t elements = 0;
  for (const CheckpointPart& part : checkpoint.parts) {
    if (part.elements > part.bytes / sizeof(Record))
      return "more elements in " + part.name + " than fit there";
    if (part.name.empty() || part.name.find('/') != std::string::npos) return "a part of that name";
    elements += part.elements;
  }
  const Shape& shape = checkpoint.shape;
  if (shape.is_sparse) return {};
  if (!can_be(shape)) return "an array of " + text_of(shape) + " elements";
  if (elements != static_cast<std::uint64_t>(shape.elements()))
    return std::to_string(elements) + " elements in an array of " + text_of(shape);
  return {};
}

bool read_ids(std::istream& in, std::vector<core::ArrayId>& ids) {
  std::size_t count = 0;
  if (!(in >> count) || count == 0) return false;
  for (std::size_t i = 0; i < count; ++i) {
    core::ArrayId id;
    if (!(in >> id.number >> id.mark) || id.mark > core::ArrayId::most_mark) return false;
    ids.push_back(id);
  }
  return true;
}

}  // namespace

Result<Checkpoint> read_checkpoint(const std::string& text, const std::string& path) {
  Checkpoint out;
  if (text.starts_with(earlier_line))
    return fail(Errc::invalid, path + " is of an earlier nigh, whose checkpoints this one can't read");
  if (!text.starts_with(first_line)) return fail(Errc::invalid, path + " is no checkpoint of an array");
  const auto checksummed = checked(text);
  if (!checksummed) return fail(Errc::invalid, path + " is cut off, or was changed");
  std::istringstream in(*checksummed);
  std::string line, word, form;
  std::size_t parts = 0;
  Heaps& heaps = out.heaps;
  const bool begins =
      std::getline(in, line) && line == first_line && in >> word && word == "type" && in.get() == ' ' &&
      std::getline(in, out.type) && in >> word >> out.shape.x >> out.shape.y >> out.shape.z >> form &&
      word == "shape" && (form == "sparse" || form == "dense") && in >> word >> out.generation &&
      word == "generation" && in >> word &&
      (word != "heaps" || in >> heaps.epochs >> heaps.first >> heaps.bytes >> heaps.job >> word) &&
      word == "ids" && read_ids(in, out.names) && in >> word && word == "parts" && in >> parts;
  if (!begins) return fail(Errc::invalid, path + " is no checkpoint of an array");
  out.shape.is_sparse = form == "sparse";
  for (std::size_t i = 0; i < parts; ++i) {
    CheckpointPart part;
    if (!(in >> part.bytes >> part.sum >> part.elements >> part.first >> part.last) || in.get() != ' ' ||
        !std::getline(in, part.name))
      return fail(Errc::invalid,
                  path + " is no checkpoint of an array: part " + std::to_string(i) + " can't be read");
    out.parts.push_back(part);
  }
  if (const std::string why = contradiction(out); !why.empty())
    return fail(Errc::invalid, path + " is no checkpoint of an array: it has " + why);
  return out;
}

Saver::Saver(Pe& pe) : pe_(pe) { static_cast<void>(::getrandom(&job_, sizeof job_, 0)); }

void Saver::ask(core::ElementBase& from, const char* path, const Callback& then) {
  std::vector<char> data(sizeof(Asked) + std::strlen(path) + 1);
  const Asked asked{then};
  std::memcpy(data.data(), &asked, sizeof asked);
  std::memcpy(data.data() + sizeof asked, path, std::strlen(path) + 1);
  pe_.reductions_.contribute(from, data.data(), data.size(), keep_first,
                             {save_elements, from.array_id(), 0, {}});
}

void Saver::begin(std::uint16_t array, const void* asked, std::size_t bytes) {
  Step& step = steps_[array] = {};
  Asked what;
  std::memcpy(static_cast<void*>(&what), asked, sizeof what);
  step.then = what.then;
  step.path = static_cast<const char*>(asked) + sizeof what;
  step.missing = pe_.count();
  std::uint64_t generation = 0;
  if (const auto before = read_list(step.path))
    generation = before->generation;
  else if (before.error().code == Errc::invalid)
    return refuse(array, before.error().message + ", so it is not replaced");
  else if (before.error().sys_errno != ENOENT)
    return refuse(array, before.error().message);
  const Elements& elements = *pe_.elements(array);
  step.now = {
      name_of(elements.type), elements.shape, generation + 1, {{elements.array, elements.mark}}, {}, {}};
  step.now.names.insert(step.now.names.end(), elements.names.begin(), elements.names.end());
  const space::CommonRange& range = pe_.extents_.range();
  step.now.heaps = {0, range.first(), range.bytes(), job_};
  const std::size_t path_bytes = bytes - sizeof what;
  Header* const message = pe_.system(System::save, array, Wanted{step.now.generation}, path_bytes);
  if (!message) return;
  std::memcpy(reinterpret_cast<char*>(message + 1) + sizeof(Wanted), step.path.c_str(), path_bytes);
  pe_.post_to_all(message, {array});
}

void Saver::refuse(std::uint16_t array, const std::string& why) {
  std::fprintf(stderr, "nigh chare: checkpoint: %s\n", why.c_str());
  const Step step = std::move(steps_[array]);
  steps_.erase(array);
  answer(array, step, true);
}

void Saver::answer(std::uint16_t array, const Step& step, bool failed) {
  const int status = failed ? 1 : 0;
  pe_.call(step.then, &status, sizeof status);
  pe_.turn_is_over(array);
}

Result<CheckpointPart> Saver::write(Elements& elements, const std::string& path, std::uint64_t generation) {
  CheckpointPart part;
  std::string data;
  part.name = name_of_part(path, generation, pe_.number());
  part.first = std::numeric_limits<std::uint64_t>::max();
  for (core::ElementBase* element : elements.local()) {
    if (pe_.kind_.debug) pe_.look_for_forgotten(*element);
    const Record record{*elements.number_of(element->index()),
                        elements.type.write(element, nullptr, core::Reach::file)};
    const std::size_t at = data.size();
    data.resize(at + sizeof record + record.bytes);
    std::memcpy(data.data() + at, &record, sizeof record);
    elements.type.write(element, data.data() + at + sizeof record, core::Reach::file);
    part.first = std::min(part.first, record.number);
    part.last = std::max(part.last, record.number);
  }
  part.elements = elements.local().size();
  part.bytes = data.size();
  part.sum = sum_of(data);
  if (auto written = sys::write_file(folder_of(path) + part.name, data); !written)
    return tl::unexpected(written.error());
  return part;
}

void Saver::on_save(const Header* message) {
  const auto wanted = Pe::payload_of<Wanted>(message);
  const std::string path = behind<Wanted>(message);
  Elements& elements = *pe_.elements(message->array);
  Written told{0, 0, 0, 0, 0, 0, pe_.number(), true};
  if (const auto part = write(elements, path, wanted.generation); part && !pe_.stop_)  // no serialize() threw
    told = {part->bytes,  part->sum, part->elements, part->first, part->last, pe_.extents_.take_written(),
            pe_.number(), false};
  else if (!part)
    std::fprintf(stderr, "nigh chare: PE %u: checkpoint: %s\n", pe_.number(), part.error().message.c_str());
  if (Header* const answer = pe_.system(System::saved, message->array, told)) pe_.tell(0, answer);
}

void Saver::on_saved(const Header* message) {
  const auto told = Pe::payload_of<Written>(message);
  Step& step = steps_[message->array];
  if (!told.failed)
    step.now.parts.push_back({name_of_part(step.path, step.now.generation, told.pe), told.bytes, told.sum,
                              told.elements, told.first, told.last});
  step.now.heaps.epochs |= told.heaps;
  step.failed = step.failed || told.failed;
  if (--step.missing > 0) return;
  Step done = std::move(step);
  steps_.erase(message->array);
  end(done);
  answer(message->array, done, done.failed);
}

void Saver::end(Step& step) {
  if (!step.failed) {
    if (auto written = sys::write_file(step.path, text_of(step.now)); !written) {
      std::fprintf(stderr, "nigh chare: checkpoint: %s\n", written.error().message.c_str());
      step.failed = true;
    }
  }
  if (!step.failed) return remove_others(step.path, step.now.generation);
  for (const CheckpointPart& part : step.now.parts) std::remove((folder_of(step.path) + part.name).c_str());
}

// --- and back ---

core::ArrayId Saver::restore(const char* path, const core::Type& type) {
  const auto checkpoint = read_list(path);
  std::string why;
  if (!checkpoint)
    why = checkpoint.error().message;
  else if (checkpoint->type != name_of(type))
    why = std::string(path) + " has elements of another type: " + checkpoint->type;
  else if (auto found = find_parts(*checkpoint, path); !found)  // before there is memory for an array
    why = found.error().message;
  if (!why.empty()) pe_.fail("restore: " + why);
  const core::ArrayId array = why.empty() ? pe_.create(checkpoint->shape, type, nullptr, checkpoint->names)
                                          : pe_.create({0, 0, 0}, type, nullptr);
  const std::size_t bytes = std::strlen(path) + 1;
  Header* const message = pe_.stop_ ? nullptr : pe_.system(System::restore, array.number, Wanted{}, bytes);
  if (!message) return array;
  std::memcpy(reinterpret_cast<char*>(message + 1) + sizeof(Wanted), path, bytes);
  message->element = pe_.number();
  message->flags |= to_all;
  ++pe_.sent_;
  pe_.on_all(message);
  return array;
}

void Saver::on_restore(const Header* message) {
  const std::string path = behind<Wanted>(message);
  Elements& elements = *pe_.elements(message->array);
  if (auto done = read(elements, path); !done) return pe_.fail("restore: " + done.error().message);
  if (elements.shape.is_sparse) return;
  elements.made = true;
  pe_.take_early(elements);
}

// The heaps have to lie where they were.
Result<void> Saver::make_way(const Heaps& heaps, const std::string& path) {
  if (heaps.epochs == 0) return {};
  const space::CommonRange& range = pe_.extents_.range();
  if (heaps.first != range.first() || heaps.bytes != range.bytes())
    return fail(Errc::invalid, path + " has heaps at addresses that are not free in all processes");
  for (const Heaps& other : restored_)
    if (other.job != heaps.job && (other.epochs & heaps.epochs))
      return fail(Errc::invalid, path +
                                     " may have heaps at the addresses of those restored before: "
                                     "it was not written by the same job");
  if (!pe_.extents_.keep_out(heaps.epochs))
    return fail(Errc::invalid, path +
                                   " has heaps at addresses that are in use: restore it before elements "
                                   "with heaps are made");
  restored_.push_back(heaps);
  return {};
}

Result<void> Saver::read(Elements& elements, const std::string& path) {
  const auto checkpoint = read_list(path);
  if (!checkpoint) return tl::unexpected(checkpoint.error());
  if (auto done = make_way(checkpoint->heaps, path); !done) return done;
  for (const CheckpointPart& part : checkpoint->parts) {
    if (part.elements == 0) continue;
    const bool mine =
        elements.shape.is_sparse || (part.last >= elements.first_mine() && part.first < elements.end_mine());
    if (!mine) continue;
    const std::string file = folder_of(path) + part.name;
    if (auto found = find_part(part, file); !found) return found;
    const auto data = sys::read_file(file, sys::any_size);
    if (!data) return tl::unexpected(data.error());
    if (data->size() != part.bytes || sum_of(*data) != part.sum)
      return fail(Errc::invalid, file + " is not what was written");
    if (auto done = read_part(elements, *data, file); !done) return done;
  }
  if (!elements.shape.is_sparse && elements.local().size() != elements.end_mine() - elements.first_mine())
    return fail(Errc::invalid, path + " has not all elements of its array");
  elements.tallied = true;
  if (elements.shape.is_sparse && pe_.number() == 0)
    pe_.reductions_.set_total(elements.array, checkpoint->elements());
  return {};
}

namespace {

// Before an element is made of it: all PEs that read it say the same.
Result<void> check_part(const Elements& elements, const std::string& data, const std::string& path) {
  for (std::size_t at = 0; at < data.size();) {
    Record record;
    if (data.size() - at < sizeof record) return fail(Errc::invalid, path + " is cut off");
    std::memcpy(&record, data.data() + at, sizeof record);
    at += sizeof record;
    if (data.size() - at < record.bytes) return fail(Errc::invalid, path + " is cut off");
    if (!elements.shape.is_sparse && record.number >= static_cast<std::uint64_t>(elements.shape.elements()))
      return fail(Errc::invalid, path + " has elements outside of an array of " + text_of(elements.shape));
    at += record.bytes;
  }
  return {};
}

}  // namespace

Result<void> Saver::read_part(Elements& elements, const std::string& data, const std::string& path) {
  if (auto sound = check_part(elements, data, path); !sound) return sound;
  for (std::size_t at = 0; at < data.size();) {
    Record record;
    std::memcpy(&record, data.data() + at, sizeof record);
    at += sizeof record;
    const Elements::Place place = elements.place(record.number);
    if (place.element)
      return fail(Errc::invalid,
                  path + " has element " + text_of(elements.index_of(record.number)) + " again");
    if (place.pe == pe_.number()) {
      pe_.restoring_ = path;
      core::ElementBase* const element =
          pe_.read_element(elements, record.number, data.data() + at, record.bytes, core::Reach::file);
      pe_.restoring_.clear();
      if (!element)
        return fail(Errc::invalid, path + ": element " + text_of(elements.index_of(record.number)) +
                                       " can't be made of what was written");
      pe_.settle(elements, record.number, element);
    }
    at += record.bytes;
  }
  return {};
}

}  // namespace nigh::chare
