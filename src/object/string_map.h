/* string_map.h: a map of strings in a view: an array of pairs, or the labels of an object, which take no array. */
#ifndef KI_OBJECT_STRING_MAP_H
#define KI_OBJECT_STRING_MAP_H

#include <kinformer/object.h>
#include <kinformer/view.h>

/* Returns the map of all labels of an object. The map has the address of the object, with the last bit set. */
ki_string_map ki_string_map_of_labels(const ki_object *obj);

#endif
