/// A value of a statement, and how the server gets it: in PostgreSQL's binary form, so that no byte is
/// written as text and read again.
package enum PostgresValue: Sendable {
  case int(Int64)
  case text(String)
  case bytes([UInt8])
  case ints([Int64])
  case texts([String])
  /// Pieces of bytes, each in place of a `bytea`.
  case byteses([ArraySlice<UInt8>])

  /// The number of the type in PostgreSQL's catalog, which is the same in all versions.
  var type: UInt32 {
    switch self {
    case .int: PostgresType.int8
    case .text: PostgresType.text
    case .bytes: PostgresType.bytea
    case .ints: PostgresType.int8Array
    case .texts: PostgresType.textArray
    case .byteses: PostgresType.byteaArray
    }
  }

  var binary: [UInt8] {
    switch self {
    case .int(let value): return [UInt8](bigEndian: value)
    case .text(let text): return [UInt8](text.utf8)
    case .bytes(let bytes): return bytes
    case .ints(let values):
      var form = ArrayForm(PostgresType.int8, count: values.count, bytes: values.count * 8)
      for value in values { withUnsafeBytes(of: value.bigEndian) { form.add($0) } }
      return form.bytes
    case .texts(let texts):
      var form = ArrayForm(PostgresType.text, count: texts.count, bytes: 0)
      for var text in texts { text.withUTF8 { form.add(UnsafeRawBufferPointer($0)) } }
      return form.bytes
    case .byteses(let pieces):
      let size = pieces.reduce(0) { $0 + $1.count }
      var form = ArrayForm(PostgresType.bytea, count: pieces.count, bytes: size)
      for piece in pieces { piece.withUnsafeBytes { form.add($0) } }
      return form.bytes
    }
  }
}

enum PostgresType {
  static let bool: UInt32 = 16
  static let bytea: UInt32 = 17
  static let int8: UInt32 = 20
  static let int4: UInt32 = 23
  static let text: UInt32 = 25
  static let float8: UInt32 = 701
  static let byteaArray: UInt32 = 1001
  static let int8Array: UInt32 = 1016
  static let textArray: UInt32 = 1009
}

/// An array of one dimension in PostgreSQL's binary form.
private struct ArrayForm {
  var bytes: [UInt8] = []

  init(_ type: UInt32, count: Int, bytes size: Int) {
    bytes.reserveCapacity(20 + count * 4 + size)
    // Dimensions, whether a value is null, the type, and the length and first number of the dimension.
    let header = [count == 0 ? 0 : 1, 0, Int32(type)] + (count == 0 ? [] : [Int32(count), 1])
    for number in header { bytes.append(contentsOf: [UInt8](bigEndian: number)) }
  }

  mutating func add(_ value: UnsafeRawBufferPointer) {
    bytes.append(contentsOf: [UInt8](bigEndian: Int32(value.count)))
    bytes.append(contentsOf: value)
  }
}

extension [UInt8] {
  init(bigEndian value: some FixedWidthInteger) {
    self = Swift.withUnsafeBytes(of: value.bigEndian) { [UInt8]($0) }
  }
}

/// The rows of an answer, valid as long as the object.
package final class PostgresRows {
  private let pq: LibPQ
  private let result: LibPQ.Result
  package let count: Int

  /// Takes the result, and frees it at its end.
  init(_ result: LibPQ.Result, _ pq: LibPQ) {
    self.pq = pq
    self.result = result
    count = Int(pq.rowCount(result))
  }

  deinit { pq.clear(result) }

  /// How many rows a statement changed.
  package var changed: Int { pq.affectedRows(result).flatMap { Int(String(cString: $0)) } ?? 0 }

  /// What the statement did, such as `COMMIT`.
  var command: String { pq.commandStatus(result).map { String(cString: $0) } ?? "" }

  package func isNull(_ row: Int, _ column: Int) -> Bool {
    pq.isNull(result, CInt(row), CInt(column)) == 1
  }

  /// The bytes of a value of one of these types. Anything else is the answer of foreign tables.
  private func value(_ row: Int, _ column: Int, _ types: UInt32...) throws(PostgresFailure)
    -> UnsafeRawBufferPointer
  {
    guard (0..<count).contains(row), (0..<Int(pq.columnCount(result))).contains(column),
      types.contains(pq.columnType(result, CInt(column))), !isNull(row, column)
    else { throw PostgresFailure(.form, "column \(column + 1) has another type, or no value") }
    return UnsafeRawBufferPointer(
      start: pq.value(result, CInt(row), CInt(column)),
      count: Int(pq.length(result, CInt(row), CInt(column))))
  }

  package func int(_ row: Int, _ column: Int) throws(PostgresFailure) -> Int {
    let bytes = try value(row, column, PostgresType.int8, PostgresType.int4)
    switch bytes.count {
    case 8: return Int(Int64(bigEndian: bytes.loadUnaligned(as: Int64.self)))
    case 4: return Int(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self)))
    default: throw PostgresFailure(.form, "a number has \(bytes.count) bytes")
    }
  }

  package func double(_ row: Int, _ column: Int) throws(PostgresFailure) -> Double {
    let bytes = try value(row, column, PostgresType.float8)
    guard bytes.count == 8 else { throw PostgresFailure(.form, "a number has another length") }
    let number = Double(
      bitPattern: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)))
    guard number.isFinite else { throw PostgresFailure(.form, "a number is none that was stored") }
    return number
  }

  package func bool(_ row: Int, _ column: Int) throws(PostgresFailure) -> Bool {
    try value(row, column, PostgresType.bool).first == 1
  }

  /// The bytes of a `bytea`, valid as long as the rows.
  package func bytes(_ row: Int, _ column: Int) throws(PostgresFailure) -> UnsafeRawBufferPointer {
    try value(row, column, PostgresType.bytea)
  }

  package func text(_ row: Int, _ column: Int) throws(PostgresFailure) -> String {
    let bytes = try value(row, column, PostgresType.text)
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw PostgresFailure(.form, "a text is not UTF-8")
    }
    return text
  }
}
