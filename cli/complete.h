/* complete.h: what a shell may put in place of the last word of a line: commands, flags, formats, resources, and what the cluster and the kubeconfig have
 * of names, namespaces, contexts and custom resources. The scripts of `kinformer completion` call it as `kinformer __complete WORDS...`. */
#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H

/* `words` are those after the program's name, the last one being typed. Prints a candidate a line, with a tab and a description where there is one, or
 * ":files" where a file is meant. Gives the exit status. */
int complete(int count, char **words);

#endif
