/* SPDX-License-Identifier: MIT */
/* record/windows: there is no fork(). In, out: nothing. Called by recorder*.c. */
#include "record/fork_gate.h"

void mt_fork_gate_enter(void)
{
}

void mt_fork_gate_leave(void)
{
}
