/** What tests ask of emitted packages on a JVM. Prints lines `name TAB answer`; the tests compare them. One more word: the exams alone. */

import ai.edgec.digits.Digits
import ai.edgec.digits.DigitsExam
import ai.edgec.digits.DigitsNative
import ai.edgec.digits.Picture
import ai.edgec.digits.Processor
import ai.edgec.digits.inBackground
import java.io.File
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.util.concurrent.Callable
import java.util.concurrent.Executors
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.runBlocking

fun say(name: String, answer: Any?) = println("$name\t${answer.toString().replace("\n", "\\n")}")

fun failure(name: String, act: () -> Unit) =
    try {
        act()
        say(name, "nothing")
    } catch (error: Throwable) {
        val cause = (error as? java.lang.reflect.InvocationTargetException)?.targetException ?: error
        say(name, "${cause.javaClass.simpleName}: ${cause.message}")
    }

fun bits(values: FloatArray) = values.joinToString(" ") { "%08x".format(it.toRawBits()) }

fun direct(bytes: Int): ByteBuffer = ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder())

fun direct(values: FloatArray): ByteBuffer = direct(4 * values.size).also { it.asFloatBuffer().put(values) }

fun floats(buffer: ByteBuffer): FloatArray = FloatArray(buffer.capacity() / 4) { buffer.getFloat(4 * it) }

fun images(folder: File): List<FloatArray> {
    val data = ByteBuffer.wrap(File(folder, "images.bin").readBytes()).order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer()
    return List(data.capacity() / 64) { FloatArray(64).also(data::get) }
}

fun answers(images: List<FloatArray>) {
    Digits(threads = 3).use { model ->
        say("exam.threads", DigitsExam.problems(model))
        say("threads", model.threads)
        say("isa", model.isa)
    }
    Digits().use { model ->
        say("labels", Digits.labels.joinToString("|"))
        say("facts", Digits.inputs.joinToString { "${it.name} ${it.type} ${it.shape} ${it.elements} ${it.scale} ${it.zeroPoint}" })
        for ((i, image) in images.withIndex()) {
            say("run.$i", bits(model.run(image).logits))
            val best = model.classify(image, most = 3)
            say("classify.$i", best.joinToString(" ") { "${it.index}:%08x".format(it.score.toRawBits()) })
            val given = direct(image)
            val answer = direct(40)
            model.runDirect(given, answer)
            say("direct.$i", bits(floats(answer)))
        }
        say("most.all", model.classify(images[0], most = Int.MAX_VALUE).size)
        say("label", model.classify(images[0])[0].label == Digits.labels[model.classify(images[0])[0].index])
        val inside = direct(16 + 256).position(16) as ByteBuffer
        inside.slice().order(ByteOrder.nativeOrder()).asFloatBuffer().put(images[1])
        val answer = direct(40)
        model.runDirect(inside.asReadOnlyBuffer().order(ByteOrder.nativeOrder()), answer)
        say("inside", bits(floats(answer)))
        say("background", runBlocking { List(4) { async { model.inBackground { bits(run(images[it]).logits) } } }.awaitAll() }.joinToString("|"))
    }
}

fun errors(image: FloatArray) {
    val model = Digits()
    val given = direct(image)
    val answer = direct(40)
    failure("short") { model.run(FloatArray(63)) }
    failure("long") { model.runInto(image, FloatArray(11)) }
    failure("heap") { model.runDirect(ByteBuffer.allocate(256).order(ByteOrder.nativeOrder()), answer) }
    failure("order") { model.runDirect(direct(256).order(ByteOrder.BIG_ENDIAN), answer) }
    failure("bytes") { model.runDirect(direct(252), answer) }
    failure("readonly") { model.runDirect(given, answer.asReadOnlyBuffer().order(ByteOrder.nativeOrder())) }
    failure("odd") { model.runDirect((direct(257).position(1) as ByteBuffer).slice().order(ByteOrder.nativeOrder()), answer) }
    failure("overlap") {
        val both = direct(296)
        val first = (both.limit(256) as ByteBuffer).slice().order(ByteOrder.nativeOrder())
        both.clear()
        model.runDirect(first, (both.position(200).limit(240) as ByteBuffer).slice().order(ByteOrder.nativeOrder()))
    }
    failure("most") { model.classify(image, most = 0) }
    failure("no threads") { Digits(threads = 0) }
    failure("many threads") { Digits(threads = 1000) }
    model.close()
    model.close()
    failure("closed") { model.run(image) }
    failure("closed.direct") { model.runDirect(given, answer) }
    failure("closed.classify") { model.classify(image) }
}

/** Native functions called with what Kotlin never gives them. */
fun nativeErrors(image: FloatArray) {
    val heap = ByteBuffer.allocate(100000)
    val zeros = direct(100000)
    val reached = DigitsNative::class.java.declaredMethods.associateBy { it.name }
    val call = { name: String, args: Array<Any?> -> reached.getValue(name).invoke(null, *args) }
    failure("native.null") { call("compute", arrayOf(null, image)) }
    failure("native.heap") { call("compute", arrayOf(heap, image)) }
    failure("native.zeros") { call("compute", arrayOf(zeros, image)) }
    failure("native.small") { call("compute", arrayOf(direct(8), image)) }
    failure("native.closed") { call("close", arrayOf(zeros)) }
    failure("native.open") { call("open", arrayOf(direct(100), 1, 0L, 0L)) }
    failure("native.open.threads") { call("open", arrayOf(zeros, -5, 0L, 0L)) }
    say("native.bytes", DigitsNative.bytes(0))
    failure("native.twice") {
        val memory = direct(DigitsNative.bytes(2).toInt())
        check(DigitsNative.open(memory, 2, 0, 0) == 0)
        failure("native.array") { call("compute", arrayOf(memory, null)) }
        failure("native.buffer") { call("runDirect", arrayOf(memory, null, direct(40))) }
        failure("native.indices") { call("classify", arrayOf(memory, 3, IntArray(2), FloatArray(3))) }
        failure("native.status") { say("native.words", DigitsNative.message(DigitsNative.classify(memory, -1, IntArray(0), FloatArray(0)))) }
        DigitsNative.close(memory)
        DigitsNative.close(memory)
    }
    failure("refused") {
        try {
            Digits::class.java.getDeclaredField("Companion").get(null).let { companion ->
                companion.javaClass.declaredMethods.single { it.name == "verify" }.also { it.isAccessible = true }.invoke(companion, 1)
            }
        } catch (error: java.lang.reflect.InvocationTargetException) {
            val refused = error.targetException as ai.edgec.digits.ModelException
            throw ai.edgec.digits.ModelException("${refused.status} ${refused.message}", refused.status)
        }
    }
    say("native.label", DigitsNative.label(-1).size + DigitsNative.label(Int.MAX_VALUE).size)
}

/** Pictures of sizes that are none, in memory that is too small, with too few pixels. */
fun nativePictures() {
    val memory = direct(DigitsNative.fitBytes(3, 2).toInt())
    val (pixels, tensor) = Pair(IntArray(6), FloatArray(64))
    val reached = DigitsNative::class.java.declaredMethods.single { it.name == "fit" }
    val fit = { args: Array<Any?> -> reached.invoke(null, *args) }
    failure("native.fit.null") { fit(arrayOf(null, pixels, 3, 2, tensor)) }
    failure("native.fit.heap") { fit(arrayOf(ByteBuffer.allocate(memory.capacity()), pixels, 3, 2, tensor)) }
    failure("native.fit.small") { fit(arrayOf(direct(memory.capacity() - 1), pixels, 3, 2, tensor)) }
    failure("native.fit.pixels") { fit(arrayOf(memory, IntArray(5), 3, 2, tensor)) }
    failure("native.fit.none") { fit(arrayOf(memory, null, 3, 2, tensor)) }
    failure("native.fit.tensor") { fit(arrayOf(memory, pixels, 3, 2, FloatArray(63))) }
    val sizes = listOf(Pair(0, 2), Pair(-3, -2), Pair(32769, 1))
    say("native.fit.sizes", sizes.plus(Pair(3, 2)).map { (width, height) -> DigitsNative.fit(memory, pixels, width, height, tensor) })
    say("native.fit.bytes", sizes.plus(Pair(Int.MIN_VALUE, Int.MAX_VALUE)).map { (width, height) -> DigitsNative.fitBytes(width, height) })
    failure("native.box") { ai.edgec.finder.FinderNative.boxInPicture(3, 2, FloatArray(3)) }
}

fun crowds(images: List<FloatArray>) {
    val pool = Executors.newFixedThreadPool(4)
    Digits(threads = 2).use { model ->
        val expected = images.map { bits(model.run(it).logits) }
        val work = List(4) { lane ->
            Callable {
                (0 until 200).count { round ->
                    val i = (lane + round) % images.size
                    bits(model.run(images[i]).logits) != expected[i] || bits(floatArrayOf(model.classify(images[i])[0].score)).length != 8
                }
            }
        }
        say("crowd.wrong", pool.invokeAll(work).sumOf { it.get() })
    }
    val closing = Digits(threads = 2)
    val closed = List(4) { lane ->
        Callable {
            try {
                for (round in 0 until 1_000_000) if (lane == 0 && round == 10) closing.close() else closing.run(images[0])
                "never closed"
            } catch (error: IllegalStateException) {
                "${error.message}"
            }
        }
    }
    say("crowd.closed", pool.invokeAll(closed).map { it.get() }.toSet())
    repeat(30) {
        Digits().run(images[0]) // nobody closes it
        Digits(threads = 2).use { model -> if (it % 10 == 0) System.gc() else model.run(images[1]) }
        ByteArray(1 shl 20)
    }
    System.gc()
    Digits().use { say("after", bits(it.run(images[0]).logits)) }
    pool.shutdown()
}

fun frames() {
    val turned = Picture(3, 2, intArrayOf(1, 2, 3, 4, 5, 6))
    for (degrees in listOf(0, 90, 180, 270)) turned.rotated(degrees).let { say("rotated.$degrees", "${it.width} ${it.height} ${it.argb.toList()}") }
    failure("rotated.45") { turned.rotated(45) }
    failure("picture.size") { Picture(2, 2, IntArray(3)) }
    failure("picture.empty") { Picture(0, 2, IntArray(0)) }
    val rgba = ByteBuffer.wrap(byteArrayOf(9, 1, 2, 3, 0, -1, -2, -3, 0, 7, 7, 4, 5, 6, 0, 8, 9, 10)).position(1) as ByteBuffer
    say("rgba", Picture.fromRgba(2, 2, rgba, 10).argb.map { "%06x".format(it and 0xffffff) })
    failure("rgba.short") { Picture.fromRgba(2, 3, rgba, 10) }
    val gray = ByteBuffer.wrap(byteArrayOf(0, 100, -56, 0, -1, 16, 30, 0))
    val u = ByteBuffer.wrap(byteArrayOf(-128, 0, 90, 0))
    val v = ByteBuffer.wrap(byteArrayOf(-128, 0, -16, 0))
    say("yuv", Picture.fromYuv(3, 2, gray, u, v, 4, 4, 2).argb.map { "%06x".format(it and 0xffffff) })
    failure("yuv.short") { Picture.fromYuv(3, 4, gray, u, v, 4, 4, 2) }
}

fun processors() {
    val vector = ByteBuffer.allocate(72).order(ByteOrder.nativeOrder())
    for (number in listOf(6L, 4096L, 16L, (1L shl 20) + 3, 26L, 1L shl 13, 0L, 0L)) vector.putLong(number)
    say("hwcap.vector", Processor.ofVector(vector.array().inputStream()).toList())
    val best = "processor\t: 0\nFeatures\t: fp asimd asimddp i8mm\n"
    say("hwcap.words", Processor.ofWords((best + best).byteInputStream()).toList())
    say("hwcap.mixed", Processor.ofWords((best + "Features : fp asimd i8mmx\n").byteInputStream()).toList())
    say("hwcap.none", Processor.ofWords("flags : sse\n".byteInputStream()).toList())
}

fun tasks() {
    ai.edgec.finder.Finder().use { model ->
        val image = ByteArray(3072)
        model.detect(image).forEachIndexed { i, box -> say("box.$i", box) }
        model.detect(ai.edgec.finder.Picture(128, 64, IntArray(128 * 64))).forEachIndexed { i, box -> say("box.picture.$i", box) }
        say("box.all", model.detect(image, score = 0.8f, overlap = 1f).size)
        failure("box.nan") { model.detect(image, score = Float.NaN) }
        failure("box.many") { model.detect(image, most = 1001) }
    }
    ai.edgec.areas.Areas().use { model ->
        model.segment(floatArrayOf(1f, -1f, 0f, 2f, -2f, 3f)).let { say("mask", "${it.width} ${it.height} ${it.classes.toList()}") }
    }
    ai.edgec.native_2.Native(threads = 2).use { model ->
        val first = floatArrayOf(1f, 0f)
        val second = floatArrayOf(0f, 1f)
        say("heard", model.keyword(first))
        say("heard.sure", model.keyword(second, threshold = 0.9f))
        model.resetKeyword()
        say("heard.reset", model.keyword(second))
        model.reset()
        say("heard.anew", model.keyword(first))
    }
}

fun hostile() {
    ai.edgec.Model_exception.ModelException_2().use { model ->
        say("hostile.names", ai.edgec.Model_exception.ModelException_2.inputs.joinToString("|") { it.name })
        val four = floatArrayOf(1f, 2f, 3f, 4f)
        val numbers = longArrayOf(1, 2, 3, -(1L shl 62))
        val found = model.run(fun1X = four, class_ = FloatArray(4) { 2f }, held_2 = numbers, b = booleanArrayOf(false, true, false))
        say("hostile.float", found.constructor_.toList())
        say("hostile.class", found.class_2.toList())
        say("hostile.long", found.memory.toList())
        say("hostile.bool", found.output.toList())
    }
}

/** Halves and bfloats are their bits; the state is that of a first run. */
fun elements(folder: File) {
    val data = ByteBuffer.wrap(File(folder, "mixed.bin").readBytes()).order(ByteOrder.LITTLE_ENDIAN)
    ai.edgec.mixed.Mixed().use { model ->
        val (halves, bfloats) = Pair(ShortArray(6) { data.short }, ShortArray(4) { data.short })
        val wides = DoubleArray(3) { data.double }
        model.run(halves, bfloats, wides)
        model.reset()
        val found = model.run(halves, bfloats, wides)
        say("mixed.halves", found.halves.toList())
        say("mixed.bfloats", found.bfloats.toList())
        say("mixed.wides", found.wides.map { it.toRawBits() })
        say("mixed.places", found.places.toList())
        say("mixed.places_shape", found.placesShape.toList())
        say("mixed.turn", found.turn.toList())
    }
}

fun exams() {
    Digits().use { say("exam", DigitsExam.problems(it)) }
    ai.edgec.mixed.Mixed().use { say("mixed.exam", ai.edgec.mixed.MixedExam.problems(it)) }
}

fun main(args: Array<String>) {
    val folder = File(args[0])
    exams()
    if (args.size > 1) return
    val images = images(folder)
    answers(images)
    errors(images[0])
    nativeErrors(images[0])
    nativePictures()
    crowds(images)
    frames()
    processors()
    tasks()
    hostile()
    elements(folder)
    ways(folder)
    say("end", "reached")
}
