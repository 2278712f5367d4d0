// Stands in for the embedded files in a build without the page.
#include "mixstream/report/page_assets.hpp"

namespace mixstream::page_assets {

const std::string_view script;
const std::string_view style;
const std::string_view licence;
const std::string_view script_hash;
const std::string_view style_hash;

}  // namespace mixstream::page_assets
