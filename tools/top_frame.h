/* SPDX-License-Identifier: MIT */
/* One frame of `memtracer top`: what each type holds, how it got there, the last marks. */
#ifndef MEMTRACER_TOOLS_TOP_FRAME_H
#define MEMTRACER_TOOLS_TOP_FRAME_H

#include "answer.h"

struct top_view {
    struct answer *answer; /* its run: 0 = the newest with a sample */
    int64_t window_ns;     /* how much of the past is shown */
    size_t columns;
    size_t lines; /* of the terminal; 0 = as many as there are */
    bool blocks;  /* block characters, else ASCII */
    bool colour;
    bool live; /* drawn over the frame before */
};

/* TOOL_OK, or with a sentence another code. */
int top_frame(struct top_view *v);

#endif
