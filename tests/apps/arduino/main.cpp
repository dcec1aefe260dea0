// Arduino's main program, which ends at the first delay.
#include "Arduino.h"
extern "C" {
#include "digits_board.h"
#include "semihosting.h"
}

Port Serial;
static int32_t console;

void Port::begin(unsigned long) { console = host_open("/dev/stdout", 11, MODE_APPEND); }
void Port::print(char letter) { host_write(console, &letter, 1); }
void Port::print(const char *text) {
    for (; *text != '\0'; text++) print(*text);
}
void Port::print(long number) {
    if (number < 0) print('-'), number = -number;
    if (number > 9) print(number / 10);
    print((char)('0' + number % 10));
}

unsigned long micros() { return (unsigned long)(board_ticks() / (CLOCK_HZ / 1000000)); }
void delay(unsigned long) { host_exit(0); }

extern "C" int main() {
    setup();
    for (;;) loop();
}
