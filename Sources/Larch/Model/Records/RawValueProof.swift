/// Proves that an enum is stored exactly as its raw value, so that its keys can be read from stored
/// bytes.
///
/// `RawRepresentable` alone proves nothing, since an enum may have its own coding. So every case is
/// written and read once, and its key must be what was written. Raw values without a case must be
/// refused, with the error text of the standard library: then its `init(from:)` reads them, and no
/// raw value becomes a case in another way.
enum RawValueProof {
  /// The result for each type: the code of the program runs once.
  private static let known = Locked<[ObjectIdentifier: Bool]>([:])

  static func holds(for type: any IndexKey.Type) -> Bool {
    guard let type = type as? any (IndexKey & RawRepresentable & Codable).Type else { return false }
    let id = ObjectIdentifier(type)
    if let known = known.withLock({ $0[id] }) { return known }
    let isProved = prove(type)
    known.withLock { $0[id] = isProved }
    return isProved
  }

  private static func prove<Key: IndexKey & RawRepresentable & Codable>(_ type: Key.Type) -> Bool {
    guard Reflection.isTrusted, let count = Reflection.caseCount(of: type),
      Key.IndexValue.self == Key.RawValue.self, Key.IndexValue.keyCoding.isStandard
    else { return false }
    var raws: Set<SingleValue> = []
    for byte in 0..<count {
      guard let value = Reflection.value(of: type, byte: UInt8(truncatingIfNeeded: byte)),
        let written = SingleValue(encodedBy: value), isKey(of: value, written),
        let read = written.decoded(as: type), isSame(read, value)
      else { return false }
      raws.insert(written)
    }
    let isText = raws.first?.kind == .string
    let names = isText ? Reflection.caseNames(of: type) ?? [] : []
    let others = raws.flatMap(\.neighbours) + names.map { SingleValue($0) }
    let strangers = Set(others.filter { other in !raws.contains { $0.isSame(as: other) } })
    // If every raw value had a case, nothing would be proved.
    return !strangers.isEmpty
      && strangers.allSatisfy { $0.isRefused(by: type, raw: Key.RawValue.self) }
  }

  /// Whether the key of a value equals the one from its stored bytes.
  private static func isKey<Key: IndexKey>(of value: Key, _ written: SingleValue) -> Bool {
    let values = Key.values(of: value)
    guard values.count == 1, case .primitive(let primitive) = Key.keyCoding.form.node,
      primitive.rawValue == written.kind.name
    else { return false }
    switch values[0] {
    case .string(let text): return Array(text.utf8) == written.bytes
    case .signed(let number): return written.bytes == littleEndian(number, written.bytes.count)
    case .unsigned(let number):
      return written.bytes == littleEndian(Int64(bitPattern: number), written.bytes.count)
    default: return false
    }
  }

  private static func littleEndian(_ number: Int64, _ count: Int) -> [UInt8] {
    withUnsafeBytes(of: number.littleEndian) { Array($0.prefix(count)) }
  }

  /// Cases of an enum without payloads are compared by their byte.
  private static func isSame<Value>(_ a: Value, _ b: Value) -> Bool {
    withUnsafeBytes(of: a) { a in withUnsafeBytes(of: b) { a.elementsEqual($0) } }
  }
}

extension SingleValue {
  /// Similar values, which a custom coding might read as the same case.
  fileprivate var neighbours: [SingleValue] {
    if kind == .string {
      let text = String(decoding: bytes, as: UTF8.self)
      return [
        text.uppercased(), text.lowercased(), text.prefix(1).uppercased() + text.dropFirst(),
        text + " ", " " + text, text + "_", "", "\u{1}",
      ].map { SingleValue($0) }
    }
    return [0, 1, 0x7F, 0x80, 0xFE, 0xFF].flatMap { (byte: UInt8) -> [SingleValue] in
      var near = bytes
      near[0] ^= byte
      return [
        SingleValue(kind, near), SingleValue(kind, bytes.map { _ in byte }),
      ]
    }
  }

  private init(_ kind: FieldKind, _ bytes: [UInt8]) {
    self.kind = kind
    self.bytes = bytes
  }

  /// Texts are equal if they are canonically equivalent, as when an enum finds its case.
  fileprivate func isSame(as other: SingleValue) -> Bool {
    guard kind == .string, other.kind == .string else { return self == other }
    return String(decoding: bytes, as: UTF8.self) == String(decoding: other.bytes, as: UTF8.self)
  }

  private var text: String {
    if kind == .string { return String(decoding: bytes, as: UTF8.self) }
    let isSigned = [.int8, .int16, .int32, .int64].contains(kind)
    let isNegative = isSigned && (bytes.last ?? 0) & 0x80 != 0
    var number: UInt64 = isNegative ? .max : 0
    for byte in bytes.reversed() { number = number << 8 | UInt64(byte) }
    return isSigned ? String(Int64(bitPattern: number)) : String(number)
  }

  /// Whether the standard library's `init(from:)` of raw values refuses it for a type. The text is
  /// in its source; if that changes, nothing is proved, and records are decoded.
  fileprivate func isRefused<Value: Decodable>(by type: Value.Type, raw: Any.Type) -> Bool {
    do {
      _ = try decode(as: type)
      return false
    } catch DecodingError.dataCorrupted(let context) {
      return context.debugDescription
        == "Cannot initialize \(type) from invalid \(raw) value \(text)"
    } catch {
      return false
    }
  }
}

extension IndexableField {
  /// Whether keys can be made from the stored field: it has a standard type, or an enum that is
  /// proved to be stored as its raw value.
  static var isReadableFromBytes: Bool {
    func leaf<Key: IndexKey>(_ type: Key.Type) -> any IndexKey.Type {
      Key._Entry.self == Key.self ? type : leaf(Key._Entry.self)
    }
    return fieldCoding.isStandard || RawValueProof.holds(for: leaf(_Entry.self))
  }
}
