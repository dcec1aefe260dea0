package org.jetbrains.kotlin.gradle.dsl

enum class JvmTarget { JVM_11 }
