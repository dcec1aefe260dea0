/** What Driver.kt asks of the interface in Kotlin, asked of that in Java: lines with the same names have to have the same answers. */

import ai.edgec.Model_exception.ModelException_2;
import ai.edgec.areas.Areas;
import ai.edgec.areas.Mask;
import ai.edgec.digits.Digits;
import ai.edgec.digits.Label;
import ai.edgec.digits.Picture;
import ai.edgec.digits.Tensor;
import ai.edgec.finder.Box;
import ai.edgec.finder.Finder;
import ai.edgec.native_2.Native;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

public class Plain {
    static void say(String name, Object answer) {
        System.out.println(name + "\t" + answer);
    }

    static void failure(String name, Runnable act) {
        try {
            act.run();
            say(name, "nothing");
        } catch (RuntimeException error) {
            say(name, error.getClass().getSimpleName() + ": " + error.getMessage());
        }
    }

    static String bits(float... values) {
        final StringBuilder text = new StringBuilder();
        for (float value : values) text.append(text.length() == 0 ? "" : " ").append(String.format("%08x", Float.floatToRawIntBits(value)));
        return text.toString();
    }

    static ByteBuffer direct(int bytes) {
        return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
    }

    static ByteBuffer direct(float[] values) {
        final ByteBuffer buffer = direct(4 * values.length);
        buffer.asFloatBuffer().put(values);
        return buffer;
    }

    static List<float[]> images(File folder) throws IOException {
        final byte[] bytes = Files.readAllBytes(new File(folder, "images.bin").toPath());
        final List<float[]> found = new ArrayList<>();
        for (int at = 0; at < bytes.length; at += 256) {
            found.add(new float[64]);
            ByteBuffer.wrap(bytes, at, 256).order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer().get(found.get(found.size() - 1));
        }
        return found;
    }

    static void answers(List<float[]> images) {
        try (Digits model = new Digits(3)) {
            say("threads", model.getThreads());
            say("isa", model.getIsa());
        }
        try (Digits model = new Digits()) {
            say("labels", String.join("|", Digits.labels));
            final Tensor fact = Digits.inputs.get(0);
            say("facts", String.join(" ", fact.getName(), fact.getType(), "" + fact.getShape(), fact.getElements() + " " + fact.getScale(), "" + fact.getZeroPoint()));
            for (int i = 0; i < images.size(); i++) {
                say("run." + i, bits(model.run(images.get(i)).logits));
                final List<String> best = new ArrayList<>();
                for (Label label : model.classify(images.get(i), 3)) best.add(label.getIndex() + ":" + bits(label.getScore()));
                say("classify." + i, String.join(" ", best));
                final ByteBuffer answer = direct(40);
                model.runDirect(direct(images.get(i)), answer);
                final float[] numbers = new float[10];
                answer.asFloatBuffer().get(numbers);
                say("direct." + i, bits(numbers));
            }
            say("most.all", model.classify(images.get(0), Integer.MAX_VALUE).size());
            final Label first = model.classify(images.get(0)).get(0);
            say("label", first.getLabel().equals(Digits.getLabels().get(first.getIndex())));
            failure("none", () -> Digits.labels.get(10));
            say("alike", first.equals(model.classify(images.get(0), 1).get(0)) && !first.equals(model.classify(images.get(0)).get(1)));
            final Picture picture = new Picture(16, 9, new int[144]);
            say("picture", bits(model.run(picture).logits).equals(bits(model.run(Digits.fromPicture(picture)).logits)));
        }
    }

    static void errors(float[] image) {
        final Digits model = new Digits(2);
        final ByteBuffer given = direct(image);
        final ByteBuffer answer = direct(40);
        failure("short", () -> model.run(new float[63]));
        failure("long", () -> model.runInto(image, new float[11]));
        failure("heap", () -> model.runDirect(ByteBuffer.allocate(256).order(ByteOrder.nativeOrder()), answer));
        failure("order", () -> model.runDirect(direct(256).order(ByteOrder.BIG_ENDIAN), answer));
        failure("bytes", () -> model.runDirect(direct(252), answer));
        failure("readonly", () -> model.runDirect(given, answer.asReadOnlyBuffer().order(ByteOrder.nativeOrder())));
        failure("most", () -> model.classify(image, 0));
        failure("no threads", () -> new Digits(0));
        failure("many threads", () -> new Digits(1000));
        model.close();
        model.close();
        failure("closed", () -> model.run(image));
        failure("closed.direct", () -> model.runDirect(given, answer));
        failure("closed.classify", () -> model.classify(image));
    }

    static void tasks() {
        try (Finder model = new Finder()) {
            final byte[] image = new byte[3072];
            int i = 0;
            for (Box box : model.detect(image)) say("box." + i++, box);
            i = 0;
            for (Box box : model.detect(new ai.edgec.finder.Picture(128, 64, new int[128 * 64]))) say("box.picture." + i++, box);
            say("box.all", model.detect(image, 0.8f, 1f).size());
            failure("box.nan", () -> model.detect(image, Float.NaN));
            failure("box.many", () -> model.detect(image, 0.3f, 0.5f, 1001));
        }
        try (Areas model = new Areas()) {
            final Mask mask = model.segment(new float[] {1, -1, 0, 2, -2, 3});
            say("mask", mask.getWidth() + " " + mask.getHeight() + " " + Arrays.toString(mask.getClasses()));
        }
        try (Native model = new Native(2)) {
            final float[] first = {1, 0};
            final float[] second = {0, 1};
            say("heard", model.keyword(first));
            say("heard.sure", model.keyword(second, 0.9f));
            model.resetKeyword();
            say("heard.reset", model.keyword(second));
            model.reset();
            say("heard.anew", model.keyword(first));
        }
    }

    static void hostile() {
        try (ModelException_2 model = new ModelException_2()) {
            final List<String> names = new ArrayList<>();
            for (ai.edgec.Model_exception.Tensor input : ModelException_2.inputs) names.add(input.getName());
            say("hostile.names", String.join("|", names));
            final ModelException_2.Outputs found = model.run(
                    new float[] {1, 2, 3, 4}, new float[] {2, 2, 2, 2}, new long[] {1, 2, 3, -(1L << 62)}, new boolean[] {false, true, false});
            say("hostile.float", Arrays.toString(found.constructor_));
            say("hostile.class", Arrays.toString(found.class_2));
            say("hostile.long", Arrays.toString(found.memory));
            say("hostile.bool", Arrays.toString(found.output));
        }
    }

    public static void main(String[] args) throws IOException {
        final List<float[]> images = images(new File(args[0]));
        answers(images);
        errors(images.get(0));
        tasks();
        hostile();
        say("end", "reached");
    }
}
