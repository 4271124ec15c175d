package import Larch

/// Makes the bytes of a change record, for tests of what reads them.
package struct ChangeRecordBytes {
  private var trees: [LogTree] = []
  private var operations = 0
  private var body: [UInt8] = []

  package init() {}

  /// Adds an operation on a tree.
  package mutating func add(
    _ operation: LoggedOperation, _ tree: LogTree, _ key: [UInt8] = [], _ value: [UInt8] = []
  ) {
    let number = trees.firstIndex(of: tree) ?? trees.count
    if number == trees.count { trees.append(tree) }
    operations += 1
    body.append(operation.rawValue)
    body.append(contentsOf: Self.bytes(UInt16(number)))
    body.append(contentsOf: Self.bytes(UInt16(key.count)))
    body.append(contentsOf: Self.bytes(UInt32(value.count)))
    body.append(contentsOf: key)
    body.append(contentsOf: value)
  }

  package var bytes: [UInt8] {
    var bytes = Self.bytes(ChangeRecord.version)
    bytes += Self.bytes(UInt16(trees.count)) + Self.bytes(UInt32(operations))
    for tree in trees {
      bytes += Self.bytes(tree.flags) + Self.bytes(UInt16(tree.name.utf8.count))
      bytes += [UInt8](tree.name.utf8)
    }
    return bytes + body
  }

  private static func bytes(_ value: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: value.littleEndian) { [UInt8]($0) }
  }
}
