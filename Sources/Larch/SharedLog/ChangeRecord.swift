/// What a commit did to a tree.
package enum LoggedOperation: UInt8, Sendable {
  case put = 1
  /// Deletes a key with all its values.
  case deleteKey = 2
  /// Deletes one value of a key.
  case deletePair = 3
  case empty = 4
  case drop = 5
  case create = 6

  /// Kind, number of the tree in the record, length of the key, length of the value.
  package static let headerSize = 1 + 2 + 2 + 4
}

/// A change of a tree. Its bytes are valid as long as those of the record.
package struct TreeChange {
  /// The place of the tree in `ChangeRecord.trees`.
  package let tree: Int
  package let operation: LoggedOperation
  /// Empty for what concerns the whole tree.
  package let key: UnsafeRawBufferPointer
  /// Empty unless a pair is put or deleted.
  package let value: UnsafeRawBufferPointer
}

/// Reads the record of what a commit changed: the trees, and the operations on them in their order.
///
/// The bytes may have been made on purpose, or be damaged. Each is checked, and none is trusted; see
/// docs/file-format.md for the layout.
package struct ChangeRecord {
  /// Bytes that are no record.
  package struct Malformed: Error {}

  package static let version: UInt16 = 1
  /// Version, number of trees, number of operations.
  package static let headerSize = 2 + 2 + 4

  package let trees: [LogTree]
  private let operations: Int
  private let bytes: UnsafeRawBufferPointer
  private let firstOperation: Int

  /// Reads the header and the trees of a record that has a header of its own.
  ///
  /// - Parameter bytes: must outlive the record.
  package init(_ bytes: UnsafeRawBufferPointer) throws(Malformed) {
    var reader = Reader(bytes: bytes, place: 0)
    guard try reader.number(UInt16.self) == Int(Self.version) else { throw Malformed() }
    let trees = try reader.number(UInt16.self)
    let operations = try reader.number(UInt32.self)
    try self.init(bytes, at: reader.place, trees: trees, operations: operations)
  }

  /// Reads the trees at a place. The operations follow, and fill the bytes to their end.
  package init(
    _ bytes: UnsafeRawBufferPointer, at place: Int, trees count: Int, operations: Int
  ) throws(Malformed) {
    var reader = Reader(bytes: bytes, place: place)
    var trees: [LogTree] = []
    for _ in 0..<count {
      let flags = UInt32(try reader.number(UInt32.self))
      let bytes = try reader.take(try reader.number(UInt16.self))
      guard let name = String(validating: bytes, as: UTF8.self), !name.isEmpty,
        // Sorted duplicates, which may have one length.
        [0, 0x04, 0x14].contains(flags)
      else { throw Malformed() }
      trees.append(LogTree(name: name, flags: flags))
    }
    self.trees = trees
    self.operations = operations
    self.bytes = bytes
    firstOperation = reader.place
  }

  /// Calls with each change. After it, the record is known to be whole.
  package func forEach(_ body: (TreeChange) throws -> Void) throws {
    var reader = Reader(bytes: bytes, place: firstOperation)
    for _ in 0..<operations {
      guard let kind = LoggedOperation(rawValue: UInt8(try reader.number(UInt8.self))) else {
        throw Malformed()
      }
      let tree = try reader.number(UInt16.self)
      let keySize = try reader.number(UInt16.self)
      let valueSize = try reader.number(UInt32.self)
      let key = try reader.take(keySize)
      let value = try reader.take(valueSize)
      guard tree < trees.count, kind.fits(key, value, trees[tree]) else { throw Malformed() }
      try body(TreeChange(tree: tree, operation: kind, key: key, value: value))
    }
    guard reader.place == bytes.count else { throw Malformed() }
  }
}

extension LoggedOperation {
  /// Whether LMDB accepts the operation: what it would refuse, or read beyond, was never logged.
  fileprivate func fits(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ tree: LogTree
  ) -> Bool {
    let keys = 1...511
    switch self {
    case .put:
      return keys.contains(key.count) && (!tree.hasDuplicates || keys.contains(value.count))
    case .deleteKey: return keys.contains(key.count) && value.isEmpty
    case .deletePair: return keys.contains(key.count) && keys.contains(value.count)
    case .empty, .drop, .create: return key.isEmpty && value.isEmpty
    }
  }
}

/// Takes numbers and pieces from bytes, and never more than there are.
private struct Reader {
  let bytes: UnsafeRawBufferPointer
  var place: Int

  mutating func take(_ count: Int) throws(ChangeRecord.Malformed) -> UnsafeRawBufferPointer {
    guard count <= bytes.count - place else { throw ChangeRecord.Malformed() }
    defer { place += count }
    return UnsafeRawBufferPointer(rebasing: bytes[place..<place + count])
  }

  mutating func number<T: FixedWidthInteger>(
    _: T.Type
  ) throws(ChangeRecord.Malformed) -> Int {
    let word = try take(MemoryLayout<T>.size)
    return Int(T(littleEndian: word.loadUnaligned(as: T.self)))
  }
}

extension ChangeRecord {
  /// The record of a commit that changed nothing.
  package static var nothing: [UInt8] {
    var bytes: [UInt8] = []
    withUnsafeBytes(of: version.littleEndian) { bytes += $0 }
    return bytes + [UInt8](repeating: 0, count: headerSize - bytes.count)
  }
}
