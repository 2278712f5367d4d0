// A model at rest: rows come when they come, a fit is made when it is asked for. For databases and notebooks.
//
//   Model model = Model::create(read_model_options(2, R"({"k": 3, "intercept": true})").value()).value();
//   model.absorb({x, y});                          // few rows stay rows; later ones become moments
//   Report report = model.fit("").value();
//   Bytes bytes = model.encode().value();          // as the tool saves it
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "mixstream/core/outcome.hpp"
#include "mixstream/estimator.hpp"
#include "mixstream/model/few_rows.hpp"
#include "mixstream/model/options.hpp"
#include "mixstream/rows/repeated_contents.hpp"

namespace mixstream {

/// One thread at a time. Allocates; throws std::bad_alloc, and Interrupted where an Interrupter lives.
class Model {
 public:
  static Outcome<Model> create(ModelOptions options);
  /// From what encode or pack wrote. `options`: how to solve from now on, where it differs from the bytes'.
  static Outcome<Model> decode(std::span<const std::byte> bytes, std::string_view options);

  std::size_t feature_count() const noexcept;  ///< of the model, the constant included
  /// How many numbers x a row brings: with "intercept" as many as were said, else as many as the first row.
  /// Nothing: no row has told yet. It stays in pack(), not in encode().
  std::optional<std::size_t> width() const noexcept { return width_; }
  /// Whether rows have this width. The first call that is answered with yes settles it: the model's features,
  /// or one less, where the constant stands first and is left out.
  bool settle_width(std::size_t features) noexcept;

  /// Adds a row, or refuses it by name and counts it. `position`: the row's number, on which with the seed
  /// and the source alone it depends whether the sample has it; nothing: what the row holds is its number,
  /// see rows/row.hpp. Now and then makes the fit that the polish asks for. An interruption leaves
  /// the row absorbed and the fit due.
  RowFault absorb(const Row& row, std::optional<std::uint64_t> position = {});
  void count_refused(std::string_view reason, std::optional<std::uint64_t> sensor = {});
  /// Adds the other's rows. Checks first, changes after.
  Done merge(const Model& other);

  std::uint64_t rows() const noexcept;
  /// Text of the map that made the features.
  const std::string& feature_map() const noexcept { return options_.estimator.state.feature_map; }
  std::size_t bytes() const noexcept;  ///< of memory held, about
  bool is_small() const noexcept { return all_ == nullptr; }

  /// Calls visit(estimator) with the model as an estimator, made for the call where rows are few.
  template <class Visit>
  auto with_estimator(Visit visit) const {
    if (!is_small()) return visit(std::as_const(*all_));
    const Estimator made = poured();
    return visit(made);
  }

  /// Solves and leaves no trace, as `mixstream refit` does: by the model's settings but for the options.
  Outcome<Report> fit(std::string_view options) const;
  /// The state as a file of the tool has it.
  Bytes encode() const;
  /// For a process of the same version: few rows stay rows, and the rows' width is kept.
  Bytes pack() const;

 private:
  Model(ModelOptions options, FewRows few);
  Model(ModelOptions options, Estimator all);
  static Outcome<Model> decode_rows(std::span<const std::byte> content, bool unnumbered,
                                    std::string_view options);
  Estimator poured() const;
  void go_on_at(std::uint64_t position, std::uint64_t source) noexcept;
  void grow(Estimator estimator);
  const Row& whole(const Row& row) noexcept;
  std::uint64_t number_of(const Row& row);
  void remember(const FewRows& rows);
  void keep_place() noexcept;
  void take_rows_of(const Model& other);
  void take_contents_of(const Model& other);
  Done take_numbers(std::span<const std::byte> bytes);

  ModelOptions options_;
  FewRows few_;                     // all rows, while there is no estimator
  std::unique_ptr<Estimator> all_;  // once they are many
  std::optional<std::size_t> width_;
  std::uint64_t next_position_ = 0;
  std::uint64_t source_ = 0;  // of the rows that come
  // Of rows without numbers: the content of the first one, and what came again once rows are many.
  std::optional<std::uint64_t> first_content_;
  std::optional<RepeatedContents> contents_;
  std::size_t bytes_of_estimator_ = 0;
  std::vector<double> features_;  // of the row in hand, where the constant was left out
  Row row_;
};

}  // namespace mixstream
