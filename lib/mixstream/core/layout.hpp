// How a row stands in z = (1, x without its constant, y).
#pragma once

namespace mixstream {

struct Layout {
  int feature_count = 0;      ///< d
  int constant_feature = -1;  ///< index in x of the feature that is always 1, or -1

  bool has_constant() const noexcept { return constant_feature >= 0; }
  int variables() const noexcept { return feature_count + (has_constant() ? 1 : 2); }  ///< m
  int response() const noexcept { return variables() - 1; }  ///< the variable of z that is y

  /// The variable of z that feature `feature` of x is; 0 for the constant. No throw.
  int variable_of(int feature) const noexcept {
    if (!has_constant() || feature < constant_feature) return feature + 1;
    return feature == constant_feature ? 0 : feature;
  }
  friend bool operator==(const Layout&, const Layout&) = default;
};

}  // namespace mixstream
