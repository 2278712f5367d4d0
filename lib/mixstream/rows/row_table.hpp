// Rows held in memory: the reservoir's sample, or the stored rows of a batch fit.
#pragma once

#include <cstddef>
#include <vector>

#include "mixstream/rows/row.hpp"

namespace mixstream {

struct RowTable {
  std::size_t feature_count = 0;  ///< d
  std::vector<double> features;   ///< row-major n x d
  std::vector<double> responses;  ///< y
  std::vector<double> weights;    ///< w, one per row

  std::size_t size() const noexcept { return responses.size(); }
  Row row(std::size_t i) const noexcept {
    return {{features.data() + i * feature_count, feature_count}, responses[i], weights[i]};
  }
  void add(const Row& row) {
    features.insert(features.end(), row.features.begin(), row.features.end());
    responses.push_back(row.response);
    weights.push_back(row.weight);
  }
  void reserve(std::size_t rows) {
    features.reserve(rows * feature_count);
    responses.reserve(rows);
    weights.reserve(rows);
  }
  friend bool operator==(const RowTable&, const RowTable&) = default;
};

}  // namespace mixstream
