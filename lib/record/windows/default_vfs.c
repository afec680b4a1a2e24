/* SPDX-License-Identifier: MIT */
/* record/windows: handles are not numbers that a host closes by the dozen; SQLite's own file layer
 * keeps a handle per connection. In: nothing. Out: no name, the default is used. */
#include <stddef.h>

#include "record/vfs.h"

const char *mt_vfs_name(void)
{
    return NULL;
}
