// The part of Arduino's core that sketches of packages use, over the board of the exam.
#pragma once
#include <stdint.h>

struct Port {
    void begin(unsigned long baud);
    void print(const char *text);
    void print(char letter);
    void print(long number);
    void print(double number) { print((long)number); }
    void print(int number) { print((long)number); }
    void print(unsigned long number) { print((long)number); }
    template <class Value> void println(Value value) {
        print(value);
        print('\n');
    }
};
extern Port Serial;

unsigned long micros();
void delay(unsigned long milliseconds);
void setup();
void loop();
