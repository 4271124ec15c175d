/// The few runtime functions for a type's stored properties and an enum's cases.
///
/// The standard library's `Mirror` calls them; Swift does not promise them to others. So nothing
/// here is used before `Reflection.isTrusted` has compared their results with known types, and
/// every caller also works without them.
enum Reflection {
  /// The kind of a type, as far as it matters for layouts and key paths.
  enum Kind {
    case structure, enumeration, optional, tuple, finalOrOpenClass, other

    init(of type: Any.Type) {
      switch larchMetadataKind(type) {
      case 0: self = .finalOrOpenClass
      case 0x200: self = .structure
      case 0x201: self = .enumeration
      case 0x202: self = .optional
      case 0x301: self = .tuple
      default: self = .other
      }
    }
  }

  /// One stored property as the metadata describes it.
  struct Field {
    let name: String
    let offset: Int
    let type: Any.Type
    /// False for `weak` and `unowned` storage, whose memory is not a plain value of `type`.
    let isStrong: Bool
    let isVariable: Bool
  }

  /// Whether the runtime functions work as expected in this process. Found out once.
  static let isTrusted = RuntimeFeature.reflection.passes(selfTest)

  /// The stored properties of a struct or class; nil if the metadata does not have them.
  static func fields(of type: Any.Type) -> [Field]? {
    guard isTrusted else { return nil }
    return uncheckedFields(of: type)
  }

  /// The names of the cases of an enum without payloads of at most one byte, in the order of their
  /// bytes; nil if that is not known.
  static func caseNames<Enumeration>(of type: Enumeration.Type) -> [String]? {
    guard isTrusted else { return nil }
    return uncheckedCaseNames(of: type)
  }

  private static func uncheckedFields(of type: Any.Type) -> [Field]? {
    switch Kind(of: type) {
    case .structure, .finalOrOpenClass: break
    default: return nil
    }
    let count = larchRecursiveChildCount(type)
    guard count >= 0, count <= 4096 else { return nil }
    var fields: [Field] = []
    fields.reserveCapacity(count)
    for index in 0..<count {
      var info = FieldInfo()
      let fieldType = larchRecursiveChildType(type, index: index, info: &info)
      defer { info.release?(info.name) }
      // Built without reflection metadata there are no names, and the type is an empty tuple.
      guard let name = info.name, name.pointee != 0 else { return nil }
      let offset = larchRecursiveChildOffset(type, index: index)
      guard offset >= 0 else { return nil }
      fields.append(
        Field(
          name: String(cString: name), offset: offset, type: fieldType,
          isStrong: info.isStrong, isVariable: info.isVariable))
    }
    return fields
  }

  private static func uncheckedCaseNames<Enumeration>(
    of type: Enumeration.Type
  ) -> [String]? {
    guard let count = caseCount(of: type) else { return nil }
    var names: [String] = []
    names.reserveCapacity(count)
    for byte in 0..<count {
      guard let value = value(of: type, byte: UInt8(byte)),
        let name = larchEnumCaseName(value), name.pointee != 0
      else { return nil }
      names.append(String(cString: name))
    }
    return names
  }

  /// The value whose memory is `byte`; the caller knows that the enum has such a case.
  static func value<Enumeration>(of type: Enumeration.Type, byte: UInt8) -> Enumeration? {
    guard MemoryLayout<Enumeration>.size <= 1, _isPOD(type) else { return nil }
    return withUnsafeTemporaryAllocation(byteCount: 8, alignment: 8) { memory in
      memory.storeBytes(of: byte, as: UInt8.self)
      return memory.baseAddress.map { $0.load(as: Enumeration.self) }
    }
  }

  /// The number of cases of an enum without payloads, from its type descriptor: the metadata's
  /// second word points to it, and the two counts are its sixth and seventh 32-bit fields (Swift
  /// ABI, "Nominal Type Descriptor").
  static func caseCount<Enumeration>(of type: Enumeration.Type) -> Int? {
    guard Kind(of: type) == .enumeration, MemoryLayout<Enumeration>.size <= 1, _isPOD(type) else {
      return nil
    }
    // A metatype is the address of its metadata, by the stable ABI.
    let metadata = unsafeBitCast(type as Any.Type, to: UnsafeRawPointer.self)
    let word = metadata.load(fromByteOffset: MemoryLayout<UInt>.size, as: UnsafeRawPointer?.self)
    guard let descriptor = word else { return nil }
    let contextKindOfEnum: UInt32 = 18
    guard descriptor.load(as: UInt32.self) & 0x1F == contextKindOfEnum else { return nil }
    let payloadCases = descriptor.load(fromByteOffset: 20, as: UInt32.self) & 0x00FF_FFFF
    let emptyCases = descriptor.load(fromByteOffset: 24, as: UInt32.self)
    guard payloadCases == 0, emptyCases >= 1, emptyCases <= 256 else { return nil }
    // One case needs no memory, and more need one byte: anything else is another layout.
    guard MemoryLayout<Enumeration>.size == (emptyCases == 1 ? 0 : 1) else { return nil }
    return Int(emptyCases)
  }

  /// All cases of an enum without payloads, each at the place of its byte. Nil if they cannot be listed, or if one is
  /// not found by its raw value: the memory of an enum of Objective-C is the raw value itself.
  static func cases<Enumeration>(of type: Enumeration.Type) -> [Enumeration]? {
    guard isTrusted, let count = caseCount(of: type) else { return nil }
    let cases = (0..<count).compactMap { value(of: type, byte: UInt8(truncatingIfNeeded: $0)) }
    return cases.count == count && cases.allSatisfy(isFoundByRawValue) ? cases : nil
  }

  private static func isFoundByRawValue<Value>(_ value: Value) -> Bool {
    func isFound<Raw: RawRepresentable>(_ raw: Raw) -> Bool {
      guard let found = Raw(rawValue: raw.rawValue) else { return false }
      return withUnsafeBytes(of: found) { a in withUnsafeBytes(of: raw) { a.elementsEqual($0) } }
    }
    return (value as? any RawRepresentable).map { isFound($0) } ?? true
  }

  // MARK: Self-test

  private struct Sample {
    let flag: Bool
    var text: String
    let number: Double?
    var pair: (Int8, Int32)
  }

  private enum SampleKeys: CodingKey { case flag, text, renamed }
  private enum SampleKey: CodingKey { case only }

  private static func selfTest() -> Bool {
    guard MemoryLayout<UInt>.size == 8 else { return false }
    guard Kind(of: Sample.self) == .structure, Kind(of: SampleKeys.self) == .enumeration,
      Kind(of: Int?.self) == .optional, Kind(of: (Int, Int).self) == .tuple,
      let fields = uncheckedFields(of: Sample.self)
    else { return false }
    // The compiler's own offsets; a nil here makes the test fail, as it should.
    let expected: [(String, Int?, Any.Type, Bool)] = [
      ("flag", MemoryLayout<Sample>.offset(of: \.flag), Bool.self, false),
      ("text", MemoryLayout<Sample>.offset(of: \.text), String.self, true),
      ("number", MemoryLayout<Sample>.offset(of: \.number), Double?.self, false),
      ("pair", MemoryLayout<Sample>.offset(of: \.pair), (Int8, Int32).self, true),
    ]
    guard fields.count == expected.count else { return false }
    for (field, (name, offset, type, isVariable)) in zip(fields, expected) {
      guard field.name == name, field.offset == offset, field.type == type, field.isStrong,
        field.isVariable == isVariable
      else { return false }
    }
    return uncheckedCaseNames(of: SampleKeys.self) == ["flag", "text", "renamed"]
      && uncheckedCaseNames(of: SampleKey.self) == ["only"]
      && uncheckedCaseNames(of: FloatingPointSign.self) == ["plus", "minus"]
      && caseCount(of: Int?.self) == nil
  }
}

/// What the runtime fills in about one field; its layout is the runtime's.
private struct FieldInfo {
  var name: UnsafePointer<CChar>?
  var release: (@convention(c) (UnsafePointer<CChar>?) -> Void)?
  var isStrong = false
  var isVariable = false
}

@_silgen_name("swift_getMetadataKind")
private func larchMetadataKind(_ type: Any.Type) -> UInt

@_silgen_name("swift_reflectionMirror_recursiveCount")
private func larchRecursiveChildCount(_ type: Any.Type) -> Int

@_silgen_name("swift_reflectionMirror_recursiveChildMetadata")
private func larchRecursiveChildType(
  _ type: Any.Type, index: Int, info: UnsafeMutablePointer<FieldInfo>
) -> Any.Type

@_silgen_name("swift_reflectionMirror_recursiveChildOffset")
private func larchRecursiveChildOffset(_ type: Any.Type, index: Int) -> Int

@_silgen_name("swift_EnumCaseName")
private func larchEnumCaseName<Enumeration>(_ value: Enumeration) -> UnsafePointer<CChar>?
