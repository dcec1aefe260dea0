/** What Several.kt asks of the interface in Kotlin, asked of that in Java: lines with the same names have to have the same answers. */

import ai.edgec.rows.Rows;
import ai.edgec.rows.Tensor;
import ai.edgec.scenes.Label;
import ai.edgec.scenes.Picture;
import ai.edgec.scenes.Scenes;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;

public class Several {
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

    static ByteBuffer direct(int bytes) {
        return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
    }

    static String words(Rows.Outputs found) {
        final StringBuilder text = new StringBuilder();
        for (float value : found.y) text.append(String.format("%08x", Float.floatToRawIntBits(value)));
        text.append(' ');
        for (float value : found.z) text.append(String.format("%08x", Float.floatToRawIntBits(value)));
        for (int at = 0; at < found.w.length; at++) text.append(at == 0 ? ' ' : ',').append(found.w[at]);
        return text.toString();
    }

    static void answers(File folder, Rows model) throws IOException {
        final ByteBuffer data = ByteBuffer.wrap(Files.readAllBytes(new File(folder, "inputs.bin").toPath())).order(ByteOrder.LITTLE_ENDIAN);
        final int sets = Rows.inputs.get(0).getShapes().size();
        for (int set = 1; set <= sets; set++) {
            int elements = 1;
            for (int extent : Rows.inputs.get(0).getShapes().get(set - 1)) elements *= extent;
            final float[] x = new float[elements];
            final long[] mask = new long[elements / 8];
            for (int at = 0; at < x.length; at++) x[at] = data.getFloat();
            for (int at = 0; at < mask.length; at++) mask[at] = data.getLong();
            final Rows.Outputs found = set == 2 ? model.run(x, mask) : model.run(x, mask, set);
            say("one." + (set - 1), words(found));
        }
    }

    static void errors(Rows model) {
        final float[] x = new float[32];
        final long[] mask = new long[4];
        failure("none", () -> model.run(new float[33], mask));
        failure("two", () -> model.run(x, mask));
        failure("static", () -> Rows.setOf(x, mask));
        failure("missing", () -> model.run(null, mask));
        failure("missing.set", () -> model.run(null, mask, 1));
        for (int set : new int[] {0, 4, -1, Integer.MAX_VALUE, Integer.MIN_VALUE}) failure("set." + set, () -> model.run(x, mask, set));
        failure("other", () -> model.run(x, mask, 2));
        failure("into", () -> model.runInto(x, mask, new float[20], new float[20], new long[4], 1));
        failure("into.two", () -> model.runInto(x, mask, new float[20], new float[5], new long[4]));
        failure("direct.set", () -> model.runDirect(direct(128), direct(32), direct(80), direct(20), direct(32), 0));
        failure("direct.odd", () -> model.runDirect(direct(1027), direct(256), direct(640), direct(40), direct(256)));
        say("set", Rows.setOf(new float[256], new long[32]));
        final List<String> facts = new ArrayList<>();
        for (Tensor tensor : Rows.outputs) facts.add(tensor.getShape() + " " + tensor.getElements() + " " + tensor.getShapes());
        say("facts", String.join(" ", facts));
    }

    static void tasks(File folder) throws IOException {
        final ByteBuffer data = ByteBuffer.wrap(Files.readAllBytes(new File(folder, "scenes.bin").toPath())).order(ByteOrder.LITTLE_ENDIAN);
        final float[] x = new float[432];
        for (int at = 0; at < x.length; at++) x[at] = data.getFloat();
        try (Scenes model = new Scenes()) {
            final StringBuilder text = new StringBuilder();
            for (Label found : model.classify(x, 5, 1)) text.append(text.length() == 0 ? "" : " ").append(found.getIndex() + " " + found.getScore());
            say("scenes.0", text);
            say("scenes.run", model.run(new Picture(11, 9, new int[99])).scores.length);
            say("scenes.third", model.classify(new float[189], 2).size());
            failure("scenes.two", () -> model.classify(x));
            failure("scenes.other", () -> model.classify(x, 3, 3));
        }
    }

    public static void main(String[] words) throws IOException {
        try (Rows model = new Rows()) {
            answers(new File(words[0]), model);
            errors(model);
        }
        tasks(new File(words[0]));
        say("end", "reached");
    }
}
