// What a package's view uses of PhotosUI, as Apple declares it.
import SwiftUI

public struct PHPickerFilter { public static let images = PHPickerFilter() }
public protocol Transferable {}
extension Data: Transferable {}
public struct PhotosPickerItem: Equatable, Sendable {
    public func loadTransferable<T: Transferable>(type: T.Type) async throws -> T? { nil }
}
public struct PhotosPicker<Label: View>: View { public var body: Never { fatalError() } }
extension PhotosPicker where Label == Text {
    public init<S: StringProtocol>(_ title: S, selection: Binding<PhotosPickerItem?>, matching filter: PHPickerFilter? = nil) {}
}
