/* image.h: reads a reference of a container image, as the parser that Kubernetes uses (distribution/reference). Any
 * thread. */
#ifndef KT_VALUES_IMAGE_H
#define KT_VALUES_IMAGE_H

#include "src/base/string_view.h"

#include <stdbool.h>

/* Returns true if the tag of a reference is "latest", also by default. A reference that cannot be parsed has no tag. */
bool kt_image_is_latest(ki_str image);

#endif
