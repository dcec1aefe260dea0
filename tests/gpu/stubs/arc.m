/* What clang's ARC calls, on a GNU runtime that knows nothing of it. */
#import <Foundation/Foundation.h>

@interface NSAutoreleasePool : NSObject
- (void)drain;
@end

id objc_retain(id object) { return [object retain]; }
void objc_release(id object) { [object release]; }
id objc_retainAutoreleasedReturnValue(id object) { return [object retain]; }
void *objc_autoreleasePoolPush(void) { return [NSAutoreleasePool new]; }
void objc_autoreleasePoolPop(void *pool) { [(NSAutoreleasePool *)pool drain]; }

void objc_storeStrong(id *variable, id object) {
    id before = *variable;
    *variable = [object retain];
    [before release];
}

/* A module compiled with ARC says it is of version 10, and is longer by a word that this runtime does not read. As long as it
   defines no class, it differs in nothing else from version 8, which the runtime takes. */
struct module {
    unsigned long version, size;
};
void __real___objc_exec_class(struct module *module);
void __wrap___objc_exec_class(struct module *module);
void __wrap___objc_exec_class(struct module *module) {
    if (module->version == 10) {
        module->version = 8;
        module->size = 4 * sizeof(void *);
    }
    __real___objc_exec_class(module);
}
