// The one place where it is decided how far a fit may be trusted.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mixstream/verdict/evidence.hpp"
#include "mixstream/verdict/status.hpp"

namespace mixstream {

/// What can be found of a fit. Those that decide come first, the graver ones before the others.
enum class Finding : std::uint8_t {
  broken_down,       ///< the solver met numbers that it cannot take: there are no laws
  spurious,          ///< every start of EM ended in an optimum that a few rows make
  collapsed_law,     ///< a weight is not above its own error, and the moments reject the laws
  lost_law,          ///< a weight is not above its own error
  laws_coincide,     ///< one law fewer explains the rows as well
  one_law_more,      ///< one law more explains the rows far better
  own_noise,         ///< noise of each law's own does
  undetermined,      ///< standard errors as large as y itself
  unlikely,          ///< other laws explain the sample far better
  not_met_again,     ///< no other start came back to it
  rivals,            ///< other laws explain moments and sample as well
  parted,            ///< moments and scores lead to different laws
  tail_rows,         ///< rows far outside the bulk have ruined the moments
  large_doubt,       ///< something is missing that moves the laws beyond the tolerance
  unbounded_misfit,  ///< the moments reject the laws, and the held rows do not bound what is missing
  bounded_misfit,    ///< the moments reject the laws; what is missing moves them by less than the tolerance
  small_doubt,       ///< something is missing; it moves them by less than the tolerance
  scattered,         ///< what rows say varies more from stretch to stretch than the model promises
  many_refused,      ///< a tenth of the rows was refused
  few_changes,       ///< of mode: a remark
  lower_order,       ///< J of lower order decided: a remark
  cubic,             ///< J of y, y^2, y^3 decided: a remark
  doubtful_chance,   ///< accepted, but J is more than chance explains: a remark
};
inline constexpr std::size_t finding_count = 23;
const char* name_of(Finding finding) noexcept;

struct Judgement {
  FitStatus status = FitStatus::ok;
  std::vector<Finding> findings;  ///< the one that decides first, then all others that hold
};

/// One row of the table: where the sign holds, the fit is at best of this status.
struct Rule {
  Finding finding;
  FitStatus status;
  bool (*holds)(const Evidence&) noexcept;
};
std::span<const Rule> rules() noexcept;

/// The status of the first rule that holds; ok without one. Pure. Allocates the findings.
Judgement judge(const Evidence& evidence);

Misfit misfit_of(const Evidence& evidence) noexcept;

/// Which signs speak against laws from the moments: those of the table that a search can measure. Pure; no
/// throw, no allocation.
struct Complaints {
  bool distance = false;         ///< J is larger than a right fit would show
  bool standard_errors = false;  ///< some law is not determined by the moments
  bool likelihood = false;       ///< another candidate explains the sample of rows far better
  bool noise = false;            ///< noise of each law's own explains the rows far better
  bool count = false;            ///< one law more does
  bool search = false;           ///< with many laws: no other start of EM on the sample came back to it

  bool any() const noexcept { return of_the_fit() || search; }
  bool only_search() const noexcept { return search && !of_the_fit(); }
  bool only_distance() const noexcept {
    return distance && !standard_errors && !likelihood && !noise && !count && !search;
  }

 private:
  bool of_the_fit() const noexcept { return distance || standard_errors || likelihood || noise || count; }
};
Complaints complaints_of(const FitEvidence& evidence) noexcept;

/// The largest J of a right fit with so many degrees of freedom: one in 100,000 lies above. No allocation.
double largest_distance(double dof);

}  // namespace mixstream
