/* zones.h: names of time zones. */
#ifndef KT_VALUES_ZONES_H
#define KT_VALUES_ZONES_H

#include "src/base/string_view.h"

/* Returns true for a name such as "Europe/Berlin". */
bool kt_zone_is_known(ki_str zone);

#endif
