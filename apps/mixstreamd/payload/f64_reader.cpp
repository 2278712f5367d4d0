#include <bit>
#include <cmath>
#include <cstring>

#include "payload/reader.hpp"

namespace mixstream {
namespace {

static_assert(std::endian::native == std::endian::little, "blocks are little-endian and read as they are");

class F64Reader final : public PayloadReader {
 public:
  F64Reader(const PayloadSettings& settings, const RowBuilder& rows)
      : uses_(uses_of(settings.columns, rows)) {}

  void read(std::string_view payload, RowBuilder& rows) override {
    const std::size_t row_bytes = uses_.size() * sizeof(double);
    for (; payload.size() >= row_bytes; payload.remove_prefix(row_bytes)) {
      rows.begin_row();
      for (std::size_t i = 0; i < uses_.size(); ++i) {
        if (uses_[i].slot >= 0) rows.put(uses_[i].slot, number_at(payload.data() + i * sizeof(double)), {});
      }
      rows.end_row();
    }
    if (!payload.empty()) rows.refuse_row(RowFault::ragged, {});
  }

 private:
  static ParsedNumber number_at(const char* at) noexcept {
    double value = 0.0;
    std::memcpy(&value, at, sizeof value);
    if (std::isnan(value)) return {NumberKind::missing, 0.0};
    if (std::isinf(value)) return {NumberKind::infinite, 0.0};
    return {NumberKind::number, value};
  }

  std::vector<FieldUse> uses_;
};

}  // namespace

std::unique_ptr<PayloadReader> make_f64_reader(const PayloadSettings& settings, const RowBuilder& rows) {
  return std::make_unique<F64Reader>(settings, rows);
}

}  // namespace mixstream
