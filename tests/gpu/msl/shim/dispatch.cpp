// What all kernels run on: compiled once, and linked with each of them.
#include "dispatch.h"
#include <algorithm>
#include <csetjmp>
#include <ucontext.h>

enum class State { ready, waiting, met, done };
struct Fiber {
    ucontext_t start;
    jmp_buf at;
    State state;
    bool started;
    int line; // of the barrier it waits at, or where its simdgroup meets
    std::vector<char> stack = std::vector<char>(256 << 10);
};
static std::vector<Fiber> fibers;
static jmp_buf scheduler, exit_of_dispatch;
static std::function<void(int)> thread_body;
static int first_invocation; // of the group
static bool given_up;

void give_up() {
    given_up = true;
    _longjmp(exit_of_dispatch, 1);
}

void Visits::check(int moment, const Visitor &now, bool writes, const char *what, long index) {
    const int many = -2;
    if (since != moment) since = moment, reader = writer = Visitor();
    if (!writer.before(now) || (writes && !reader.before(now))) {
        const int other = writer.before(now) ? reader.who : writer.who;
        std::snprintf(complaint, sizeof complaint, "race: threads %d and %d meet at %s[%ld]", other, now.who, what, index);
        give_up();
    }
    if (writes) {
        writer = now, written = true;
    } else {
        const bool first = reader.who == -1;
        reader = {first || reader.who == now.who ? now.who : many, first || reader.team == now.team ? now.team : many, now.turn};
    }
}

void Region::visit(long byte, long count, bool writes) {
    if (byte < 0 || byte + count > size) {
        std::snprintf(complaint, sizeof complaint, "out of bounds: byte %ld of the %ld of %s", byte, size, name);
        give_up();
    }
    for (long i = byte; !visits.empty() && i < byte + count; i++) visits[size_t(i)].check(0, {this_invocation, -1, 0}, writes, name, i);
}

static void pause(State state, int line) {
    Fiber &fiber = fibers[size_t(this_thread)];
    fiber.state = state, fiber.line = line;
    if (!_setjmp(fiber.at)) _longjmp(scheduler, 1);
}
void wait_at(int line) { pause(State::waiting, line); }
void meet_at(int line) { pause(State::met, line); }

static void enter() {
    thread_body(this_thread);
    fibers[size_t(this_thread)].state = State::done;
    _longjmp(scheduler, 1);
}

static void become(int thread) {
    this_thread = thread;
    this_invocation = first_invocation + thread;
    this_team = members[size_t(thread)].team;
    this_turn = members[size_t(thread)].turn;
}

static void resume(int thread) {
    Fiber &fiber = fibers[size_t(thread)];
    become(thread);
    if (_setjmp(scheduler)) return;
    if (fiber.started) _longjmp(fiber.at, 1);
    fiber.started = true;
    getcontext(&fiber.start);
    fiber.start.uc_stack.ss_sp = fiber.stack.data();
    fiber.start.uc_stack.ss_size = fiber.stack.size();
    fiber.start.uc_link = nullptr;
    makecontext(&fiber.start, enter, 0);
    setcontext(&fiber.start);
}

// 0, 1, ... count - 1: as they are (order 0), backwards (1) or shuffled; `state` is the shuffle's.
static std::vector<int> permuted(int count, unsigned order, std::uint32_t &state) {
    std::vector<int> result(static_cast<size_t>(count));
    for (int i = 0; i < count; i++) result[size_t(i)] = order == 1 ? count - 1 - i : i;
    for (int i = count - 1; order > 1 && i > 0; i--) {
        state = state * 1664525u + 1013904223u;
        std::swap(result[size_t(i)], result[(state >> 8) % unsigned(i + 1)]);
    }
    return result;
}

// The threads of a simdgroup that have met go on; whether there were any.
static bool release_teams(int threads) {
    static std::vector<int> met, line;
    met.assign(team_sizes.size(), 0), line.assign(team_sizes.size(), -1);
    bool released = false;
    for (int i = 0; i < threads; i++) {
        const Fiber &fiber = fibers[size_t(i)];
        const size_t team = size_t(members[size_t(i)].team);
        if (fiber.state != State::met) continue;
        if (line[team] == -1) line[team] = fiber.line;
        met[team] += fiber.line == line[team];
    }
    for (int i = 0; i < threads; i++) {
        const size_t team = size_t(members[size_t(i)].team);
        if (met[team] == team_sizes[team]) fibers[size_t(i)].state = State::ready, released = true;
    }
    for (size_t team = 0; !released && team < team_sizes.size(); team++) {
        if (met[team] == 0) continue;
        std::snprintf(complaint, sizeof complaint, "divergence: %d of the %d threads of a simdgroup meet in line %d", met[team], team_sizes[team], line[team]);
        give_up();
    }
    return released;
}

static void make_teams(const std::vector<int> &threads) {
    threads_in_teams = threads;
    members.resize(threads.size());
    team_sizes.assign((threads.size() + size_t(team_width) - 1) / size_t(team_width), 0);
    for (size_t i = 0; i < threads.size(); i++) {
        Member &member = members[size_t(threads[i])];
        member.team = int(i) / team_width, member.lane = int(i) % team_width, member.turn = member.meetings = 0;
        team_sizes[size_t(member.team)]++;
    }
}

// All threads of one group, from barrier to barrier. Threads that wait at different places, or wait while others have ended, diverge.
static void run_group(int threads, unsigned order, std::uint32_t &state) {
    if (fibers.size() < size_t(threads)) fibers.resize(size_t(threads));
    for (int i = 0; i < threads; i++) fibers[size_t(i)].state = State::ready, fibers[size_t(i)].started = false;
    for (phase = 0;;) {
        for (int thread : permuted(threads, order, state)) {
            if (fibers[size_t(thread)].state == State::ready) resume(thread);
        }
        if (release_teams(threads)) continue;
        int waiting = 0, line = fibers[0].line;
        for (int i = 0; i < threads; i++) waiting += fibers[size_t(i)].state == State::waiting && fibers[size_t(i)].line == line;
        if (std::all_of(fibers.begin(), fibers.begin() + threads, [](const Fiber &fiber) { return fiber.state == State::done; })) return;
        if (waiting != threads) {
            std::snprintf(complaint, sizeof complaint, "divergence: %d of %d threads wait at the barrier of line %d", waiting, threads, line);
            give_up();
        }
        for (int i = 0; i < threads; i++) fibers[size_t(i)].state = State::ready;
        phase++;
    }
}

int run_grid(const int *grid, int threads, unsigned order, bool has_barriers, const std::function<void(int, int)> &call) {
    std::uint32_t state = order;
    given_up = false;
    // Nothing that needs a destructor is alive where give_up() starts but what the fibers' own stacks hold.
    if (_setjmp(exit_of_dispatch)) return 1;
    static std::vector<int> groups;
    groups = permuted(grid[0] * grid[1] * grid[2], order, state);
    element_at = permuted(64, order, state);
    for (int group : groups) {
        this_group++;
        phase = 0;
        make_teams(permuted(threads, order, state));
        first_invocation = group * threads;
        if (has_barriers) {
            thread_body = [&call, group](int thread) { call(group, thread); };
            run_group(threads, order, state);
        } else {
            for (int thread : permuted(threads, order, state)) become(thread), call(group, thread);
        }
    }
    return 0;
}
