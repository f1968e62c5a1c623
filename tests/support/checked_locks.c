/* checked_locks.c: replaces libc's mutex functions in each test program. A thread that locks a mutex it holds, or
 * unlocks a mutex it does not hold, ends the program. So a missing lock fails a test even if no other thread
 * interferes. The thread sanitizer has these checks of its own. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

typedef int (*mutex_function)(pthread_mutex_t *mutex);
typedef int (*init_function)(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes);

/* Returns libc's function and stores it in `found`. */
static void *real(const char *name, void *_Atomic *found) {
    void *function = atomic_load(found);
    if (!function) {
        function = dlsym(RTLD_NEXT, name);
        if (!function)
            abort();
        atomic_store(found, function);
    }
    return function;
}

static int checked(int failed, int mistake, const char *what) {
    if (failed != mistake)
        return failed;
    (void)fprintf(stderr, "checked_locks: %s\n", what);
    abort();
}

int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes) {
    static void *_Atomic found;
    init_function function;
    *(void **)&function = real("pthread_mutex_init", &found);
    if (attributes)
        return function(mutex, attributes);
    pthread_mutexattr_t checking;
    pthread_mutexattr_init(&checking);
    pthread_mutexattr_settype(&checking, PTHREAD_MUTEX_ERRORCHECK);
    int failed = function(mutex, &checking);
    pthread_mutexattr_destroy(&checking);
    return failed;
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    static void *_Atomic found;
    mutex_function function;
    *(void **)&function = real("pthread_mutex_lock", &found);
    return checked(function(mutex), EDEADLK, "a thread locks a mutex that it holds");
}

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    static void *_Atomic found;
    mutex_function function;
    *(void **)&function = real("pthread_mutex_unlock", &found);
    return checked(function(mutex), EPERM, "a thread unlocks a mutex that it does not hold");
}
