/// An id as it is stored. One of eight bytes, which most are, takes no memory beside.
struct StoredID: Hashable {
  private let number: UInt64
  /// An id of another length; empty for one of eight bytes.
  private let bytes: [UInt8]

  init(_ id: UnsafeRawBufferPointer) {
    let isNumber = id.count == 8
    number = isNumber ? id.loadUnaligned(as: UInt64.self) : 0
    bytes = isNumber ? [] : [UInt8](id)
  }

  init(_ id: [UInt8]) { self = id.withUnsafeBytes { StoredID($0) } }

  /// The bytes of the id.
  var stored: [UInt8] {
    bytes.isEmpty ? withUnsafeBytes(of: number) { [UInt8]($0) } : bytes
  }

  // The numbers of most ids differ.
  static func == (a: StoredID, b: StoredID) -> Bool { a.number == b.number && a.bytes == b.bytes }
}
