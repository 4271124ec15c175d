// Whole numbers as keys: see IndexKey+Standard.swift.

extension StandardValue where Self: SignedInteger & FixedWidthInteger {
  var keyValue: KeyValue { .signed(Int64(self)) }

  init?(keyValue: KeyValue) {
    guard case .signed(let value) = keyValue else { return nil }
    self.init(exactly: value)
  }
}

extension StandardValue where Self: UnsignedInteger & FixedWidthInteger {
  var keyValue: KeyValue { .unsigned(UInt64(self)) }

  init?(keyValue: KeyValue) {
    guard case .unsigned(let value) = keyValue else { return nil }
    self.init(exactly: value)
  }
}

extension Int64 {
  /// The number in the key of a record.
  init?(idKey key: UnsafeRawBufferPointer) {
    guard let bits = UInt64(idKey: key) else { return nil }
    self.init(bitPattern: bits ^ 1 << 63)
  }
}

extension UInt64 {
  /// The number in the key of a record.
  init?(idKey key: UnsafeRawBufferPointer) {
    guard key.count == 8 else { return nil }
    self.init(bigEndian: key.loadUnaligned(as: UInt64.self))
  }
}

extension Int8: StandardValue {
  static var primitive: KeyForm.Primitive { .int8 }
}

final class Int8Key: StandardKey<Int8>, @unchecked Sendable {
  override func write(_ value: Int8, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(int8: value)
  }
}

extension Int16: StandardValue {
  static var primitive: KeyForm.Primitive { .int16 }
}

final class Int16Key: StandardKey<Int16>, @unchecked Sendable {
  override func write(_ value: Int16, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(int16: value)
  }
}

extension Int32: StandardValue {
  static var primitive: KeyForm.Primitive { .int32 }
}

final class Int32Key: StandardKey<Int32>, @unchecked Sendable {
  override func write(_ value: Int32, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(int32: value)
  }
}

extension Int64: StandardValue {
  static var primitive: KeyForm.Primitive { .int64 }
}

final class Int64Key: StandardKey<Int64>, @unchecked Sendable {
  override func write(_ value: Int64, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(int64: value)
  }

  override func make(
    component: UnsafeRawBufferPointer, at target: UnsafeMutablePointer<Int64>
  ) -> Bool {
    makeID(component, at: target)
  }

  override var readsComponents: Bool { true }

  override func makeID(
    _ key: UnsafeRawBufferPointer, at target: UnsafeMutablePointer<Int64>
  ) -> Bool {
    guard let number = Int64(idKey: key) else { return false }
    target.initialize(to: number)
    return true
  }
}

extension UInt8: StandardValue {
  static var primitive: KeyForm.Primitive { .uint8 }
}

final class UInt8Key: StandardKey<UInt8>, @unchecked Sendable {
  override func write(_ value: UInt8, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(uint8: value)
  }
}

extension UInt16: StandardValue {
  static var primitive: KeyForm.Primitive { .uint16 }
}

final class UInt16Key: StandardKey<UInt16>, @unchecked Sendable {
  override func write(_ value: UInt16, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(uint16: value)
  }
}

extension UInt32: StandardValue {
  static var primitive: KeyForm.Primitive { .uint32 }
}

final class UInt32Key: StandardKey<UInt32>, @unchecked Sendable {
  override func write(_ value: UInt32, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(uint32: value)
  }
}

extension UInt64: StandardValue {
  static var primitive: KeyForm.Primitive { .uint64 }
}

final class UInt64Key: StandardKey<UInt64>, @unchecked Sendable {
  override func write(_ value: UInt64, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(uint64: value)
  }

  override func make(
    component: UnsafeRawBufferPointer, at target: UnsafeMutablePointer<UInt64>
  ) -> Bool {
    makeID(component, at: target)
  }

  override var readsComponents: Bool { true }

  override func makeID(
    _ key: UnsafeRawBufferPointer, at target: UnsafeMutablePointer<UInt64>
  ) -> Bool {
    guard let number = UInt64(idKey: key) else { return false }
    target.initialize(to: number)
    return true
  }
}

extension Int: StandardValue {
  static var primitive: KeyForm.Primitive { .int64 }
}

final class IntKey: StandardKey<Int>, @unchecked Sendable {
  override func write(_ value: Int, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(int64: Int64(value))
  }

  override func make(
    component: UnsafeRawBufferPointer, at target: UnsafeMutablePointer<Int>
  ) -> Bool {
    makeID(component, at: target)
  }

  override var readsComponents: Bool { true }

  override func makeID(
    _ key: UnsafeRawBufferPointer, at target: UnsafeMutablePointer<Int>
  ) -> Bool {
    guard let number = Int64(idKey: key).map(Int.init) else { return false }
    target.initialize(to: number)
    return true
  }
}

extension UInt: StandardValue {
  static var primitive: KeyForm.Primitive { .uint64 }
}

final class UIntKey: StandardKey<UInt>, @unchecked Sendable {
  override func write(_ value: UInt, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(uint64: UInt64(value))
  }

  override func make(
    component: UnsafeRawBufferPointer, at target: UnsafeMutablePointer<UInt>
  ) -> Bool {
    makeID(component, at: target)
  }

  override var readsComponents: Bool { true }

  override func makeID(
    _ key: UnsafeRawBufferPointer, at target: UnsafeMutablePointer<UInt>
  ) -> Bool {
    guard let number = UInt64(idKey: key).map(UInt.init) else { return false }
    target.initialize(to: number)
    return true
  }
}
