package android.graphics;

/** As much of Android's class as emitted sources name: compiled against, never shipped. */
public class ImageFormat {
    public static final int YUV_420_888 = 35;
}
