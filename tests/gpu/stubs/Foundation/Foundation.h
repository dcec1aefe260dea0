/* What the Metal host uses of Foundation, after Apple's public documentation: enough to parse it anywhere, and to run it
   with stubs/foundation.m and a GNU runtime. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define NS_RETURNS_RETAINED __attribute__((ns_returns_retained))
#define NS_FORMAT_FUNCTION(F, A) __attribute__((format(NSString, F, A)))
#define API_AVAILABLE(...)

#ifndef nil
#define nil ((id)0)
#endif
typedef signed char BOOL;
#define YES ((BOOL)1)
#define NO ((BOOL)0)
typedef unsigned long NSUInteger;
typedef long NSInteger;
typedef const void *CFTypeRef;
@class NSString;

@protocol NSObject
#if !__has_feature(objc_arc)
- (instancetype)retain;
- (oneway void)release;
- (instancetype)autorelease;
#endif
@end

__attribute__((objc_root_class)) @interface NSObject <NSObject> {
@public
    Class kind;
}
+ (instancetype)alloc;
+ (instancetype)new;
- (instancetype)init;
- (void)dealloc;
@end

@interface NSString : NSObject
+ (instancetype)stringWithUTF8String:(const char *)text;
+ (instancetype)stringWithFormat:(NSString *)format, ... NS_FORMAT_FUNCTION(1, 2);
@property(readonly) const char *UTF8String;
@end

@interface NSConstantString : NSString {
    char *characters;
    unsigned int count;
}
@end

@interface NSMutableString : NSString {
    char *text;
    size_t length;
}
- (void)appendString:(NSString *)text;
@end

@interface NSArray<__covariant ObjectType> : NSObject {
    id objects[8];
    NSUInteger count;
}
@property(readonly) NSUInteger count;
- (ObjectType)objectAtIndex:(NSUInteger)index;
@end

@interface NSError : NSObject {
    NSInteger code;
}
@property(readonly) NSInteger code;
@property(readonly, copy) NSString *localizedDescription;
@end

CFTypeRef CFRetain(CFTypeRef object);
void CFRelease(CFTypeRef object);
#if __has_feature(objc_arc)
static inline CFTypeRef CFBridgingRetain(id object) { return (__bridge_retained CFTypeRef)object; }
#else
static inline CFTypeRef CFBridgingRetain(id object) { return object != nil ? CFRetain((CFTypeRef)object) : NULL; }
#endif

#include <dispatch/dispatch.h>
