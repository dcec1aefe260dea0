/* As much of the Java Native Interface as emitted sources use, for libraries that are compiled without the NDK: types and the places of
   functions as its specification numbers them. The NDK and JDKs have their own jni.h, with all of it. */
#ifndef EDGEC_JNI_H
#define EDGEC_JNI_H

#include <stdint.h>

typedef uint8_t jboolean;
typedef int8_t jbyte;
typedef int16_t jshort;
typedef int32_t jint;
typedef int64_t jlong;
typedef float jfloat;
typedef double jdouble;
typedef jint jsize;

/* References, told apart by the compiler. */
struct edgec_jobject;
typedef struct edgec_jobject *jobject;
typedef jobject jclass;
typedef jobject jstring;
typedef jobject jarray;
typedef jarray jbooleanArray;
typedef jarray jbyteArray;
typedef jarray jshortArray;
typedef jarray jintArray;
typedef jarray jlongArray;
typedef jarray jfloatArray;
typedef jarray jdoubleArray;

#define JNI_FALSE 0
#define JNI_TRUE 1
#define JNIEXPORT __attribute__((visibility("default")))
#define JNICALL

struct JNINativeInterface_;
typedef const struct JNINativeInterface_ *JNIEnv;

/* Numbers are those of the specification's table; what lies between is not called. */
struct JNINativeInterface_ {
    void *before_find_class[6];
    jclass(JNICALL *FindClass)(JNIEnv *, const char *); /* 6 */
    void *before_throw_new[7];
    jint(JNICALL *ThrowNew)(JNIEnv *, jclass, const char *); /* 14 */
    void *before_new_string[152];
    jstring(JNICALL *NewStringUTF)(JNIEnv *, const char *); /* 167 */
    void *before_length[3];
    jsize(JNICALL *GetArrayLength)(JNIEnv *, jarray); /* 171 */
    void *before_new_bytes[4];
    jbyteArray(JNICALL *NewByteArray)(JNIEnv *, jsize); /* 176 */
    void *before_get[22];
    void(JNICALL *GetBooleanArrayRegion)(JNIEnv *, jbooleanArray, jsize, jsize, jboolean *); /* 199 */
    void(JNICALL *GetByteArrayRegion)(JNIEnv *, jbyteArray, jsize, jsize, jbyte *);
    void *get_characters;
    void(JNICALL *GetShortArrayRegion)(JNIEnv *, jshortArray, jsize, jsize, jshort *);
    void(JNICALL *GetIntArrayRegion)(JNIEnv *, jintArray, jsize, jsize, jint *);
    void(JNICALL *GetLongArrayRegion)(JNIEnv *, jlongArray, jsize, jsize, jlong *);
    void(JNICALL *GetFloatArrayRegion)(JNIEnv *, jfloatArray, jsize, jsize, jfloat *);
    void(JNICALL *GetDoubleArrayRegion)(JNIEnv *, jdoubleArray, jsize, jsize, jdouble *);
    void(JNICALL *SetBooleanArrayRegion)(JNIEnv *, jbooleanArray, jsize, jsize, const jboolean *); /* 207 */
    void(JNICALL *SetByteArrayRegion)(JNIEnv *, jbyteArray, jsize, jsize, const jbyte *);
    void *set_characters;
    void(JNICALL *SetShortArrayRegion)(JNIEnv *, jshortArray, jsize, jsize, const jshort *);
    void(JNICALL *SetIntArrayRegion)(JNIEnv *, jintArray, jsize, jsize, const jint *);
    void(JNICALL *SetLongArrayRegion)(JNIEnv *, jlongArray, jsize, jsize, const jlong *);
    void(JNICALL *SetFloatArrayRegion)(JNIEnv *, jfloatArray, jsize, jsize, const jfloat *);
    void(JNICALL *SetDoubleArrayRegion)(JNIEnv *, jdoubleArray, jsize, jsize, const jdouble *);
    void *before_direct[14];
    jobject(JNICALL *NewDirectByteBuffer)(JNIEnv *, void *, jlong); /* 229 */
    void *(JNICALL *GetDirectBufferAddress)(JNIEnv *, jobject);
    jlong(JNICALL *GetDirectBufferCapacity)(JNIEnv *, jobject);
};

#endif
