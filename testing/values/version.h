/* version.h: the order of API versions: v10 before v2 before v1beta1 before v1alpha1 before names of any other form, which are in alphabetical order
 * (Kubernetes' version priority). */
#ifndef KT_VALUES_VERSION_H
#define KT_VALUES_VERSION_H

/* Returns a negative number where `a` comes first, as strcmp does. */
int kt_version_compare(const char *a, const char *b);

#endif
