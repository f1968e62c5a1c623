/* complete.h: candidates for the last word of a command line: commands, flags, formats, resources; names of objects,
 * namespaces and custom resources from the cluster; contexts, clusters and users from the kubeconfig. The scripts of
 * `kinformer completion` run it as `kinformer __complete WORDS...`. */
#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H

/* Prints the candidates, one a line, with a tab and a description if there is one. Prints ":files" where a file name is
 * expected. `words` are the words after the program's name; the last is the one to complete. Returns the exit
 * status. */
int complete(int count, char **words);

#endif
