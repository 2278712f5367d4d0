#include "experiments/paper.hpp"

namespace experiments {
namespace {

const std::string b1d4 = "1,t,t^4,t^7";
const std::string b2d5 = "1,u,v,u^2*v^2,u^5";
const std::string b2d6 = "1,u,v,u*v^3,u^2*v^2,u^3*v";
const std::string b2d8 = "1,u,v,u*v^3,u^2*v^2,u^3*v,u^3*v^4,u^4*v^3";
const std::string b3d11 = "1,u,v,w,u*v*w^2,u*v^2*w,u^2*v*w,u^2*v^2,u^2*w^2,v^2*w^2,w^2";

PaperRow row(const std::string& label, const std::string& map, std::size_t k, bool cut, Published spectral,
             Published em, Published spectral_em, const char* source = "printed") {
  Setting setting;
  setting.name = label;
  setting.map = map;
  setting.k = k;
  setting.cut = cut;
  return {label, setting, spectral, em, spectral_em, source};
}

}  // namespace

std::vector<PaperRow> first_table() {
  return {row("(1,4,2)", b1d4, 2, false, {2.45, 3.68}, {0.28, 0.82}, {0.17, 0.57}),
          row("(2,5,2)", b2d5, 2, false, {1.38, 0.84}, {0.00, 0.00}, {0.00, 0.00}),
          row("(2,5,3)", b2d5, 3, false, {2.92, 1.71}, {0.43, 1.07}, {0.31, 1.02}),
          row("(2,6,2)", b2d6, 2, false, {2.33, 0.67}, {0.63, 1.29}, {0.01, 0.01}),
          row("(2,6,5)", b2d6, 5, false, {6.78, 2.18}, {2.29, 1.79}, {1.77, 1.89}, "comment"),
          row("(2,8,7)", b2d8, 7, false, {8.42, 1.66}, {7.41, 2.99}, {7.31, 2.47}, "comment"),
          row("(3,11,3)", b3d11, 3, false, {3.78, 0.90}, {0.67, 1.49}, {0.51, 1.12}, "comment"),
          row("(3,11,7)", b3d11, 7, false, {9.97, 3.22}, {1.43, 1.97}, {1.42, 2.17}, "comment")};
}

std::vector<PaperRow> second_table() {
  return {row("(1,4,2) cut", b1d4, 2, true, {1.70, 0.85}, {0.29, 0.85}, {0.03, 0.09}),
          row("(2,5,3) cut", b2d5, 3, true, {1.37, 0.85}, {0.44, 1.12}, {0.00, 0.00}),
          row("(2,6,5) cut", b2d6, 5, true, {9.89, 4.46}, {2.53, 1.77}, {2.69, 1.83}),
          row("(2,8,7) cut", b2d8, 7, true, {23.07, 7.10}, {9.62, 1.03}, {8.16, 2.31})};
}

Setting histogram_setting() {
  Setting setting;
  setting.name = "(1,4,3)";
  setting.map = b1d4;
  setting.k = 3;
  return setting;
}

Setting learning_setting(bool cut) {
  Setting setting;
  setting.name = cut ? "(1,5,3) cut" : "(1,5,3)";
  setting.map = "1,t,t^2,t^4,t^7";
  setting.k = 3;
  setting.cut = cut;
  return setting;
}

}  // namespace experiments
