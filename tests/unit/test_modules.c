/* SPDX-License-Identifier: MIT */
/* Description: modules of this process against dl_iterate_phdr, also after loading and unloading.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>

#include "support/live_claims.h"

struct expected {
    uint32_t n, n_found;
};

static int compare_module(struct dl_phdr_info *info, size_t bytes, void *user)
{
    struct expected *e = user;
    uint64_t low = UINT64_MAX, high = 0;

    (void)bytes;
    if (strstr(info->dlpi_name, "vdso"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            uint64_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            uint64_t stop = (start + info->dlpi_phdr[i].p_memsz + 4095) / 4096 * 4096;

            low = start / 4096 * 4096 < low ? start / 4096 * 4096 : low;
            high = stop > high ? stop : high;
        }
    e->n++;
    for (uint32_t i = 0; i < f.set.n_modules; i++)
        if (f.set.modules[i].base == low && f.set.modules[i].end == high) {
            char *real = realpath(info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe", NULL);

            assert_string_equal(text(f.set.modules[i].path), real);
            assert_true(f.set.modules[i].build_id_bytes == 0 ||
                        f.set.modules[i].build_id_bytes >= 8);
            free(real);
            e->n_found++;
        }
    return 0;
}

static void modules_are_what_the_loader_lists(void **state)
{
    struct expected e = {0, 0};
    static int zero_data[4096];
    const struct mt_claim *c;
    void *library;

    (void)state;
    look(0);
    dl_iterate_phdr(compare_module, &e);
    assert_int_equal(e.n_found, e.n);
    assert_int_equal(f.set.n_modules, e.n);
    zero_data[2048] = 1;
    c = owner_of(&zero_data[2048]);
    assert_non_null(c);
    assert_int_equal(c->type, MT_TYPE_IMAGE);

    library = dlopen("libBrokenLocale.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        skip();
    e = (struct expected){0, 0};
    look(0);
    dl_iterate_phdr(compare_module, &e);
    assert_int_equal(e.n_found, e.n);
    assert_int_equal(f.set.n_modules, e.n);
    dlclose(library);
    look(0);
    assert_int_equal(f.set.n_modules, e.n - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(modules_are_what_the_loader_lists, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
