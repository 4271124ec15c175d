internal import Foundation

extension RecordIDKind {
  /// An id as readable text, from its bytes.
  package func text(of id: UnsafeRawBufferPointer) -> String {
    switch self {
    case .assigned, .integer:
      guard id.count == 8 else { break }
      let raw = UInt64(bigEndian: id.loadUnaligned(as: UInt64.self)) ^ (1 << 63)
      return String(Int64(bitPattern: raw))
    case .unsigned:
      guard id.count == 8 else { break }
      return String(UInt64(bigEndian: id.loadUnaligned(as: UInt64.self)))
    case .uuid:
      guard id.count == 16 else { break }
      return UUID(uuid: id.loadUnaligned(as: uuid_t.self)).uuidString
    case .string:
      guard id.count >= 1, id[0] == 1 else { break }
      return String(decoding: id.dropFirst(), as: UTF8.self)
    }
    return "0x" + id.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
