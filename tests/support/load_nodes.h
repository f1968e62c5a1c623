/* load_nodes.h: the names of the first three nodes of an embedded server's load, sorted. */
#ifndef TESTS_SUPPORT_LOAD_NODES_H
#define TESTS_SUPPORT_LOAD_NODES_H

#define NODE_0 "ip-10-0-10-66.eu-central-1.compute.internal"
#define NODE_1 "ip-10-0-132-108.eu-central-1.compute.internal"
#define NODE_2 "ip-10-1-71-87.eu-central-1.compute.internal"

#endif
