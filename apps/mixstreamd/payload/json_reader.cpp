#include <simdjson.h>

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "input/json_values.hpp"
#include "payload/reader.hpp"

namespace mixstream {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t large = 1 << 20;  // bytes of a message

static_assert(PaddedBytes::padding >= simdjson::SIMDJSON_PADDING);

class JsonReader final : public PayloadReader {
 public:
  JsonReader(const PayloadSettings& settings, const RowBuilder& rows)
      : columns_(settings.columns), column_uses_(uses_of(settings.columns, rows)) {
    for (const std::string& name : rows.names()) fields_.push_back({name, rows.use_of(name)});
  }

  void read(std::string_view payload, RowBuilder& rows) override {
    if (std::exchange(was_large_, payload.size() > large)) {  // room for a rare message is given back
      parser_ = dom::parser();
      bytes_ = PaddedBytes();
    }
    const std::string_view text = bytes_.hold(payload);
    dom::element root;
    const simdjson::error_code error = parser_.parse(text.data(), text.size(), false).get(root);
    if (error == simdjson::MEMALLOC) throw std::bad_alloc();  // that is no fault of the message
    if (error != simdjson::SUCCESS) return rows.refuse_row(RowFault::bad_json, text);
    if (dom::array list; root.get(list) == simdjson::SUCCESS) return read_list(list, rows);
    dom::object object;
    if (root.get(object) != simdjson::SUCCESS) return rows.refuse_row(RowFault::bad_json, text);
    if (dom::array list; object.at_key("rows").get(list) == simdjson::SUCCESS) {
      rows.begin_row();
      read_fields(object, rows);
      rows.share();
      return read_list(list, rows);
    }
    read_object(object, rows);
  }

 private:
  struct Field {
    std::string name;
    FieldUse use;
  };

  void read_list(const dom::array& list, RowBuilder& rows) {
    for (const dom::element element : list) {
      dom::object object;
      dom::array numbers;
      if (element.get(object) == simdjson::SUCCESS) {
        read_object(object, rows);
      } else if (element.get(numbers) == simdjson::SUCCESS && !columns_.empty()) {
        read_numbers(numbers, rows);
      } else {
        rows.refuse_row(RowFault::bad_json, excerpt_of(element));
      }
    }
  }

  void read_object(const dom::object& object, RowBuilder& rows) {
    rows.begin_row();
    read_fields(object, rows);
    rows.end_row();
  }

  void read_fields(const dom::object& object, RowBuilder& rows) {
    std::size_t guess = 0;
    for (const auto field : object) {
      const Field* const known = find(field.key, guess);
      if (known != nullptr) take(*known, field.value, rows);
    }
  }

  /// Rows of a stream mostly have their keys in the same order: the list learns it.
  const Field* find(std::string_view key, std::size_t& guess) {
    if (guess < fields_.size() && fields_[guess].name == key) return &fields_[guess++];
    const auto found = std::ranges::find(fields_, key, &Field::name);
    if (found == fields_.end()) return nullptr;
    const auto place = static_cast<std::size_t>(found - fields_.begin());
    if (place < guess || guess >= fields_.size()) return &*found;  // a key that stands twice
    std::swap(*found, fields_[guess]);
    return &fields_[guess++];
  }

  void read_numbers(const dom::array& numbers, RowBuilder& rows) {
    if (numbers.size() != columns_.size()) return rows.refuse_row(RowFault::ragged, "[...]");
    rows.begin_row();
    std::size_t column = 0;
    for (const dom::element value : numbers) {
      const Field field{columns_[column], column_uses_[column]};
      take(field, value, rows);
      ++column;
    }
    rows.end_row();
  }

  static void take(const Field& field, const dom::element& value, RowBuilder& rows) {
    if (field.use.text)
      take_text(field, value, rows);
    else if (field.use.slot >= 0)
      rows.put(field.use.slot, number_of(value), excerpt_of(value));
    if (!field.use.sensor || value.is_null()) return;
    if (std::string_view name; value.get(name) == simdjson::SUCCESS) return rows.put_sensor(name);
    std::string name;
    if (value.is_bool() || !append_text(value, name))
      return rows.fault(RowFault::bad_sensor, field.name, excerpt_of(value));
    rows.put_sensor(std::move(name));
  }

  /// Texts stand there as they are; numbers as the text that they are in the feature map.
  static void take_text(const Field& field, const dom::element& value, RowBuilder& rows) {
    if (value.is_null() || value.is_string())
      return rows.put_text(field.use.slot, value.is_null() ? std::string_view() : excerpt_of(value));
    std::string text;
    if (!append_text(value, text)) return rows.fault(RowFault::not_a_number, field.name, excerpt_of(value));
    rows.put_text(field.use.slot, text);
  }

  std::vector<Field> fields_;
  std::vector<std::string> columns_;
  std::vector<FieldUse> column_uses_;
  PaddedBytes bytes_;
  dom::parser parser_;
  bool was_large_ = false;  // the message before
};

}  // namespace

std::unique_ptr<PayloadReader> make_json_reader(const PayloadSettings& settings, const RowBuilder& rows) {
  return std::make_unique<JsonReader>(settings, rows);
}

}  // namespace mixstream
