// The store on a real disk. Faults of the disk: tests/daemon/sweep.cpp.
#include "store/store.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "mixstream/moments/state_file.hpp"
#include "support/folder.hpp"

using namespace mixstream;
namespace fs = std::filesystem;

namespace {

using Texts = std::vector<std::string>;

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Message message(std::string_view text) {
  return {"topic", std::as_bytes(std::span(text)), 1.0};
}

std::unique_ptr<Store> opened(const StoreSettings& settings) {
  Outcome<std::unique_ptr<Store>> store = Store::open(settings);
  REQUIRE_MESSAGE(static_cast<bool>(store), (store ? "" : store.refusal().text));
  return std::move(store).value();
}

Refusal refusal_of(const StoreSettings& settings) {
  const Outcome<std::unique_ptr<Store>> store = Store::open(settings);
  REQUIRE_FALSE(store);
  return store.refusal();
}

/// A model that keeps everything it saw: what is in the snapshot, then what the journal adds.
Texts content(const Store& store) {
  Texts seen;
  if (const auto& snapshot = store.recovered().snapshot) {
    std::string all = text_of(snapshot->sections.at(0).bytes);
    for (std::size_t end = 0; (end = all.find('\n')) != std::string::npos; all.erase(0, end + 1))
      seen.push_back(all.substr(0, end));
  }
  REQUIRE(store.replay([&](const Record& record) {
    seen.push_back(text_of(message_in(record)->payload));
    return Done(std::monostate{});
  }));
  return seen;
}

Done snapshot(Store& store, const Texts& seen) {
  std::string all;
  for (const std::string& text : seen) all += text + "\n";
  const auto bytes = std::as_bytes(std::span(all));
  return store.write_snapshot(store.begin_snapshot({{1, Bytes(bytes.begin(), bytes.end())}}));
}

Texts files(const std::string& folder, const std::string& kind) {
  Texts names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (const auto number = number_in(entry.path().filename().string(), kind))
      names.push_back(std::to_string(*number));
  }
  std::ranges::sort(names, {}, [](const std::string& name) { return std::stoull(name); });
  return names;
}

void flip(const std::string& path, std::size_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  const char byte = static_cast<char>(file.get() ^ 1);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(byte);
}

std::string journal(const StoreSettings& settings, std::uint64_t number) {
  return settings.folder + "/" + numbered_name("journal", number);
}
std::string snapshot_path(const StoreSettings& settings, std::uint64_t number) {
  return settings.folder + "/" + numbered_name("snapshot", number);
}

/// Ten messages "0" to "9" with snapshots behind the fourth and the eighth.
Texts fill(const StoreSettings& settings) {
  const std::unique_ptr<Store> store = opened(settings);
  Texts seen;
  for (int i = 0; i < 10; ++i) {
    seen.push_back(std::to_string(i));
    REQUIRE(store->append(message(seen.back())));
    if (i == 3 || i == 7) REQUIRE(snapshot(*store, seen));
  }
  return seen;
}

}  // namespace

TEST_CASE("records come back after a restart, with and without snapshots") {
  const TemporaryFolder folder;
  const StoreSettings settings{folder.path + "/stream"};
  Texts seen;
  for (int run = 0; run < 6; ++run) {
    const std::unique_ptr<Store> store = opened(settings);
    CHECK(content(*store) == seen);
    CHECK(store->recovered().next_record == seen.size());
    CHECK(store->recovered().notes.empty());
    for (int i = 0; i < 3; ++i) {
      seen.push_back("run " + std::to_string(run) + " " + std::to_string(i));
      const auto number = store->append(message(seen.back()));
      REQUIRE(number);
      CHECK(number.value() == seen.size() - 1);
      if (i == 1 && run % 2 == 1) REQUIRE(snapshot(*store, seen));
    }
  }
  CHECK(content(*opened(settings)) == seen);
}

TEST_CASE("two generations stay, and the journal as far back as the older of them") {
  const TemporaryFolder folder;
  const StoreSettings settings{folder.path + "/stream"};
  const std::unique_ptr<Store> store = opened(settings);
  Texts seen;
  for (int i = 0; i < 20; ++i) {
    seen.push_back(std::to_string(i));
    REQUIRE(store->append(message(seen.back())));
    if (i % 5 == 4) REQUIRE(snapshot(*store, seen));
    if (i == 4) CHECK(files(settings.folder, "journal") == Texts{"0"});
    if (i == 9) CHECK(files(settings.folder, "journal") == Texts{"5"});
  }
  CHECK(files(settings.folder, "snapshot") == Texts{"15", "20"});
  CHECK(files(settings.folder, "journal") == Texts{"15"});
  CHECK(store->figures().appended == 20);
  CHECK(store->figures().snapshots == 4);
  CHECK(store->figures().segments == 1);
}

TEST_CASE("a segment that is full is followed by the next") {
  const TemporaryFolder folder;
  const StoreSettings settings{.folder = folder.path + "/stream", .segment_bytes = 200};
  Texts seen;
  {
    const std::unique_ptr<Store> store = opened(settings);
    for (int i = 0; i < 30; ++i) {
      seen.push_back("message " + std::to_string(i));
      REQUIRE(store->append(message(seen.back())));
    }
    CHECK(store->figures().segments > 5);
  }
  CHECK(content(*opened(settings)) == seen);
}

TEST_CASE("a second daemon is kept out") {
  const TemporaryFolder folder;
  const StoreSettings settings{folder.path + "/stream"};
  const std::unique_ptr<Store> store = opened(settings);
  const Refusal refusal = refusal_of(settings);
  CHECK(refusal.reason == Reason::input_output);
  CHECK(refusal.text.find("another daemon") != std::string::npos);
}

TEST_CASE("a record that is too long is refused and does no harm") {
  const TemporaryFolder folder;
  const StoreSettings settings{.folder = folder.path + "/stream", .record_bytes = 1000};
  const std::unique_ptr<Store> store = opened(settings);
  const auto number = store->append(message(std::string(1000, 'x')));
  REQUIRE_FALSE(number);
  CHECK(number.refusal().reason == Reason::too_large);
  CHECK(store->health().ok);
  CHECK(store->append(message("short")).value() == 0);
}

TEST_CASE("a torn tail is cut off and told") {
  for (const std::size_t kept : {1U, 31U, 32U, 40U}) {
    const TemporaryFolder folder;
    const StoreSettings settings{folder.path + "/stream"};
    fill(settings);
    const std::string last = journal(settings, 8);
    const auto whole = fs::file_size(last);
    const auto record = (whole - segment_header_size) / 2;  // two equal ones, "8" and "9"
    REQUIRE(kept < record);
    fs::resize_file(last, whole - record + kept);
    {
      const std::unique_ptr<Store> store = opened(settings);
      CHECK(content(*store) == Texts{"0", "1", "2", "3", "4", "5", "6", "7", "8"});
      CHECK(store->recovered().torn_bytes == kept);
      CHECK(store->recovered().notes.size() == 1);
      REQUIRE(store->append(message("new")));
    }
    const std::unique_ptr<Store> store = opened(settings);
    CHECK(store->recovered().torn_bytes == 0);
    CHECK(content(*store).back() == "new");
  }
}

TEST_CASE("a damaged snapshot falls back to the older generation, and says so") {
  const TemporaryFolder folder;
  const StoreSettings settings{folder.path + "/stream"};
  const Texts seen = fill(settings);
  flip(snapshot_path(settings, 8), 50);
  {
    const std::unique_ptr<Store> store = opened(settings);
    CHECK(content(*store) == seen);
    CHECK(store->recovered().replay_from == 4);
    REQUIRE(store->recovered().notes.size() == 2);
    CHECK(store->recovered().notes[0].find("checksum") != std::string::npos);
    REQUIRE(snapshot(*store, seen));
  }
  CHECK(files(settings.folder, "snapshot") == Texts{"4", "10"});  // the damaged one is gone
  CHECK(content(*opened(settings)) == seen);
}

TEST_CASE("with both generations damaged the stream is refused, not begun anew") {
  const TemporaryFolder folder;
  const StoreSettings settings{folder.path + "/stream"};
  fill(settings);
  flip(snapshot_path(settings, 8), 50);
  flip(snapshot_path(settings, 4), 50);
  const Refusal refusal = refusal_of(settings);
  CHECK(refusal.reason == Reason::bad_snapshot);
  CHECK(refusal.text.find("begins at record 4, and record 0 is needed") != std::string::npos);
}

TEST_CASE("without any snapshot a journal from record 0 is enough, a later one is not") {
  const TemporaryFolder folder;
  const StoreSettings settings{folder.path + "/stream"};
  Texts seen{"a", "b"};
  {
    const std::unique_ptr<Store> store = opened(settings);
    REQUIRE(store->append(message("a")));
    REQUIRE(store->append(message("b")));
    REQUIRE(snapshot(*store, seen));
  }
  fs::remove(snapshot_path(settings, 2));
  CHECK(content(*opened(settings)) == seen);
  const TemporaryFolder other;
  const StoreSettings later{other.path + "/stream"};
  fill(later);
  fs::remove(snapshot_path(later, 4));
  fs::remove(snapshot_path(later, 8));
  CHECK(refusal_of(later).reason == Reason::bad_snapshot);
}

TEST_CASE("files that are gone are missed") {
  const auto refused_without = [](const std::vector<std::string>& kinds) {
    const TemporaryFolder folder;
    const StoreSettings settings{folder.path + "/stream"};
    fill(settings);
    for (const auto& entry : fs::directory_iterator(settings.folder)) {
      for (const std::string& kind : kinds) {
        if (entry.path().filename().string().starts_with(kind)) fs::remove(entry.path());
      }
    }
    return refusal_of(settings).text;
  };
  CHECK(refused_without({"journal"}).find("the journal is missing") != std::string::npos);
  CHECK(refused_without({"journal", "snapshot"}).find("the journal is missing") != std::string::npos);
  CHECK(refused_without({"journal-00000000000000000008"}).find("00000008' is missing") != std::string::npos);
}

TEST_CASE("a journal that ends before what a snapshot covers is refused") {
  const TemporaryFolder folder;
  const StoreSettings settings{folder.path + "/stream"};
  fill(settings);
  fs::remove(journal(settings, 8));
  fs::resize_file(settings.folder + "/lock", 0);
  fs::resize_file(journal(settings, 4), fs::file_size(journal(settings, 4)) - 1);
  const Refusal refusal = refusal_of(settings);
  CHECK(refusal.reason == Reason::bad_snapshot);
  CHECK(refusal.text.find("covers 8 records, but the journal ends at 7") != std::string::npos);
}

TEST_CASE("files of another stream are not believed") {
  const TemporaryFolder folder;
  const StoreSettings one{folder.path + "/one"};
  const StoreSettings two{folder.path + "/two"};
  fill(one);
  fill(two);
  fs::copy_file(snapshot_path(two, 8), snapshot_path(one, 8), fs::copy_options::overwrite_existing);
  const std::unique_ptr<Store> store = opened(one);
  CHECK(store->recovered().replay_from == 4);
  CHECK(store->recovered().notes.at(0).find("another journal") != std::string::npos);
}

TEST_CASE("records that no snapshot holds are replayed only under the configuration they came in") {
  const TemporaryFolder folder;
  StoreSettings settings{.folder = folder.path + "/stream", .configuration = 1};
  Texts seen{"a"};
  {
    const std::unique_ptr<Store> store = opened(settings);
    REQUIRE(store->append(message("a")));
  }
  settings.configuration = 2;
  CHECK(refusal_of(settings).reason == Reason::bad_settings);
  settings.configuration = 1;
  REQUIRE(snapshot(*opened(settings), seen));
  settings.configuration = 2;
  CHECK(content(*opened(settings)) == seen);
}

TEST_CASE("what a crash left unfinished is removed") {
  const TemporaryFolder folder;
  const StoreSettings settings{folder.path + "/stream"};
  const Texts seen = fill(settings);
  std::ofstream(snapshot_path(settings, 10) + ".tmp") << "half";
  CHECK(content(*opened(settings)) == seen);
  CHECK_FALSE(fs::exists(snapshot_path(settings, 10) + ".tmp"));
}

TEST_CASE("snapshots are written in another thread while records are appended") {
  const TemporaryFolder folder;
  const StoreSettings settings{folder.path + "/stream"};
  Texts seen;
  {
    const std::unique_ptr<Store> store = opened(settings);
    std::thread writer;
    for (int i = 0; i < 60; ++i) {
      seen.push_back(std::to_string(i));
      REQUIRE(store->append(message(seen.back())));
      if (i % 10 != 9) continue;
      std::string all;
      for (const std::string& text : seen) all += text + "\n";
      const auto bytes = std::as_bytes(std::span(all));
      if (writer.joinable()) writer.join();
      writer =
          std::thread([&store, pending = store->begin_snapshot({{1, Bytes(bytes.begin(), bytes.end())}})] {
            CHECK(store->write_snapshot(pending));
            CHECK(store->health().ok);
          });
    }
    writer.join();
    CHECK(store->figures().snapshots == 6);
  }
  CHECK(content(*opened(settings)) == seen);
}
