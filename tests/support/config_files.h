/* config_files.h: kubeconfigs, and the files that they name, in the test's folder (folder.h). */
#ifndef TESTS_SUPPORT_CONFIG_FILES_H
#define TESTS_SUPPORT_CONFIG_FILES_H

#include "src/auth/config.h"
#include "tests/support/folder.h"

/* What passes for PEM until a connection is made. */
#define PEM(name) "-----BEGIN " name "-----\nAAAA\n-----END " name "-----\n"

/* cmocka's setup; folder_close is the teardown. Writes pki/ca.pem, pki/cert.pem, pki/key.pem and token ("
 * file-token\n"), makes the folder HOME, and removes the variables that name a kubeconfig or a cluster. */
int config_files_open(void **state);
/* cmocka's setup of a group: no file, variable or proxy of the machine is a part of a configuration. */
int config_files_set_none(void **state);
/* Writes a whole kubeconfig around one cluster and one user, as the file "config". Returns its path, as folder_file
 * does. */
const char *config_files_write(const char *cluster, const char *user);
/* Reads a configuration. Fails the test on an error. */
ki_config *config_files_read(const ki_config_options *options);
void assert_secret(const ki_secret *secret, const char *want); /* NULL: it is not set */

#endif
