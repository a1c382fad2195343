// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// FFTW's PATIENT planner wants minutes for large transforms. Here it gets some seconds a plan, and what it
// has learned is kept in a file of the temporary folder, so that it goes on from there in the next sample:
// after a few its plans are found at once.
#pragma once

#include <fcntl.h>
#include <fftw3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace bench {

class Wisdom {
 public:
  // what: whose it is; plans of one kind are of no use to another.
  Wisdom(const std::string& what, double seconds_a_plan) {
    const char* folder = std::getenv("TMPDIR");
    path_ = std::string(folder != nullptr && *folder != 0 ? folder : "/tmp") + "/nigh-bench-fft-" +
            std::to_string(getuid()) + "-" + what + ".wisdom";
    fftw_set_timelimit(seconds_a_plan);
  }
  void load() const {
    const int file = open(path_.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct stat state = {};
    if (file < 0) return;
    if (fstat(file, &state) == 0 && state.st_uid == getuid()) {
      if (FILE* stream = fdopen(file, "r")) {
        fftw_import_wisdom_from_file(stream);
        std::fclose(stream);
        return;
      }
    }
    close(file);
  }
  void save() const {
    const std::string fresh = path_ + "." + std::to_string(getpid());
    const int file = open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) return;
    if (FILE* stream = fdopen(file, "w")) {
      fftw_export_wisdom_to_file(stream);
      std::fclose(stream);
      if (std::rename(fresh.c_str(), path_.c_str()) == 0) return;
    }
    unlink(fresh.c_str());
  }

 private:
  std::string path_;
};

}  // namespace bench
