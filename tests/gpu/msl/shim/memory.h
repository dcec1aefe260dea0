// The memory that kernels see. Every access is checked: outside of a region, of a word that nobody wrote (threadgroup memory), or in
// conflict with another thread's access that no barrier orders (threadgroup memory: since the last barrier of the group or, within a
// simdgroup, of that; device memory: in the whole dispatch, for no barrier orders threads of different groups).
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <vector>
typedef unsigned int uint;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef _Float16 half;

inline char complaint[256];
[[noreturn]] void give_up(); // unwinds to the dispatch; `complaint` says why
void wait_at(int line); // a barrier
inline int this_invocation, this_group; // of the dispatch
inline int this_thread, phase; // of the group; how often all its threads have met at a barrier
inline int this_team, this_turn; // the thread's simdgroup; how often its threads have met at a barrier of their own

// Somebody of a simdgroup, at a turn of it.
struct Visitor {
    int who = -1, team = -1, turn = 0;
    bool before(const Visitor &other) const { return who == -1 || who == other.who || (team == other.team && turn < other.turn); }
};

// Who has read and who has written an element since a moment. Several readers are `many`, of one simdgroup or of `many`.
struct Visits {
    Visitor reader, writer;
    int since = -1;
    bool written = false;
    void check(int moment, const Visitor &now, bool writes, const char *what, long index);
};

struct Region {
    const char *name;
    uchar *bytes;
    long size;
    std::vector<Visits> visits; // of each byte; none when nobody can write
    void visit(long byte, long count, bool writes);
};
template <class T> struct device_element {
    Region *region;
    long byte;
    void visit(bool writes) const { region->visit(byte, long(sizeof(T)), writes); }
    operator std::remove_const_t<T>() const {
        std::remove_const_t<T> value;
        visit(false);
        std::memcpy(&value, region->bytes + byte, sizeof value);
        return value;
    }
    void operator=(T value) const {
        static_assert(!std::is_const_v<T>, "a store to constant memory");
        visit(true);
        std::memcpy(region->bytes + byte, &value, sizeof value);
    }
};

// device T *
template <class T> struct device_pointer {
    Region *region;
    device_pointer(Region *region) : region(region) {}
    template <class U> device_pointer(device_pointer<U> other) : region(other.region) {
        static_assert(std::is_const_v<T> || !std::is_const_v<U>, "const is lost");
    }
    device_element<T> operator[](long i) const { return {region, i * long(sizeof(T))}; }
};

// threadgroup T name[N];
template <class T, int N> struct threadgroup_array {
    struct Element {
        T value;
        Visits visits;
    };
    const char *name;
    std::vector<Element> elements = std::vector<Element>(N);
    int group = -1;
    struct reference {
        threadgroup_array *array;
        long i;
        operator T() const {
            Element &element = array->visit(i, false);
            if (!element.visits.written) {
                std::snprintf(complaint, sizeof complaint, "%s[%ld] is read before it is written", array->name, i);
                give_up();
            }
            return element.value;
        }
        void operator=(T value) const { array->visit(i, true).value = value; }
        void operator=(const reference &other) const { *this = T(other); }
        void operator+=(T value) const { *this = T(*this) + value; }
    };
    Element &visit(long i, bool writes);
    reference operator[](long i) { return {this, i}; }
    struct pointer {
        threadgroup_array *array;
        long first;
        reference operator[](long i) const { return {array, first + i}; }
    };
    pointer operator+(long i) { return {this, i}; }
};
template <class T, int N> typename threadgroup_array<T, N>::Element &threadgroup_array<T, N>::visit(long i, bool writes) {
    if (group != this_group) elements.assign(N, Element()), group = this_group;
    if (i < 0 || i >= N) {
        std::snprintf(complaint, sizeof complaint, "out of bounds: %s[%ld] of %d", name, i, N);
        give_up();
    }
    elements[size_t(i)].visits.check(phase, {this_thread, this_team, this_turn}, writes, name, i);
    return elements[size_t(i)];
}
