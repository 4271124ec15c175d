internal import Larch

/// Makes the bytes of a stored record from the output of `RecordTextWriter`. Arbitrary text is
/// allowed: anything but a record is refused.
struct RecordTextReader: RecordFormWriter {
  /// A fault in a record, as a sentence, and its place.
  struct Problem: Error {
    let reason: StaticString
    let path: String
  }

  /// The shapes for the numbers in the text; nil if there is none for a number.
  private let shape: (Int) throws -> Shape?
  var output = RecordOutput()
  private var path: [String] = []

  /// - Parameter shape: returns the stored shape for a number in the text.
  init(shape: @escaping (Int) throws -> Shape?) { self.shape = shape }

  /// The bytes of the record in a member `record` of a line.
  mutating func record(_ node: JSONNode) throws -> [UInt8] {
    path = []
    return try bytes { try $0.appendSlot(node, .record, depth: 0) }
  }

  /// The bytes of the record in a member `value` of a line.
  mutating func value(_ node: JSONNode) throws -> [UInt8] {
    path = []
    return try bytes {
      $0.output.append(fixed: UInt16(0))
      try $0.appendTagged(node, depth: 0)
    }
  }

  private func problem(_ reason: StaticString) -> Problem {
    Problem(reason: reason, path: path.joined(separator: "."))
  }

  // MARK: Kinds

  /// The kind in the name of the only member of an object, with the value of the member.
  private func mark(of node: JSONNode) -> (kind: FieldKind, inside: JSONNode)? {
    guard case .object(let members) = node, members.count == 1,
      members[0].name.hasPrefix(RecordTextWriter.mark),
      let kind = Self.kinds[String(members[0].name.dropFirst())]
    else { return nil }
    return (kind, members[0].value)
  }

  private static let kinds = Dictionary(
    uniqueKeysWithValues: FieldKind.allCases.map { ($0.name, $0) })

  /// The kind of a value whose place does not determine it; nil for null.
  func kind(of node: JSONNode) -> FieldKind? {
    switch node {
    case .null: return nil
    case .bool: return .bool
    case .number(let text):
      return text.utf8.contains { $0 == 0x2E || $0 | 0x20 == 0x65 } ? .double : .int64
    case .string: return .string
    case .array: return .list
    case .object(let members):
      if members.first?.name == "$shape" { return .record }
      guard let (kind, inside) = mark(of: node) else { return .map }
      switch inside {
      case .array: return .list
      case .object: return .map
      default: return kind
      }
    }
  }

  // MARK: Values

  func tooDeep() -> any Error {
    problem("The values of a record are nested too deeply.")
  }

  func tooLong() -> any Error { problem("A value is too long.") }

  mutating func enter(_ place: RecordFormPlace) {
    switch place {
    case .element(let index): path.append("\(index)")
    case .entry(let key): path.append(String(decoding: key, as: UTF8.self))
    }
  }

  mutating func leave() { path.removeLast() }

  mutating func appendContainer(_ node: JSONNode, _ kind: FieldKind, depth: Int) throws {
    switch kind {
    case .record: try appendRecord(node, depth: depth)
    case .list: try appendArray(node, depth: depth)
    default: try appendObject(node, depth: depth)
    }
  }

  mutating func appendScalar(_ node: JSONNode, _ kind: FieldKind) throws {
    guard kind != .tagged else { throw problem("`$tagged` must contain a list.") }
    var inside = node
    if let marked = mark(of: node), marked.kind == kind { inside = marked.inside }
    guard let value = ExactText.bytes(of: inside, kind) else {
      throw problem("A value does not have the kind that the shape declares.")
    }
    value.withUnsafeBytes { output.append($0) }
  }

  private mutating func appendArray(_ node: JSONNode, depth: Int) throws {
    let marked = mark(of: node)
    guard let elements = (marked?.inside ?? node).array else {
      throw problem("A value does not have the kind that the shape declares.")
    }
    try appendList(elements, of: marked?.kind, depth: depth)
  }

  private mutating func appendObject(_ node: JSONNode, depth: Int) throws {
    let marked = mark(of: node)
    guard case .object(let members) = marked?.inside ?? node else {
      throw problem("A value does not have the kind that the shape declares.")
    }
    let entries = try members.map { (key: Array(try name(of: $0).utf8), value: $0.value) }
    guard Set(entries.map(\.key)).count == entries.count else {
      throw problem("A key is repeated.")
    }
    try appendMap(entries, of: marked?.kind, depth: depth)
  }

  /// The name of a field or an entry, without the escape of a name that begins with the mark.
  private func name(of member: JSONNode.Member) throws -> String {
    guard member.name.hasPrefix(RecordTextWriter.mark) else { return member.name }
    guard member.name.hasPrefix("$$") else {
      throw problem("A name that begins with `$` is not part of the format.")
    }
    return String(member.name.dropFirst())
  }

  // MARK: Records

  private mutating func appendRecord(_ node: JSONNode, depth: Int) throws {
    guard case .object(let members) = node, let first = members.first, first.name == "$shape",
      let number = first.value.integer(Int.self)
    else { throw problem("A record must begin with `$shape`, the number of its shape.") }
    guard let shape = try shape(number) else {
      throw problem("The header of the file has no shape of this number.")
    }
    var values = [JSONNode?](repeating: nil, count: shape.fields.count)
    for member in members.dropFirst() {
      let name = try name(of: member)
      guard let slot = shape.slot(of: name), shape.fields[slot].name.utf8.elementsEqual(name.utf8)
      else { throw problem("A record has a field that its shape does not have.") }
      guard values[slot] == nil else { throw problem("A field is repeated.") }
      values[slot] = member.value
    }
    var record = RecordBuilder(shape, in: &output)
    for (slot, field) in shape.fields.enumerated() {
      if let value = values[slot] {
        path.append(field.name)
        try appendSlot(value, field.kind, depth: depth + 1)
        path.removeLast()
      }
      record.end(slot, isPresent: values[slot] != nil, in: &output)
    }
  }
}
