// What a verdict says in words: what is wrong, how much it matters, and what to do. Made from findings and
// evidence, and from nothing else.
#pragma once

#include <string>

#include "mixstream/verdict/judge.hpp"

namespace mixstream {

/// One sentence for the finding that decides, and one for each remark worth knowing. Allocates.
std::string words_of(const Judgement& judgement, const Evidence& evidence);

}  // namespace mixstream
