/* The first n bytes (all of them when n >= LANES), in lanes from which bytes_store_some puts them back; nothing past them is touched. */
INLINE bytes_t bytes_load_some(const activation *p, int32_t n) {
    activation part[LANES] = {0};
    if (n >= LANES) return bytes_load(p);
    if (n >= LANES / 2) return bytes_load_part(p, n); /* by way of memory, what is read waits for all that is written */
    copy_some(part, p, n);
    return bytes_load(part);
}

INLINE void bytes_store_some(activation *p, bytes_t v, int32_t n) {
    if (n >= LANES) {
        bytes_store(p, v);
    } else if (n >= LANES / 2) {
        bytes_store_part(p, v, n);
    } else {
        activation part[LANES];
        bytes_store(part, v);
        copy_some(p, part, n);
    }
}
