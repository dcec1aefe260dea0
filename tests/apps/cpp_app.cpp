// Exercises the class of the example model; standard input is an image, standard output its logits by three ways, if they are equal.
#include "digits.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

static void expect(bool holds, const char *what) {
    if (holds) return;
    std::fprintf(stderr, "not so: %s\n", what);
    std::exit(1);
}

template <class Work>
static std::string refusal(const Work &work) {
    try {
        work();
    } catch (const std::runtime_error &error) {
        return error.what();
    }
    return "";
}

static bool has(const std::string &text, const char *words) { return text.find(words) != std::string::npos; }

int main() {
    digits::Digits model(2);
    digits::Inputs inputs;
    static_assert(inputs.image.size() == 64 && digits::Inputs::image_shape[3] == 8 && digits::Outputs::logits_shape.size() == 2);
    static_assert(!std::is_copy_constructible<digits::Digits>::value && std::is_nothrow_move_constructible<digits::Digits>::value);
    expect(std::fread(inputs.image.data(), sizeof(float), inputs.image.size(), stdin) == inputs.image.size(), "there is an image");

    const digits::Outputs outputs = model.run(inputs);
    std::array<float, 10> again{};
    std::vector<float> image(inputs.image.begin(), inputs.image.end());
    model.run(image, again);
    expect(std::memcmp(again.data(), outputs.logits.data(), sizeof again) == 0, "both ways answer alike");

    const auto best = model.classify(inputs, 3);
    const auto likeliest = std::max_element(again.begin(), again.end()) - again.begin();
    expect(best.size() == 3 && best[0].index == likeliest && best[0].score >= best[1].score, "the best class is first");
    expect(best[0].label == "digit " + std::to_string(likeliest), "classes have labels");
    expect(model.classify(image, 99).size() == 10, "there are no more than all classes");

    image.pop_back();
    expect(has(refusal([&] { model.run(image, again); }), "image needs 64 elements"), "a wrong size is refused");
    expect(model.try_run(image, again) == DIGITS_BAD_ARGUMENT, "a wrong size has a status");
    expect(has(refusal([&] { model.classify(inputs, -1); }), "classify"), "a negative count is refused");
    expect(has(refusal([&] { model.force_isa("none of these"); }), "set of instructions"), "an unknown set of instructions is refused");
    expect(has(refusal([] { digits::Digits none(0); }), "out of its range"), "no threads are refused");
    expect(has(refusal([] { digits::Digits none(1 << 30); }), "out of its range"), "too many threads are refused");
    expect(model.isa() == "portable", "the set of instructions is told");

    digits::Digits other = std::move(model);
    expect(has(refusal([&] { model.run(inputs); }), "not initialized"), "what was moved from cannot run");
    bool equal[2] = {true, true};
    const auto work = [&](int index) {
        for (int turn = 0; turn < 30; turn++) {
            const auto found = other.run(inputs);
            equal[index] = equal[index] && std::equal(found.logits.begin(), found.logits.end(), again.begin());
        }
    };
    std::thread first(work, 0), second(work, 1);
    first.join();
    second.join();
    expect(equal[0] && equal[1], "threads that share an instance take turns");
    other = digits::Digits();
    expect(other.try_run(inputs, const_cast<digits::Outputs &>(outputs)) == DIGITS_OK, "an instance can take another's place");
    std::fwrite(outputs.logits.data(), sizeof(float), outputs.logits.size(), stdout);
    return 0;
}
