// Simdgroups: threads that exchange registers where all of them meet. Which threads are one, which lane each has and which elements of a
// matrix lie in a lane is in no kernel's hands, so it changes with the order. Lines tell that all threads of a simdgroup meet at one place.
#pragma once
#include "memory.h"

void meet_at(int line); // waits until the whole simdgroup has met there
constexpr int matrix_lanes = 32; // what simdgroup matrices take
inline int team_width = matrix_lanes;
inline std::vector<int> team_sizes; // of the group that runs

struct Member {
    int team, lane, turn, meetings;
    alignas(8) uchar given[2][64]; // for the others; the one of the last meeting may still be read when the next begins
};
inline std::vector<Member> members; // by thread
inline std::vector<int> threads_in_teams; // team by team, by lane

// What every lane of the thread's simdgroup gave.
template <class T> struct Gathered {
    const int *threads;
    int count, which;
    T operator[](int lane) const {
        T value;
        std::memcpy(&value, members[size_t(threads[lane])].given[which], sizeof value);
        return value;
    }
};
template <class T> Gathered<T> gather(int line, const T &mine) {
    Member &member = members[size_t(this_thread)];
    const int which = member.meetings++ % 2;
    static_assert(sizeof mine <= sizeof member.given[0], "what a thread gives");
    std::memcpy(member.given[which], &mine, sizeof mine);
    meet_at(line);
    return {&threads_in_teams[size_t(member.team * team_width)], team_sizes[size_t(member.team)], which};
}

inline void meet_as_barrier(int line) {
    gather(line, line);
    this_turn = ++members[size_t(this_thread)].turn;
}

template <class T, class F> T join_lanes(int line, T mine, F join) {
    const Gathered<T> all = gather(line, mine);
    T result = all[0];
    for (int lane = 1; lane < all.count; lane++) result = join(result, all[lane]);
    return result;
}

// Element number `element_at[lane * 2 + i]` of 8 rows of 8 is own[i] of a lane.
inline std::vector<int> element_at = std::vector<int>(64);
template <class T, int R, int C> struct simdgroup_matrix {
    static_assert(R == 8 && C == 8, "Metal's matrices are 8 x 8");
    T own[2];
    bool known = false;
};
typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
inline int element_of(int i) { return element_at[size_t(members[size_t(this_thread)].lane * 2 + i)]; }

inline void complain_of_matrix(int line, const char *what) {
    std::snprintf(complaint, sizeof complaint, "matrix of line %d: %s", line, what);
    give_up();
}
inline void check_alike(int line, long first, long pitch) {
    struct Place {
        long first, pitch;
    };
    const Gathered<Place> all = gather(line, Place{first, pitch});
    if (all.count != matrix_lanes) complain_of_matrix(line, "the simdgroup has idle lanes");
    for (int lane = 0; lane < all.count; lane++) {
        if (all[lane].first != first || all[lane].pitch != pitch) complain_of_matrix(line, "threads of a simdgroup mean different places");
    }
}
template <class T, int R, int C> simdgroup_matrix<T, R, C> make_filled_simdgroup_matrix(T value) { return {{value, value}, true}; }
template <class T, class P> void load_matrix(int line, simdgroup_matrix<T, 8, 8> &matrix, P from, long pitch) {
    check_alike(line, from.first, pitch);
    for (int i = 0; i < 2; i++) matrix.own[i] = from[element_of(i) / 8 * pitch + element_of(i) % 8];
    matrix.known = true;
}
template <class T, class P> void store_matrix(int line, const simdgroup_matrix<T, 8, 8> &matrix, P to, long pitch) {
    check_alike(line, to.first, pitch);
    if (!matrix.known) complain_of_matrix(line, "is stored before it is known");
    for (int i = 0; i < 2; i++) to[element_of(i) / 8 * pitch + element_of(i) % 8] = matrix.own[i];
}
// d = a b + c; a and b may have fewer bits.
template <class T, class A>
void multiply_matrices(int line, simdgroup_matrix<T, 8, 8> &d, const simdgroup_matrix<A, 8, 8> &a, const simdgroup_matrix<A, 8, 8> &b, const simdgroup_matrix<T, 8, 8> &c) {
    struct Parts {
        A a[2], b[2];
    };
    const Gathered<Parts> all = gather(line, Parts{{a.own[0], a.own[1]}, {b.own[0], b.own[1]}});
    if (all.count != matrix_lanes) complain_of_matrix(line, "the simdgroup has idle lanes");
    if (!a.known || !b.known || !c.known) complain_of_matrix(line, "is used before it is known");
    T left[64], right[64];
    for (int place = 0; place < 64; place++) {
        const Parts parts = all[place / 2];
        left[element_at[size_t(place)]] = T(parts.a[place % 2]), right[element_at[size_t(place)]] = T(parts.b[place % 2]);
    }
    for (int i = 0; i < 2; i++) {
        T sum = c.own[i];
        for (int k = 0; k < 8; k++) sum += left[element_of(i) / 8 * 8 + k] * right[k * 8 + element_of(i) % 8];
        d.own[i] = sum;
    }
    d.known = true;
}
