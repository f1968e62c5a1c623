/* kinformer.h: Kubernetes informers for C. Includes every header of libkinformer. The headers of its sister libraries
 * have folders of their own: kinformer-controllers, -print, -status, -testing. Conventions of all headers:
 *
 *   - Pointer parameters must not be NULL, unless the comment says what NULL means. `user` and `err` may always be
 *     NULL. Every function whose name ends with _free, _unref or _clear accepts NULL. A function that returns a
 *     ki_status returns KI_ERR_INVALID for a NULL that it does not accept.
 *   - Options with a member `size` are made with a macro: KI_FACTORY_OPTIONS(.engine = engine). Zero is the default of
 *     every member. In C++ the members must be in the order of their declaration (sized.h).
 *   - A parameter `ret_…` receives a result. It is written on success only.
 *   - "Ownership" says who frees a result: "borrowed from X" means that the result is valid until X is freed or
 *     changed, and must not be freed. "Static" results are valid forever.
 *   - "Threads" says which threads may call a function, or on which thread a callback runs. The loop is the thread that
 *     drives the engine (engine.h). "In a handler" means: inside any callback, not only those of a ki_handler.
 *   - "Blocks" says whether a function can wait. A function that does not block may still take a mutex for a short
 *     time.
 *   - Strings end with a zero byte, unless a parameter gives their size. Sizes are in bytes. */
#ifndef KINFORMER_KINFORMER_H
#define KINFORMER_KINFORMER_H

#include <kinformer/allocator.h>
#include <kinformer/client.h>
#include <kinformer/condition.h>
#include <kinformer/config.h>
#include <kinformer/diff.h>
#include <kinformer/discovery.h>
#include <kinformer/engine.h>
#include <kinformer/error.h>
#include <kinformer/export.h>
#include <kinformer/factory.h>
#include <kinformer/fetch.h>
#include <kinformer/informer.h>
#include <kinformer/lister.h>
#include <kinformer/log.h>
#include <kinformer/memory.h>
#include <kinformer/metrics.h>
#include <kinformer/object.h>
#include <kinformer/resource.h>
#include <kinformer/selector.h>
#include <kinformer/unstructured.h>
#include <kinformer/value.h>
#include <kinformer/version.h>
#include <kinformer/view.h>

#endif
