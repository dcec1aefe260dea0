/* What the stubs have beside Apple's own names. */
#pragma once
#import <Foundation/Foundation.h>

@interface NSMutableString (Stub)
- (void)appendBytes:(const char *)bytes;
@end

@interface NSArray (Stub)
- (instancetype)initWithObject:(id (*)(NSUInteger))make count:(NSUInteger)number;
@end

@interface NSError (Stub)
- (instancetype)initWithCode:(NSInteger)number;
@end

void *_Block_copy(const void *block);
void _Block_release(const void *block);
