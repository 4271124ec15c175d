import Foundation
import FuzzSupport

@testable import Larch

// The input is a record, a shape or a list of shapes. Nothing may trap, and a value that was read
// is written and read again as the same value.

struct FuzzInner: Codable, Equatable {
  var street: String?
  var numbers: [Int]
  var level: FuzzLevel
}

enum FuzzLevel: Int, Codable { case low, high }

indirect enum FuzzTree: Codable, Equatable {
  case leaf
  case node(FuzzTree, name: String?, FuzzTree)
}

struct FuzzRecord: Codable, Equatable {
  var id: Int64
  var name: String
  var inner: FuzzInner
  var second: FuzzInner?
  var many: [FuzzInner]
  var map: [String: [String: Int?]]
  var set: Set<String>
  var pairs: [Date: UUID]
  var blob: Data
  var url: URL?
  var price: Decimal
  var tree: FuzzTree
  var flags: [Bool?]
  var small: UInt8
}

final class FuzzBench {
  let shapes = ShapeTable()
  let coder: RecordCoder
  let paths = [["id"], ["name"], ["inner", "street"], ["map", "a"], ["many"]].map { FieldPath($0) }

  init() throws {
    coder = RecordCoder(shapes: shapes)
    let inner = FuzzInner(street: "s", numbers: [1], level: .high)
    let record = FuzzRecord(
      id: 1, name: "n", inner: inner, second: inner, many: [inner], map: ["a": ["b": 1]],
      set: ["x"], pairs: [:], blob: Data([1]), url: URL(string: "a:b"), price: 1,
      tree: .node(.leaf, name: nil, .leaf), flags: [true, nil], small: 1)
    for _ in 0..<2 { _ = try coder.encode(record) }
  }

  /// Decodes; what decodes is written and read once more. NaN is not equal to itself, so the bytes
  /// are compared.
  func check<T: Codable>(_ type: T.Type, _ bytes: UnsafeRawBufferPointer) {
    let value: T
    do { value = try coder.decode(type, from: bytes) } catch {
      precondition(error is LarchError, "an error that is not typed: \(error)")
      return
    }
    do {
      // The value itself may show another shape; from then on the bytes stay the same.
      _ = try coder.encode(value)
      let first = try Array(coder.encode(value))
      let again = try first.withUnsafeBytes { try coder.decode(type, from: $0) }
      let second = try Array(coder.encode(again))
      precondition(second == first, "not the same value: \(type)")
    } catch { preconditionFailure("what was read cannot be written: \(error)") }
  }
}

// libFuzzer calls on one thread.
nonisolated(unsafe) let fuzzBench: FuzzBench = {
  do { return try FuzzBench() } catch { preconditionFailure("no fuzz bench: \(error)") }
}()

/// The first byte chooses the kind of the others.
func check(_ bytes: UnsafeRawBufferPointer) {
  guard let choice = bytes.first else { return }
  let rest = UnsafeRawBufferPointer(rebasing: bytes[1...])
  switch choice % 6 {
  case 0: fuzzBench.check(FuzzRecord.self, rest)
  case 1: fuzzBench.check([String: [Int?]].self, rest)
  case 2: fuzzBench.check([FuzzTree].self, rest)
  case 3: fuzzBench.check(FuzzInner.self, rest)
  case 4:
    if let shape = try? Shape(id: 1, decoding: rest) {
      precondition(shape.encoded() == Array(rest))
      if hasPlantedBug { precondition(shape.fields.isEmpty, "a shape of a field") }
    }
  default:
    _ = try? RawRecord(rest, shapes: fuzzBench.shapes).json()
    for path in fuzzBench.paths { _ = try? path.read(in: rest, shapes: fuzzBench.shapes) }
  }
}

exit(fuzz { check($0) })
