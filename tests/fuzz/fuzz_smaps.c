/* SPDX-License-Identifier: MIT */
/* Description: any text below a sound first line of smaps leaves what it says within the region's
 * size, and spoils no other record. */
#define _GNU_SOURCE
#include "fuzz.h"
#include "list.h"
#include "source/linux/smaps.h"

static const char before[] = "00010000-00020000 rw-p 00000000 00:00 0 \nRss: 8 kB\n"
                             "00400000-00800000 rw-p 00000000 00:00 0 [heap]\n";
static const char behind[] = "\n7f0000000000-7f0000100000 r-xp 00000000 08:01 5 /lib/x.so\n"
                             "Rss: 12 kB\nVmFlags: rd ex mr mw me\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    size_t all = sizeof(before) - 1 + n_bytes + sizeof(behind) - 1;
    char *text = malloc(all);

    if (!text)
        abort();
    memcpy(text, before, sizeof(before) - 1);
    if (n_bytes)
        memcpy(text + sizeof(before) - 1, data, n_bytes);
    memcpy(text + sizeof(before) - 1 + n_bytes, behind, sizeof(behind) - 1);
    list_text((const uint8_t *)text, all, 1, all);
    free(text);
    return 0;
}
