/* kinformer.hpp: kinformer in C++17 and later, header-only, over the C headers.
 *
 *     kinformer::factory factory;                                                  in-cluster, else the kubeconfig
 *     kinformer::informer pods = factory.informer<pod>(KI_PODS);
 *     kinformer::handler handler;
 *     handler.on_add = [](const kinformer::event &e) { std::cout << e.obj.key() << "\n"; };
 *     pods.add_handler(handler);
 *     factory.run();                                                               until a signal
 *
 * What is here adds what C does not have: owners, exceptions, lambdas, std::string_view, range-for, std::chrono. For
 * all else call the C function with get(): ki_informer_has_synced(pods.get()). call() and make() turn the errors and
 * results of every C function into exceptions and owners. The comments of the C headers apply: Threads, Blocks, Errors.
 *
 *   - Errors: each function that fails throws kinformer::error. A text with a zero character is KI_ERR_INVALID.
 *   - Ownership: a class that owns can be moved, not copied. A moved-from owner can be destroyed and assigned.
 *     `object`, `informer` and what a range gives are borrowed: copy them freely, while their owner lives.
 *     object::ref() keeps an object. Declare the factory first: controllers, electors and recorders must be destroyed
 *     before their factory.
 *   - Lambdas are copied, and what they refer to must outlive the factory. Those of a handler are destroyed after its
 *     last call, when it is removed or the factory is destroyed. Others are destroyed with the factory. A factory must
 *     not be destroyed in a handler: it is then neither stopped nor freed.
 *   - Exceptions in lambdas never reach the library. Those of a reconciler are its error: the key is processed again.
 *     Those of a transform or an index function are its failure. Those of any function but a reconciler are also given
 *     to `on_exception` of the factory, on the thread where they were thrown; without one they are written to the
 *     factory's log, else to stderr in the form of ki_log_stderr. The handler stays, and gets the next event. What
 *     `on_exception` throws ends the program (std::terminate).
 *   - Time: any std::chrono duration that is exact in milliseconds; kinformer::forever is no limit.
 *   - Views: a struct with KI_VIEW. A member kinformer::list<container> is a list of such structs.
 *
 *         struct container {
 *             const char *name, *image;
 *             KI_VIEW(KI_FIELD(container, name, "name"), KI_FIELD(container, image, "image"))
 *         };
 *         struct pod {
 *             const char *node;
 *             kinformer::list<container> containers;
 *             KI_VIEW(KI_FIELD(pod, node, "spec.nodeName"), KI_FIELD(pod, containers, "spec.containers"))
 *         };
 */
#ifndef KINFORMER_KINFORMER_HPP
#define KINFORMER_KINFORMER_HPP

#include <kinformer/cpp/error.hpp>
#include <kinformer/cpp/factory.hpp>
#include <kinformer/cpp/handler.hpp>
#include <kinformer/cpp/informer.hpp>
#include <kinformer/cpp/object.hpp>
#include <kinformer/cpp/snapshot.hpp>
#include <kinformer/kinformer.h>

#endif
