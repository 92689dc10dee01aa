// SPDX-License-Identifier: BSD-3-Clause
//
// The Fourier transform in one dimension that bench/fft3d.c makes three of. One thread.
#ifndef CASTOFF_BENCH_FFT3D_H
#define CASTOFF_BENCH_FFT3D_H

#include <stddef.h>

enum { FFT3D_TILE = 8, FFT3D_SIDE_MAX = 1024 };

struct fft3d_number {
    double re, im;
};

// e^(-2 pi i k / side), once prepared.
extern struct fft3d_number fft3d_waves[FFT3D_SIDE_MAX];

// fft3d_lines.c: for lines of `side` numbers, a power of two from FFT3D_TILE to FFT3D_SIDE_MAX.
void fft3d_lines_prepare(size_t side);
// Transforms `lines` lines, a multiple of FFT3D_TILE, where they are: they begin `line` numbers apart, and their
// elements are `element` apart. `sign`: 1 forward; -1 back, without a factor.
void fft3d_lines_transform(struct fft3d_number *first, size_t element, size_t line, size_t lines, double sign);

// The program's: called after every few lines.
void fft3d_between_tiles(void);

#endif
