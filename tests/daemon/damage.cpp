// Every bit of every file of a stream turned, every file cut at every length and removed: refused by name, or
// the stream comes back whole, or (the last record only) cut and told.
#include <doctest/doctest.h>

#include "daemon/image.hpp"

using namespace disk_shim;
using mixstream::numbered_name;

TEST_CASE("an untouched stream comes back whole and without a note") {
  const Found found = open_image(make_image());
  CHECK(found.content == "0 1 2 3 4 5 6 7 8 9 10 ");
  CHECK_FALSE(found.told);
}

TEST_CASE("no turned bit, no cut and no missing file goes unnoticed") {
  const Damage damage = damage_everything();
  MESSAGE(damage.tried << " tried, " << damage.refused << " refused, " << damage.whole << " came back whole, "
                       << damage.cut << " lost the end of the journal");
  CHECK_MESSAGE(damage.wrong.empty(), (damage.wrong.empty() ? "" : damage.wrong.front()));
  CHECK(damage.refused > 1000);
  CHECK(damage.whole > 100);  // one generation of two
  CHECK(damage.cut > 100);
}

TEST_CASE("a damaged record before the last of the newest segment is refused, not cut") {
  Image image = make_image();
  std::string* newest = nullptr;
  for (auto& [name, content] : image) {
    if (name.starts_with("journal-")) newest = &content;
  }
  REQUIRE(newest != nullptr);
  const std::size_t record = mixstream::record_header_size + 8 + 4 + 1 + 2;  // "8 " of the topic "s"
  REQUIRE(newest->size() > mixstream::segment_header_size + 2 * record);
  (*newest)[mixstream::segment_header_size + record - 1] ^= 1;
  const Found found = open_image(image);
  CHECK(found.refused);
  CHECK(found.reason == mixstream::Reason::bad_snapshot);
}
