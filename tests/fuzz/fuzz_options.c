/* SPDX-License-Identifier: MIT */
/* Description: any bytes as options and any text as path are taken or refused with words. The
 * first two bytes are the size the struct says, then come its bytes, a NUL, the path. */
#include "api/api_options.h"
#include "base/error.h"
#include "fuzz.h"

#define STRUCT_BYTES_MOST 4096u

static char *next_text(struct fuzz_input *in)
{
    const uint8_t *nul = memchr(in->at, 0, in->left);
    size_t bytes = nul ? (size_t)(nul - in->at) : in->left;
    char *text = fuzz_copy(in->at, bytes, 1);

    in->at += bytes + (nul != NULL);
    in->left -= bytes + (nul != NULL);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static struct tracer t;
    struct fuzz_input in = {data, n_bytes};
    uint32_t size = (uint32_t)fuzz_take(&in, 2);
    uint32_t room = size < 8 ? 8 : size > STRUCT_BYTES_MOST ? 8 : size;
    uint8_t *given = calloc(1, room);
    char *label = next_text(&in), *path = next_text(&in);
    size_t used = in.left < room ? in.left : room;

    if (!given)
        abort();
    if (used)
        memcpy(given, in.at, used);
    memcpy(given, &size, sizeof(size));
    if (room >= offsetof(tracer_options, label) + sizeof(label))
        memcpy(given + offsetof(tracer_options, label), &label, sizeof(label));
    if (!mt_options_take(&t, (const tracer_options *)(const void *)given)) {
        FUZZ_CHECK(t.options.interval_ms >= 1 && t.options.interval_ms <= 3600000);
        FUZZ_CHECK(t.options.commit_ms >= 1 && t.options.budget_ns >= 1);
        FUZZ_CHECK(!(t.options.flags & ~TRACER_F_ALL));
        FUZZ_CHECK(!t.options.label || strlen(t.options.label) < MT_LABEL_BYTES);
    } else {
        FUZZ_CHECK(tracer_last_error()[0]);
    }
    if (!mt_options_take_path(&t, path))
        FUZZ_CHECK(t.path[0] == '/' && strlen(t.path) < MT_PATH_BYTES);
    free(given);
    free(label);
    free(path);
    return 0;
}
