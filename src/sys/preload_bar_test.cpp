// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "sys/preload_bar.hpp"

#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sys/raw_text.hpp"

namespace nigh::sys {
namespace {

namespace fs = std::filesystem;

// A program of three segments at offset 0: its loader, its dynamic table, everything.
struct Made {
  std::string loader = "/lib64/ld-linux-x86-64.so.2";
  std::vector<std::string> libraries = {"libm.so.6", "libc.so.6"};
  unsigned char bits = ELFCLASS64;
  Elf64_Half machine =
#ifdef __x86_64__
      EM_X86_64;
#else
      EM_AARCH64;
#endif

  [[nodiscard]] std::string bytes() const {
    constexpr std::size_t at_programs = sizeof(Elf64_Ehdr), at_dynamic = at_programs + 3 * sizeof(Elf64_Phdr);
    std::string names("\0", 1);
    std::vector<Elf64_Dyn> entries;
    for (const std::string& library : libraries) {
      Elf64_Dyn entry{};
      entry.d_tag = DT_NEEDED;
      entry.d_un.d_val = names.size();
      entries.push_back(entry);
      names += library + '\0';
    }
    const std::size_t at_names = at_dynamic + (entries.size() + 2) * sizeof(Elf64_Dyn);
    Elf64_Dyn table{};
    table.d_tag = DT_STRTAB;
    table.d_un.d_ptr = 0x400000 + at_names;
    entries.push_back(table);
    entries.push_back(Elf64_Dyn{});
    const std::size_t at_loader = at_names + names.size(), end = at_loader + loader.size() + 1;
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = bits;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_type = ET_EXEC;
    header.e_machine = machine;
    header.e_phoff = at_programs;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 3;
    Elf64_Phdr programs[3]{};
    programs[0] = {PT_INTERP, 0, at_loader, 0, 0, loader.size() + 1, 0, 0};
    programs[1] = {PT_LOAD, 0, 0, 0x400000, 0, end, end, 0};
    programs[2] = {PT_DYNAMIC, 0, at_dynamic, 0, 0, entries.size() * sizeof(Elf64_Dyn), 0, 0};
    std::string out(reinterpret_cast<const char*>(&header), sizeof header);
    out.append(reinterpret_cast<const char*>(programs), sizeof programs);
    out.append(reinterpret_cast<const char*>(entries.data()), entries.size() * sizeof(Elf64_Dyn));
    return out + names + loader + '\0';
  }
};

class Bar : public ::testing::Test {
 protected:
  Bar() {
    char name[] = "/tmp/nigh-bar-XXXXXX";
    if (const char* made = mkdtemp(name)) folder_ = made;
  }
  ~Bar() override { fs::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& bytes) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    chmod(path.c_str(), 0755);
    return path;
  }
  PreloadBar of(const std::string& name, const std::string& bytes) {
    return preload_bar(AT_FDCWD, write(name, bytes).c_str());
  }
  std::string folder_;
};

TEST_F(Bar, OfProgramsByTheirFile) {
  EXPECT_EQ(of("usual", Made{}.bytes()), PreloadBar::none);
  Made musl;
  musl.loader = "/lib/ld-musl-x86_64.so.1";
  EXPECT_EQ(of("musl", musl.bytes()), PreloadBar::foreign_loader);
  Made old;
  old.bits = ELFCLASS32;
  EXPECT_EQ(of("old", old.bytes()), PreloadBar::bits32);
  Made other;
  other.machine = EM_RISCV;
  EXPECT_EQ(of("other", other.bytes()), PreloadBar::machine);
  for (const char* library :
       {"libasan.so.8", "libtsan.so.2", "libhwasan.so.0", "libclang_rt.asan-x86_64.so"}) {
    Made checked;
    checked.libraries.insert(checked.libraries.begin() + 1, library);
    EXPECT_EQ(of("checked", checked.bytes()), PreloadBar::sanitizer) << library;
  }
  EXPECT_EQ(preload_bar(AT_FDCWD, "/proc/self/exe"), PreloadBar::none);
}

TEST_F(Bar, OfScriptsByTheirInterpreter) {
  Made musl;
  musl.loader = "/lib/ld-musl-x86_64.so.1";
  const std::string shell = write("sh", musl.bytes());
  EXPECT_EQ(of("script", "#! " + shell + " -e\necho\n"), PreloadBar::foreign_loader);
  EXPECT_EQ(of("second", "#!" + folder_ + "/script\n"), PreloadBar::foreign_loader);
  EXPECT_EQ(of("usual", "#!/bin/sh\n"), PreloadBar::none);
  EXPECT_EQ(of("loop", "#!" + folder_ + "/loop\n"), PreloadBar::none);
  EXPECT_EQ(of("empty", "#!"), PreloadBar::none);
}

TEST_F(Bar, ValgrindByItsName) {
  EXPECT_EQ(of("valgrind", "#!/bin/sh\n"), PreloadBar::valgrind);
  EXPECT_EQ(of("valgrind-di-server", "#!/bin/sh\n"), PreloadBar::none);
}

// Junk and cut files have no bar, and end nobody.
TEST_F(Bar, OfJunkThereIsNone) {
  const std::string whole = Made{}.bytes();
  for (std::size_t length = 0; length < whole.size(); length += 7)
    EXPECT_EQ(of("cut", whole.substr(0, length)), PreloadBar::none) << length;
  EXPECT_EQ(preload_bar(AT_FDCWD, "/no/such/file"), PreloadBar::none);
  EXPECT_EQ(preload_bar(AT_FDCWD, "/tmp"), PreloadBar::none);
  for (std::size_t at = sizeof(Elf64_Ehdr); at < sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr); ++at) {
    std::string junk = whole;
    junk[at] = '\xff';
    of("junk", junk);
  }
}

TEST_F(Bar, FoldersAndOpenFiles) {
  Made musl;
  musl.loader = "/lib/ld-musl-x86_64.so.1";
  const std::string path = write("musl", musl.bytes());
  const int folder = open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  const int file = open(path.c_str(), O_PATH | O_CLOEXEC);
  EXPECT_EQ(preload_bar(folder, "musl"), PreloadBar::foreign_loader);
  EXPECT_EQ(preload_bar(file, ""), PreloadBar::foreign_loader);
  close(file);
  close(folder);
}

TEST_F(Bar, CommandsAreFoundAsExecvpDoes) {
  Made musl;
  musl.loader = "/lib/ld-musl-x86_64.so.1";
  write("tool", musl.bytes());
  const std::string path = getenv("PATH");
  setenv("PATH", ("/no/such:" + folder_ + ":" + path).c_str(), 1);
  EXPECT_EQ(preload_bar_of_command("tool"), PreloadBar::foreign_loader);
  EXPECT_EQ(preload_bar_of_command("sh"), PreloadBar::none);
  EXPECT_EQ(preload_bar_of_command("no-such-command"), PreloadBar::none);
  EXPECT_EQ(preload_bar_of_command((folder_ + "/tool").c_str()), PreloadBar::foreign_loader);
  setenv("PATH", path.c_str(), 1);
}

TEST_F(Bar, SanitizersInAListOfLibraries) {
  EXPECT_TRUE(names_sanitizer("/usr/lib/gcc/libasan.so.8"));
  EXPECT_TRUE(names_sanitizer("/a.so:/b/libtsan.so"));
  EXPECT_TRUE(names_sanitizer("/a.so /b/libclang_rt.hwasan.so"));
  EXPECT_FALSE(names_sanitizer("/libasan.so/other.so::"));
  EXPECT_FALSE(names_sanitizer(""));
}

TEST(RawText, CountsAndCopies) {
  EXPECT_EQ(raw_length("four"), 4U);
  EXPECT_EQ(raw_length_to("a;b", ';'), 1U);
  EXPECT_TRUE(raw_begins("value", "val"));
  EXPECT_FALSE(raw_begins("va", "val"));
  EXPECT_TRUE(raw_equal("a", "a"));
  EXPECT_FALSE(raw_equal("ab", "a"));
  EXPECT_STREQ(raw_base_name("/a/b.so"), "b.so");
  char room[4];
  EXPECT_TRUE(raw_copy(room, sizeof room, "abc", 3));
  EXPECT_FALSE(raw_copy(room, sizeof room, "abcd", 4));
  EXPECT_STREQ(room, "abc");
  char name[] = "NAME=1", other[] = "NAMES=2";
  char* entries[] = {other, name, nullptr};
  EXPECT_STREQ(raw_variable(entries, "NAME"), "1");
  EXPECT_EQ(raw_variable(entries, "NAM"), nullptr);
}

}  // namespace
}  // namespace nigh::sys
