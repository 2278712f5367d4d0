// Takes the keys of one TOML table, by name and type, and refuses those that nobody asked for.
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mixstream/core/outcome.hpp"

namespace mixstream {

/// The first thing that is wrong is kept, so that readers are straight lists of keys; ask refusal() at the
/// end.
class TableReader {
 public:
  /// `name`: how messages call the table, such as "[mqtt]".
  TableReader(const toml::table& table, std::string path, std::string name);

  void take(const char* key, std::string& value);
  void take(const char* key, bool& value);
  void take(const char* key, std::vector<std::string>& values);
  void take_number(const char* key, double& value, double least, double most);
  template <class Whole>
  void take_whole(const char* key, Whole& value, std::int64_t least, std::int64_t most) {
    if (const std::optional<std::int64_t> found = whole(key, least, most)) value = static_cast<Whole>(*found);
  }
  /// "90s", "10m", "2h", "1d", or a number of seconds.
  void take_seconds(const char* key, double& seconds, double least, double most);
  /// One of the words; the index among them, or nothing where the key is missing.
  std::optional<std::size_t> take_word(const char* key, const std::vector<std::string>& words);
  /// Whatever it is; null where it is missing.
  const toml::node* take_any(const char* key);
  const toml::table* take_table(const char* key);
  /// The tables of `[[key]]`.
  std::vector<const toml::table*> take_tables(const char* key);

  bool has(const char* key) const { return table_.contains(key); }
  /// Remembers that a key's value is wrong, with its line.
  void refuse(const char* key, const std::string& what);
  /// Takes over what a reader of a table inside found.
  void refuse(const Done& done);

  /// What was wrong first, or the first key that was never taken.
  Done result() const;

 private:
  const toml::node* find(const char* key);
  std::optional<std::int64_t> whole(const char* key, std::int64_t least, std::int64_t most);
  std::string at(const toml::source_region& source) const;

  const toml::table& table_;
  std::string path_;
  std::string name_;
  std::vector<std::string> known_;
  std::optional<Refusal> refusal_;
};

/// "90s", "10m", "2h", "1d" as seconds; nothing where the text is none of these.
std::optional<double> seconds_of(const std::string& text);

}  // namespace mixstream
