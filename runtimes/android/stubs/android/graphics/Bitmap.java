package android.graphics;

/** As much of Android's class as emitted sources name: compiled against, never shipped. */
public final class Bitmap {
    public native int getWidth();

    public native int getHeight();

    public native void getPixels(int[] pixels, int offset, int stride, int x, int y, int width, int height);
}
