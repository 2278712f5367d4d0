// A small stream as files, and what becomes of it when they are changed.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "daemon/disk.hpp"
#include "store/store.hpp"

namespace disk_shim {

using Image = std::map<std::string, std::string>;  // name -> content

inline constexpr int image_messages = 11;

/// "0" to "10", with snapshots behind the fourth and the eighth; short segments.
inline Image make_image() {
  disk.format();
  auto store = mixstream::Store::open({.folder = "/disk/stream", .segment_bytes = 160}).value();
  std::string seen;
  for (int i = 0; i < image_messages; ++i) {
    const std::string text = std::to_string(i) + " ";
    seen += text;
    static_cast<void>(store->append(mixstream::Message{"s", std::as_bytes(std::span(text)), 0.0}));
    const auto bytes = std::as_bytes(std::span(seen));
    if (i % 4 == 3)
      static_cast<void>(
          store->write_snapshot(store->begin_snapshot({{1, mixstream::Bytes(bytes.begin(), bytes.end())}})));
  }
  Image image;
  for (const std::string& name : disk.names("/disk/stream"))
    image[name] = disk.content("/disk/stream/" + name);
  return image;
}

struct Found {
  bool refused = false;
  mixstream::Reason reason{};
  std::string content;  // all messages, one after the other
  bool told = false;    // a note says that something is not as it should be
  std::size_t torn_bytes = 0;
};

/// Opens the stream that these files make.
inline Found open_image(const Image& image) {
  disk.format();
  disk.make_folder("/disk/stream");
  for (const auto& [name, content] : image) disk.put("/disk/stream/" + name, content);
  auto opened = mixstream::Store::open({.folder = "/disk/stream", .segment_bytes = 160});
  if (!opened) return {true, opened.refusal().reason, opened.refusal().text};
  const mixstream::Store& store = *opened.value();
  Found found;
  const auto add = [&](std::span<const std::byte> bytes) {
    found.content.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  if (const auto& snapshot = store.recovered().snapshot) {
    for (const mixstream::Section& section : snapshot->sections) add(section.bytes);
  }
  const mixstream::Done replayed = store.replay([&](const mixstream::Record& record) {
    if (const auto message = message_in(record)) add(message->payload);
    return mixstream::Done(std::monostate{});
  });
  if (!replayed) return {true, replayed.refusal().reason, replayed.refusal().text};
  found.told = !store.recovered().notes.empty();
  found.torn_bytes = store.recovered().torn_bytes;
  return found;
}

/// What changed files did, over every bit and every length of every file.
struct Damage {
  int tried = 0;
  int refused = 0;
  int whole = 0;  // the stream came back whole by what was left
  int cut = 0;    // records at the end of the newest segment were cut off
  std::vector<std::string> wrong;
};

/// `silent_cut`: the newest segment ends behind a whole record, as if those after it had never been written.
inline void judge(Damage& damage, const Image& image, const std::string& what, bool silent_cut = false) {
  std::string all;
  std::vector<std::string> beginnings;  // that reach beyond the newest snapshot, and lack something
  for (int i = 0; i < image_messages; ++i) {
    if (i >= 8) beginnings.push_back(all);
    all += std::to_string(i) + " ";
  }
  const Found found = open_image(image);
  ++damage.tried;
  if (found.refused && found.reason != mixstream::Reason::input_output) {
    ++damage.refused;
  } else if (!found.refused && found.content == all) {
    ++damage.whole;
  } else if (!found.refused && (found.torn_bytes > 0 || silent_cut) &&
             std::ranges::find(beginnings, found.content) != beginnings.end()) {
    ++damage.cut;
  } else {
    damage.wrong.push_back(what + ": " + found.content);
  }
}

inline Damage damage_everything() {
  Damage damage;
  const Image image = make_image();
  const std::string last_segment = mixstream::numbered_name("journal", 8);
  const std::size_t record_size = mixstream::record_header_size + 8 + 4 + 1 + 2;  // of "8 " and the topic "s"
  for (const auto& [name, content] : image) {
    for (std::size_t bit = 0; bit < content.size() * 8; ++bit) {
      Image changed = image;
      char& byte = changed[name][bit / 8];
      byte = static_cast<char>(byte ^ (1 << (bit % 8)));
      judge(damage, changed, name + " bit " + std::to_string(bit));
    }
    for (std::size_t size = 0; size < content.size(); ++size) {
      Image changed = image;
      changed[name].resize(size);
      const bool silent_cut = name == last_segment && size >= mixstream::segment_header_size &&
                              (size - mixstream::segment_header_size) % record_size == 0;
      judge(damage, changed, name + " cut to " + std::to_string(size), silent_cut);
    }
    Image changed = image;
    changed.erase(name);
    judge(damage, changed, name + " removed");
  }
  return damage;
}

}  // namespace disk_shim
