// What packages use of Core ML, as Apple declares it.
@_exported import Foundation

public final class MLMultiArray {
    public var shape: [NSNumber] { [] }
    public var count: Int { 0 }
    public subscript(index: Int) -> NSNumber { 0 }
}
