// SPDX-License-Identifier: BSD-3-Clause
//
// Radix 2, of a few lines at a time: they lie side by side in a tile that stays in the cache, so that the compiler can
// take the same step of all of them at once.
#include "fft3d.h"

#include <math.h>

struct fft3d_number fft3d_waves[FFT3D_SIDE_MAX];
static double tile_re[FFT3D_SIDE_MAX * FFT3D_TILE], tile_im[FFT3D_SIDE_MAX * FFT3D_TILE];
static size_t line_side, reversed[FFT3D_SIDE_MAX];

static void tile_pair(double *restrict a_re, double *restrict a_im, double *restrict b_re, double *restrict b_im,
                      double w_re, double w_im)
{
    for (int i = 0; i < FFT3D_TILE; i++) {
        double re = w_re * b_re[i] - w_im * b_im[i], im = w_re * b_im[i] + w_im * b_re[i];
        b_re[i] = a_re[i] - re;
        b_im[i] = a_im[i] - im;
        a_re[i] += re;
        a_im[i] += im;
    }
}

// The lines of the tile, which have come in the order of `reversed`.
static void tile_transform(double sign)
{
    for (size_t half = 1; half < line_side; half *= 2) {
        for (size_t first = 0; first < line_side; first += 2 * half) {
            for (size_t k = 0; k < half; k++) {
                size_t a = (first + k) * FFT3D_TILE, b = a + half * FFT3D_TILE, wave = k * (line_side / 2 / half);
                tile_pair(&tile_re[a], &tile_im[a], &tile_re[b], &tile_im[b], fft3d_waves[wave].re,
                          sign * fft3d_waves[wave].im);
            }
        }
    }
}

void fft3d_lines_transform(struct fft3d_number *first, size_t element, size_t line, size_t lines, double sign)
{
    for (size_t at = 0; at < lines; at += FFT3D_TILE) {
        struct fft3d_number *tile = first + at * line;
        for (size_t i = 0; i < line_side; i++) {
            for (size_t j = 0; j < FFT3D_TILE; j++) {
                tile_re[reversed[i] * FFT3D_TILE + j] = tile[i * element + j * line].re;
                tile_im[reversed[i] * FFT3D_TILE + j] = tile[i * element + j * line].im;
            }
        }
        tile_transform(sign);
        for (size_t i = 0; i < line_side; i++) {
            for (size_t j = 0; j < FFT3D_TILE; j++) {
                tile[i * element + j * line] =
                    (struct fft3d_number){tile_re[i * FFT3D_TILE + j], tile_im[i * FFT3D_TILE + j]};
            }
        }
        fft3d_between_tiles();
    }
}

void fft3d_lines_prepare(size_t side)
{
    const double pi = 3.14159265358979323846;
    size_t bits = 0;
    line_side = side;
    while ((size_t)1 << bits < side) {
        bits++;
    }
    for (size_t k = 0; k < side; k++) {
        fft3d_waves[k].re = cos(2 * pi * (double)k / (double)side);
        fft3d_waves[k].im = -sin(2 * pi * (double)k / (double)side);
        reversed[k] = 0;
        for (size_t bit = 0; bit < bits; bit++) {
            reversed[k] |= (k >> bit & 1) << (bits - 1 - bit);
        }
    }
}
