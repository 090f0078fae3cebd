/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/sanitizer.h - is this built with a sanitizer that has memory, threads or calls of its own?
 *
 * 1 or 0, for #if and for conditions: SANITIZER_ADDRESS, SANITIZER_THREAD, SANITIZER_MEMORY, and SANITIZER for any of
 * them. gcc says it by macros, clang by __has_feature (clang.llvm.org/docs/LanguageExtensions.html).
 */
#ifndef DECIMA_BASE_SANITIZER_H
#define DECIMA_BASE_SANITIZER_H

#ifdef __has_feature
#define SANITIZER_ADDRESS __has_feature(address_sanitizer)
#define SANITIZER_THREAD  __has_feature(thread_sanitizer)
#define SANITIZER_MEMORY  __has_feature(memory_sanitizer)
#else
#ifdef __SANITIZE_ADDRESS__
#define SANITIZER_ADDRESS 1
#else
#define SANITIZER_ADDRESS 0
#endif
#ifdef __SANITIZE_THREAD__
#define SANITIZER_THREAD 1
#else
#define SANITIZER_THREAD 0
#endif
#define SANITIZER_MEMORY 0
#endif

#define SANITIZER (SANITIZER_ADDRESS || SANITIZER_THREAD || SANITIZER_MEMORY)

#endif
