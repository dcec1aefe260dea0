// What a package's view uses of SwiftUI and UIKit, as Apple declares it.
@_exported import CoreGraphics
@_exported import Foundation

@MainActor
public protocol View {
    associatedtype Body: View
    @ViewBuilder var body: Body { get }
}
extension Never: View { public var body: Never { fatalError() } }
@resultBuilder
public enum ViewBuilder {
    public static func buildBlock<each Content: View>(_ content: repeat each Content) -> TupleView<(repeat each Content)> { fatalError() }
    public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
}
public struct TupleView<T>: View { public var body: Never { fatalError() } }
public struct Text: View {
    public init<S: StringProtocol>(_ content: S) {}
    public var body: Never { fatalError() }
}
public struct VStack<Content: View>: View {
    public init(alignment: Int = 0, spacing: CGFloat? = nil, @ViewBuilder content: () -> Content) {}
    public var body: Never { fatalError() }
}
public struct Button<Label: View>: View { public var body: Never { fatalError() } }
extension Button where Label == Text {
    public init<S: StringProtocol>(_ title: S, action: @escaping @MainActor () -> Void) {}
}
extension View {
    public func onChange<V: Equatable>(of value: V, perform action: @escaping (V) -> Void) -> some View { self }
}
@propertyWrapper
public struct Binding<Value> {
    public init() {}
    public var wrappedValue: Value { get { fatalError() } nonmutating set {} }
}
@propertyWrapper
public struct State<Value> {
    public init(wrappedValue: Value) {}
    public var wrappedValue: Value { get { fatalError() } nonmutating set {} }
    public var projectedValue: Binding<Value> { fatalError() }
}
extension State where Value: ExpressibleByNilLiteral { public init() {} }
public final class UIImage {
    public init?(data: Data) {}
    public var size: CGSize { .zero }
    public var cgImage: CGImage? { nil }
    public func draw(at point: CGPoint) {}
}
public final class UIGraphicsImageRenderer {
    public init(size: CGSize) {}
    public func image(actions: (Int) -> Void) -> UIImage { fatalError() }
}
