/* kinformer.h: Kubernetes informers for C. Includes every public header. */
#ifndef KINFORMER_KINFORMER_H
#define KINFORMER_KINFORMER_H

#include <kinformer/allocator.h>
#include <kinformer/config.h>
#include <kinformer/engine.h>
#include <kinformer/error.h>
#include <kinformer/export.h>
#include <kinformer/factory.h>
#include <kinformer/informer.h>
#include <kinformer/lister.h>
#include <kinformer/log.h>
#include <kinformer/object.h>
#include <kinformer/resource.h>
#include <kinformer/version.h>
#include <kinformer/view.h>

#endif
