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
    var copies: [UnsafeMutableRawBufferPointer] = []
    var model: [[UInt8]: [UInt8]?] = [:]
    func bytes(_ most: Int) -> [UInt8] {
      (0..<Int.random(in: 0...most, using: &random)).map { _ in
        UInt8.random(in: 0...3, using: &random)
      }
    }
    for number in 0..<4_000 {
      let id: [UInt8]
      switch seed % 3 {
      case 0: id = bytes(7)
      // Numbers in ascending order, as a bulk write has them.
      case 1: id = [UInt8(number >> 8), UInt8(number & 255)]
      // Nearly so: some come again, and at the end there are new ones between the others.
      default:
        let isAgain = Int.random(in: 0..<10, using: &random) == 0
        let place = isAgain ? Int.random(in: 0...number, using: &random) : number
        id = [UInt8(place >> 8), UInt8(place & 255)] + (number > 3_000 && isAgain ? [1] : [])
      }
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
    let after = model.mapValues { before in
      switch Int.random(in: 0..<4, using: &random) {
      case 0: before
      case 1: [UInt8]?.none
      default: bytes(40)
      }
    }
    let changes = touched.changes { id in
      guard let now = after[[UInt8](id)] ?? nil else { return nil }
      // The test keeps it.
      let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: now.count, alignment: 1)
      copy.copyBytes(from: now)
      copies.append(copy)
      return UnsafeRawBufferPointer(copy)
    }
    for copy in copies { copy.deallocate() }
    let wanted = expected.map {
      StoredChange(id: $0.key, before: $0.value, after: after[$0.key] ?? nil)
    }.filter { $0.before != $0.after }
    #expect(changes.list == wanted && changes.count == wanted.count)
    #expect(changes.size == wanted.reduce(0) { $0 + $1.size })
    for form in [changes, RecordChanges(wanted)] {
      var seen: [StoredChange] = []
      form.forEach { id, before, after in
        seen.append(
          StoredChange(
            id: [UInt8](id), before: before.map { [UInt8]($0) }, after: after.map { [UInt8]($0) }))
      }
      #expect(seen == wanted)
    }
  }
}
