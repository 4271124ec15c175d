/// The cases of a CodingKeys enum: property name and stored name of each.
struct CodingKeyCases: Sendable {
  struct Case: Sendable, Equatable {
    /// The case's name, which for synthesised coding is the property's name.
    let propertyName: String
    /// The text of the key.
    let key: String
    /// The written name: `stringValue`, so `"last_name"` for `case surname = "last_name"`; for the
    /// keys of a type, as its strategy names the field.
    let codingName: String
  }

  /// In the order of the key's byte.
  let cases: [Case]
  /// Whether the enum has the name that the compiler's coding uses.
  let isCodingKeys: Bool

  /// Nil for key types that are not an enum of plain cases, or if two cases share a name.
  init?<Key: CodingKey>(_ type: Key.Type) {
    guard let names = Reflection.caseNames(of: type) else { return nil }
    var cases: [Case] = []
    var taken: Set<String> = []
    for (byte, name) in names.enumerated() {
      guard let key = Reflection.value(of: type, byte: UInt8(truncatingIfNeeded: byte)) else {
        return nil
      }
      guard taken.insert(key.stringValue).inserted else { return nil }
      cases.append(
        Case(propertyName: name, key: key.stringValue, codingName: key.stringValue))
    }
    self.cases = cases
    isCodingKeys = String(describing: type) == "CodingKeys"
  }

  /// The same cases under other names.
  init(_ other: CodingKeyCases, names: (String) -> String) {
    cases = other.cases.map {
      Case(propertyName: $0.propertyName, key: $0.key, codingName: names($0.key))
    }
    isCodingKeys = other.isCodingKeys
  }

  func codingName(ofProperty name: String) -> String? {
    cases.first { $0.propertyName == name }?.codingName
  }

  func propertyName(ofKey name: String) -> String? {
    cases.first { $0.codingName == name }?.propertyName
  }
}
