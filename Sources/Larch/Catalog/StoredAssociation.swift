/// The catalog entry of one association, so that tools and programs that do not declare it know the
/// meaning of the ids in the file.
package struct StoredAssociation: Equatable, Sendable {
  /// The raw values are part of the file format.
  package enum Kind: UInt8, Sendable {
    /// A property of the first collection holds ids of the second.
    case reference = 1
    /// Two databases hold lists of ids, one for each direction.
    case links = 2
  }

  /// The properties of a reference. The raw values are part of the file format.
  package struct Traits: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let optional = Traits(rawValue: 1)
    package static let list = Traits(rawValue: 2)
    /// At most one other record refers to each record.
    package static let one = Traits(rawValue: 4)
    static let known: Traits = [.optional, .list, .one]
  }

  /// `Person.companyID`, or `Person/Project/members`.
  package var key: String
  package var kind: Kind
  /// The names of the two collections.
  package var first: String
  package var second: String
  /// What happens to the second end when a record of the first is deleted, and the reverse.
  package var firstRule: DeleteRule
  package var secondRule: DeleteRule
  /// For a reference: the coding names of the property.
  package var path: [String] = []
  package var traits: Traits = []
  /// For lists: the number of their databases.
  var number: UInt32 = 0

  /// From a declaration; the number of lists comes from the file.
  init(_ schema: AssociationSchema, number: UInt32 = 0) {
    key = schema.key
    first = schema.first.collection
    second = schema.second.collection
    firstRule = schema.firstRule
    secondRule = schema.secondRule
    self.number = number
    switch schema.kind {
    case .links: kind = .links
    case .reference(let reference):
      kind = .reference
      path = reference.path
      if reference.declaration.isOptional { traits.insert(.optional) }
      if reference.declaration.isList { traits.insert(.list) }
      if reference.isOne { traits.insert(.one) }
    }
  }

  /// From its parts; nil if they contradict each other.
  package init?(
    key: String, kind: Kind, first: String, second: String, firstRule: DeleteRule,
    secondRule: DeleteRule, path: [String], traits: Traits, number: UInt32
  ) {
    self.key = key
    self.kind = kind
    self.first = first
    self.second = second
    self.firstRule = firstRule
    self.secondRule = secondRule
    self.path = path
    self.traits = traits
    self.number = number
    guard isConsistent else { return nil }
  }

  func encoded() -> [UInt8] {
    var writer = StoredWriter()
    writer.append(kind.rawValue)
    writer.append(first)
    writer.append(second)
    writer.append(firstRule.rawValue)
    writer.append(secondRule.rawValue)
    writer.append(varint: UInt64(path.count))
    for name in path { writer.append(name) }
    writer.append(traits.rawValue)
    writer.append(number)
    return writer.bytes
  }

  init(key: String, decoding bytes: UnsafeRawBufferPointer) throws {
    var reader = StoredReader(bytes)
    self.key = key
    guard let kind = Kind(rawValue: try reader.integer()) else { throw Self.unknownValue }
    self.kind = kind
    first = try reader.string()
    second = try reader.string()
    // An automatic rule is resolved before it is stored.
    guard let firstRule = DeleteRule(rawValue: try reader.integer()), firstRule != .automatic,
      let secondRule = DeleteRule(rawValue: try reader.integer()), secondRule != .automatic
    else { throw Self.unknownValue }
    self.firstRule = firstRule
    self.secondRule = secondRule
    for _ in 0..<(try reader.count()) { path.append(try reader.string()) }
    traits = Traits(rawValue: try reader.integer())
    number = try reader.integer()
    try reader.expectEnd()
    guard traits.isSubset(of: .known), isConsistent else { throw Self.unknownValue }
  }

  /// Whether the key matches the ends, and exactly the parts of its kind are present.
  private var isConsistent: Bool {
    switch kind {
    case .reference:
      return !path.isEmpty && number == 0 && key == Self.key(first, path: path)
    case .links:
      let prefix = "\(first)/\(second)/"
      return path.isEmpty && traits.isEmpty && number != 0 && key.hasPrefix(prefix)
        && key.utf8.count > prefix.utf8.count
    }
  }

  /// The key of a reference.
  static func key(_ holder: String, path: [String]) -> String {
    "\(holder).\(path.joined(separator: "."))"
  }

  private static var unknownValue: LarchError {
    LarchError(
      .corrupted, "The catalog holds a value that this format does not know; restore a backup.")
  }
}
