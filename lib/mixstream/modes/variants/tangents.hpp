// The dense part of a filter's step, one source (tangents.cpp) compiled once for each instruction set.
//
// Tangents are k rows of `stride` doubles, P of them used and the rest zero; stride is a multiple of 8.
#pragma once

#include <cstddef>

namespace mixstream::variants {

/// T_j = sum_i c_ij D_i. `shares`: c, k x k row-major.
using CombineTangents = void (*)(std::size_t k, std::size_t stride, const double* shares,
                                 const double* tangents, double* combined) noexcept;
/// score = sum_j T_j, and D_j = T_j - f_j score.
using FinishTangents = void (*)(std::size_t k, std::size_t stride, const double* filtered,
                                const double* combined, double* score, double* tangents) noexcept;
/// Adds sum_t w_t s_t s_t' to a packed lower triangle of P rows; `scratch`: rows x stride doubles.
using AddProducts = void (*)(std::size_t rows, std::size_t parameters, std::size_t stride,
                             const double* scores, const double* weights, double* scratch,
                             double* packed) noexcept;

struct TangentKernels {
  CombineTangents combine;
  FinishTangents finish;
  AddProducts add_products;
};

TangentKernels tangents_plain() noexcept;
TangentKernels tangents_avx2() noexcept;
TangentKernels tangents_avx512() noexcept;

}  // namespace mixstream::variants
