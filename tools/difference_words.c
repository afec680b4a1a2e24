/* SPDX-License-Identifier: MIT */
/* tools: a difference in one sentence that a person agrees with. In: struct difference. Out: text.
 * Called by cmd_diff.c. Says nothing that the difference does not. */
#include <stdlib.h>
#include <string.h>

#include "difference.h"
#include "human.h"

static void add(char *out, const char *text)
{
    size_t n = strlen(out);

    snprintf(out + n, DIFFERENCE_SENTENCE - n, "%s", text);
}

static void say_type(const struct type_difference *y, char *out)
{
    char bytes[HUMAN_BYTES], noise[HUMAN_BYTES], text[192];

    human_bytes(bytes, llabs(y->grew), false);
    human_bytes(noise, y->noise, false);
    snprintf(text, sizeof(text), "%s%s %s by %s (noise %s)", *out ? ", " : "", y->name,
             y->grew > 0 ? "grew" : "shrank", bytes, noise);
    add(out, text);
}

void difference_sentence(const struct difference *d, char out[DIFFERENCE_SENTENCE])
{
    char bytes[HUMAN_BYTES], text[128];

    out[0] = '\0';
    for (size_t i = 0; i < d->n_types; i++)
        if (d->types[i].beyond && strcmp(d->types[i].name, "tracer") != 0)
            say_type(&d->types[i], out);
    if (!d->differs)
        add(out, "nothing differs beyond noise");
    human_bytes(bytes, llabs(d->all.grew), false);
    if (d->all.beyond)
        snprintf(text, sizeof(text), "; in all %s %s", bytes, d->all.grew > 0 ? "more" : "less");
    else
        snprintf(text, sizeof(text), "; in all the same within noise");
    if (d->differs || d->all.beyond)
        add(out, text);
}
