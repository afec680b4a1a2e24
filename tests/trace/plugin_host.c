/* SPDX-License-Identifier: MIT */
/* Loads a plugin, lets it keep 8 MiB, and unloads it, five times, without a pause between the call
 * and the unloading: plugin_host PLUGIN. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void *volatile kept;

static void quiet(void)
{
    const struct timespec pause = {0, 250000000};

    nanosleep(&pause, NULL);
}

int main(int argc, char **argv)
{
    for (int i = 0; i < 5 && argc > 1; i++) {
        void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), *symbol;
        void *(*keeps)(size_t);

        quiet();
        symbol = plugin ? dlsym(plugin, "plugin_keeps") : NULL;
        if (!symbol)
            return 1;
        memcpy(&keeps, &symbol, sizeof(keeps));
        kept = keeps((size_t)8 << 20);
        dlclose(plugin);
        quiet();
    }
    return argc > 1 ? 0 : 1;
}
