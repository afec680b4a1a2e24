# SPDX-License-Identifier: MIT
"""Ratios of measurements that were taken in turns, with what is known of their middle."""
import math
import statistics


def rank_interval(values):
    """The ranks between which the true median lies with 95 %, whatever the distribution."""
    v, n = sorted(values), len(values)
    below, k = 0.5 ** n, 0
    while k < n // 2 and below <= 0.025:
        k += 1
        below += math.comb(n, k) * 0.5 ** n
    return v[max(k - 1, 0)], v[n - 1 - max(k - 1, 0)]


def tell(what, times, base):
    ratios = [a / b for a, b in zip(times, base)]
    print("%-28s median %.3fx (95 %%: %.3f to %.3f) least %.3fx, %d rounds" % (
        what, statistics.median(ratios), *rank_interval(ratios), min(times) / min(base),
        len(ratios)), flush=True)
