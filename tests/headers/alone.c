/* SPDX-License-Identifier: MIT */
/* Compiled once a header, with -include HEADER and nothing else before it, as C and as C++. */
int main(void)
{
    return 0;
}
