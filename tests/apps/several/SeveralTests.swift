// What a model of several sets of shapes says to inputs of other lengths, through its class.
import RowsModel
import XCTest

final class SeveralTests: XCTestCase {
    private let known = "set 1 has x 32, mask 4; set 2 has x 256, mask 32; set 3 has x 32, mask 4"

    private func input(_ x: Int, _ mask: Int, _ set: Int? = nil) -> Rows.Input {
        Rows.Input(x: [Float](repeating: 1, count: x), mask: [Int64](repeating: 1, count: mask), set: set)
    }

    private func words(_ input: Rows.Input, _ model: Rows) -> String {
        do {
            _ = try model.predict(input)
            return "nothing"
        } catch {
            return error.localizedDescription
        }
    }

    func testLengthsOrANumberSayTheSet() throws {
        let model = try Rows()
        XCTAssertEqual(try Rows.set(of: input(256, 32)), 2)
        let large = try model.predict(input(256, 32)), first = try model.predict(input(32, 4, 1)), third = try model.predict(input(32, 4, 3))
        XCTAssertEqual([large.y.count, large.z.count, large.w.count], [160, 10, 32])
        XCTAssertEqual([first.y.count, first.z.count, third.z.count], [20, 5, 20])
        XCTAssertEqual(large.w, [Int64](repeating: 1, count: 32))
        XCTAssertEqual(Rows.outputs[1].shapes, [[1, 5], [2, 5], [4, 5]])
    }

    func testWhatNoSetHasIsRefused() throws {
        let model = try Rows()
        XCTAssertEqual(words(input(33, 4), model), "no set of shapes has as many elements (x 33, mask 4): \(known)")
        XCTAssertEqual(words(input(256, 4), model), "no set of shapes has as many elements (x 256, mask 4): \(known)")
        XCTAssertEqual(words(input(32, 4), model), "sets 1 and 3 of shapes have as many elements (x 32, mask 4): say which, with set: 1")
        XCTAssertEqual(words(input(32, 32, 2), model), "x has 32 elements, must have 256 in set 2 of shapes")
        for set in [0, -1, 4, Int.max, Int.min] { XCTAssertEqual(words(input(32, 4, set), model), "set must be from 1 to 3") }
    }
}
