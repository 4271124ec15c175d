/// The cases of a CodingKeys enum: property name and stored name of each.
struct CodingKeyCases: Sendable {
  struct Case: Sendable, Equatable {
    /// The case's name, which for synthesised coding is the property's name.
    let propertyName: String
    /// What is written: `stringValue`, so `"last_name"` for `case surname = "last_name"`.
    let codingName: String
  }

  /// In the order of the key's byte.
  let cases: [Case]

  /// Nil for key types that are not an enum of plain cases, and when two cases share a name.
  init?<Key: CodingKey>(_ type: Key.Type) {
    guard let names = Reflection.caseNames(of: type) else { return nil }
    var cases: [Case] = []
    var taken: Set<String> = []
    for (byte, name) in names.enumerated() {
      guard let key = Reflection.value(of: type, byte: UInt8(truncatingIfNeeded: byte)) else {
        return nil
      }
      guard taken.insert(key.stringValue).inserted else { return nil }
      cases.append(Case(propertyName: name, codingName: key.stringValue))
    }
    self.cases = cases
  }

  func codingName(ofProperty name: String) -> String? {
    cases.first { $0.propertyName == name }?.codingName
  }
}

/// Finds the CodingKeys of a type: they are private to it, but its `init(from:)` has to name them.
///
/// The probe decoder refuses whatever it is asked for, so no user code runs past the first
/// question, and no value is made.
final class CodingKeysProbe: Decoder {
  /// The keys of `type`, when its coding is one keyed container with an enum of keys.
  static func keys(of type: any Decodable.Type) -> CodingKeyCases? {
    let probe = CodingKeysProbe()
    func run<Value: Decodable>(_ type: Value.Type) { _ = try? type.init(from: probe) }
    _openExistential(type, do: run)
    guard !probe.isUnclear, let keys = probe.found else { return nil }
    return keys
  }

  private struct Stop: Error {}

  private var keyType: (any CodingKey.Type)?
  private var found: CodingKeyCases?
  private var isUnclear = false

  let codingPath: [any CodingKey] = []
  let userInfo: [CodingUserInfoKey: Any] = [:]

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    if let keyType {
      // A type that tries another set of keys after the first was refused.
      if keyType != type { isUnclear = true }
    } else {
      keyType = type
      found = CodingKeyCases(type)
    }
    throw Stop()
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    isUnclear = true
    throw Stop()
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    isUnclear = true
    throw Stop()
  }
}
