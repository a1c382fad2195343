// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Layout (ACPI 6.5, 5.2.28): a 36-byte header, 4 reserved bytes, then structures that start with type and
// length.
//
//     structure of type 1: locality latency and bandwidth, offsets in bytes
//       0 type:2  2 -:2  4 length:4  8 flags:1  9 data type:1  10 -:2  12 initiators:4  16 targets:4  20 -:4
//      24 base unit:8  32 initiator domains:4 each, target domains:4 each, then entries:2, a row an initiator
#include "machine/hmat.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace nigh {

namespace {
constexpr const char* table_path = "/sys/firmware/acpi/tables/HMAT";
constexpr std::size_t header_size = 40;
constexpr std::size_t locality_head = 32;
constexpr std::uint64_t unreachable = 0xffff;

// Little-endian bytes with bounds; the callers check sizes first, so a read outside is a bug of ours.
class Bytes {
 public:
  explicit Bytes(std::string_view data) : data_(data) {}
  [[nodiscard]] std::size_t size() const { return data_.size(); }
  [[nodiscard]] std::uint64_t number(std::size_t at, std::size_t width) const {
    NIGH_CHECK(at <= data_.size() && width <= data_.size() - at);
    std::uint64_t out = 0;
    for (std::size_t i = width; i-- > 0;) out = out << 8 | static_cast<unsigned char>(data_[at + i]);
    return out;
  }
  [[nodiscard]] Bytes part(std::size_t at, std::size_t length) const {
    NIGH_CHECK(at <= data_.size() && length <= data_.size() - at);
    return Bytes(data_.substr(at, length));
  }

 private:
  std::string_view data_;
};

tl::unexpected<Error> damaged(const std::string& what) {
  return fail(Errc::invalid, "the ACPI HMAT table is damaged: " + what);
}

enum Measure {
  access_latency = 0,
  read_latency,
  write_latency,
  access_bandwidth,
  read_bandwidth,
  write_bandwidth
};

// The figure in ns or MB/s, as the kernel converts it: revision 1 counted latency and bandwidth in tenths of
// the base unit, since revision 2 latency is in picoseconds.
double convert(std::uint64_t entry, std::uint64_t base, bool latency, unsigned revision) {
  double value = static_cast<double>(entry) * static_cast<double>(base);
  if (revision == 1) return value / 10;
  return latency ? value / 1000 : value;
}

using Rated = std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<int, double>>;

Result<void> read_locality(const Bytes& s, unsigned revision, Rated& bandwidth, Rated& latency) {
  if (s.size() < locality_head) return damaged("a locality structure is shorter than its head");
  std::uint64_t kind = s.number(9, 1);
  std::uint64_t initiators = s.number(12, 4);
  std::uint64_t targets = s.number(16, 4);
  std::uint64_t base = s.number(24, 8);
  std::uint64_t room = s.size() - locality_head;
  if (initiators > room / 4 || targets > room / 4 || 4 * (initiators + targets) > room ||
      (targets > 0 && initiators > (room - 4 * (initiators + targets)) / 2 / targets))
    return damaged("a locality structure is too short for " + std::to_string(initiators) +
                   " initiators and " + std::to_string(targets) + " targets");
  bool memory_itself = (s.number(8, 1) & 0xf) == 0;
  if (!memory_itself || kind > write_bandwidth) return {};
  bool is_latency = kind <= write_latency;
  int rank = static_cast<int>(kind % 3);  // access, read, write: the lowest wins
  auto& out = is_latency ? latency : bandwidth;
  std::size_t target_list = locality_head + 4 * static_cast<std::size_t>(initiators);
  std::size_t entries = target_list + 4 * static_cast<std::size_t>(targets);
  for (std::size_t i = 0; i < initiators; ++i)
    for (std::size_t t = 0; t < targets; ++t) {
      std::uint64_t entry = s.number(entries + 2 * (i * static_cast<std::size_t>(targets) + t), 2);
      double value = convert(entry, base, is_latency, revision);
      if (entry == 0 || entry == unreachable || !(value > 0 && value <= 1e12)) continue;
      auto key = std::make_pair(static_cast<std::uint32_t>(s.number(locality_head + 4 * i, 4)),
                                static_cast<std::uint32_t>(s.number(target_list + 4 * t, 4)));
      auto known = out.find(key);
      if (known == out.end() || rank < known->second.first) out[key] = {rank, value};
    }
  return {};
}

std::vector<HmatEntry> entries_of(const Rated& rated) {
  std::vector<HmatEntry> out;
  for (const auto& [key, value] : rated) out.push_back({key.first, key.second, value.second});
  return out;
}

// Row and column of the node with that number in the machine's matrices, -1 when it has none.
int node_at(const Machine& m, std::uint32_t domain) {
  for (std::size_t i = 0; i < m.node_count(); ++i)
    if (static_cast<std::uint32_t>(m.objects[static_cast<std::size_t>(m.nodes[i])].os_index) == domain)
      return static_cast<int>(i);
  return -1;
}

bool all_known(const Machine& m, const std::vector<HmatEntry>& entries) {
  return std::all_of(entries.begin(), entries.end(), [&](const HmatEntry& e) {
    return node_at(m, e.initiator) >= 0 && node_at(m, e.target) >= 0;
  });
}

void fill(const Machine& m, LinkMatrix& matrix, const std::vector<HmatEntry>& entries) {
  if (entries.empty()) return;
  std::size_t n = m.node_count();
  if (matrix.empty()) {
    matrix.value.assign(n * n, 0);
    matrix.source.assign(n * n, Source::unknown);
  }
  for (const auto& e : entries) {
    std::size_t at = static_cast<std::size_t>(node_at(m, e.initiator)) * n +
                     static_cast<std::size_t>(node_at(m, e.target));
    matrix.value[at] = e.value;
    matrix.source[at] = Source::hmat;
  }
}
}  // namespace

Result<Hmat> parse_hmat(std::string_view table) {
  Bytes bytes(table);
  if (bytes.size() < header_size) return damaged("it is shorter than its header");
  if (table.substr(0, 4) != "HMAT") return damaged("it does not begin with HMAT");
  std::uint64_t length = bytes.number(4, 4);
  if (length < header_size || length > bytes.size())
    return damaged("its length is given as " + std::to_string(length) + " bytes, but there are " +
                   std::to_string(bytes.size()));
  auto revision = static_cast<unsigned>(bytes.number(8, 1));
  Rated bandwidth;
  Rated latency;
  for (std::size_t at = header_size; at < length;) {
    std::size_t left = static_cast<std::size_t>(length) - at;
    std::uint64_t size = left >= 8 ? bytes.number(at + 4, 4) : 0;
    if (size < 8 || size > left)
      return damaged("the structure at byte " + std::to_string(at) + " has a wrong length");
    if (bytes.number(at, 2) == 1)
      if (auto ok = read_locality(bytes.part(at, size), revision, bandwidth, latency); !ok)
        return tl::unexpected(ok.error());
    at += static_cast<std::size_t>(size);
  }
  return Hmat{entries_of(bandwidth), entries_of(latency)};
}

void add_hmat_links(Machine& machine, const sys::Os& os) {
  if (!os.exists(table_path)) return;
  auto text = os.read(table_path);
  if (!text) {
    machine.notes.push_back("the firmware's table of all directions (" + std::string(table_path) +
                            ") can't be read; root can");
    return;
  }
  auto table = parse_hmat(*text);
  if (!table) {
    machine.notes.push_back(table.error().message);
    return;
  }
  if (!all_known(machine, table->bandwidth) || !all_known(machine, table->latency)) {
    machine.notes.push_back(
        "the HMAT table names proximity domains that are no NUMA node here; it is left out");
    return;
  }
  fill(machine, machine.bandwidth, table->bandwidth);
  fill(machine, machine.latency, table->latency);
}

}  // namespace nigh
