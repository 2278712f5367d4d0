// A folder of its own that goes away with the test.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace mixstream {

struct TemporaryFolder {
  std::string path;
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "mixstream-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
};

}  // namespace mixstream
