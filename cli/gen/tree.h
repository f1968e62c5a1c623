/* tree.h: the fields of a generated header as a tree: the members of its structs, in the order in which they are
 * printed. Nodes live as long as their tree. */
#ifndef CLI_GEN_TREE_H
#define CLI_GEN_TREE_H

#include "name.h"
#include "schema.h"

#include <kinformer/view.h>

#include <stdbool.h>

enum {
    GEN_NODES_MAX = 8000,     /* nodes of one header */
    GEN_STEPS_MAX = 16,       /* names of one field's path, from the object on */
    GEN_STRUCT_NAME_MAX = 80, /* bytes of a struct's name with its zero */
    GEN_PATH_MAX = 1024       /* bytes of a path from a struct on, as of the library's paths */
};

typedef enum gen_form {
    GEN_MEMBER, /* a member of the type `type` */
    GEN_NESTED, /* a struct inside of the struct, for an object */
    GEN_ITEMS,  /* a ki_list of structs */
    GEN_ABSENT  /* only a comment: why the field has no member */
} gen_form;

typedef struct gen_node {
    struct gen_node *parent, *first, *last, *next;
    struct gen_node *made_before;
    char *key; /* the member's JSON name; "" of the root */
    size_t key_size;
    int64_t index; /* the element of the list `key`; -1: none */
    gen_form form;
    ki_field_type type;      /* of GEN_MEMBER */
    yyjson_val *schema;      /* of GEN_NESTED, GEN_ITEMS and the root: finds recursion */
    const char *description; /* may be NULL */
    char why[64];            /* of GEN_ABSENT */
    char name[GEN_NAME_MAX]; /* the C name, unique among its siblings */
    char *struct_name;       /* of GEN_ITEMS and the root; else NULL */
} gen_node;

/* What is added below a node. The key is copied. */
typedef struct gen_field {
    const char *key;
    size_t key_size;
    int64_t index;
    gen_type type; /* of the value */
} gen_field;

typedef struct gen_tree {
    gen_node *root;
    gen_node *all; /* every node, by creation, linked by `made_before` */
    size_t count;
    size_t steps_max; /* gen_tree_add_all leaves out what is deeper */
} gen_tree;

/* Makes a tree of only a root. `name` is the struct's name. Errors: KI_ERR_NO_MEMORY. */
ki_status gen_tree_new(const char *name, const gen_type *type, gen_tree *ret_tree, ki_error *err);
void gen_tree_free(gen_tree *tree);

/* Adds a field of `parent` unless it is there. Milliunits and presence are members beside another one of the field.
 * Errors: KI_ERR_LIMIT; KI_ERR_NO_MEMORY; KI_ERR_EXISTS if the field is there in another form or type. */
ki_status gen_tree_add(gen_tree *tree, gen_node *parent, const gen_field *field, gen_form form, ki_field_type type,
                       gen_node **ret_node, ki_error *err);
/* Adds a field with everything below it. Recursive types and what is deeper than `steps_max` become a bool that is
 * true if the field is there. Errors: as gen_tree_add. */
ki_status gen_tree_add_all(gen_tree *tree, const gen_schema *schema, gen_node *parent, const gen_field *field,
                           ki_error *err);
/* Adds all fields of the object, but apiVersion and kind. Errors: as gen_tree_add. */
ki_status gen_tree_fill(gen_tree *tree, const gen_schema *schema, ki_error *err);

/* Returns the type of a field's member; KI_FIELD_TYPE_END if it has none, as an object and a list of objects. */
ki_field_type gen_field_member(const gen_schema *schema, const gen_field *field);
/* Returns true for a list whose elements are objects with members; stores their type. */
bool gen_field_has_items(const gen_schema *schema, const gen_field *field, gen_type *ret_element);
/* Returns why a field has no member: "a list of lists", … */
const char *gen_field_problem(const gen_schema *schema, const gen_field *field);

/* Checks the limits of views. Errors: KI_ERR_LIMIT. */
ki_status gen_tree_check(const gen_tree *tree, ki_error *err);
/* Returns false for a nested struct in which nothing is a member. */
bool gen_node_has_members(const gen_node *node);
/* Returns the struct that the node is a member of: the root or a GEN_ITEMS. */
const gen_node *gen_node_struct(const gen_node *node);
/* Writes the path from that struct on, as views have it: "spec.nodeName". Returns false if it is too long. */
bool gen_node_path(const gen_node *node, char path[GEN_PATH_MAX + 1]);

#endif
