#include "mixstream/moments/moment_tables.hpp"

#include "mixstream/moments/features/moment_set.hpp"

namespace mixstream {
namespace {

template <int P>
DegreeMoments degree_moments(const SettledSet& moments, int feature_count) {
  return {P, collapsed_power(feature_count, P), collapsed_covariance<P>(moments),
          cross_moment<P>(moments).values, mean_monomials<P>(moments).values};
}

}  // namespace

MomentTables moment_tables(const MomentTensor& tensor) {
  const MomentTensor raw = tensor.in_raw_coordinates();
  const SettledSet moments((settled_tensor = raw));
  const int d = raw.layout().feature_count;
  MomentTables tables{
      effective_rows(moments),
      raw.total_weight(),
      {degree_moments<1>(moments, d), degree_moments<2>(moments, d), degree_moments<3>(moments, d)},
      {}};
  for (int q = 1; q <= moment_order; ++q)
    tables.response[static_cast<std::size_t>(q - 1)] = raw.view(q, 0, 0).values[0];
  return tables;
}

std::vector<std::string> product_names(const DegreeMoments& moments,
                                       const std::vector<std::string>& features) {
  std::vector<std::string> names;
  for (const std::vector<int>& tuple : moments.products.tuples) {
    std::string name;
    for (const int feature : tuple)
      name += (name.empty() ? "" : "*") + features[static_cast<std::size_t>(feature)];
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace mixstream
