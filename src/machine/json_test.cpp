// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The machine file: what is read, that writing and reading are inverse, the exact sentence for each thing
// that can be wrong with a file, and that no damaged file does worse than get one.
#include <gtest/gtest.h>

#include <random>

#include "machine/load.hpp"

namespace nigh {
namespace {

const char* const core4 = R"({ "type": "core", "count": 4, "children": [ { "type": "pu" } ] })";

std::string file(const std::string& children, const std::string& more = "") {
  return R"({ "format": "nigh-machine", "version": 1, "tree": { "type": "machine", "children": [)" +
         children + "] }" + more + "}";
}

bool same(const Machine& a, const Machine& b) {
  auto key = [](const Object& o) { return std::tie(o.kind, o.os_index, o.parent, o.children, o.bytes); };
  if (a.objects.size() != b.objects.size()) return false;
  for (std::size_t i = 0; i < a.objects.size(); ++i)
    if (key(a.objects[i]) != key(b.objects[i]) || !(a.objects[i].pus == b.objects[i].pus)) return false;
  return a.name == b.name && a.title == b.title && a.origin == b.origin && a.notes == b.notes &&
         a.nodes == b.nodes && a.slit == b.slit && a.bandwidth.value == b.bandwidth.value &&
         a.bandwidth.source == b.bandwidth.source && a.latency.value == b.latency.value &&
         a.latency.source == b.latency.source && a.network == b.network && a.copying == b.copying &&
         a.devices == b.devices;
}

std::string devices_told(const Machine& m) {
  std::string out;
  for (const Device& d : m.devices) {
    out += (out.empty() ? "" : "; ") + std::string(device_type_name(d.type)) + ' ' + d.bus + ' ' + d.vendor +
           ' ' + d.title + ' ';
    for (const std::string& name : d.names) out += name + ' ';
    out += d.pus.to_list();
  }
  return out;
}

TEST(MachineJson, CountAndPuNumbers) {
  auto m = machine_from_json(
      file(
          R"({ "type": "package", "count": 2, "children": [ { "type": "numa", "bytes": 1073741824, "children": [
                { "type": "core", "count": 2, "children": [ { "type": "pu", "count": 2 } ] } ] } ] })",
          R"(, "pu_numbers": [0, 4, 1, 5, 2, 6, 3, 7])"),
      "f");
  ASSERT_TRUE(m) << m.error().message;
  EXPECT_EQ(m->summary(), "2 packages, 2 NUMA nodes, 4 cores, 8 PUs, 2 GiB");
  auto cores = m->of_kind(Kind::core);
  EXPECT_EQ(m->objects[static_cast<std::size_t>(cores[1])].pus, (CpuSet{1, 5}));
  EXPECT_EQ(m->objects[static_cast<std::size_t>(cores[2])].os_index, 0);  // core numbers are per package
  EXPECT_EQ(m->node_of_pu(6), 1);
}

std::string with_devices(const std::string& devices) {
  const auto m = machine_from_json(file(core4, R"(, "devices": [)" + devices + "]"), "f");
  return m ? devices_told(*m) : m.error().message;
}

TEST(MachineJson, Devices) {
  const std::string gpu =
      R"({"type": "gpu", "bus": "0000:c1:00.0", "vendor": "AMD", "title": "MI250X", "names": ["rsmi0"], "pus": "2-3"})";
  const std::string nic = R"({"type": "nic", "bus": "0000:03:00.0", "pus": "0-3"})";
  EXPECT_EQ(with_devices(gpu + ", " + nic), "gpu 0000:c1:00.0 AMD MI250X rsmi0 2-3; nic 0000:03:00.0   0-3");
  EXPECT_EQ(with_devices(nic + ", " + gpu), "f: device 0000:c1:00.0 is out of order, or appears twice");
  EXPECT_EQ(with_devices(nic + ", " + nic), "f: device 0000:03:00.0 is out of order, or appears twice");
  EXPECT_EQ(with_devices(R"({"type": "gpu", "bus": "x", "pus": "3-4"})"),
            "f: device x must be near some of the machine's PUs");
  EXPECT_EQ(with_devices("5"), "f: devices[0]: must be an object with type, bus, vendor, title, names, pus");
  EXPECT_EQ(with_devices(R"({"type": "gpu"})"), "f: devices[0].bus: is missing");
  EXPECT_EQ(with_devices(R"({"type": "tpu", "bus": "x", "pus": "0"})"),
            "f: devices[0].type: must be gpu or nic");
  EXPECT_EQ(with_devices(R"({"type": "gpu", "bus": "x", "pus": "a"})"),
            "f: devices[0].pus: must be a list of PUs such as 0-5,8");
  EXPECT_EQ(with_devices(R"({"type": "gpu", "bus": "x", "pus": ""})"),
            "f: devices[0].pus: must be a list of PUs such as 0-5,8");
  EXPECT_EQ(with_devices(R"({"type": "gpu", "bus": "x", "pus": "0", "names": [1]})"),
            "f: devices[0].names: must be a list of texts");
  EXPECT_EQ(with_devices(R"({"type": "gpu", "bus": "x", "pus": "0", "speed": 1})"),
            "f: devices[0]: unknown key 'speed'; known here: type, bus, vendor, title, names, pus");
  EXPECT_EQ(with_devices(R"({"type": "gpu", "bus": ")" + std::string(300, 'x') + R"(", "pus": "0"})"),
            "f: devices[0].bus: must be a text of at most 256 bytes");
}

TEST(MachineJson, TheExampleOfTheDocumentationIsRead) {
  auto text = sys::read_file(NIGH_SOURCE_DIR "/docs/machine-json.md");
  ASSERT_TRUE(text) << text.error().message;
  auto begin = text->find("```json\n") + 8;
  std::string example = text->substr(begin, text->find("```", begin) - begin);
  auto m = machine_from_json(example, "docs");
  ASSERT_TRUE(m) << m.error().message;
  EXPECT_EQ(m->summary(), "4 packages, 4 NUMA nodes, 16 cores, 16 PUs, 32 GiB");
  EXPECT_EQ(m->bandwidth.value[3], 1900);
  EXPECT_EQ(m->bandwidth.source[15], Source::unknown);
  EXPECT_EQ(m->latency.source[1], Source::slit);
}

TEST(MachineJson, WritingAndReadingAreInverse) {
  for (const auto& name : model_names()) {
    auto m = load_model(name);
    ASSERT_TRUE(m) << m.error().message;
    std::string text = machine_to_json(*m);
    auto again = machine_from_json(text, name);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_TRUE(same(*m, *again)) << name;
    EXPECT_EQ(machine_to_json(*again), text) << name;
    EXPECT_EQ(text.find("count"), std::string::npos) << name;
  }
}

TEST(MachineJson, PackagesAndCoresWithoutNumbersStayWithout) {
  MachineBuilder b;
  b.machine().name = "odd \"name\"\n";
  b.machine().notes = {"a\\b", "µ"};
  b.open(Kind::package);
  b.open(Kind::core);
  b.open(Kind::pu, 7);
  for (int i = 0; i < 3; ++i) b.close();
  auto m = b.finish();
  ASSERT_TRUE(m) << m.error().message;
  auto again = machine_from_json(machine_to_json(*m), "f");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(same(*m, *again));
}

struct Bad {
  std::string text;
  std::string message;
};

std::vector<Bad> bad_headers() {
  std::string tree = R"("tree": { "type": "machine", "children": [{ "type": "pu" }] })";
  return {
      {"",
       "f: not valid JSON at line 1, column 1: syntax error while parsing value - unexpected end of input; "
       "expected '[', '{', or a literal"},
      {"[]", "f: must be a JSON object, as `nigh machine --json` prints"},
      {"{\n\"format\": }",
       "f: not valid JSON at line 2, column 11: syntax error while parsing value - unexpected "
       "'}'; expected '[', '{', or a literal"},
      {"{ \"version\": 1 }", "f: format: must be \"nigh-machine\""},
      {"{ \"format\": \"nigh-plan\" }", "f: format: must be \"nigh-machine\""},
      {"{ \"format\": \"nigh-machine\" }", "f: version: is missing; this nigh writes version 1"},
      {R"({ "format": "nigh-machine", "version": "1" })", "f: version: must be a whole number, 1 or more"},
      {R"({ "format": "nigh-machine", "version": 2, "future": 1 })",
       "f: version: is 2, but this nigh reads version 1 only; a newer nigh wrote this file"},
      {R"({ "format": "nigh-machine", "version": 1 })", "f: tree: is missing"},
      {R"({ "format": "nigh-machine", "version": 1, "nam": "x", )" + tree + "}",
       "f: unknown key 'nam'; known here: format, version, name, title, origin, notes, tree, pu_numbers, "
       "links, network, copying, devices"},
      {R"({ "format": "nigh-machine", "format": "nigh-machine", "version": 1, )" + tree + "}",
       "f: the key 'format' appears twice in one object"},
      {R"({ "format": "nigh-machine", "version": 1, "name": 3, )" + tree + "}", "f: name: must be a string"},
      {R"({ "format": "nigh-machine", "version": 1, "notes": "x", )" + tree + "}",
       "f: notes: must be a list of strings"},
      {R"({ "format": "nigh-machine", "version": 1, "notes": ["x", 2], )" + tree + "}",
       "f: notes[1]: must be a string"},
      {R"({ "format": "nigh-machine", "version": 1, "tree": [] })",
       "f: tree: must be an object such as { \"type\": \"core\", ... }"},
      {R"({ "format": "nigh-machine", "version": 1, "tree": { "type": "package" } })",
       "f: tree.type: must be machine, the root of the tree"},
      {R"({ "format": "nigh-machine", "version": 1, "tree": { "type": "machine" } })",
       "f: tree: is empty; only a PU or a memory-only NUMA node has nothing inside"},
  };
}

std::vector<Bad> bad_trees() {
  const std::string pu = R"({ "type": "pu" })";
  return {
      {file("3"), "f: tree.children[0]: must be an object such as { \"type\": \"core\", ... }"},
      {file("{}"), "f: tree.children[0]: has no type"},
      {file(R"({ "type": 3 })"), "f: tree.children[0].type: must be a string"},
      {file(R"({ "type": "cpu" })"),
       "f: tree.children[0].type: unknown type 'cpu'; use one of machine, group, board, package, die, numa, "
       "l3, "
       "l2, core, pu"},
      {file(pu + R"(, { "type": "l2", "children": [{ "type": "l3", "children": [)" + pu + "] }] }"),
       "f: tree.children[1].children[0].type: l3 can't be inside a l2"},
      {file(R"({ "type": "core", "children": [{ "type": "numa" }] })"),
       "f: tree.children[0].children[0].type: numa can't be inside a core"},
      {file(R"({ "type": "machine", "children": [)" + pu + "] }"),
       "f: tree.children[0].type: machine can't be inside a machine"},
      {file(R"({ "type": "core" })"),
       "f: tree.children[0]: is empty; only a PU or a memory-only NUMA node has nothing inside"},
      {file(R"({ "type": "core", "children": 3 })"),
       "f: tree.children[0].children: must be a list of objects"},
      {file(R"({ "type": "pu", "children": [] })"), "f: tree.children[0].children: a PU has nothing inside"},
      {file(R"({ "type": "pu", "size": 1 })"),
       "f: tree.children[0]: unknown key 'size'; known here: type, os_index, bytes, children, count"},
      {file(R"({ "type": "pu", "os_index": -1 })"),
       "f: tree.children[0].os_index: must be a whole number from 0 to 65535"},
      {file(R"({ "type": "pu", "os_index": 65536 })"),
       "f: tree.children[0].os_index: must be a whole number from 0 to 65535"},
      {file(R"({ "type": "pu", "os_index": 1.5 })"),
       "f: tree.children[0].os_index: must be a whole number from 0 to 65535"},
      {file(pu + R"(, { "type": "pu", "os_index": 0 })"), "f: tree.children[1]: pu 0 appears twice"},
      {file(R"({ "type": "numa", "os_index": 3 }, { "type": "numa", "os_index": 3 }, )" + pu),
       "f: tree.children[1]: numa 3 appears twice"},
      {file(R"({ "type": "pu", "bytes": 5 })"),
       "f: tree.children[0].bytes: is for NUMA nodes and caches only, not for a pu"},
      {file(R"({ "type": "pu", "count": 0 })"),
       "f: tree.children[0].count: must be a whole number from 1 to 65536"},
      {file(R"({ "type": "pu", "count": 2, "os_index": 0 })"),
       "f: tree.children[0].os_index: can't be given together with count; the copies are numbered on"},
      {file(R"({ "type": "numa" })"), "f: a machine needs at least one PU"},
      {file(pu, R"(, "pu_numbers": 3)"), "f: pu_numbers: must be a list of PU numbers"},
      {file(pu, R"(, "pu_numbers": [0, 1])"), "f: pu_numbers: has 2 numbers, but the tree has 1 PUs"},
      {file(pu, R"(, "pu_numbers": [])"), "f: pu_numbers: has 0 numbers, but the tree has more PUs"},
      {file(pu + "," + pu, R"(, "pu_numbers": [4, 4])"), "f: pu_numbers[1]: pu 4 appears twice"},
      {file(R"({ "type": "pu", "os_index": 3 })", R"(, "pu_numbers": [0])"),
       "f: tree.children[0].os_index: can't be given together with pu_numbers"},
      {file(R"({ "type": "core", "count": 65536, "children": [{ "type": "pu" }] })"),
       "f: tree.children[0]: the tree has more than 65536 objects"},
  };
}

std::vector<Bad> bad_links() {
  const std::string nodes = R"({ "type": "numa", "children": [{ "type": "pu" }] }, { "type": "numa" })";
  auto links = [&](const std::string& inside) { return file(nodes, R"(, "links": )" + inside); };
  auto values = [&](const std::string& v, const std::string& s) {
    return links(R"({ "bandwidth": { "unit": "MB/s", "values": )" + v + R"(, "source": )" + s + "} }");
  };
  return {
      {links("[]"), "f: links: must be an object with slit, bandwidth or latency"},
      {links(R"({ "speed": 1 })"), "f: links: unknown key 'speed'; known here: slit, bandwidth, latency"},
      {links(R"({ "slit": [[10]] })"), "f: links.slit: must be 2 rows of 2 entries, one for each NUMA node"},
      {links(R"({ "slit": [[10, 20], [20]] })"),
       "f: links.slit[1]: must be 2 rows of 2 entries, one for each NUMA node"},
      {links(R"({ "slit": [[10, 20], [256, 10]] })"),
       "f: links.slit[1][0]: must be a whole number from 1 to 255"},
      {links(R"({ "latency": 3 })"), "f: links.latency: must be an object with unit, values and source"},
      {links(R"({ "latency": { "unit": "ns" } })"), "f: links.latency.values: is missing"},
      {links(R"({ "latency": { "unit": "us", "values": [], "source": [] } })"),
       "f: links.latency.unit: must be \"ns\""},
      {values("[[1, null], [-3, null]]", R"("measured")"),
       "f: links.bandwidth.values[1][0]: must be null or a number above 0 and at most 1e12"},
      {values("[[1, null], [\"3\", null]]", R"("measured")"),
       "f: links.bandwidth.values[1][0]: must be null or a number above 0 and at most 1e12"},
      {values("[[1, null], [3, null]]", R"("heard")"),
       "f: links.bandwidth.source: unknown source 'heard'; use one of unknown, measured, hmat, slit, "
       "datasheet, "
       "guessed, fitted"},
      {values("[[1, null], [3, null]]", R"("unknown")"),
       "f: links.bandwidth.source: can't be unknown where there is a value"},
      {values("[[1, null], [3, null]]", R"([["hmat", "hmat"], ["hmat", null]])"),
       "f: links.bandwidth.source[0][1]: must be null where the value is null"},
      {values("[[1, null], [3, null]]", R"([[null, null], ["hmat", null]])"),
       "f: links.bandwidth.source[0][0]: must name where the figure comes from, such as \"measured\""},
  };
}

std::vector<Bad> bad_transfers() {
  const auto with = [](const std::string& key, const std::string& inside) {
    return file(R"({ "type": "pu" })", ", \"" + key + "\": " + inside);
  };
  const auto ranges = [&](const std::string& list) {
    return with("network", R"({ "source": "measured", "ranges": )" + list + "}");
  };
  const auto levels = [&](const std::string& list) {
    return with("copying", R"({ "source": "measured", "levels": )" + list + "}");
  };
  const std::string rates = R"("process_mb_per_s": 1, "node_mb_per_s": 2)";
  return {
      {with("network", "3"),
       "f: network: must be an object with source, ranges, "
       "stream_process_mb_per_s, stream_node_mb_per_s"},
      {with("network", R"({ "speed": 1 })"),
       "f: network: unknown key 'speed'; known here: source, ranges, "
       "stream_process_mb_per_s, stream_node_mb_per_s"},
      {with("network", "{}"), "f: network.source: is missing"},
      {with("network", R"({ "source": "unknown" })"),
       "f: network.source: can't be unknown where there are figures"},
      {with("network", R"({ "source": "measured" })"), "f: network.ranges: is missing"},
      {ranges("[]"), "f: network.ranges: must be a list of 1 to 64 objects"},
      {ranges("[{ " + rates + " }]"), "f: network.ranges[0].latency_us: is missing"},
      {ranges(R"([{ "latency_us": -1, )" + rates + " }]"),
       "f: network.ranges[0].latency_us: must be a number from 0 to 1e12"},
      {ranges(R"([{ "latency_us": 1, "process_mb_per_s": 0, "node_mb_per_s": 2 }])"),
       "f: network.ranges[0].process_mb_per_s: must be a number above 0 and at most 1e12"},
      {ranges(R"([{ "latency_us": 1, "upto": 0, )" + rates + " }]"),
       "f: network.ranges[0].upto: must be a whole number from 1 to 1152921504606846976"},
      {ranges(R"([{ "latency_us": 1, "upto": 5, )" + rates + " }]"),
       "f: network: range 0 of the network must have an end unless it is the last, and then none"},
      {levels(R"([{ "core_mb_per_s": 1 }])"), "f: copying.levels[0].node_mb_per_s: is missing"},
      {levels(R"([{ "cores": 1.5, "core_mb_per_s": 1, "node_mb_per_s": 1 }])"),
       "f: copying.levels[0].cores: must be a whole number from 1 to 65536"},
      {levels(R"([{ "bytes": 5, "core_mb_per_s": 1, "node_mb_per_s": 1 }])"),
       "f: copying: level 0 of copying must have a size unless it is the last, the memory, and then none"},
  };
}

TEST(MachineJson, EachThingWrongHasItsSentence) {
  for (const auto& list : {bad_headers(), bad_trees(), bad_links(), bad_transfers()})
    for (const auto& bad : list) {
      auto m = machine_from_json(bad.text, "f");
      ASSERT_FALSE(m) << bad.text;
      EXPECT_EQ(m.error().message, bad.message);
      EXPECT_EQ(m.error().code, Errc::invalid);
    }
}

TEST(MachineJson, DepthAndSizeAreBounded) {
  std::string open;
  std::string close;
  for (int i = 0; i < 100; ++i) {
    open += R"({ "type": "group", "children": [)";
    close += "] }";
  }
  auto deep = machine_from_json(file(open + R"({ "type": "pu" })" + close), "f");
  ASSERT_FALSE(deep);
  EXPECT_NE(deep.error().message.find("is nested more than 64 levels deep"), std::string::npos);
  std::string counts = R"({ "type": "pu", "count": 1000 })";
  for (int i = 0; i < 10; ++i)
    counts = R"({ "type": "group", "count": 65536, "children": [)" + counts + "] }";
  auto many = machine_from_json(file(counts), "f");
  ASSERT_FALSE(many);
  EXPECT_NE(many.error().message.find("the tree has more than 65536 objects"), std::string::npos);
  EXPECT_FALSE(machine_from_json(std::string(3000000, '['), "f"));
}

// Mutates a good file again and again; whatever comes out is a valid machine that survives a round trip, or
// one sentence.
TEST(MachineJson, DamagedFilesGetASentence) {
  std::mt19937 random(20260101);
  std::string good = machine_to_json(*load_model("nehalem-hp"));
  std::string brief = file(core4, R"(, "links": { "slit": [] })");
  for (std::size_t cut = 0; cut < good.size() - 2; ++cut)
    EXPECT_FALSE(machine_from_json(good.substr(0, cut), "f"));
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = round % 2 == 0 ? good : brief;
    for (int k = 0; k < 1 + round % 5; ++k) {
      auto at = random() % text.size();
      if (random() % 3 == 0)
        text.erase(at, 1 + random() % 8);
      else if (random() % 2 == 0)
        text.insert(at, text.substr(random() % text.size(), random() % 20));
      else
        text[at] = static_cast<char>(random() % 256);
      if (text.empty()) break;
    }
    auto m = machine_from_json(text, "f");
    if (!m) {
      EXPECT_EQ(m.error().message.find('\n'), std::string::npos);
      EXPECT_EQ(m.error().message.rfind("f: ", 0), 0u) << m.error().message;
      continue;
    }
    ++accepted;
    auto again = machine_from_json(machine_to_json(*m), "f");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_TRUE(same(*m, *again));
  }
  EXPECT_GT(accepted, 30);  // or the mutations would test the JSON parser only
}

}  // namespace
}  // namespace nigh
