/* What the Metal host uses of libdispatch, after Apple's public documentation. */
#pragma once
#include <stdint.h>

#if defined(__OBJC__)
@protocol OS_dispatch_semaphore <NSObject>
@end
typedef NSObject<OS_dispatch_semaphore> *dispatch_semaphore_t;
#endif

typedef uint64_t dispatch_time_t;
#define DISPATCH_TIME_NOW (0ull)

dispatch_time_t dispatch_time(dispatch_time_t when, int64_t delta);
dispatch_semaphore_t dispatch_semaphore_create(intptr_t value) NS_RETURNS_RETAINED;
intptr_t dispatch_semaphore_wait(dispatch_semaphore_t semaphore, dispatch_time_t timeout);
intptr_t dispatch_semaphore_signal(dispatch_semaphore_t semaphore);
#if !__has_feature(objc_arc)
#define dispatch_release(object) [object release]
#endif
