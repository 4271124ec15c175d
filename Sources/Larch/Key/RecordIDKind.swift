/// How the ids of a collection are stored. The raw values are part of the file format.
package enum RecordIDKind: UInt8, Sendable {
  /// Assigned by the store: 8 bytes, big-endian, sign flipped.
  case assigned = 1
  /// A signed integer of the program: the same bytes.
  case integer = 2
  /// An unsigned integer of the program: 8 bytes, big-endian.
  case unsigned = 3
  /// A UUID: its 16 bytes.
  case uuid = 4
  /// NFC text after a lead byte, up to the key limit of LMDB.
  case string = 5

  /// The longest id: the limit of LMDB for keys.
  static let longest = 511

  /// The length of every id of this kind, or nil if it differs from id to id.
  package var width: Int? {
    switch self {
    case .assigned, .integer, .unsigned: 8
    case .uuid: 16
    case .string: nil
    }
  }
}
