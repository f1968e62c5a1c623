/* version.h: the order of API versions (Kubernetes' version priority): v10, v2, v1beta1, v1alpha1, then all other
 * names in alphabetical order. */
#ifndef KT_VALUES_VERSION_H
#define KT_VALUES_VERSION_H

/* Returns a negative number if `a` comes first, 0 if both are equal, otherwise a positive number. */
int kt_version_compare(const char *a, const char *b);

#endif
