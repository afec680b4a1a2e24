/* SPDX-License-Identifier: MIT */
/* Gives a target every file of the folders named: what the fuzzers found stays found, with any
 * compiler. An empty input is given too. */
#include <dirent.h>

#include "fuzz.h"

#define INPUT_BYTES_MOST (1u << 20)

static unsigned replay_file(const char *folder, const char *name)
{
    char path[4096];
    uint8_t *data = malloc(INPUT_BYTES_MOST);
    FILE *file;
    size_t n;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "rb");
    if (!file || !data) {
        perror(path);
        exit(1);
    }
    n = fread(data, 1, INPUT_BYTES_MOST, file);
    fclose(file);
    LLVMFuzzerTestOneInput(data, n);
    free(data);
    return 1;
}

static unsigned replay_folder(const char *folder)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    unsigned n = 0;

    if (!d) {
        perror(folder);
        exit(1);
    }
    while ((e = readdir(d)))
        if (e->d_name[0] != '.')
            n += replay_file(folder, e->d_name);
    closedir(d);
    return n;
}

int main(int argc, char **argv)
{
    unsigned n = 0;

    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++)
        n += replay_folder(argv[i]);
    printf("%u inputs\n", n);
    return n ? 0 : 1;
}
