/* fields.h: the fields that a user names, such as "spec.nodeName,spec.containers[].image,status.phase". */
#ifndef CLI_GEN_FIELDS_H
#define CLI_GEN_FIELDS_H

#include "tree.h"

/* Adds the fields to the tree. A field is a path in the object. "[]" or "[*]" stands for all elements of a list, "[2]"
 * for one, "['a.b']" for a name with special characters. An object or a list of objects brings all of its fields.
 * ":TYPE" after a path reads the value in another way: string, text, bool, int32, int64, double, time, quantity, milli
 * or present.
 * Errors, with the position in `fields`, counted from 1: KI_ERR_PARSE; KI_ERR_NOT_FOUND (with the nearest name);
 * KI_ERR_INVALID (what a view cannot have). KI_ERR_EXISTS, KI_ERR_LIMIT, KI_ERR_NO_MEMORY: as gen_tree_add. */
ki_status gen_fields_add(gen_tree *tree, const gen_schema *schema, const char *fields, ki_error *err);

#endif
