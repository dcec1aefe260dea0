"""Words that no name of an emitted program may be."""

from __future__ import annotations

KEYWORDS = frozenset(
    """
    auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while and or not xor bool
    class delete new this template true false try catch throw private public protected operator namespace using virtual
    typename friend export main NULL asm linux unix explicit mutable typeid nullptr constexpr decltype noexcept wchar_t
    alignas alignof and_eq bitand bitor char8_t char16_t char32_t co_await co_return co_yield compl concept const_cast consteval
    constinit dynamic_cast not_eq or_eq reinterpret_cast requires static_assert static_cast thread_local typeof xor_eq
    """.split()  # noqa: SIM905 - a list of words reads better so
)
# Parameters and variables of NAME_run and of the exam, beside which inputs and outputs stand
LOCALS = frozenset({
    "instance", "run", "steps", "step", "job", "i", "status", "sizes", "tensors", "pace", "unset", "least",
    "threads", "parts", "pieces", "do_part", "do_block",
})  # fmt: skip
# Macros of the headers that programs include, which would take the place of a parameter in the package's own header
MACROS = frozenset(
    """
    errno stdin stdout stderr complex imaginary noreturn environ near far small interface signals slots emit foreach i386 nil
    EOF NAN INFINITY HUGE_VAL I BUFSIZ CHAR_BIT INT_MIN INT_MAX UINT_MAX LONG_MIN LONG_MAX SIZE_MAX RAND_MAX CLOCKS_PER_SEC
    DOMAIN SING OVERFLOW UNDERFLOW PLOSS TLOSS M_PI M_E ERROR INFINITE MAX_PATH TRUE FALSE YES NO DEBUG NDEBUG
    """.split()  # noqa: SIM905
)
# What no package is called: its NAME.h would stand before a header of C and of systems, its NAME_init or NAME_t beside one of theirs,
# or Windows would not have its files. In small letters, since file systems may know no others.
PACKAGES = frozenset(
    """
    alloca assert complex ctype endian errno fcntl features fenv inttypes io iso646 limits link locale malloc math memory poll process
    pthread regex sched search semaphore setjmp signal spawn stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn
    string strings tgmath threads time uchar unistd utime wchar wctype byteswap cpuid dirent dlfcn elf windows windef intrin jni
    cnd mtx once res sem thrd tss edgec
    int8 int16 int32 int64 uint8 uint16 uint32 uint64 intptr uintptr intmax uintmax size ssize ptrdiff max_align float16 float32 float64
    blkcnt blksize boolean caddr char8 char16 char32 clock clockid daddr dev div error fpos fsid gid glob host iconv id idtype ino key
    ldiv lldiv loff mbstate mode nfds nlink off pid processor quad rlim sig_atomic sigset socklen stack suseconds task thread timer
    ucontext uid useconds uuid wctrans wint
    aux con nul prn com1 com2 com3 com4 com5 com6 com7 com8 com9 lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9
    """.split()  # noqa: SIM905
)
