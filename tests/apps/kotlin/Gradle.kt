/** As much of Gradle's and the Android plugin's language as emitted scripts speak, so that a compiler reads the scripts. */

@file:Suppress("unused", "UNUSED_PARAMETER")

package gradle

class Version {
    infix fun version(number: String) = Unit
}

class Plugins {
    fun id(name: String) = Version()
}

class Repositories {
    fun google() = Unit

    fun mavenCentral() = Unit

    fun gradlePluginPortal() = Unit
}

class Management {
    fun repositories(act: Repositories.() -> Unit) = Repositories().act()

    fun plugins(act: Plugins.() -> Unit) = Plugins().act()
}

class Cmake {
    val arguments = mutableListOf<String>()
    var path: java.io.File? = null
}

class NativeBuild {
    fun cmake(act: Cmake.() -> Unit) = Cmake().act()
}

class Ndk {
    val abiFilters = mutableSetOf<String>()
}

class Defaults {
    var minSdk: Int? = null
    var targetSdk: Int? = null
    var versionCode: Int? = null
    var versionName: String? = null
    var applicationId: String? = null
    var testInstrumentationRunner: String? = null

    fun consumerProguardFiles(vararg files: Any) = Unit

    fun ndk(act: Ndk.() -> Unit) = Ndk().act()

    fun externalNativeBuild(act: NativeBuild.() -> Unit) = NativeBuild().act()
}

class BuildType {
    fun externalNativeBuild(act: NativeBuild.() -> Unit) = NativeBuild().act()
}

class BuildTypes {
    fun debug(act: BuildType.() -> Unit) = BuildType().act()
}

enum class JavaVersion { VERSION_11 }

class CompileOptions {
    var sourceCompatibility = JavaVersion.VERSION_11
    var targetCompatibility = JavaVersion.VERSION_11
}

class Android {
    var namespace: String? = null
    var compileSdk: Int? = null

    fun defaultConfig(act: Defaults.() -> Unit) = Defaults().act()

    fun buildTypes(act: BuildTypes.() -> Unit) = BuildTypes().act()

    fun externalNativeBuild(act: NativeBuild.() -> Unit) = NativeBuild().act()

    fun compileOptions(act: CompileOptions.() -> Unit) = CompileOptions().act()
}

class Property<T> {
    fun set(value: T) = Unit
}

class CompilerOptions {
    val jvmTarget = Property<org.jetbrains.kotlin.gradle.dsl.JvmTarget>()
}

class KotlinExtension {
    fun compilerOptions(act: CompilerOptions.() -> Unit) = CompilerOptions().act()
}

class Dependencies {
    fun implementation(what: Any) = Unit

    fun androidTestImplementation(what: Any) = Unit
}

class Root {
    var name = ""
}

/** The names at the top of a script. */
open class Script {
    val rootProject = Root()

    fun plugins(act: Plugins.() -> Unit) = Plugins().act()

    fun pluginManagement(act: Management.() -> Unit) = Management().act()

    fun dependencyResolutionManagement(act: Management.() -> Unit) = Management().act()

    fun android(act: Android.() -> Unit) = Android().act()

    fun kotlin(act: KotlinExtension.() -> Unit) = KotlinExtension().act()

    fun dependencies(act: Dependencies.() -> Unit) = Dependencies().act()

    fun include(vararg names: String) = Unit

    fun file(name: String) = java.io.File(name)

    fun project(name: String): Any = name
}
