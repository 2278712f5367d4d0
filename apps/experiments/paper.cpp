#include "experiments/paper.hpp"

namespace experiments {
namespace {

// The authors' maps, by base variables and degree.
const std::string b1_degree5 = "1,t,t^4";
const std::string b1_degree8 = "1,t,t^4,t^7";
const std::string b2_degree3 = "1,u,v,u^2*v^2";
const std::string b2_degree4 = "1,u,v,u*v^3,u^2*v^2,u^3*v";
const std::string b2_degree5 = "1,u,v,u*v^3,u^2*v^2,u^3*v,u^3*v^4,u^4*v^3";
const std::string b3_degree3 = "1,u,v,w,u*v*w^2,u*v^2*w,u^2*v*w,u^2*v^2,u^2*w^2,v^2*w^2";
// One of ours.
const std::string five_features = "1,u,v,u^2*v^2,u^5";

constexpr const char* older_solver = "the figure in print is of the authors' older, not convex solver";
constexpr const char* solver_unknown = "commented out in the source; of which solver is not known";

Setting setting_of(const std::string& name, const std::string& map, std::size_t k, bool cut) {
  Setting setting;
  setting.name = name;
  setting.map = map;
  setting.k = k;
  setting.cut = cut;
  return setting;
}

PaperRow row(const std::string& label, const std::string& map, std::size_t k, bool cut,
             std::optional<Published> spectral, std::optional<Published> em,
             std::optional<Published> spectral_em, const char* source = "printed", const char* note = "") {
  return {label, setting_of(label, map, k, cut), spectral, em, spectral_em, source, note};
}

PaperRow ours(const std::string& label, const std::string& map, std::size_t k, bool cut = false) {
  return row(label, map, k, cut, {}, {}, {}, "ours", "a map of ours");
}

}  // namespace

std::size_t PaperRow::feature_count() const {
  return FeatureMap::parse(setting.map).value().feature_count();
}

std::vector<PaperRow> first_table() {
  using P = Published;
  return {row("(1,4,2)", b1_degree5, 2, false, P{2.45, 3.68}, P{0.28, 0.82}, P{0.17, 0.57}),
          row("(2,5,2)", b2_degree3, 2, false, P{1.38, 0.84}, P{0.00, 0.00}, P{0.00, 0.00}),
          row("(2,5,3)", b2_degree3, 3, false, P{2.92, 1.71}, P{0.43, 1.07}, P{0.31, 1.02}),
          row("(2,6,2)", b2_degree4, 2, false, P{2.33, 0.67}, P{0.63, 1.29}, P{0.01, 0.01}),
          row("(2,6,5)", b2_degree4, 5, false, P{1551, 2174}, {}, {}, "runs",
              "the 6.78 in the source's comment is of the authors' older, not convex solver"),
          row("(2,8,7)", b2_degree5, 7, false, P{8.42, 1.66}, P{7.41, 2.99}, P{7.31, 2.47}, "comment",
              solver_unknown),
          row("(3,10,3)", b3_degree3, 3, false, P{3.78, 0.90}, P{0.67, 1.49}, P{0.51, 1.12}, "comment",
              solver_unknown),
          row("(3,10,7)", b3_degree3, 7, false, P{9.97, 3.22}, P{1.43, 1.97}, P{1.42, 2.17}, "comment",
              solver_unknown),
          ours("t^7, two laws", b1_degree8, 2),
          ours("u^5, two laws", five_features, 2),
          ours("u^5, three laws", five_features, 3)};
}

std::vector<PaperRow> second_table() {
  using P = Published;
  return {row("(1,4,2) cut", b1_degree5, 2, true, P{1.70, 0.85}, P{0.29, 0.85}, P{0.03, 0.09}),
          row("(2,5,2) cut", b2_degree3, 2, true, P{1.37, 0.85}, P{0.44, 1.12}, P{0.00, 0.00}, "printed",
              "printed as k = 3; these are the figures of k = 2"),
          row("(2,5,3) cut", b2_degree3, 3, true, P{2.75, 1.29}, {}, P{0.47, 1.06}, "runs",
              "in print stand the figures of k = 2"),
          row("(2,6,5) cut", b2_degree4, 5, true, P{1359, 2201}, {}, {}, "runs", older_solver),
          row("(2,8,7) cut", b2_degree5, 7, true, {}, P{9.62, 1.03}, {}, "printed", older_solver),
          ours("t^7, two laws, cut", b1_degree8, 2, true),
          ours("u^5, three laws, cut", five_features, 3, true)};
}

Setting rival_setting() {
  return setting_of("t^7, two laws", b1_degree8, 2, false);
}

Setting histogram_setting() {
  return setting_of("(1,4,3)", b1_degree8, 3, false);
}

Setting learning_setting(bool cut) {
  return setting_of(cut ? "(1,5,3) cut" : "(1,5,3)", b1_degree8, 3, cut);
}

Setting close_setting(bool cut) {
  return setting_of(cut ? "t^2, three laws, cut" : "t^2, three laws", "1,t,t^2,t^4,t^7", 3, cut);
}

}  // namespace experiments
