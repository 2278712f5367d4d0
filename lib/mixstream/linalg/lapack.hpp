// LAPACK's parts of which drivers are made, and which Blaze does not declare: they let a factorisation stop
// for others on its way. The last arguments are hidden lengths of characters.
#pragma once

#include <cstddef>

extern "C" {
void dlatrd_(const char* triangle, const int* n, const int* columns, double* a, const int* spacing, double* e,
             double* tau, double* w, const int* w_spacing, std::size_t);
void dsytd2_(const char* triangle, const int* n, double* a, const int* spacing, double* d, double* e,
             double* tau, int* info, std::size_t);
void dsterf_(const int* n, double* d, double* e, int* info);
void dlacn2_(const int* n, double* v, double* x, int* signs, double* estimate, int* stage, int* memory);
}
