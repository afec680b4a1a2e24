/* SPDX-License-Identifier: MIT */
/* read/verdict: the statistics that several stages share.
 * In: arrays of values. Out: a middle value, a fit that never falls, a noise.
 * Called by every stage; must not know what the values mean. */
#include <math.h>

#include "read/verdict/parts.h"

static void swap(double *a, double *b)
{
    double x = *a;

    *a = *b;
    *b = x;
}

/* Hoare's selection: the k-th least comes to its place, smaller ones before it. */
static double select_kth(double *v, size_t n, size_t k)
{
    size_t low = 0, high = n - 1;

    while (low < high) {
        double pivot = v[low + (high - low) / 2];
        size_t i = low, j = high;

        for (;;) {
            while (v[i] < pivot)
                i++;
            while (v[j] > pivot)
                j--;
            if (i >= j)
                break;
            swap(&v[i++], &v[j--]);
        }
        if (k <= j)
            high = j;
        else
            low = j + 1;
    }
    return v[k];
}

double mt_vd_median(double *v, size_t n)
{
    double upper, lower;

    if (n == 0)
        return 0;
    upper = select_kth(v, n, n / 2);
    if (n % 2)
        return upper;
    lower = v[0];
    for (size_t i = 1; i < n / 2; i++)
        lower = v[i] > lower ? v[i] : lower;
    return (lower + upper) / 2;
}

/* Pools neighbours that fall until none does; `out` holds means, lengths live in the gaps. */
void mt_vd_isotonic(const double *y, unsigned n, double *out)
{
    unsigned length[MT_VD_POINTS];
    double mean[MT_VD_POINTS];
    unsigned blocks = 0, at = 0;

    for (unsigned i = 0; i < n && i < MT_VD_POINTS; i++) {
        mean[blocks] = y[i];
        length[blocks++] = 1;
        while (blocks > 1 && mean[blocks - 2] > mean[blocks - 1]) {
            unsigned a = length[blocks - 2], b = length[blocks - 1];

            mean[blocks - 2] = (mean[blocks - 2] * a + mean[blocks - 1] * b) / (a + b);
            length[blocks - 2] = a + b;
            blocks--;
        }
    }
    for (unsigned b = 0; b < blocks; b++)
        for (unsigned i = 0; i < length[b]; i++)
            out[at++] = mean[b];
}

/* One sigma of what differs from point to point; steps and slopes hardly move it, because the
 * middle of second differences is taken. */
double mt_vd_noise(const double *y, unsigned n, double *scratch)
{
    if (n < 4)
        return 0;
    for (unsigned i = 1; i + 1 < n; i++)
        scratch[i - 1] = fabs(y[i] - (y[i - 1] + y[i + 1]) / 2);
    return mt_vd_median(scratch, n - 2) / (0.6745 * 1.2247);
}

/* Lag-one correlation: 0 for noise, near 1 for what moves slowly. */
double mt_vd_memory(const double *y, unsigned n)
{
    double mean = 0, square = 0, cross = 0;

    for (unsigned i = 0; i < n; i++)
        mean += y[i] / n;
    for (unsigned i = 0; i < n; i++) {
        square += (y[i] - mean) * (y[i] - mean);
        cross += i > 0 ? (y[i] - mean) * (y[i - 1] - mean) : 0;
    }
    return square > 0 ? cross / square : 0;
}
