// What packages use of Core Graphics, as Apple declares it.
@_exported import Foundation

public final class CGImage {
    public var width: Int { 0 }
    public var height: Int { 0 }
}

public final class CGColorSpace {
    public static let sRGB: CFString = "" as NSString
    public init?(name: CFString) {}
}

public typealias CFString = NSString

public enum CGImageAlphaInfo: UInt32 {
    case none, premultipliedLast, premultipliedFirst, last, first, noneSkipLast, noneSkipFirst, alphaOnly
}

public final class CGContext {
    public init?(
        data: UnsafeMutableRawPointer?, width: Int, height: Int, bitsPerComponent: Int, bytesPerRow: Int, space: CGColorSpace,
        bitmapInfo: UInt32
    ) {}
    public func draw(_ image: CGImage, in rect: CGRect, byTiling: Bool = false) {}
}
