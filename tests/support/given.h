/* given.h: a valid argument for each pointer parameter of the public functions, by the parameter's type and name. For unit/null_arguments. */
#ifndef KI_TESTS_GIVEN_H
#define KI_TESTS_GIVEN_H

#include <kinformer/resource.h>

/* The JSON of each text parameter that is followed by a size. */
#define GIVEN_JSON \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"namespace\":\"default\",\"uid\":\"u\"}}"

/* Returns a valid argument for a parameter such as "ki_client *", "client" (without const). Makes what the argument needs, once in a process, and
 * never frees it: for processes that make one call and end. NULL, with a line on stderr: there is none. */
void *given(const char *type, const char *name);

/* Returns a valid resource without its string number `member`, in the order of the struct; 4 and more: with all of them. */
const ki_resource *given_resource(int member);

#endif
