/** What tests ask of a package that takes several sets of shapes, on a JVM. Prints lines `name TAB answer`. */

import ai.edgec.rows.Rows
import ai.edgec.rows.RowsExam
import ai.edgec.rows.RowsNative
import ai.edgec.scenes.Picture
import ai.edgec.scenes.Scenes
import ai.edgec.stream.Stream
import ai.edgec.stream.StreamExam
import java.io.File
import java.nio.ByteBuffer
import java.nio.ByteOrder

fun say(name: String, answer: Any?) = println("$name\t$answer")

fun failure(name: String, act: () -> Unit) =
    try {
        act()
        say(name, "nothing")
    } catch (error: RuntimeException) {
        say(name, "${error.javaClass.simpleName}: ${error.message}")
    }

fun direct(bytes: Int): ByteBuffer = ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder())

fun direct(values: FloatArray): ByteBuffer = direct(4 * values.size).also { it.asFloatBuffer().put(values) }

fun direct(values: LongArray): ByteBuffer = direct(8 * values.size).also { it.asLongBuffer().put(values) }

fun bits(values: FloatArray) = values.joinToString("") { "%08x".format(it.toRawBits()) }

/** An output in the middle of an array whose other numbers must stay. */
class Guarded(bytes: Int) {
    val all: ByteBuffer = direct(bytes + 128)
    val own: ByteBuffer

    init {
        for (at in 0 until all.capacity()) all.put(at, 7)
        own = all.duplicate().also { it.position(64) }.also { it.limit(64 + bytes) }.slice().order(ByteOrder.nativeOrder())
    }

    fun stayed() = (0 until 64).all { all.get(it).toInt() == 7 && all.get(all.capacity() - 1 - it).toInt() == 7 }
}

fun answers(folder: File, model: Rows, name: String) {
    val data = ByteBuffer.wrap(File(folder, "inputs.bin").readBytes()).order(ByteOrder.LITTLE_ENDIAN)
    val given = Rows.inputs[0].shapes.indices.map { place ->
        val (x, mask) = Rows.inputs.map { tensor -> tensor.shapes[place].fold(1, Int::times) }
        Pair(FloatArray(x) { data.float }, LongArray(mask) { data.long })
    }
    for (place in listOf(1, 0, 2, 1)) {
        val (x, mask) = given[place]
        val found = if (place == 1) model.run(x, mask) else model.run(x, mask, set = place + 1)
        say("$name.$place", "${bits(found.y)} ${bits(found.z)} ${found.w.joinToString(",")}")
        val outputs = listOf(4 * found.y.size, 4 * found.z.size, 8 * found.w.size).map(::Guarded)
        val (y, z, w) = outputs.map { it.own }
        if (place == 1) model.runDirect(direct(x), direct(mask), y, z, w) else model.runDirect(direct(x), direct(mask), y, z, w, place + 1)
        val same = y == direct(found.y) && z == direct(found.z) && w == direct(found.w)
        say("$name.direct.$place", same && outputs.all { it.stayed() })
    }
}

fun errors(model: Rows) {
    val x = FloatArray(32)
    val mask = LongArray(4)
    failure("none") { model.run(FloatArray(33), mask) }
    failure("mixed") { model.run(FloatArray(256), mask) }
    failure("two") { model.run(x, mask) }
    failure("static") { Rows.setOf(x, mask) }
    for (set in listOf(0, 4, -1, Int.MAX_VALUE, Int.MIN_VALUE)) failure("set.$set") { model.run(x, mask, set) }
    failure("other") { model.run(x, mask, 2) }
    failure("into") { model.runInto(x, mask, FloatArray(20), FloatArray(20), LongArray(4), 1) }
    failure("into.set") { model.runInto(x, mask, FloatArray(20), FloatArray(5), LongArray(4), 9) }
    failure("into.two") { model.runInto(x, mask, FloatArray(20), FloatArray(5), LongArray(4)) }
    failure("direct.none") { model.runDirect(direct(x), direct(40), direct(80), direct(20), direct(32)) }
    failure("direct.set") { model.runDirect(direct(x), direct(mask), direct(80), direct(20), direct(32), 0) }
    failure("direct.short") { model.runDirect(direct(FloatArray(256)), direct(LongArray(32)), direct(640), direct(40), direct(255)) }
    failure("direct.other") { model.runDirect(direct(x), direct(mask), direct(80), direct(20), direct(32), 3) }
    failure("direct.odd") { model.runDirect(direct(1027), direct(LongArray(32)), direct(640), direct(40), direct(256)) }
    say("set", Rows.setOf(FloatArray(256), LongArray(32)))
    say("facts", Rows.outputs.joinToString(" ") { "${it.shape} ${it.elements} ${it.shapes}" })
    say("after", model.run(FloatArray(256) { 1f }, LongArray(32) { 1 }).w.joinToString(","))
}

/** A task: a picture is of the first set, whose lengths another one has, too. */
fun tasks(folder: File) {
    val data = ByteBuffer.wrap(File(folder, "scenes.bin").readBytes()).order(ByteOrder.LITTLE_ENDIAN)
    val given = Scenes.inputs[0].shapes.map { shape -> FloatArray(shape.fold(1, Int::times)) { data.float } }
    Scenes().use { model ->
        for ((place, x) in given.withIndex()) {
            say("scenes.$place", model.classify(x, set = place + 1).joinToString(" ") { "${it.index} ${it.score}" })
        }
        val picture = Picture(11, 9, IntArray(99) { 4097 * it })
        val fitted = Scenes.fromPicture(picture)
        say("scenes.picture", fitted.size == 432 && model.classify(picture) == model.classify(fitted, 5, 1))
        say("scenes.run", model.run(picture).scores.size)
        say("scenes.third", model.classify(given[2], 2).size)
        failure("scenes.two") { model.classify(given[0]) }
        failure("scenes.other") { model.classify(given[0], most = 3, set = 3) }
    }
}

/** A stream, each of whose chunks has a set of its own; what is refused changes nothing. */
fun streams(folder: File) {
    Stream(threads = 2).use { model ->
        say("stream.exam", StreamExam.problems(model))
        for (name in listOf("stream", "stream.anew")) {
            val data = ByteBuffer.wrap(File(folder, "stream.bin").readBytes()).order(ByteOrder.LITTLE_ENDIAN)
            model.reset()
            val sizes = listOf(16, 64, 64, 32, 16, 64)
            val answers = sizes.map { size ->
                runCatching { model.run(FloatArray(17)) }
                runCatching { model.run(FloatArray(16), 3) }
                bits(model.run(FloatArray(size) { data.float }).y)
            }
            say(name, answers.joinToString(""))
        }
    }
}

/** The native functions alone, as a caller might call them that goes past the class. */
fun natives() {
    val held = direct(RowsNative.bytes(1).toInt())
    RowsNative.open(held, 1, 0, 0)
    for (set in listOf(0, 4, -1, Int.MIN_VALUE)) {
        failure("native.compute.$set") { RowsNative.compute(held, set, FloatArray(32), LongArray(4)) }
        failure("native.take.$set") { RowsNative.take(held, set, FloatArray(20), FloatArray(5), LongArray(4)) }
        failure("native.direct.$set") { RowsNative.runDirect(held, set, direct(128), direct(32), direct(80), direct(20), direct(32)) }
    }
    failure("native.compute.short") { RowsNative.compute(held, 2, FloatArray(32), LongArray(4)) }
    failure("native.take.long") { RowsNative.take(held, 1, FloatArray(160), FloatArray(5), LongArray(4)) }
    RowsNative.close(held)
}

fun main(words: Array<String>) {
    val folder = File(words[0])
    Rows().use { model ->
        say("exam", RowsExam.problems(model))
        answers(folder, model, "one")
        errors(model)
    }
    Rows(threads = 2).use { model ->
        say("exam.threads", RowsExam.problems(model))
        answers(folder, model, "two")
    }
    natives()
    tasks(folder)
    streams(folder)
    say("end", "reached")
}
