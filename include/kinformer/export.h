/* export.h: attributes of declarations. Every other header includes it; a program need not. */
#ifndef KINFORMER_EXPORT_H
#define KINFORMER_EXPORT_H

#include <kinformer/sized.h>

#if defined(__GNUC__) || defined(__clang__)
#define KI_API __attribute__((__visibility__("default")))
#define KI_MUST_CHECK __attribute__((__warn_unused_result__))
#define KI_PRINTF(format_index, first_index) __attribute__((__format__(__printf__, format_index, first_index)))
#else
#define KI_API
#define KI_MUST_CHECK
#define KI_PRINTF(format_index, first_index)
#endif

/* An exception must not leave a callback: it would unwind C functions of the library that hold locks and memory. In
 * C++17 noexcept is part of a function's type, and a callback that may throw does not compile: write `[](const ki_event
 * *event, void *user) noexcept { … }`. In earlier C++ the compiler does not check. */
#if defined(__cplusplus) && __cplusplus >= 201703L
#define KI_NOEXCEPT noexcept
#else
#define KI_NOEXCEPT
#endif

#ifdef __cplusplus
#define KI_BEGIN_DECLS extern "C" {
#define KI_END_DECLS }
#else
#define KI_BEGIN_DECLS
#define KI_END_DECLS
#endif

#endif
