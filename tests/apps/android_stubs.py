"""As much of Android, AndroidX and JUnit as emitted Kotlin names, in Java, so that a compiler checks what it says of them."""

from __future__ import annotations

import shutil
from pathlib import Path

from edgec.base.resources import resource

ANDROID = {
    "android.Manifest": 'class Manifest { public static final class permission { public static final String CAMERA = "c"; } }',
    "android.content.Context": "abstract class Context { }",
    "android.os.Bundle": "final class Bundle { }",
    "android.view.View": "class View { public View(android.content.Context context) { } }",
    "android.view.ViewGroup": """abstract class ViewGroup extends View {
        public ViewGroup(android.content.Context context) { super(context); }
        public void addView(View view) { }
    }""",
    "android.widget.LinearLayout": """class LinearLayout extends android.view.ViewGroup {
        public static final int VERTICAL = 1;
        public LinearLayout(android.content.Context context) { super(context); }
        public int getOrientation() { return 0; }
        public void setOrientation(int orientation) { }
    }""",
    "android.widget.TextView": """class TextView extends android.view.View {
        public TextView(android.content.Context context) { super(context); }
        public CharSequence getText() { return null; }
        public final void setText(CharSequence text) { }
    }""",
}
ANDROIDX = {
    "androidx.lifecycle.LifecycleOwner": "interface LifecycleOwner { }",
    "androidx.activity.result.ActivityResultCallback": "interface ActivityResultCallback<O> { void onActivityResult(O result); }",
    "androidx.activity.result.ActivityResultLauncher": "abstract class ActivityResultLauncher<I> { public void launch(I input) { } }",
    "androidx.activity.result.contract.ActivityResultContract": "abstract class ActivityResultContract<I, O> { }",
    "androidx.activity.result.contract.ActivityResultContracts": """final class ActivityResultContracts {
        public static final class RequestPermission extends ActivityResultContract<String, Boolean> { }
    }""",
    "androidx.activity.ComponentActivity": """class ComponentActivity extends android.content.Context
        implements androidx.lifecycle.LifecycleOwner {
        protected void onCreate(android.os.Bundle state) { }
        protected void onDestroy() { }
        public void setContentView(android.view.View view) { }
        public final void runOnUiThread(Runnable action) { }
        public final <I, O> androidx.activity.result.ActivityResultLauncher<I> registerForActivityResult(
            androidx.activity.result.contract.ActivityResultContract<I, O> contract,
            androidx.activity.result.ActivityResultCallback<O> callback) { return null; }
    }""",
    "androidx.camera.core.ImageInfo": "interface ImageInfo { int getRotationDegrees(); }",
    "androidx.camera.core.ImageProxy": """interface ImageProxy extends AutoCloseable {
        interface PlaneProxy { int getRowStride(); int getPixelStride(); java.nio.ByteBuffer getBuffer(); }
        int getWidth();
        int getHeight();
        PlaneProxy[] getPlanes();
        ImageInfo getImageInfo();
        @Override void close();
    }""",
    "androidx.camera.core.ImageAnalysis": """final class ImageAnalysis {
        public static final int OUTPUT_IMAGE_FORMAT_RGBA_8888 = 2;
        public interface Analyzer { void analyze(ImageProxy image); }
    }""",
    "androidx.camera.core.CameraSelector": "final class CameraSelector { public static final CameraSelector DEFAULT_BACK_CAMERA = null; }",
    "androidx.camera.view.CameraController": """abstract class CameraController {
        public androidx.camera.core.CameraSelector getCameraSelector() { return null; }
        public void setCameraSelector(androidx.camera.core.CameraSelector selector) { }
        public int getImageAnalysisOutputImageFormat() { return 0; }
        public void setImageAnalysisOutputImageFormat(int format) { }
        public void setImageAnalysisAnalyzer(
            java.util.concurrent.Executor executor, androidx.camera.core.ImageAnalysis.Analyzer analyzer) { }
    }""",
    "androidx.camera.view.LifecycleCameraController": """final class LifecycleCameraController extends CameraController {
        public LifecycleCameraController(android.content.Context context) { }
        public void bindToLifecycle(androidx.lifecycle.LifecycleOwner owner) { }
    }""",
    "androidx.camera.view.PreviewView": """final class PreviewView extends android.view.ViewGroup {
        public PreviewView(android.content.Context context) { super(context); }
        public CameraController getController() { return null; }
        public void setController(CameraController controller) { }
    }""",
    "androidx.test.ext.junit.runners.AndroidJUnit4": "final class AndroidJUnit4 extends org.junit.runner.Runner { }",
}
JUNIT = {
    "org.junit.Assert": "class Assert { public static void assertEquals(Object expected, Object actual) { } }",
    "org.junit.Test": "@interface Test { }",
    "org.junit.runner.Runner": "abstract class Runner { }",
    "org.junit.runner.RunWith": "@interface RunWith { Class<? extends Runner> value(); }",
}


def write_stubs(folder: Path) -> Path:
    """The Java sources, below `folder`, beside those that the tool itself compiles against."""
    shutil.copytree(resource("runtimes", "android") / "stubs", folder)
    for name, text in (ANDROID | ANDROIDX | JUNIT).items():
        package, _, kind = name.rpartition(".")
        path = folder / package.replace(".", "/") / f"{kind}.java"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"package {package};\npublic {text}\n", encoding="utf-8")
    return folder
