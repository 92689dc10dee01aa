// SPDX-License-Identifier: BSD-3-Clause
//
// The two sides of a comparison. Cold.
#ifndef CASTOFF_TOOLS_AB_SIDE_H
#define CASTOFF_TOOLS_AB_SIDE_H

enum co_ab_side { AB_WITHOUT, AB_WITH, AB_SIDES };

#endif
