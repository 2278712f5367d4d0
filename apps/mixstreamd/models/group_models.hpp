// A model for each group of a stream's rows: of each pump, by its name. Made when first seen, rows while they
// are few, an estimator once they are many. The same rows in the same order make the same models, bit for
// bit: they are part of what the journal makes again. Nothing that a solve finds enters them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "group_settings.hpp"
#include "mixstream/core/bytes.hpp"
#include "mixstream/estimator.hpp"
#include "mixstream/model/few_rows.hpp"
#include "mixstream/rows/row_table.hpp"
#include "store/row_taker.hpp"

namespace mixstream {

/// What of a group changes with each row.
struct GroupFigures {
  std::string name;
  std::uint64_t rows = 0;
  double last_arrival = 0.0;  ///< seconds since 1970
  bool grown = false;         ///< its rows have become moments
};

/// A group's model as a solve takes it away: a copy.
struct GroupCopy {
  std::uint64_t rows = 0;
  std::unique_ptr<Estimator> grown;  ///< null: its rows are few, and stand in `few`
  std::unique_ptr<FewRows> few;
  RowTable recent;  ///< its newest rows, oldest first
};

/// The copy's rows as an estimator, taken out of it, or made of its few rows.
std::unique_ptr<Estimator> estimator_in(GroupCopy& copy, const EstimatorSettings& settings);

/// One thread at a time.
class GroupModels : public RowTaker {
 public:
  static constexpr std::size_t recent_rows = 512;  ///< of a group, at most, that are held for a look at them

  /// `stream`: the stream's own model. A group's has its settings, but fits leave no trace in it: it has no
  /// polish, and its laws are those of rows in any order.
  GroupModels(const EstimatorSettings& stream, const GroupSettings& settings);

  const char* refusal(const RowName& name) const override;
  void take(const RowName& name, const Row& row, double arrival) override;

  std::size_t size() const noexcept { return models_.size(); }
  const EstimatorSettings& settings() const noexcept { return model_; }
  /// Groups that rows came to since the last call, by name.
  std::vector<GroupFigures> take_touched();
  /// Nothing for an unknown name. Copies as much as the model holds.
  GroupCopy copy_of(std::string_view name) const;
  /// The group's model as an estimator; for one of few rows it is made. Nothing for an unknown name.
  std::unique_ptr<Estimator> estimator_of(std::string_view name) const;
  std::vector<std::string> names() const;
  std::size_t bytes() const noexcept;  ///< held, about

  Bytes encode() const;  ///< equal models have equal bytes
  /// Of encode(), into a table that nothing was taken into. False: the bytes are damaged, or of another
  /// model.
  bool restore(std::span<const std::byte> bytes);

 private:
  struct Model {
    std::uint64_t rows = 0;
    std::uint64_t source = 0;
    double last_arrival = 0.0;
    std::unique_ptr<FewRows> few;      // all rows, while they are few; or
    std::unique_ptr<Estimator> grown;  // all rows, and beside it the newest, in two halves:
    std::unique_ptr<FewRows> before;
    std::unique_ptr<FewRows> recent;
    bool touched = false;
  };
  using Models = std::map<std::string, Model, std::less<>>;

  std::string_view group_of(const RowName& name) const noexcept;
  Model& model_of(std::string_view group, const Row& row);
  FewRows few_rows(std::uint64_t source) const;
  void grow(Model& model) const;
  void remember(Model& model, const Row& row) const;
  void touch(Models::value_type& entry);
  static void encode(ByteWriter& out, const Model& model);
  bool restore(ByteReader& in, Model& model) const;

  EstimatorSettings model_;
  GroupSettings settings_;
  bool holds_few_;  // a model may begin as rows
  std::size_t grown_bytes_ = 0;
  Models models_;
  std::vector<Models::value_type*> touched_;
};

}  // namespace mixstream
