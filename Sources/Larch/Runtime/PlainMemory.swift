internal import Foundation

/// Types whose memory has the bytes of their stored form.
enum PlainMemory {
  /// Whether the memory of values may be used. Found out once.
  static let isTrusted = RuntimeFeature.plainMemory.passes {
    isDateSeconds && isUUIDBytes && isPayloadAndTag(of: Int64.self)
      && isPayloadAndTag(of: Int8.self)
  }

  /// Whether the memory of a date is its seconds since 2001, as in the format.
  static let isDateSeconds: Bool = {
    guard MemoryLayout<Date>.size == 8, _isPOD(Date.self) else { return false }
    return [0, -1.5, 1e10, 0.1].allSatisfy { seconds in
      let date = Date(timeIntervalSinceReferenceDate: seconds)
      return withUnsafeBytes(of: date) { $0.load(as: Double.self) } == seconds
    }
  }()

  /// Whether a UUID's memory is its 16 bytes.
  static let isUUIDBytes: Bool = {
    guard MemoryLayout<UUID>.size == 16, _isPOD(UUID.self) else { return false }
    let uuid = UUID()
    return withUnsafeBytes(of: uuid) { memory in
      withUnsafeBytes(of: uuid.uuid) { memory.elementsEqual($0) }
    }
  }()

  /// Whether an optional of a type without spare bit patterns is the payload followed by one byte,
  /// which is 0 for a value.
  static func isPayloadAndTag(_ type: Any.Type) -> Bool {
    func open<Value>(_ type: Value.Type) -> Bool { isPayloadAndTag(of: type) }
    return isTrusted && _openExistential(type, do: open)
  }

  private static func isPayloadAndTag<Value>(of type: Value.Type) -> Bool {
    let size = MemoryLayout<Value>.size
    guard _isPOD(type), MemoryLayout<Value?>.size == size + 1, size <= 16 else { return false }
    return withUnsafeTemporaryAllocation(byteCount: 32, alignment: 16) { memory in
      guard let start = memory.baseAddress else { return false }
      func filled(_ value: (UnsafeMutableRawPointer) -> Value?) -> [UInt8] {
        memory.initializeMemory(as: UInt8.self, repeating: 0x5A)
        let optional = value(start)
        memory.initializeMemory(as: UInt8.self, repeating: 0xAA)
        start.bindMemory(to: Value?.self, capacity: 1).initialize(to: optional)
        return [UInt8](memory.prefix(size + 1))
      }
      let some = filled { $0.load(as: Value.self) }
      let none = filled { _ in nil }
      return some == [UInt8](repeating: 0x5A, count: size) + [0] && none.last == 1
    }
  }
}
