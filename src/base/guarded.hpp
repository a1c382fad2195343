// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The border of a C interface: no exception passes it, since C and Fortran have none, and a C++ runtime that
// is linked in is not the program's. It becomes a sentence and the value that says failure. Only the end of a
// thread that the program cancels (pthread_cancel(3)) is let through: whoever holds that up is aborted.
#pragma once

#include <cxxabi.h>

#include <array>
#include <exception>
#include <new>
#include <string_view>

namespace nigh {

// Why a thread's last call failed: room of its own, since it is told where there is no memory.
class Why {
 public:
  void set(std::string_view sentence) noexcept {
    text_[sentence.copy(text_.data(), text_.size() - 1)] = 0;  // cut off where it is longer
  }
  [[nodiscard]] const char* get() const noexcept { return text_.data(); }

 private:
  std::array<char, 1024> text_{};
};

// Returns the result of work(), or `failed` after tell(const char*), which does not throw, has reported why.
template <class Work, class Tell, class Failed>
auto guarded(const Work& work, const Tell& tell, Failed failed) -> decltype(work()) {
  try {
    return work();
  } catch (const abi::__forced_unwind&) { throw; } catch (const std::bad_alloc&) {
    tell("there is not enough memory");
  } catch (const std::exception& error) { tell(error.what()); } catch (...) {
    tell("an exception that is none of the C++ library's");
  }
  return failed;
}

}  // namespace nigh
