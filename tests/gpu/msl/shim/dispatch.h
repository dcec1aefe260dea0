// Runs a grid of threadgroups, one after the other; the threads of a group are fibers that change where they meet only, in any order.
#include "memory.h"
#include "teams.h"
#include "metal_stdlib"
#include <functional>

// `call(group, thread)` runs one thread. 0, or `complaint` says what is wrong.
int run_grid(const int *grid, int threads, unsigned order, bool has_barriers, const std::function<void(int, int)> &call);
