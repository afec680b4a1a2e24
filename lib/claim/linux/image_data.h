/* SPDX-License-Identifier: MIT */
/* Why pages of programs' and libraries' data are private. */
#ifndef MT_CLAIM_LINUX_IMAGE_DATA_H
#define MT_CLAIM_LINUX_IMAGE_DATA_H

#include "claim/linux/provider.h"

struct mt_image_data;

int mt_image_data_new(struct mt_image_data **out);
void mt_image_data_free(struct mt_image_data *d);

/* mt_claimer_explain() of claim.h, with the modules of the last collection. */
void mt_image_data_explain(struct mt_image_data *d, const struct mt_look *look,
                           struct mt_interval *intervals, uint32_t n, int64_t deadline_ns);

#endif
