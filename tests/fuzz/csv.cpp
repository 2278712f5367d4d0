// The CSV reader. The first two bytes choose settings and the size of the pieces.
#include "fuzz/rows.hpp"

void fuzz(std::string_view bytes) {
  if (bytes.size() < 2) return;
  const auto choice = static_cast<unsigned char>(bytes[0]);
  mixstream::InputSettings settings;
  settings.format = mixstream::Format::csv;
  settings.header = (choice & 1) != 0;
  settings.max_line = (choice & 2) != 0 ? 24 : 1 << 20;
  settings.delimiter = (choice & 4) != 0 ? (choice & 32) != 0 ? ' ' : ';' : '\0';
  if ((choice & 64) != 0) settings.numbers = {',', '.', {"-"}};
  settings.comment = (choice & 8) != 0 ? '\0' : '#';
  check_rows(std::string(bytes.substr(2)), settings, (choice & 16) != 0,
             1 + static_cast<unsigned char>(bytes[1]) % 32);
}
