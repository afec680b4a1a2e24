/* SPDX-License-Identifier: MIT */
/* Description: any text as maps or smaps becomes a sorted list without overlaps. The first byte
 * says which of the two, and how much a read hands out. */
#define _GNU_SOURCE
#include "fuzz.h"
#include "list.h"
#include "source/linux/maps.h"
#include "source/linux/smaps.h"

struct lines_seen {
    struct mt_smaps record;
    struct mt_region region;
};

static void parse(void *user, const char *line, size_t bytes)
{
    struct lines_seen *seen = user;
    const char *name = NULL;
    size_t name_bytes = 0;

    if (mt_maps_parse(line, bytes, &seen->region, &name, &name_bytes)) {
        FUZZ_CHECK(seen->region.base < seen->region.end);
        FUZZ_CHECK(!name_bytes || (name >= line && name + name_bytes <= line + bytes));
        mt_smaps_open(&seen->record, &seen->region);
    } else {
        mt_smaps_line(&seen->record, line, bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    struct lines_seen seen = {.region = {.base = 0}};
    uint8_t how = n_bytes ? data[0] : 0;

    if (n_bytes) {
        data++;
        n_bytes--;
    }
    fuzz_lines(data, n_bytes, parse, &seen);
    mt_smaps_open(&seen.record, NULL);
    list_text(data, n_bytes, how & 1, (how >> 1) + 1u);
    return 0;
}
