// Detection of the format and decompression, on any bytes. The first byte chooses the size of the pieces.
#include "fuzz/rows.hpp"

void fuzz(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto choice = static_cast<unsigned char>(bytes[0]);
  mixstream::InputSettings settings;
  settings.max_line = 1000;
  // a few bytes may unpack to a thousand times as many: enough of them to see all code, not so many as to
  // crawl
  check_rows(std::string(bytes.substr(1, 512)), settings, false, 1 + choice % 64);
}
