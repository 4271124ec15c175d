import LarchTestSupport
import Testing

@testable import Larch

@Suite("What a write has touched")
struct TouchedRecordsTests {
  private struct Failed: Error {}

  @Test(
    "the first value of each id is kept, and all come in the order of ids", arguments: UInt64(1)...6
  )
  func model(seed: UInt64) throws {
    var random = SeededGenerator(seed: 9_300 + seed)
    var touched = TouchedRecords()
    var model: [[UInt8]: [UInt8]?] = [:]
    func bytes(_ most: Int) -> [UInt8] {
      (0..<Int.random(in: 0...most, using: &random)).map { _ in
        UInt8.random(in: 0...3, using: &random)
      }
    }
    for number in 0..<4_000 {
      // Every second seed has numbers in ascending order, as a bulk write does.
      let id = seed % 2 == 0 ? bytes(7) : [UInt8(number >> 8), UInt8(number & 255)]
      let value = Int.random(in: 0..<5, using: &random) == 0 ? nil : bytes(40)
      var isAsked = false
      if Int.random(in: 0..<50, using: &random) == 0 {
        // A value that cannot be read leaves nothing behind.
        let known = model[id] != nil
        let add = {
          try id.withUnsafeBytes { try touched.add($0) { () throws(Failed) in throw Failed() } }
        }
        if known { try add() } else { #expect(throws: Failed.self) { try add() } }
        continue
      }
      id.withUnsafeBytes { id in
        (value ?? []).withUnsafeBytes { bytes in
          touched.add(id) {
            isAsked = true
            return value == nil ? nil : bytes
          }
        }
      }
      #expect(isAsked == (model[id] == nil))
      if model[id] == nil { model.updateValue(value, forKey: id) }
      #expect(touched.count == model.count)
    }
    var found: [(id: [UInt8], before: [UInt8]?)] = []
    touched.forEach { id, before in found.append(([UInt8](id), before.map { [UInt8]($0) })) }
    let expected = model.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    #expect(found.map(\.id) == expected.map(\.key))
    #expect(found.map(\.before) == expected.map(\.value))
    #expect(
      touched.bytes == model.reduce(0) { $0 + $1.key.count + ($1.value?.count ?? 0) })
  }
}
