/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Integers with the kernel's names, for programs of the kernel and for tests that run the same code in user space. */
#ifndef AIRTCP_TYPES_H
#define AIRTCP_TYPES_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

#endif
