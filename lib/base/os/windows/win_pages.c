/* SPDX-License-Identifier: MIT */
/* base/os/windows: pages of memory. Called by base/memory.c only.
 * Blocks are committed as they are made: they count against the commit limit at once, and take
 * physical memory as they are touched. Committing later would need an exception handler in the
 * host. Uses: VirtualAlloc. */
#include "base/compiler.h"
#include "base/os/os.h"
#include "base/os/windows/win_api.h"

void *mt_os_pages_map(size_t bytes)
{
    return VirtualAlloc(NULL, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void mt_os_pages_unmap(void *p, size_t bytes MT_UNUSED)
{
    VirtualFree(p, 0, MEM_RELEASE);
}

/* Windows keeps no labels for memory. */
size_t mt_os_page_bytes(void)
{
    SYSTEM_INFO info;

    GetSystemInfo(&info);
    return info.dwPageSize;
}
