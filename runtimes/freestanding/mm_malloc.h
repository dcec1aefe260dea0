/* The compiler's headers of x86 intrinsics include this; packages allocate nothing. */
