/* kinformer.h: Kubernetes informers for C. Includes every public header. What all of them agree on:
 *
 *   - A pointer that a function takes must not be NULL, unless its comment says what NULL means there. `user` and `err` always may
 *     be NULL, `options` where the comment says so, and every _free, _unref and _clear accepts NULL. A function that returns a ki_status says
 *     KI_ERR_INVALID of a NULL that it cannot work with.
 *   - Options are made by the macro of their name, KI_FACTORY_OPTIONS(.engine = engine), in C; in C++ the struct is emptied and its
 *     `size` set to its sizeof. Zero is each field's default.
 *   - A result in a ret_... parameter is written on success only. */
#ifndef KINFORMER_KINFORMER_H
#define KINFORMER_KINFORMER_H

#include <kinformer/allocator.h>
#include <kinformer/client.h>
#include <kinformer/config.h>
#include <kinformer/controller.h>
#include <kinformer/discovery.h>
#include <kinformer/engine.h>
#include <kinformer/error.h>
#include <kinformer/events.h>
#include <kinformer/expiration_cache.h>
#include <kinformer/export.h>
#include <kinformer/factory.h>
#include <kinformer/informer.h>
#include <kinformer/leader.h>
#include <kinformer/lister.h>
#include <kinformer/log.h>
#include <kinformer/metrics.h>
#include <kinformer/mutation_cache.h>
#include <kinformer/object.h>
#include <kinformer/resource.h>
#include <kinformer/unstructured.h>
#include <kinformer/version.h>
#include <kinformer/view.h>
#include <kinformer/workqueue.h>

#endif
