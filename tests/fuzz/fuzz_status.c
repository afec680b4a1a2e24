/* SPDX-License-Identifier: MIT */
/* Description: any text as status or stat sets counters with their bits, or none. */
#include "fuzz.h"
#include "source/linux/follow.h"
#include "source/linux/status.h"

static void take(void *user, const char *line, size_t bytes)
{
    struct mt_counters *both = user, before = both[1];

    struct mt_sizes sizes = {.known = 0};

    mt_status_line(line, bytes, &both[0]);
    mt_sizes_line(line, bytes, &sizes);
    for (unsigned i = 0; i < MT_SIZE_COUNT; i++)
        FUZZ_CHECK((sizes.known >> i & 1u) || sizes.value[i] == 0);
    if (!mt_status_stat(line, bytes, 100, &both[1]))
        FUZZ_CHECK(!memcmp(&before, &both[1], sizeof(before)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    struct mt_counters both[2];

    memset(both, 0, sizeof(both));
    fuzz_lines(data, n_bytes, take, both);
    for (unsigned i = 0; i < MT_COUNTER_CAPACITY; i++)
        FUZZ_CHECK((both[0].known >> i & 1u) || both[0].value[i] == 0);
    return 0;
}
